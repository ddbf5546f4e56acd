"""Summarises a case and its verdict: one word with a reason, columns for slices, and the main inputs in short."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from krino.contract import RollUp, Ruling
from krino.judges.citation import table
from krino.judges.citation.belgium.case_numbers import parse_case_numbers
from krino.judges.citation.belgium.courts import Court, Other, Unknown
from krino.judges.citation.case import CitationCase
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.record.reader import CITED
from krino.judges.citation.scoring.candidates import Cited, read_cited
from krino.judges.citation.scoring.truth import RULES
from krino.judges.citation.verdict import GOOD_REASONING, RIGHT

_SIGNALS = {rule: signal for signal, rule in RULES.items()}
UNREAD_COURT = "CIT-K5"
_CLEAN = {"court_alignment_handling": "CORRECT_ALIGNMENT", "confidence_calibration": "WELL_CALIBRATED"}
_LONGEST_NAME = 80
_LANGUAGE_LETTERS: dict[str | None, str] = {"F": "fr", "N": "nl"}


def roll_up(verdict: Mapping[str, Any], rules: Mapping[str, str]) -> RollUp:
    """Returns the verdict in one word. Fail: a wrong answer.

    Review: nothing decides, the court is not recognised, or a right answer has a fault.
    """
    return roll_up_with_reason(verdict, rules)[0]


def roll_up_with_reason(verdict: Mapping[str, Any], rules: Mapping[str, str]) -> tuple[RollUp, str]:
    """Returns pass, review or fail, and why."""
    correctness = verdict["match_correctness"]
    right = correctness in RIGHT
    if not right and correctness != "PARTIALLY_CORRECT":
        return "fail", f"the answer is wrong ({correctness})"
    if rules.get("cited_court_classification") == UNREAD_COURT:
        return "review", "the cited court is not recognised"
    if rules.get("correct_decision_id") == RULES["nothing"]:
        return ("review", "nothing decides which decision is meant") if right else ("fail", "the answer is wrong")
    if not right:
        return "review", "the decision meant is among the matches but not first"
    odd_code = rules.get("court_alignment_handling") == "CIT-A7"
    if verdict["improvement_suggestions"] is None and verdict["errors"] == ["NONE"] and not odd_code:
        return "pass", "nothing is wrong"
    faults = [f"error {error}" for error in verdict["errors"] if error != "NONE"]
    faults += [str(verdict[name]) for name, good in _CLEAN.items() if verdict.get(name, good) != good]
    if (quality := verdict.get("reasoning_quality", GOOD_REASONING)) < GOOD_REASONING:
        faults.append(f"reasoning quality {quality} of 5")
    if odd_code:
        faults.append("the code in the match's ECLI names another court")
    return "review", f"the answer is right, but: {', '.join(faults)}"


def slice_columns(case: CitationCase) -> dict[str, Any]:
    """Returns the columns by which results can be sliced."""
    cited = read_cited(case)
    court = cited.court
    return {
        "court": court.type if isinstance(court, Court) else "other" if isinstance(court, Other) else "unknown",
        "place": court.place if isinstance(court, Court) else None,
        "language": _language_of(cited),
        "unread_court": court.text[:_LONGEST_NAME] or None if isinstance(court, Unknown) else None,
        "classification": cited.classification,
        "match_type": case.snippet_match_type,
        "answer": "match" if case.matches else "no_match",
    }


def answer_columns(case: CitationCase, facts: CitationFacts, rulings: Mapping[str, Ruling]) -> dict[str, Any]:
    """Returns the columns of an answer: what was cited, and the matcher's choice.

    With it its confidence in percent, and by how many points that is above the ceiling.
    """
    top = facts.answer.top
    percent, cap = top.percent if top else None, _load_caps().get(rulings["applicable_ceiling"].rule)
    return {
        "decided_by": _SIGNALS.get(rulings["correct_decision_id"].rule),
        "matched": top.candidate.id if top else None,
        "confidence": percent,
        "over_ceiling": None if percent is None or cap is None else max(percent - cap, 0.0),
        **{name: value[:_LONGEST_NAME] if (value := getattr(case, name)) else None for name in CITED},
    }


@cache
def _load_caps() -> dict[str, int]:
    """The ceiling in percent of each rule that sets one."""
    return {row["rule"]: row["cap"] for row in table("ceilings").values()}


def _language_of(cited: Cited) -> str | None:
    """Returns the language of the citation, or None: by the court's name, else by the letter in the case number."""
    if isinstance(cited.court, Court) and cited.court.name_language:
        return cited.court.name_language
    letters = (item.language for item in parse_case_numbers(cited.number))
    return next((_LANGUAGE_LETTERS[letter] for letter in letters if letter in _LANGUAGE_LETTERS), None)


def main_inputs(case: CitationCase) -> dict[str, str]:
    """The citation as written, and the matcher's answer in short."""
    written = case.model_dump(include={*CITED, "citation_snippet"})
    return {"citation": as_written(written), "matched": _summarise_match(case)}


def as_written(fields: Mapping[str, Any]) -> str:
    """Returns the parts of the citation, joined; the snippet if it has none."""
    parts = [value for name in CITED if isinstance(value := fields.get(name), str) and value.strip()]
    snippet = fields.get("citation_snippet")
    return ", ".join(parts) or (snippet if isinstance(snippet, str) else "")


def _summarise_match(case: CitationCase) -> str:
    """Returns the first match in a few words."""
    if not case.matches:
        return "no match"
    top, more = case.matches[0], len(case.matches) - 1
    named = ", ".join(part for part in (top.decision_id or "a decision without id", top.court_name) if part)
    return f"{named} (and {more} more)" if more else named
