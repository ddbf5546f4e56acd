"""Holds the efficiency judge, with its embedded labeller, against cases whose verdict is known.

    python benchmarks/efficiency_conformance.py FILE

FILE is JSONL: `id`, `case`, and `expected` with a `score` and the step ids that the reason must name (`names`; an
empty list: none may be called unnecessary), or with a `status`. Exit code 1 if any row deviates.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import orjson

import krino


def deviations(expected: dict[str, Any], judgement: krino.Judgement) -> list[str]:
    found = []
    status = expected.get("status", "ok")
    if judgement.status != status:
        found.append(f"status {judgement.status}, not {status} ({judgement.reason or judgement.error})")
    verdict = judgement.verdict or {}
    if "score" in expected and verdict.get("score") != expected["score"]:
        found.append(f"score {verdict.get('score')}, not {expected['score']}")
    if "names" in expected:
        reason = f"{verdict.get('reason')} "
        unnamed = [step for step in expected["names"] if f" {step}" not in reason]
        if unnamed:
            found.append(f"the reason does not name {unnamed}: {reason}")
        if not expected["names"] and "No unnecessary step" not in reason:
            found.append(f"the reason names steps: {reason}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, metavar="FILE")
    lines = parser.parse_args().file.read_bytes().splitlines()
    rows = [orjson.loads(line) for line in lines if line.strip()]
    judgements = krino.judge_many("efficiency", [row["case"] for row in rows])
    wrong = 0
    for row, judgement in zip(rows, judgements, strict=True):
        problems = deviations(row["expected"], judgement)
        wrong += bool(problems)
        print(f"{'deviates' if problems else 'as expected':<11} {row['id']}", *problems, sep="\n    ")
    print(f"{len(rows) - wrong} of {len(rows)} as expected")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
