"""Judges real citations of the Court of Cassation against the decisions of their date: `citation_cass.py DATA_FOLDER`.

The folder holds `cass_citations.jsonl` (citation, label, gold ECLI) and `cass_index.jsonl` (decisions by date), plain
or gzipped. Printed by label: how often the decision that the judge takes as right is the gold one, none, or wrong.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from krino.judges.citation.belgium.courts import Court, court_of_ecli_code
from krino.judges.citation.belgium.ecli import parse_ecli
from krino.judges.citation.judge import CitationJudge

MUST_MATCH = ("match", "match_old_number", "match_fuzzy_number", "match_language_letter_typo")
LEAST = 0.995
MOST_WRONG = 6  # a lone candidate without a known number is taken as meant: the price of that rule


def rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    plain, packed = folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz"
    with plain.open(encoding="utf-8") if plain.exists() else gzip.open(packed, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def case_of(row: dict[str, Any], same_date: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "cited_court_name": row["cited_court"],
        "cited_date": row["cited_date"],
        "cited_case_number": row.get("cited_case_number"),
        "cited_ecli": row.get("cited_ecli"),
        "citation_snippet": row["citation"] + row.get("context_after", ""),
        "snippet_match_type": "CASE_NUMBER",
        "candidates": [
            {
                "decision_id": item["ecli"],
                "court_name": "Cour de cassation",
                "decision_date": item["date"],
                "rol_number": item["rol_number"],
            }
            for item in same_date
        ],
        "matches": [],
        "no_match_reason": "not judged here",
    }


def taken_as_right(judge: CitationJudge, record: dict[str, Any]) -> str | None:
    case = judge.read(record)
    facts = judge.study(case)
    labels = judge.label_locally([(case, facts)])[0] if judge.ask(case, facts) is not None else None
    found: str | None = judge.settle(case, facts, labels).rulings["correct_decision_id"].value
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DATA_FOLDER")
    folder = parser.parse_args().folder
    judge = CitationJudge()
    by_date: dict[str, list[dict[str, Any]]] = defaultdict(list)
    unread = 0
    for item in rows(folder, "cass_index"):
        by_date[item["date"]].append(item)
        ecli = parse_ecli(item["ecli"])
        court = court_of_ecli_code(ecli.court_code) if ecli else None
        unread += not (isinstance(court, Court) and court.type == "cassation")
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows(folder, "cass_citations"):
        found = taken_as_right(judge, case_of(row, by_date[row["cited_date"]]))
        gold = {row["gold_ecli"]} if row.get("gold_ecli") else set(row.get("gold_candidates", ()))
        table[row["label"]]["right" if found in gold else "none" if found is None else "wrong"] += 1
    print(f"{'label':32}{'rows':>6}{'gold':>7}{'none':>7}{'other':>7}{'gold %':>9}")
    for label, counts in sorted(table.items()):
        total = counts.total()
        share = 100 * counts["right"] / total
        print(f"{label:32}{total:6}{counts['right']:7}{counts['none']:7}{counts['wrong']:7}{share:9.2f}")
    print(f"ECLIs of the index that do not resolve to the Court of Cassation: {unread}")
    matched = [table[label] for label in MUST_MATCH if label in table]
    good = all(counts["right"] >= LEAST * counts.total() for counts in matched) and not unread
    wrong = sum(counts["wrong"] for label, counts in table.items() if label.startswith("absent"))
    print(f"wrong decisions on absent rows: {wrong} (at most {MOST_WRONG})")
    safe = wrong <= MOST_WRONG
    print("holds" if good and safe else "DOES NOT HOLD")
    return 0 if good and safe else 1


if __name__ == "__main__":
    sys.exit(main())
