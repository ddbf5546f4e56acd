"""When the court was handled wrongly, and which of the faults it was: at the edges of each."""

from __future__ import annotations

from typing import Any

import pytest

from citation_cases import CASSATION, by_hand, candidate, citation, match, settle, settle_with
from krino.judges.citation.labels import CitationLabels

ONE, TWO = CASSATION.format(1), CASSATION.format(2)
GHENT = "ECLI:BE:AHGNT:2018:ARR.20180315.2"
LIEGE = "ECLI:BE:CTLIE:2018:ARR.20180315.1"
APPEAL = "ECLI:BE:CALIE:2018:ARR.20180315.3"
UNREAD = "decision 7"
NAMES = {GHENT: "Arbeidshof Gent", LIEGE: "Cour du travail de Liège", APPEAL: "Cour d'appel de Liège", UNREAD: None}
NUMBER, OTHER_NUMBER = "C.17.0001.F", "C.17.0002.F"
SEAT_BLAMED = "Court of another seat: penalised."
AS_TWO_COURTS = by_hand(no=("languages_as_one",))


def cassation(number: str | None, *carried: str | None, **more: Any) -> dict[str, Any]:
    listed = [candidate(CASSATION.format(n), "Cour de cassation", item) for n, item in enumerate(carried, 1)]
    return citation("Cass.", number, candidates=listed, **more)


def labour(court: str, *listed: str, **more: Any) -> dict[str, Any]:
    return citation(court, candidates=[candidate(name, NAMES[name]) for name in listed], **more)


def handling(
    record: dict[str, Any],
    name: str | None,
    confidence: float,
    labels: CitationLabels,
    reason: str = "Court looked at.",
) -> str:
    answer: dict[str, Any] = {"matches": [match(name, confidence, reason)]} if name else {"no_match_reason": reason}
    found: str = settle_with(record | answer, labels).rulings["court_alignment_handling"].value
    return found


# --- a court that was missed -----------------------------------------------------------------------


def test_a_court_can_only_be_missed_where_it_is_listed() -> None:
    assert handling(labour("C. trav. Gand", APPEAL), None, 0, AS_TWO_COURTS) == "CORRECT_ALIGNMENT"
    assert handling(labour("C. trav. Gand", APPEAL, GHENT), None, 0, AS_TWO_COURTS) == "MISSED_COURT_MATCH"


def test_without_a_match_the_claim_that_it_is_another_court_is_a_miss_whatever_was_meant() -> None:
    """Every number differs, so that no match is right: the ground that was given for it is not."""
    assert handling(cassation(NUMBER, OTHER_NUMBER), None, 0, AS_TWO_COURTS) == "MISSED_COURT_MATCH"
    assert handling(cassation(NUMBER, OTHER_NUMBER), None, 0, by_hand()) == "CORRECT_ALIGNMENT"


@pytest.mark.parametrize(("confidence", "missed"), [(0.94, True), (0.95, False)])
def test_a_right_match_missed_the_court_only_below_what_it_earns(confidence: float, missed: bool) -> None:
    wanted = "MISSED_COURT_MATCH" if missed else "CORRECT_ALIGNMENT"
    assert handling(cassation(NUMBER, NUMBER), ONE, confidence, AS_TWO_COURTS) == wanted


def test_a_wrong_match_missed_the_court_where_the_right_decision_is_of_it() -> None:
    assert handling(cassation(NUMBER, NUMBER, OTHER_NUMBER), TWO, 0.4, AS_TWO_COURTS) == "MISSED_COURT_MATCH"
    assert handling(cassation(NUMBER, OTHER_NUMBER), ONE, 0.4, AS_TWO_COURTS) == "CORRECT_ALIGNMENT"
    given = cassation(None, None) | {"ground_truth": APPEAL}
    given["candidates"].append(candidate(APPEAL, NAMES[APPEAL]))
    assert handling(given, ONE, 0.4, AS_TWO_COURTS) == "CORRECT_ALIGNMENT"


@pytest.mark.parametrize(
    ("court", "listed", "name", "wanted"),
    [
        ("C. trav. Gand", (GHENT,), GHENT, "MISSED_COURT_MATCH"),
        ("C. trav. Gand", (GHENT, UNREAD), GHENT, "MISSED_COURT_MATCH"),
        ("C. trav. Gand", (GHENT, LIEGE), GHENT, "CORRECT_ALIGNMENT"),
        ("C. trav. Gand", (GHENT, LIEGE), None, "MISSED_COURT_MATCH"),
        ("C. trav.", (GHENT,), GHENT, "WRONG_JURISDICTION_OVERPUNISHED"),
        ("C. trav.", (GHENT,), None, "WRONG_JURISDICTION_OVERPUNISHED"),
    ],
)
def test_to_blame_the_seat_of_the_right_court_misses_it_if_a_seat_is_cited_and_punishes_it_if_none_is(
    court: str, listed: tuple[str, ...], name: str | None, wanted: str
) -> None:
    """With a court of another seat beside it, a remark on the seat of a match may be about that one."""
    given = labour(court, *listed, ground_truth=GHENT)
    assert handling(given, name, 0.2, by_hand(), SEAT_BLAMED) == wanted


