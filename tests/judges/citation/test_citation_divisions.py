"""Divisions of one court: they tell its decisions apart, and are no other jurisdiction."""

from __future__ import annotations

from typing import Any

import pytest

from citation_cases import candidate, citation, findings, match, settle, verdict

ID = "ECLI:BE:CTLIE:2018:ARR.20180315.{}"
COURTS = {
    "liege": "Cour du travail de Liège, division Liège",
    "namur": "Arbeidshof te Luik, afdeling Namen",
    "none": "Cour du travail de Liège",
    "neufchateau": "Cour trav. Liège, sect. Neufchâteau, 11e ch.",
}
REASON = "The labour court of Liège is the cited court. No number is cited (maximum 90 %)."


def record(cited: str, divisions: list[str], chosen: int | None, number: str | None = None, **more: Any) -> Any:
    listed = [candidate(ID.format(place), COURTS[name]) for place, name in enumerate(divisions, 1)]
    matches = [match(ID.format(chosen), 0.85, REASON)] if chosen else []
    return citation(cited, number, candidates=listed, matches=matches, **more)


@pytest.mark.parametrize("cited", ["C. trav. Liège, div. Namur", "Arbeidshof Luik (afd. Namen)", "C. trav. Namur"])
def test_the_cited_division_decides_between_decisions_of_the_court(cited: str) -> None:
    right = verdict(record(cited, ["liege", "namur"], 2))
    assert (right.match_correctness, right.correct_decision_id) == ("CORRECT", ID.format(2))
    assert right.applicable_ceiling == "No case number in citation: max 90%"
    assert "division" in right.evaluation_notes
    wrong = verdict(record(cited, ["liege", "namur"], 1))
    assert (wrong.match_correctness, wrong.correct_decision_id) == ("INCORRECT", ID.format(2))
    assert wrong.court_alignment_handling == "CORRECT_ALIGNMENT"
    assert "division" in (wrong.improvement_suggestions or "")
    assert verdict(record(cited, ["liege", "namur"], None)).match_correctness == "FALSE_NEGATIVE"


def test_a_decision_without_a_division_stays_possible() -> None:
    both = settle(record("C. trav. Liège, div. Namur", ["none", "namur", "liege"], 1))
    assert both.rulings["correct_decision_id"].rule == "CIT-T11"
    assert both.rulings["match_correctness"].value == "CORRECT"
    left = verdict(record("C. trav. Liège, div. Namur", ["none", "liege"], 2))
    assert (left.match_correctness, left.correct_decision_id) == ("INCORRECT", ID.format(1))


def test_another_division_alone_is_still_the_cited_court() -> None:
    only = record("C. trav. Liège, div. Namur", ["liege"], 1)
    assert verdict(only).match_correctness == "CORRECT"
    assert "CIT-F21" in findings(only)
    several = settle(record("C. trav. Liège, div. Namur", ["liege", "neufchateau"], 1))
    assert several.rulings["correct_decision_id"].rule == "CIT-T11"


def test_without_a_cited_division_nothing_is_left_out() -> None:
    open_case = settle(record("C. trav. Liège", ["liege", "namur"], 1))
    assert open_case.rulings["correct_decision_id"].rule == "CIT-T11"


def test_an_identifier_outranks_the_division() -> None:
    numbered = record("C. trav. Liège, div. Namur", ["liege", "namur"], 1, "2017/AL/5")
    numbered["candidates"][0]["rol_number"] = "2017/AL/5"
    assert verdict(numbered).correct_decision_id == ID.format(1)
    by_ecli = record("C. trav. Liège, div. Namur", ["liege", "namur"], 1, cited_ecli=ID.format(1))
    assert verdict(by_ecli).match_correctness == "CORRECT"


def test_the_division_decides_between_two_that_carry_the_number() -> None:
    both = record("C. trav. Liège, div. Namur", ["liege", "namur"], 1, "2017/AL/5")
    for listed in both["candidates"]:
        listed["rol_number"] = "2017/AL/5"
    assert verdict(both).correct_decision_id == ID.format(2)


def test_the_word_division_costs_nothing() -> None:
    """ "Division" begins like the French for "divided", and was read as confidence that was taken off."""
    given = record("C. trav. Liège", ["liege", "namur"], 1, ground_truth=ID.format(2))
    given["matches"][0]["reasoning"] = "Court: labour court of Liège, division Namur."
    assert verdict(given).court_alignment_handling == "CORRECT_ALIGNMENT"
