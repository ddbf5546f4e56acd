"""The confidence that each kind of evidence earns, and where too much and too little begin."""

from __future__ import annotations

from typing import Any

import pytest

from citation_cases import CASSATION, by_hand, candidate, citation, match, settle_with
from krino.judges.citation.labels import CitationLabels

ONE, TWO = CASSATION.format(1), CASSATION.format(2)
LIEGE = "ECLI:BE:CTLIE:2018:ARR.20180315.1"
APPEAL = "ECLI:BE:CALIE:2018:ARR.20180315.3"
LABOUR, APPEALS = "Cour du travail de Liège", "Cour d'appel de Liège"
NUMBER, OTHER_NUMBER, LANGUAGE_LOST = "C.17.0001.F", "C.17.0002.F", "C.17.0001"
SUBJECT = "responsabilité précontractuelle, rupture brutale des négociations"
NOTHING = by_hand()
STRONG = by_hand(1, "strong")


def cassation(number: str | None, *carried: str | None, **more: Any) -> dict[str, Any]:
    """A citation of the Court of Cassation with a candidate for each number; the snippet is about the first."""
    listed = [candidate(CASSATION.format(n), "Cour de cassation", item, SUBJECT) for n, item in enumerate(carried, 1)]
    return citation("Cass.", number, candidates=listed, citation_snippet=SUBJECT, **more)


def beside_another_court(record: dict[str, Any]) -> dict[str, Any]:
    """The same with a decision of another court on that date: the lone candidate is then not the only one."""
    return record | {"candidates": [*record["candidates"], candidate(APPEAL, APPEALS)]}


def labour(court: str, number: str | None, *listed: str, **more: Any) -> dict[str, Any]:
    names = {LIEGE: LABOUR, APPEAL: APPEALS}
    return citation(court, number, candidates=[candidate(name, names[name], "2017/AL/1") for name in listed], **more)


def range_of(record: dict[str, Any], name: str | None, labels: CitationLabels) -> tuple[tuple[int, int], str]:
    answer: dict[str, Any] = {"matches": [match(name, 0.5, "As follows.")]} if name else {"no_match_reason": "None."}
    ruling = settle_with(record | answer, labels).rulings["expected_confidence_range"]
    return ruling.value, ruling.rule


@pytest.mark.parametrize(
    ("record", "labels", "expected"),
    [
        (cassation(None, None, None, cited_ecli=ONE), NOTHING, ((95, 100), "CIT-X1")),
        (cassation(NUMBER, OTHER_NUMBER, cited_ecli=ONE), NOTHING, ((80, 85), "CIT-X1")),
        (cassation(NUMBER, NUMBER, OTHER_NUMBER), NOTHING, ((95, 100), "CIT-X2")),
        (cassation(NUMBER, LANGUAGE_LOST, OTHER_NUMBER), NOTHING, ((90, 95), "CIT-X3")),
        (cassation(NUMBER, NUMBER, cited_ecli=CASSATION.format(7)), NOTHING, ((95, 100), "CIT-X2")),
        (cassation(None, None, None), STRONG, ((80, 90), "CIT-X4")),
        (cassation(None, None, None), by_hand(1, "moderate"), ((80, 90), "CIT-X4")),
        (cassation(None, None), STRONG, ((80, 90), "CIT-X4")),
        (cassation(None, None), by_hand(1, "weak"), ((75, 90), "CIT-X5")),
        (cassation(None, None), NOTHING, ((75, 90), "CIT-X5")),
        (cassation(NUMBER, None, None), STRONG, ((70, 85), "CIT-X7")),
        (cassation(NUMBER, OTHER_NUMBER, OTHER_NUMBER), STRONG, ((70, 85), "CIT-X7")),
        (beside_another_court(cassation(NUMBER, None)), NOTHING, ((50, 85), "CIT-X8")),
        (beside_another_court(cassation(NUMBER, None, snippet_match_type="COURT_ONLY")), NOTHING, ((50, 85), "CIT-X8")),
        (cassation(NUMBER, None, None), NOTHING, ((40, 60), "CIT-X9")),
        (cassation(None, None, None), NOTHING, ((40, 60), "CIT-X9")),
        (cassation(None, None, None), by_hand(1, "weak"), ((40, 60), "CIT-X9")),
        (cassation(None, None, None, snippet_match_type="COURT_ONLY"), NOTHING, ((30, 50), "CIT-X10")),
        (cassation(NUMBER, OTHER_NUMBER), NOTHING, ((0, 50), "CIT-X15")),
    ],
)
def test_what_the_evidence_for_a_match_earns(
    record: dict[str, Any], labels: CitationLabels, expected: tuple[tuple[int, int], str]
) -> None:
    assert range_of(record, ONE, labels) == expected


def test_a_fast_path_with_one_decision_left_and_no_number_cited_is_no_unconfirmed_number() -> None:
    record = citation("Cass.", candidate_count=5, candidates=[candidate(ONE, "Cass.")])
    assert range_of(record, ONE, NOTHING) == ((40, 60), "CIT-X9")


def test_a_match_of_another_court_earns_what_its_court_allows_whatever_is_meant() -> None:
    assert range_of(labour("C. trav. Mons", "2017/AL/1", LIEGE), LIEGE, NOTHING) == ((40, 55), "CIT-X11")
    assert range_of(labour("C. trav. Mons", "2017/AL/1", APPEAL), APPEAL, NOTHING) == ((0, 15), "CIT-X12")
    given = labour("C. trav. Mons", "2017/AL/1", APPEAL, ground_truth=APPEAL)
    assert range_of(given, APPEAL, NOTHING) == ((0, 15), "CIT-X12")