@pytest.mark.parametrize("court", ["C. trav. Gand", "C. trav."])
def test_no_blame_no_fault(court: str) -> None:
    given = labour(court, GHENT, ground_truth=GHENT)
    assert handling(given, GHENT, 0.2, by_hand()) == "CORRECT_ALIGNMENT"
    assert handling(given, None, 0, by_hand()) == "CORRECT_ALIGNMENT"


@pytest.mark.parametrize("court", ["C. trav. Gand", "C. trav."])
def test_a_match_that_gets_what_it_earns_was_not_punished(court: str) -> None:
    doubted = "Which seat is meant is not clear."
    assert handling(labour(court, GHENT), GHENT, 0.75, by_hand(), doubted) == "CORRECT_ALIGNMENT"
    assert handling(labour(court, GHENT), GHENT, 0.74, by_hand(), doubted) != "CORRECT_ALIGNMENT"


@pytest.mark.parametrize("confidence", [0.3, 0.75, 0.9])
def test_a_stated_penalty_for_an_open_jurisdiction_is_an_error_whatever_the_confidence(confidence: float) -> None:
    wanted = "WRONG_JURISDICTION_OVERPUNISHED"
    assert handling(labour("C. trav.", GHENT), GHENT, confidence, by_hand(), SEAT_BLAMED) == wanted
    assert handling(labour("C. trav. Gand", GHENT), GHENT, 0.75, by_hand(), SEAT_BLAMED) == "CORRECT_ALIGNMENT"


def test_a_generic_citation_was_punished_also_where_the_decision_meant_was_not_kept_in_the_list() -> None:
    """A match was due, and a seat that nobody cited was held against it: which decision is meant does not matter."""
    record = labour("C. trav.", GHENT, ground_truth="ECLI:BE:CTMON:2018:ARR.20180315.9", candidate_count=5)
    assert handling(record, None, 0, by_hand(), SEAT_BLAMED) == "WRONG_JURISDICTION_OVERPUNISHED"


def test_a_national_court_has_no_seat_to_blame() -> None:
    assert handling(cassation(NUMBER, NUMBER), ONE, 0.2, by_hand(), SEAT_BLAMED) == "CORRECT_ALIGNMENT"


def test_no_match_where_none_was_due_punished_nobody() -> None:
    record = labour("C. trav.", GHENT) | {"ground_truth": None, "ground_truth_known": True}
    assert handling(record, None, 0, by_hand(), SEAT_BLAMED) == "CORRECT_ALIGNMENT"


# --- a court that was not looked at ----------------------------------------------------------------

NOT_FIRST = ("court_first",)
NO_GROUND = ("court_first", "number_compared", "context_cited")


@pytest.mark.parametrize(
    ("record", "name", "no", "reason", "skipped"),
    [
        (cassation(NUMBER, NUMBER), ONE, (), "Words.", False),
        (cassation(NUMBER, NUMBER), ONE, NOT_FIRST, "Words.", True),
        (cassation(NUMBER, NUMBER), ONE, ("court_first", "context_cited"), "Words.", True),
        (cassation(NUMBER, NUMBER), ONE, ("court_first", "number_compared"), "Words.", True),
        (cassation(None, None), ONE, ("court_first", "context_cited"), "Words.", False),
        (cassation(NUMBER, NUMBER), ONE, NO_GROUND, "Words.", False),
        (cassation(NUMBER, NUMBER, OTHER_NUMBER), ONE, NO_GROUND, "Words.", True),
        (cassation(NUMBER, NUMBER, OTHER_NUMBER), ONE, NO_GROUND, "The ECLI is identical.", False),
        (cassation(NUMBER, NUMBER, OTHER_NUMBER), ONE, NO_GROUND, "The number.", False),
        (cassation(NUMBER, NUMBER, OTHER_NUMBER), ONE, NO_GROUND, "The court.", False),
        (cassation(NUMBER, NUMBER), ONE, NOT_FIRST, " ", True),
        (cassation(NUMBER, NUMBER), ONE, NO_GROUND, " ", True),
        (cassation(NUMBER, NUMBER), None, NO_GROUND, "Words.", False),
        (citation("Cass."), None, NOT_FIRST, "Words.", False),
        (labour("Kantoor van de heer Janssens", GHENT, LIEGE), GHENT, NOT_FIRST, "Words.", False),
        (labour("C. trav. Mons", LIEGE), LIEGE, NO_GROUND, "Words.", True),
        (labour("C. trav. Mons", APPEAL), APPEAL, NO_GROUND, "Words.", True),
    ],
)
def test_the_court_check_is_skipped_where_an_argument_jumps_it_or_courts_had_to_be_told_apart_in_silence(
    record: dict[str, Any], name: str | None, no: tuple[str, ...], reason: str, skipped: bool
) -> None:
    wanted = "SKIPPED_COURT_CHECK" if skipped else "CORRECT_ALIGNMENT"
    assert handling(record, name, 0.1, by_hand(no=no), reason) == wanted


