"""Kills a watch at random moments and starts it again, while spans come and scores are written."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from pathlib import Path

from command_line import begun
from fake_llm import FakeServer
from live_traces import TOY, ScoreServer, add_to, export, judged, root, score_server, span, trace_id
from waiting import until

SECONDS = (0.8, 4.5)
"""How long a watch lives at least and at most; it takes about one second to start."""


@dataclass
class Killed:
    """What was counted, once everything had been judged and written."""

    traces: list[str]
    kills: int = 0
    judged_before_the_last_start: int = 0
    judged: dict[str, int] = field(default_factory=dict)
    """Lines of the journal, by trace."""
    written: dict[str, int] = field(default_factory=dict)
    """Scores at the receiving server, by trace."""
    sent_again: int = 0
    """Events that the server received twice, and dropped by their id."""
    paid: dict[str, int] = field(default_factory=dict)
    """Replies of the model, by trace."""


def kill_again_and_again(folder: Path, traces: int, kills: int, seed: int) -> Killed:
    """Watches a file that grows between the kills; the last watch is not killed."""
    rng, run, spans = random.Random(seed), folder / "run", folder / "spans.jsonl"
    found = Killed([trace_id(number) for number in range(traces)])
    reply = {"label": "good", "quote": "fine"}
    with score_server(latency=0.02) as scores, FakeServer(reply=reply, latency=0.05, key=r"case-\d+-") as model:
        command = [
            *("watch", TOY, str(spans), "--run", str(run), "--endpoint", scores.url, "--quiet", "2"),
            *("--labeller", "m", "--base-url", model.url, "--concurrency", "4"),
        ]
        for kill in range(kills):
            first, last = (traces * part // kills for part in (kill, kill + 1))
            with begun(*command, cwd=folder) as process:
                pause = rng.uniform(*SECONDS) / (last - first)
                for number in range(first, last):  # to its end, so that some are under way
                    time.sleep(pause)
                    _write_trace(spans, number, rng)
                process.kill()
                assert process.wait() == -9, "the watch must not have ended by itself: it would prove nothing"
            found.kills += 1
        found.judged_before_the_last_start = sum(judged(run).values())
        with begun(*command, cwd=folder) as process:
            until(lambda: len(scores.scores()) == traces or process.has_ended())
            time.sleep(1.0)  # what would be written twice has come by now
        _count(found, run, scores)
        found.paid = dict(model.stats().completed_by_key)
    return found


def _write_trace(spans: Path, number: int, rng: random.Random) -> None:
    """A trace of two spans in two exports, in either order."""
    exports = [export(root(number, f"fine case-{number}-")), export(span(number, 1, parent=0))]
    rng.shuffle(exports)
    add_to(spans, *exports)


def _count(found: Killed, run: Path, scores: ScoreServer) -> None:
    """Counts the journal's lines and the server's scores."""
    found.judged, found.written = dict(judged(run)), dict(scores.scores())
    found.sent_again = sum(count - 1 for count in scores.deliveries.values())
