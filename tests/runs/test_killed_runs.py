"""A run killed at any moment is continued by the same command: nothing lost, nothing double, nothing paid twice."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from subprocess import DEVNULL

import orjson

from krino.runs.journal import read_in_order, scan
from krino.testing import FakeServer
from toy_judge import ToyJudge

CASES = 2_000
KILLS = 20
TOY = f"{Path(__file__).parents[1] / 'toy_judge.py'}:{ToyJudge.__name__}"


def write_cases(path: Path, count: int = CASES) -> None:
    path.write_text("".join(json.dumps({"id": f"case-{n}-", "text": f"fine case-{n}-"}) + "\n" for n in range(count)))


def command(cases: Path, run: Path, url: str, *more: str) -> list[str]:
    return [
        *(sys.executable, "-m", "krino", "judge", TOY, str(cases), "--run", str(run)),
        *("--labeller", "m", "--base-url", url, "--cache", "off", "--concurrency", "8", *more),
    ]


def finished_ids(journal: Path) -> set[str]:
    """Whole lines only: a torn one is a call that was in flight."""
    if not journal.exists():
        return set()
    return {orjson.loads(line)["id"] for line in journal.read_bytes().split(b"\n")[:-1]}


def test_killed_twenty_times_a_run_ends_whole_and_nothing_is_paid_twice(tmp_path: Path) -> None:
    cases, run = tmp_path / "cases.jsonl", tmp_path / "run"
    write_cases(cases)
    rng = random.Random(20)
    with FakeServer(reply={"label": "good", "quote": "fine"}, latency=0.1, key=r"case-\d+-") as server:
        paid_when_finished: dict[str, int] = {}

        def check_nothing_finished_was_paid_again() -> None:
            paid = server.stats().calls_by_key
            assert {name: paid[name] for name in paid_when_finished} == paid_when_finished
            for name in finished_ids(run / "judgements.jsonl") - paid_when_finished.keys():
                paid_when_finished[name] = paid[name]

        for _ in range(KILLS):
            process = subprocess.Popen(command(cases, run, server.url), stdout=DEVNULL, stderr=DEVNULL)
            time.sleep(rng.uniform(0.2, 1.6))
            process.kill()
            assert process.wait() == -9, "the run must not have ended by itself: it would prove nothing"
            check_nothing_finished_was_paid_again()
        assert 0 < len(paid_when_finished) < CASES
        server.configure(latency=0.0)  # the rest may go quickly
        last = subprocess.run(command(cases, run, server.url), capture_output=True, text=True, check=False)
        assert last.returncode == 0, last.stderr
        check_nothing_finished_was_paid_again()
    judgements = list(read_in_order(run / "judgements.jsonl"))
    assert [judgement.index for judgement in judgements] == list(range(CASES))
    assert {judgement.status for judgement in judgements} == {"ok"}
    lines = (run / "judgements.jsonl").read_bytes().splitlines()
    assert Counter(orjson.loads(line)["id"] for line in lines).most_common(1)[0][1] == 1
    assert scan(run / "judgements.jsonl").counts().ok == CASES