# --- faults of court and of seat -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("court", "name", "confidence", "wanted"),
    [
        ("C. trav. Mons", APPEAL, 0.20, "CORRECT_ALIGNMENT"),
        ("C. trav. Mons", APPEAL, 0.21, "WRONG_COURT_ACCEPTED"),
        ("C. trav. Mons", LIEGE, 0.55, "CORRECT_ALIGNMENT"),
        ("C. trav. Mons", LIEGE, 0.56, "WRONG_JURISDICTION_UNDERPUNISHED"),
        ("C. trav.", LIEGE, 0.90, "CORRECT_ALIGNMENT"),
        ("C. trav. Liège", LIEGE, 0.90, "CORRECT_ALIGNMENT"),
    ],
)
def test_another_court_is_accepted_above_20_and_another_seat_above_55(
    court: str, name: str, confidence: float, wanted: str
) -> None:
    assert handling(labour(court, name), name, confidence, by_hand()) == wanted


# --- which name was not read -----------------------------------------------------------------------


def named_error(cited: str, listed: str, reason: str, **more: Any) -> list[str]:
    record = citation(cited, candidates=[candidate(GHENT, listed)], no_match_reason=reason, **more)
    found: list[str] = settle_with(record, AS_TWO_COURTS).rulings["errors"].value
    return [error for error in found if error in ("FR_NL_CONFUSION", "ABBREVIATION_MISSED")]


@pytest.mark.parametrize(
    ("cited", "listed", "reason", "error"),
    [
        ("C. trav. Gand", "Arbeidshof Gent", "The Dutch court is another court.", "FR_NL_CONFUSION"),
        ("Cour du travail de Gand", "Arbeidshof Gent", "The abbreviation is unknown.", "ABBREVIATION_MISSED"),
        ("Cour du travail de Gand", "Arbeidshof Gent", "It is unlike the other.", "FR_NL_CONFUSION"),
        ("C. trav. Gand", "Arbh. Gent", "It is unlike the other.", "FR_NL_CONFUSION"),
        ("C. trav. Gand", "Arbeidshof Gent", "It is unlike the other.", "ABBREVIATION_MISSED"),
        ("Cour du travail de Gand", "Arbh. Gent", "It is unlike the other.", "ABBREVIATION_MISSED"),
    ],
)
def test_a_name_is_missed_as_short_or_as_of_the_other_language(
    cited: str, listed: str, reason: str, error: str
) -> None:
    """Its words say which; otherwise a short name beside a full one was not read."""
    assert named_error(cited, listed, reason) == [error]


def test_the_name_that_counts_is_that_of_the_decision_meant_or_of_the_first_of_the_court() -> None:
    full, short = candidate(ONE, "Hof van Cassatie", NUMBER), candidate(TWO, "Cass.", OTHER_NUMBER)
    cases = {NUMBER: "FR_NL_CONFUSION", OTHER_NUMBER: "ABBREVIATION_MISSED", "C.17.0009.F": "FR_NL_CONFUSION"}
    for cited, error in cases.items():
        record = citation("Cour de cassation", cited, candidates=[short, full], no_match_reason="Unlike it.")
        found = settle_with(record, AS_TWO_COURTS).rulings["errors"].value
        assert error in found, cited


def test_a_court_of_another_type_is_not_the_one_whose_name_was_missed() -> None:
    others = [candidate(GHENT, "Arbh. Gent"), candidate(ONE, "Hof van Cassatie", OTHER_NUMBER)]
    record = citation("Cour de cassation", NUMBER, candidates=others, no_match_reason="Unlike it.")
    assert "FR_NL_CONFUSION" in settle_with(record, AS_TWO_COURTS).rulings["errors"].value


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        ("Le tribunal de commerce n'est pas la ondernemingsrechtbank.", "FR_NL_CONFUSION"),
    ],
)
def test_a_court_under_an_old_name_in_the_other_language_is_a_confusion_of_languages(reason: str, error: str) -> None:
    listed = [candidate("ECLI:BE:TELIE:2018:JUG.20180315.1", "Tribunal de l'entreprise de Liège")]
    record = citation("Comm. Liège", candidates=listed, no_match_reason=reason)
    assert settle(record).rulings["errors"].value == [error]
