"""What the embedded RAG labeller makes of the audit of ordinary text, by kind, with 95 % intervals.

    python benchmarks/rag_audit.py [--half first|later|last|fourth|...] [--wrong]

The cases stand in `tests/judges/rag/audit/ordinary`, each half with the scores that the rubric wants, written before
the labeller saw them. `--wrong` names the cases that differ.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from krino.stats.confidence_intervals import wilson_interval

TESTS = Path(__file__).parents[1] / "tests"
AUDIT = TESTS / "judges" / "rag" / "audit" / "ordinary"


def rows(half: str | None) -> list[dict[str, Any]]:
    lines = [line for path in sorted(AUDIT.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    found = [json.loads(line) for line in lines]
    return [row for row in found if half in (None, row["half"])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=sorted(path.stem for path in AUDIT.glob("*.jsonl")))
    parser.add_argument("--wrong", action="store_true")
    args = parser.parse_args()
    sys.path[:0] = [str(TESTS), str(AUDIT.parents[1])]
    from test_rag_audit import differs  # type: ignore[import-not-found]

    told: dict[str, list[list[str]]] = defaultdict(list)
    for row in rows(args.half):
        problems = differs(row)
        told[row["kind"]].append(problems)
        if problems and args.wrong:
            print(f"{row['id']}: {'; '.join(problems)}\n    {row['case']['answer']!r}")
    everything = [case for cases in told.values() for case in cases]
    for kind, cases in [*told.items(), ("all", everything)]:
        right = sum(not problems for problems in cases)
        low, high = wilson_interval(right, len(cases)) or (0.0, 0.0)
        print(f"{kind:16} {right:4} of {len(cases):<4} {right / len(cases):.2f} [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    main()
