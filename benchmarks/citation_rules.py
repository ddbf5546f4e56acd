"""Switches off families of rules of the citation judge, one at a time, and counts the verdicts that change.

    citation_rules.py DATA_FOLDER --cases FILE... [--wordings FILE]

DATA_FOLDER is that of citation_cass.py. A FILE of cases is JSONL with `id`, `case` and `expected`: fields of the
verdict, `errors_has` and `errors_not`; a mark as [lowest, highest]. The wordings are those of the tests, of which only
the lists that were kept aside while the rules were built are used. Printed for each family: how many verdicts change,
and how many are as expected.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from citation_cass import case_of, rows

from krino.errors import CannotJudge
from krino.judges.citation.judge import CitationJudge

Row = dict[str, Any]
Sets = dict[str, list[tuple[Row, Row]]]
HOME = "krino.judges.citation"
OBJECTIONS = "reasoning.objections:Objections"
NOTHING = property(lambda self: None)
NEVER = property(lambda self: False)
FAMILIES: dict[str, tuple[tuple[str, str, Any], ...]] = {
    "objections: all": tuple(
        (OBJECTIONS, name, NOTHING)
        for name in ("court", "jurisdiction", "number", "keyword_objection", "denied_number")
    ),
    "objections: court": ((OBJECTIONS, "court", NOTHING),),
    "objections: open jurisdiction": ((OBJECTIONS, "jurisdiction", NOTHING),),
    "objections: a stated penalty": (("reasoning.objections:Objection", "is_penalty", NEVER),),
    "objections: missing number": ((OBJECTIONS, "number", NOTHING),),
    "objections: a missing number, and more": ((OBJECTIONS, "_gives_another_reason", lambda self, clause: False),),
    "objections: shared words": ((OBJECTIONS, "keyword_objection", NOTHING),),
    "objections: a quoted word": ((OBJECTIONS, "_quotes_shared_word", lambda self, clause: False),),
    "objections: denied number": ((OBJECTIONS, "denied_number", NOTHING),),
    "objections: names of the courts": (("reasoning.objections", "court_names_of", lambda *case: ()),),
    "objections: topic of an earlier clause": (
        ("reasoning.objections", "earlier_topic", lambda *clauses, crosses_sentences: None),
    ),
    "objections: own confidence as a cue": ((OBJECTIONS, "_find_own_percent", lambda self, clause: ()),),
    "objections: language or short name": (
        ("scoring.errors", "classify_name_error", lambda outcome: "FR_NL_CONFUSION"),
    ),
    "cues: a number claimed equal": (("reasoning.cues:Cues", "claims_number_match", NEVER),),
    "cues: agreement only supposed": (
        ("reasoning.reasoning_sentences:ReasoningSentence", "_is_hypothetical", lambda self, word: False),
    ),
    "cues: an ECLI claimed equal": (("reasoning.cues:Cues", "claims_ecli_match", NEVER),),
    "cues: an odd ECLI remarked": tuple(
        ("reasoning.cues:Cues", name, NEVER) for name in ("doubts_ecli", "doubts_court_of_ecli")
    ),
    "cues: shared legal terms": (("local", "_find_shared_subjects", lambda facts: frozenset()),),
    "quality: says nothing": (("scoring.quality", "_is_about_case", lambda outcome: True),),
    "quality: contradiction": (("scoring.quality", "_find_contradiction", lambda outcome: None),),
    "quality: invented evidence": (("scoring.quality", "_find_invented", lambda outcome: ()),),
    "quality: wrong class": (("scoring.quality", "_find_wrong_class", lambda outcome: None),),
    "quality: bare list": (("scoring.quality", "_is_bare_list", lambda outcome: False),),
    "quality: no evidence": (("scoring.quality", "_gives_evidence", lambda outcome: True),),
    "errors: court check skipped": (("scoring.errors", "_skips_court_check", lambda outcome: False),),
    "errors: ECLI ignored": (("scoring.errors", "ignores_ecli", lambda outcome: False),),
    "errors: context misread": (("scoring.errors", "_misreads_context", lambda outcome, found: False),),
    "record: contradicting fields": (("record.reader", "disagree", lambda *values: False),),
    "record: candidates as text": (("record.reader", "parse_candidate_list", lambda text: []),),
    "facts: what stands beside the citation": tuple(
        (module, "find_text_about_citation", lambda snippet, cited: snippet) for module in ("facts", "local")
    ),
    "facts: divisions": (("facts", "keep_cited_division", lambda court, pool: pool),),
    "facts: identifiers before the ECLI": (("scoring.candidates", "is_old_id", lambda text: False),),
    "courts: typing errors": (("belgium.courts", "suggest_spellings", lambda text, places_only: ()),),
    "numbers: letters for digits": (("belgium.case_numbers", "_has_mistyped_digits", lambda *parts, share=2: False),),
}
CACHING = ("belgium.courts", "belgium.case_numbers", "scoring.candidates", "reasoning.cues", "reasoning.court_names")
ROUGHLY = 5  # points by which an expected range may differ


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DATA_FOLDER")
    parser.add_argument("--cases", type=Path, nargs="+", default=[])
    parser.add_argument("--wordings", type=Path)
    given = parser.parse_args()
    sets = read_sets(given.folder, given.cases, given.wordings)
    judge = CitationJudge()
    before = {name: [verdict(judge, case) for case, _ in cases] for name, cases in sets.items()}
    print(f"| {'switched off':40} |" + "".join(f" {name} ({len(cases):,}) |" for name, cases in sets.items()))
    print("|---" * (len(sets) + 1) + "|")
    print_row("(nothing: as expected)", sets, before, before)
    for family, patches in FAMILIES.items():
        with switched_off(patches):
            print_row(family, sets, {name: [verdict(judge, case) for case, _ in sets[name]] for name in sets}, before)
    return 0


def read_sets(folder: Path, files: list[Path], wordings: Path | None) -> Sets:
    sets: Sets = {}
    for file in files:
        found = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
        sets[file.stem] = [(row["case"], row["expected"]) for row in found]
    if wordings is not None:
        sets["kept aside"] = list(read_wordings(wordings))
    by_date: dict[str, list[Row]] = defaultdict(list)
    for item in rows(folder, "cass_index"):
        by_date[item["date"]].append(item)
    sets["real citations"] = [(case_of(row, by_date[row["cited_date"]]), {}) for row in rows(folder, "cass_citations")]
    return sets


def read_wordings(file: Path) -> Iterator[tuple[Row, Row]]:
    for wording in tomllib.loads(file.read_text("utf-8"))["set"]:
        for key, expected in (("commits_aside", "errors_has"), ("innocent_aside", "errors_not")):
            for text in wording[key]:
                record = wording["record"].replace('"{reasoning}"', json.dumps(text))
                yield json.loads(record), {expected: [wording["error"]]}


def verdict(judge: CitationJudge, record: Row) -> Row:
    try:
        case = judge.read(record)
        facts = judge.study(case)
        labels = judge.label_locally([(case, facts)])[0] if judge.leaves_open(case, facts) else None
        rulings = judge.settle(case, facts, labels).rulings
    except (CannotJudge, ValueError) as refusal:
        return {"refused": str(refusal)}
    found = {name: ruling.value for name, ruling in rulings.items()}
    found["roll_up"] = judge.roll_up(found, {name: ruling.rule for name, ruling in rulings.items()})
    return {name: value for name, value in found.items() if name not in ("evaluation_notes", "improvement_suggestions")}


def holds(expected: Mapping[str, Any], found: Row) -> bool:
    return "refused" not in found and all(field_holds(name, wanted, found) for name, wanted in expected.items())


def field_holds(name: str, wanted: Any, found: Row) -> bool:
    if name == "errors_has":
        return set(wanted) <= set(found["errors"])
    if name == "errors_not":
        return not set(wanted) & set(found["errors"])
    if name == "errors":
        return set(wanted) == set(found["errors"])
    if name == "expected_confidence_range":
        return all(abs(one - other) <= ROUGHLY for one, other in zip(found[name], wanted, strict=True))
    if name == "applicable_ceiling":
        return (wanted is None) is (found[name] is None) and str(wanted or "") in str(found[name])
    if name == "reasoning_quality" and isinstance(wanted, list):
        return bool(wanted[0] <= found[name] <= wanted[-1])
    if name == "improvement_suggestions":
        return True
    return found[name] in wanted if isinstance(wanted, list) else bool(found[name] == wanted)


def print_row(label: str, sets: Sets, found: dict[str, list[Row]], before: dict[str, list[Row]]) -> None:
    cells = []
    for name, cases in sets.items():
        changed = sum(one != other for one, other in zip(found[name], before[name], strict=True))
        right = sum(holds(expected, one) for (_, expected), one in zip(cases, found[name], strict=True))
        cells.append(
            f" {changed:,} changed" + (f", {right} right |" if any(expected for _, expected in cases) else " |")
        )
    print(f"| {label:40} |" + "".join(cells), flush=True)


@contextmanager
def switched_off(patches: tuple[tuple[str, str, Any], ...]) -> Iterator[None]:
    with ExitStack() as stack:
        for place, name, instead in patches:
            module, _, part = place.partition(":")
            target = importlib.import_module(f"{HOME}.{module}")
            stack.enter_context(patch.object(getattr(target, part) if part else target, name, instead))
        clear_caches()
        yield
    clear_caches()


def clear_caches() -> None:
    for name in CACHING:
        for item in vars(importlib.import_module(f"{HOME}.{name}")).values():
            if hasattr(item, "cache_clear"):
                item.cache_clear()


if __name__ == "__main__":
    sys.exit(main())
