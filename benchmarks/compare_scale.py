"""Comparing, gating and slicing 100,000 judgements: each must take less than 20 s and 1 GB.

python benchmarks/compare_scale.py [--cases 100000]

Makes two runs of RAG-like judgements (four scores with explanations, a category, a list, metadata) with the package's
own journal, then runs each command in a process of its own and prints its time and peak memory.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from krino.contract import Judgement, Usage
from krino.runs.journal import Journal
from krino.runs.manifest import Manifest, Plan

SCORES = ("faithfulness", "context_relevance", "answer_relevance", "semantic_similarity")
KINDS = ("CORRECT", "PARTIALLY_CORRECT", "INCORRECT", "FALSE_POSITIVE", "FALSE_NEGATIVE")
COURTS = ("cassation", "appeal", "labour", "enterprise", "police", "peace", "council", "assize")
TEXT = "The answer says so, and the second passage says the same in other words. "
MOST_SECONDS, MOST_MB = 20, 1_000


def judgement(index: int, rng: random.Random, better: float) -> Judgement:
    place = {
        "index": index,
        "id": f"case-{index}",
        "judge": "made",
        "judge_version": "1",
        "input_hash": f"{index:032x}",
    }
    metadata = {"court": COURTS[index % 8], "language": "fr" if index % 3 else "nl", "document": index // 20}
    if rng.random() < 0.01:
        return Judgement(**place, status="failed", verdict=None, reason="no answer", metadata=metadata)
    verdict: dict[str, object] = {}
    for name in SCORES:
        verdict[name] = None if rng.random() < 0.05 else round(min(1.0, rng.random() ** 0.5 + better), 3)
        verdict[f"{name}_explanation"] = TEXT * 4
    verdict["kind"] = rng.choice(KINDS)
    verdict["errors"] = rng.sample(("COURT", "NUMBER", "DATE", "CONTEXT", "CEILING"), rng.randrange(4)) or ["NONE"]
    decided = dict.fromkeys(verdict, "R1")
    return Judgement(
        **place,
        status="ok",
        verdict=verdict,
        decided_by=decided,
        rules=decided,
        evidence={name: [TEXT] for name in SCORES},
        roll_up="pass" if rng.random() < 0.8 + better else "fail",
        usage=Usage(calls=1, input_tokens=900, output_tokens=200, cost=0.0002, seconds=1.5),
        metadata=metadata,
    )


def make(folder: Path, cases: int, better: float) -> None:
    folder.mkdir()
    journal = Journal(folder / "judgements.jsonl")
    rng = random.Random(better)
    for index in range(cases):
        journal.append(judgement(index, rng, better))
    journal.close()
    plan = Plan(judge={"name": "made", "version": "1"}, labeller={"kind": "local"}, inputs=["made.jsonl"])
    counts = journal.progress.counts()
    Manifest(plan=plan, state="finished", cases=cases, counts=counts, usage=journal.progress.usage).write(folder)


def measured(*args: str) -> tuple[float, float, float, int]:
    """Wall seconds, CPU seconds, peak megabytes and exit code of `krino ARGS`."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "krino", *args], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    peak = usage.ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    cpu = usage.ru_utime + usage.ru_stime
    return time.perf_counter() - began, cpu, peak, os.waitstatus_to_exitcode(status)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        a, b = f"{folder}/a", f"{folder}/b"
        for run, better in ((a, 0.0), (b, 0.01)):
            make(Path(run), args.cases, better)
        size = (Path(a) / "judgements.jsonl").stat().st_size / 1e6
        print(f"two runs of {args.cases:,} judgements, {size:.0f} MB each")
        rules = ("--min", "faithfulness=0.5", "--min", "pass=70%", "--max", "failed=2%", "--max", "errors:DATE=50%")
        nulls = ("--max", "faithfulness:null=10%")
        commands = {
            "compare": ("compare", a, b),
            "compare, 5,000 clusters": ("compare", a, b, "--cluster", "document"),
            "gate": ("gate", b, *rules, *nulls),
            "gate by slice": ("gate", b, *rules, *nulls, "--by", "court,language,court*language"),
            "gate against a run": ("gate", b, *rules, *nulls, "--not-worse-than", a, "--may-fall", "faithfulness=0.01"),
            "show by slice": ("show", b, "--by", "court,language,court*language"),
        }
        for name, command in commands.items():
            seconds, cpu, peak, code = measured(*command)
            worked = code in (0, 3)  # both runs hold failed cases, so a comparison ends with 3
            kept = "kept" if worked and seconds < MOST_SECONDS and peak < MOST_MB else "NOT KEPT"
            print(f"{name:<26} {seconds:5.1f} s ({cpu:4.1f} s CPU)  {peak:5.0f} MB  exit {code}  (mark {kept})")


if __name__ == "__main__":
    main()
