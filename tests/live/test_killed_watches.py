"""A watch that is killed at any moment is continued by the same command: each trace judged once, each score once.

`benchmarks/watch_kills.py` does the same with more traces and twenty kills.
"""

from __future__ import annotations

from pathlib import Path

from live_kills import kill_again_and_again

TRACES, KILLS = 48, 4


def test_killed_again_and_again_each_trace_is_judged_once_and_each_score_is_there_once(tmp_path: Path) -> None:
    found = kill_again_and_again(tmp_path, traces=TRACES, kills=KILLS, seed=36)
    assert found.kills == KILLS
    assert found.judged == found.written == dict.fromkeys(found.traces, 1)
    assert 0 < found.judged_before_the_last_start < TRACES
