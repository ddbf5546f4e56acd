"""Results of a large run: time and peak memory of the commands that read it, each in a process of its own.

    python benchmarks/results_scale.py [--cases 100000] [--folder FOLDER]

Writes a run of made-up judgements by the package's own journal, and labels of two raters in one table; `--folder` keeps
them there. Marks: each command under 20 s and under 1 GB.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from krino.contract import Judgement, Usage
from krino.runs.journal import Journal
from krino.runs.manifest import Manifest, Plan

STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)
MATCHES = ("CORRECT", "PARTIALLY_CORRECT", "INCORRECT", "FALSE_POSITIVE")
ROLL_UPS = ("pass", "review", "fail")
TEXT = "It says so in the second passage, where the harbour ledger is opened by the council. " * 4
RATERS = ("anna", "ben")
MOST_SECONDS, MOST_MB = 20.0, 1_000.0


def verdict(rng: random.Random) -> dict[str, Any]:
    return {
        "faithfulness": rng.randrange(101) / 100,
        "relevance": rng.choice(STEPS),
        "match": rng.choice(MATCHES),
        "confidence": rng.randrange(50, 101) / 100,
        "explanation": TEXT,
    }


def judgement(index: int, rng: random.Random) -> Judgement:
    """One in fifty is failed; an ok one is about as long as a real one."""
    common = {
        "index": index,
        "id": f"case-{index}",
        "judge": "made",
        "judge_version": "1",
        "input_hash": f"{index:032x}",
    }
    metadata = {"court": f"court {index % 40}", "language": ("fr", "nl", "de")[index % 3]}
    if index % 50 == 49:
        return Judgement(**common, status="failed", verdict=None, reason="answer: missing", metadata=metadata)
    said = verdict(rng)
    return Judgement(
        **common,
        status="ok",
        verdict=said,
        decided_by=dict.fromkeys(said, "labeller"),
        rules=dict.fromkeys(said, "R1"),
        evidence={name: [TEXT[:90]] for name in said},
        labels={"claims": [{"text": TEXT[:120], "label": "supported", "quote": TEXT[:60]} for _ in range(4)]},
        labeller={"kind": "made"},
        usage=Usage(calls=1, input_tokens=900, output_tokens=200, cost=0.001, seconds=0.5),
        roll_up=ROLL_UPS[index % 3],
        metadata=metadata,
    )


def write_run(folder: Path, cases: int, seed: int = 0) -> Iterator[Judgement]:
    """Into a folder as a run leaves it; yields what it writes."""
    folder.mkdir(parents=True)
    rng = random.Random(seed)
    journal = Journal(folder / "judgements.jsonl")
    for index in range(cases):
        item = judgement(index, rng)
        journal.append(item)
        yield item
    plan = Plan(judge={"name": "made", "version": "1"}, labeller={"kind": "made"}, inputs=["cases.jsonl"])
    Manifest(plan=plan, state="finished", cases=cases, counts=journal.progress.counts(cases)).write(folder)
    journal.close()


def write_labels(path: Path, judgements: Iterator[Judgement]) -> None:
    """Two raters who agree with the judge most of the time."""
    rng = random.Random(1)
    with path.open("w", newline="", encoding="utf-8") as out:
        table = csv.writer(out)
        table.writerow(["id", "rater", "faithfulness", "relevance", "match", "roll_up"])
        for item in judgements:
            said = item.verdict or verdict(rng)
            for rater in RATERS:
                honest = rng.random() < 0.8
                near = round(min(1.0, max(0.0, said["faithfulness"] + rng.gauss(0, 0.1))), 1)
                relevance = said["relevance"] if honest else rng.choice(STEPS)
                match = said["match"] if honest else rng.choice(MATCHES)
                table.writerow([item.id, rater, near, relevance, match, ROLL_UPS[item.index % 3]])


def measure(*args: str) -> tuple[float, float, float, int]:
    """Seconds by the clock and of CPU, peak megabytes and exit code of a krino command."""
    code = (
        "import resource, sys\n"
        "from krino.cli import main\n"
        "try:\n    main()\n"
        "finally:\n"
        "    used = resource.getrusage(resource.RUSAGE_SELF)\n"
        "    print('used', used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)\n"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=False)
    wall = time.perf_counter() - start
    if "used" not in done.stderr or done.returncode not in (0, 1, 3):
        sys.exit(f"krino {' '.join(args)}: {done.stderr}")
    cpu, peak = map(float, done.stderr.rsplit("used", 1)[1].split())
    return wall, cpu, peak / (1e6 if sys.platform == "darwin" else 1e3), done.returncode


def commands(folder: Path) -> dict[str, list[str]]:
    """What is measured, by name; each is a command line over the run and its labels."""
    run, labels = os.fspath(folder / "run"), os.fspath(folder / "labels.csv")
    return {
        "agree": ["agree", run, labels],
        "agree, clustered": ["agree", run, labels, "--cluster", "court"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as spare:
        folder = args.folder or Path(spare)
        if not (folder / "run").exists():
            write_labels(folder / "labels.csv", write_run(folder / "run", args.cases))
        size = (folder / "run" / "judgements.jsonl").stat().st_size / 1e6
        print(f"{args.cases:,} judgements, {size:.0f} MB of journal; the machine's load is {os.getloadavg()[0]:.1f}")
        for name, line in commands(folder).items():
            wall, cpu, peak, code = measure(*line)
            kept = "kept" if wall < MOST_SECONDS and peak < MOST_MB else "NOT KEPT"
            print(f"{name:<18} {wall:6.1f} s ({cpu:.1f} s CPU)  {peak:6.0f} MB  exit {code}  marks {kept}")


if __name__ == "__main__":
    main()
