"""Rolls verdicts up for reports: pass, review or fail, and the columns by which teams count them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal

from krino.contract import Judgement
from krino.judges.citation.case import CitationCase
from krino.judges.citation.case_numbers import parse_case_numbers
from krino.judges.citation.cited import Cited, read_cited
from krino.judges.citation.courts import Court, Other
from krino.judges.citation.truth import RULES
from krino.judges.citation.verdict import RIGHT

RollUp = Literal["pass", "review", "fail"]
COLUMNS = ("court", "place", "language", "classification", "match_type", "answer")
_LETTERS: dict[str | None, str] = {"F": "fr", "N": "nl"}


def roll_up(judgement: Judgement) -> RollUp | None:
    """Fail: a wrong answer. Review: nothing decides, or a right answer with a fault. None: there is no verdict."""
    verdict = judgement.verdict
    if judgement.status != "ok" or verdict is None:
        return None
    if judgement.rules.get("correct_decision_id") == RULES["nothing"]:
        undecided_right = verdict["match_correctness"] in RIGHT
        return "review" if undecided_right else "fail"
    if verdict["match_correctness"] == "PARTIALLY_CORRECT":
        return "review"
    if verdict["match_correctness"] not in RIGHT:
        return "fail"
    return "pass" if verdict["improvement_suggestions"] is None else "review"


def count_roll_ups(judgements: Iterable[Judgement]) -> dict[str, dict[str, dict[str, int]]]:
    """For each column, and for `all`, how many of each value pass, are for review, fail or have no verdict."""
    counts: dict[str, dict[str, Counter[str]]] = {"all": {}, **{column: {} for column in COLUMNS}}
    for judgement in judgements:
        result = roll_up(judgement) or "no verdict"
        for column, values in counts.items():
            value = "all" if column == "all" else str(judgement.metadata.get(column) or "none")
            values.setdefault(value, Counter())[result] += 1
    return {column: {value: dict(found) for value, found in values.items()} for column, values in counts.items()}


def slice_columns(case: CitationCase) -> dict[str, Any]:
    cited = read_cited(case)
    court = cited.court
    return {
        "court": court.type if isinstance(court, Court) else "other" if isinstance(court, Other) else "unknown",
        "place": court.place if isinstance(court, Court) else None,
        "language": _language(cited),
        "classification": cited.classification,
        "match_type": case.snippet_match_type,
        "answer": "match" if case.matches else "no_match",
    }


def _language(cited: Cited) -> str | None:
    """The language of the citation: of the court's name, else the letter in the case number."""
    if isinstance(cited.court, Court) and cited.court.name_language:
        return cited.court.name_language
    letters = (item.language for item in parse_case_numbers(cited.number))
    return next((_LETTERS[letter] for letter in letters if letter in _LETTERS), None)