def test_a_given_truth_must_still_earn_its_confidence() -> None:
    one = citation("Cass.", candidates=[candidate(ONE, "Cass.")], ground_truth=ONE)
    assert range_of(one, ONE, NOTHING) == ((75, 90), "CIT-X5")
    two = citation("Cass.", candidates=[candidate(ONE, "Cass."), candidate(TWO, "Cass.")], ground_truth=ONE)
    assert range_of(two, ONE, NOTHING) == ((40, 60), "CIT-X9")


@pytest.mark.parametrize(
    ("record", "labels", "expected"),
    [
        (citation("Cass."), NOTHING, ((0, 15), "CIT-X14")),
        (labour("C. trav. Mons", None, APPEAL), NOTHING, ((0, 15), "CIT-X12")),
        (labour("C. trav. Mons", None, LIEGE), NOTHING, ((0, 55), "CIT-X13")),
        (labour("C. trav. Mons", None, LIEGE, APPEAL), NOTHING, ((0, 55), "CIT-X13")),
        (cassation(NUMBER, OTHER_NUMBER), NOTHING, ((0, 50), "CIT-X15")),
        (cassation(None, None, None), NOTHING, ((40, 60), "CIT-X9")),
        (cassation(NUMBER, NUMBER), NOTHING, ((95, 100), "CIT-X2")),
        (labour("Cour du travail", "2017/AL/1", LIEGE), NOTHING, ((90, 95), "CIT-X2")),
        (labour("C. trav. Liège", "2017/AL/1", LIEGE), NOTHING, ((95, 100), "CIT-X2")),
        (cassation(None, None), NOTHING, ((75, 95), "CIT-X6")),
        (cassation(None, None, None), STRONG, ((75, 95), "CIT-X6")),
        (labour("C. trav. Mons", None, APPEAL, ground_truth=APPEAL), NOTHING, ((0, 15), "CIT-X12")),
        (labour("C. trav. Mons", None, LIEGE, ground_truth=LIEGE), NOTHING, ((40, 55), "CIT-X11")),
        (cassation(None, None, ground_truth=CASSATION.format(9), candidate_count=5), NOTHING, ((75, 95), "CIT-X6")),
    ],
)
def test_without_a_match_the_range_is_what_would_have_been_right(
    record: dict[str, Any], labels: CitationLabels, expected: tuple[tuple[int, int], str]
) -> None:
    assert range_of(record, None, labels) == expected


# --- too much and too little -----------------------------------------------------------------------


def calibrated(record: dict[str, Any], name: str, confidence: float, labels: CitationLabels) -> tuple[str, str]:
    ruling = settle_with(record | {"matches": [match(name, confidence, "As follows.")]}, labels).rulings[
        "confidence_calibration"
    ]
    return ruling.value, ruling.rule


@pytest.mark.parametrize(
    ("record", "labels", "low", "high"),
    [
        (cassation(NUMBER, NUMBER), NOTHING, 95, 100),
        (cassation(NUMBER, LANGUAGE_LOST), NOTHING, 90, 95),
        (cassation(None, None, None), STRONG, 80, 90),
        (cassation(None, None), NOTHING, 75, 90),
        (cassation(None, None, None), NOTHING, 40, 60),
    ],
)
def test_a_right_match_is_well_calibrated_from_the_first_to_the_last_point_of_its_range(
    record: dict[str, Any], labels: CitationLabels, low: int, high: int
) -> None:
    well, under, over = ("WELL_CALIBRATED", "CIT-B1"), ("UNDERCONFIDENT", "CIT-B3"), ("OVERCONFIDENT", "CIT-B2")
    points = [low - 1, low, high, high + 1]
    found = [calibrated(record, ONE, point / 100, labels) for point in points if point <= 100]
    assert found == [under, well, well, over][: len(found)]


def test_a_wrong_match_cannot_be_too_unsure() -> None:
    record = cassation(NUMBER, NUMBER, OTHER_NUMBER)
    assert calibrated(record, TWO, 0.0, NOTHING) == ("WELL_CALIBRATED", "CIT-B1")
    assert calibrated(record, TWO, 0.5, NOTHING) == ("WELL_CALIBRATED", "CIT-B1")
    assert calibrated(record, TWO, 0.51, NOTHING) == ("OVERCONFIDENT", "CIT-B2")


def test_no_match_is_too_unsure_where_one_was_due_and_right_where_none_was() -> None:
    def silent(record: dict[str, Any]) -> tuple[str, str]:
        found = settle_with(record | {"no_match_reason": "None."}, NOTHING).rulings["confidence_calibration"]
        return found.value, found.rule

    assert silent(cassation(NUMBER, NUMBER)) == ("UNDERCONFIDENT", "CIT-B4")
    assert silent(cassation(NUMBER, OTHER_NUMBER)) == ("WELL_CALIBRATED", "CIT-B5")


def test_confidence_withheld_for_a_wrong_reason_about_the_court_is_held_against_a_wider_range() -> None:
    """The fourth and fifth examples of the rubric; evidence by number keeps its own range."""
    blames = by_hand(no=("languages_as_one",))
    answer = [match(ONE, 0.5, "The Dutch name is that of another court.")]
    by_context = settle_with(cassation(None, None) | {"matches": answer}, blames).rulings
    assert by_context["court_alignment_handling"].value == "MISSED_COURT_MATCH"
    assert by_context["expected_confidence_range"].value == (75, 90)
    assert by_context["expected_confidence_range"].rule == "CIT-X6"
    by_number = settle_with(cassation(NUMBER, NUMBER) | {"matches": answer}, blames).rulings
    assert by_number["court_alignment_handling"].value == "MISSED_COURT_MATCH"
    assert by_number["expected_confidence_range"].value == (95, 100)
