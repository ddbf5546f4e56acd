"""Attacks every ready judge: all manipulations in every text of a case of each, and how many got through.

    python benchmarks/attack_shelf.py [JUDGE...]

No model is asked: what is tried is what Krino guarantees of any judge. The exit code is 1 if one manipulation gets
through, or if a judge was tried with fewer than 300 texts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from typing import Any

import krino
from krino.api.attacking import attack, texts_in
from krino.judges.registry import shelf_names

FEWEST = 300


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("judges", nargs="*", metavar="JUDGE", help="these alone")
    names = parser.parse_args().judges or shelf_names()
    tried = through = texts = 0
    is_enough = True
    print(f"{'judge':20} {'manipulations':>13} {'texts':>6} {'tried':>8} {'got through':>12} {'seconds':>8}")
    for name in names:
        judge: Any = krino.load_judge(name)
        case = case_of(judge)
        begun = time.process_time()
        found = attack(judge, [case])
        places = len(texts_in(case, judge))
        taken = time.process_time() - begun
        got = len(found.structural)
        print(f"{name:20} {found.manipulations:13,} {places:6} {found.tried:8,} {got:12,} {taken:8.1f}", flush=True)
        for problem in list(dict.fromkeys(found.structural))[:5]:
            print(f"    {problem}")
        tried, through, texts = tried + found.tried, through + len(found.structural), texts + places
        is_enough &= found.manipulations >= FEWEST
    print(f"{len(names)} judges, {texts} texts of cases: {tried:,} attacked cases, {through:,} got through")
    return 0 if is_enough and not through else 1


def case_of(judge: Any) -> Mapping[str, Any]:
    """The example with the most texts of those that get a verdict."""
    examples = [one for one in judge.definition.examples if one.expected not in ("refused", "failed")]
    asked = [one for one in examples if one.labels is not None] or examples
    return dict(max(asked, key=lambda one: len(texts_in(one.case, judge))).case)


if __name__ == "__main__":
    sys.exit(main())
