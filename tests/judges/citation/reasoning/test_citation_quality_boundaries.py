"""What each step that a matcher's reasoning leaves out costs, and what no reasoning can be worth more than."""

from __future__ import annotations

import re
from typing import Any

import pytest

from citation_cases import CASSATION, by_hand, candidate, citation, match, settle, settle_with
from krino.judges.citation import table
from krino.judges.citation.labels import CitationLabels

ONE, TWO = CASSATION.format(1), CASSATION.format(2)
GHENT = "ECLI:BE:AHGNT:2018:ARR.20180315.2"
APPEAL = "ECLI:BE:CALIE:2018:ARR.20180315.3"
NUMBER, OTHER_NUMBER = "C.17.0001.F", "C.17.0002.F"
SUBJECT = "responsabilité précontractuelle, rupture brutale des négociations"
WHY_THIS_ONE = ("context_cited", "others_rejected")


def cassation(number: str | None, *carried: str | None, **more: Any) -> dict[str, Any]:
    listed = [candidate(CASSATION.format(n), "Cour de cassation", item) for n, item in enumerate(carried, 1)]
    return citation("Cass.", number, candidates=listed, **more)


SOUND = "This is what the Cour de cassation says, and it is limited to that."
"""Says something, names evidence and a limit: whatever else costs a point is the labels' word."""


def marked(
    record: dict[str, Any], name: str | None, confidence: float, labels: CitationLabels, reason: str = "As follows."
) -> tuple[int, tuple[str, ...]]:
    """The mark, and what it was lowered for, of a reasoning that makes sense unless it is blank."""
    reason = f"{reason} {SOUND}" if reason.strip() else reason
    answer: dict[str, Any] = {"matches": [match(name, confidence, reason)]} if name else {"no_match_reason": reason}
    ruling = settle_with(record | answer, labels).rulings["reasoning_quality"]
    return ruling.value, ruling.evidence[6:]


def test_a_complete_reasoning_is_worth_five_and_a_blank_one_one() -> None:
    record = cassation(NUMBER, NUMBER, OTHER_NUMBER)
    assert marked(record, ONE, 0.97, by_hand()) == (5, ())
    assert marked(record, ONE, 0.97, by_hand(), " ") == (1, ("no reasoning is given",))


# --- the court -------------------------------------------------------------------------------------


def test_a_court_check_that_was_jumped_leaves_two_and_one_not_needed_for_the_choice_costs_one() -> None:
    """The rubric calls a reasoning poor that is in the wrong order or does not address the court."""
    record = cassation(NUMBER, NUMBER, OTHER_NUMBER)
    late = ("the court does not come first",)
    assert marked(record, ONE, 0.97, by_hand(no=("court_first",))) == (2, late)
    by_ecli = cassation(None, None, None, cited_ecli=ONE)
    labels = by_hand(no=("court_first", "number_compared", *WHY_THIS_ONE))
    assert marked(by_ecli, ONE, 0.97, labels, "The ECLI is identical.") == (4, late)


def test_without_candidates_there_is_no_court_to_look_at() -> None:
    assert marked(citation("Cass."), None, 0.0, by_hand(no=("court_first",))) == (5, ())


# --- the number ------------------------------------------------------------------------------------


def test_a_cited_number_must_be_compared_where_a_candidate_is_in_play() -> None:
    labels = by_hand(no=("number_compared",))
    assert marked(cassation(NUMBER, NUMBER, OTHER_NUMBER), ONE, 0.97, labels) == (
        4,
        ("the cited number is not compared",),
    )
    nobody = citation("Cass.", NUMBER, candidates=[candidate(APPEAL, "Cour d'appel de Liège", NUMBER)])
    assert marked(nobody, None, 0.0, labels) == (5, ())


@pytest.mark.parametrize(
    ("record", "confidence", "lacks"),
    [
        (cassation(None, None), 0.85, ("a missing number is taken for a mismatched one",)),
        (cassation(NUMBER, None, cited_ecli=ONE), 0.97, ("a missing number is taken for a mismatched one",)),
        (cassation(NUMBER, NUMBER), 0.97, ()),
    ],
)
def test_a_missing_number_must_be_told_from_another_one_unless_the_number_is_there(
    record: dict[str, Any], confidence: float, lacks: tuple[str, ...]
) -> None:
    labels = by_hand(no=("missing_told_apart",))
    assert marked(record, ONE, confidence, labels) == (5 - len(lacks), lacks)


def test_a_number_that_was_not_compared_is_not_counted_against_it_twice() -> None:
    labels = by_hand(no=("number_compared", "missing_told_apart"))
    record = cassation(NUMBER, None, cited_ecli=ONE)
    assert marked(record, ONE, 0.97, labels) == (4, ("the cited number is not compared",))


# --- why this candidate ----------------------------------------------------------------------------

UNSAID = ("nothing says why this candidate and not another",)


@pytest.mark.parametrize(
    ("number", "no", "reason", "lacks"),
    [
        (NUMBER, WHY_THIS_ONE, "As follows.", ()),
        (None, WHY_THIS_ONE, "As follows.", UNSAID),
        (None, ("context_cited",), "As follows.", ()),
        (None, ("others_rejected",), "As follows.", ()),
        (None, WHY_THIS_ONE, "The ECLI is identical.", ()),
    ],
)
def test_one_good_ground_says_why_this_candidate_and_not_another(
    number: str | None, no: tuple[str, ...], reason: str, lacks: tuple[str, ...]
) -> None:
    """A number that was compared is a ground only where one is cited."""
    record = cassation(number, NUMBER, OTHER_NUMBER, cited_ecli=ONE)
    assert marked(record, ONE, 0.97, by_hand(no=no), reason) == (5 - len(lacks), lacks)


def test_with_one_candidate_in_play_there_is_no_other_to_tell_it_from() -> None:
    labels = by_hand(no=WHY_THIS_ONE)
    assert marked(cassation(None, None), ONE, 0.85, labels) == (5, ())
    assert marked(cassation(None, None, None), ONE, 0.5, labels) == (4, UNSAID)


def test_where_the_context_decides_the_context_must_be_cited() -> None:
    listed = [candidate(ONE, "Cass.", None, SUBJECT), candidate(TWO, "Cass.", None, "bail commercial")]
    record = citation("Cass.", candidates=listed, citation_snippet=SUBJECT)
    assert marked(record, ONE, 0.85, by_hand(1, "strong", no=("context_cited",))) == (4, UNSAID)
    assert marked(record, ONE, 0.85, by_hand(1, "strong", no=("others_rejected",))) == (5, ())


# --- what no reasoning can be worth more than ------------------------------------------------------


def test_a_wrong_answer_alone_takes_nothing_off_its_reasoning() -> None:
    """The rubric marks order, evidence and limits; whether the answer is right is another field."""
    record = cassation(NUMBER, NUMBER, OTHER_NUMBER)
    assert marked(record, TWO, 0.4, by_hand()) == (5, ())
    worth_three = by_hand(no=("number_compared", *WHY_THIS_ONE))
    assert marked(record, TWO, 0.4, worth_three) == (3, ("the cited number is not compared", *UNSAID))


@pytest.mark.parametrize(
    ("record", "name", "reason", "no", "error", "mark"),
    [
        (
            citation("C. trav. Gand", candidates=[candidate(GHENT, "Arbeidshof Gent")]),
            None,
            "The Dutch court is another one.",
            ("languages_as_one",),
            "FR_NL_CONFUSION",
            1,
        ),
        (
            citation("C. trav. Gand", candidates=[candidate(GHENT, "Arbeidshof Gent")]),
            None,
            "The abbreviation is not known.",
            ("languages_as_one",),
            "ABBREVIATION_MISSED",
            2,
        ),
        (
            cassation(NUMBER, NUMBER, OTHER_NUMBER),
            TWO,
            "Court aligned. Exact case number match.",
            (),
            "CASE_NUMBER_FALSE_MATCH",
            2,
        ),
        (
            citation("Cass.", candidates=[candidate(APPEAL, "Cour d'appel de Liège")]),
            APPEAL,
            "As follows.",
            (),
            "COURT_TYPE_MISMATCH_IGNORED",
            2,
        ),
    ],
)
def test_an_error_of_principle_caps_the_mark(
    record: dict[str, Any], name: str | None, reason: str, no: tuple[str, ...], error: str, mark: int
) -> None:
    found, lacks = marked(record, name, 0.4, by_hand(no=no), reason)
    assert found == mark
    assert f"it {table('suggestions')['did'][error]}" in lacks


@pytest.mark.parametrize(("confidence", "lacks"), [(0.90, ()), (0.91, ("it went above the ceiling of the case",))])
def test_a_broken_ceiling_costs_a_point(confidence: float, lacks: tuple[str, ...]) -> None:
    assert marked(cassation(None, None), ONE, confidence, by_hand()) == (5 - len(lacks), lacks)


def test_no_mark_is_below_one() -> None:
    no = ("court_first", "number_compared", "missing_told_apart", *WHY_THIS_ONE)
    record = citation("Cass.", NUMBER, candidates=[candidate(APPEAL, "Cour d'appel de Liège")])
    record["candidates"] += cassation(NUMBER, NUMBER, OTHER_NUMBER)["candidates"]
    assert marked(record, APPEAL, 0.9, by_hand(no=no))[0] == 1


@pytest.mark.parametrize(("number", "mark"), [("124/2020", 5), ("125/2020", 3)])
def test_a_judgment_number_that_only_an_ecli_holds_is_not_invented(number: str, mark: int) -> None:
    ids = ["ECLI:BE:GHCC:2020:ARR.123", "ECLI:BE:GHCC:2020:ARR.124"]
    reason = f"The Constitutional Court is NATIONAL. Case number 123/2020 is candidate 1; candidate 2 is {number}."
    listed = [candidate(name, "Cour constitutionnelle") for name in ids]
    record = citation("C. const.", "n° 123/2020", candidates=listed, matches=[match(ids[0], 0.97, reason)])
    assert settle(record).rulings["reasoning_quality"].value == mark


# --- disputed marks --------------------------------------------------------------------------------


def test_a_false_claim_about_the_ecli_is_very_poor() -> None:
    record = cassation(None, None, cited_ecli=CASSATION.format(7))
    mark, lacks = marked(record, ONE, 0.85, by_hand(), "De ECLI komt overeen.")
    assert mark == 1
    assert "it says that the ECLI agrees, which it does not" in lacks
    part = marked(record, ONE, 0.85, by_hand(), "The court code in the ECLI matches.")
    assert part[0] > 1


def test_that_no_candidate_carries_the_number_contradicts_no_match() -> None:
    record = cassation(NUMBER, OTHER_NUMBER)
    nobody = "The number is not carried by any candidate."
    assert marked(record, ONE, 0.92, by_hand(1, "none"), nobody)[0] == 4
    assert marked(record, ONE, 0.92, by_hand(1, "none"), "Its number is another one.")[0] == 1


@pytest.mark.parametrize(
    "name", ["Rechtscollege", "Gerecht", "Rechtbank", "Hof", "Juridiction", "Cour", "Gericht", "Court"]
)
def test_a_label_for_the_court_opens_a_sentence_about_it(name: str) -> None:
    reason = f"{name}: Gent. 2017/AG/5 = 2017/AG/5."
    listed = [candidate(GHENT, "Arbeidshof Gent", "2017/AG/5")]
    record = citation("Arbeidshof Gent", "2017/AG/5", candidates=listed, matches=[match(GHENT, 0.97, reason)])
    assert settle(record).rulings["court_alignment_handling"].value == "CORRECT_ALIGNMENT"


@pytest.mark.parametrize(
    ("reason", "ignored"), [("The labour court fits.", True), ("The ECLI is of Mons, not of Liège.", False)]
)
@pytest.mark.parametrize("chosen", ["ECLI:BE:CTMON:2018:ARR.20180315.1", "ECLI:BE:CTLIE:2018:ARR.20180315.2", "dec-9"])
def test_a_citation_whose_ecli_is_of_another_court_must_be_remarked(chosen: str, reason: str, ignored: bool) -> None:
    mons = "ECLI:BE:CTMON:2018:ARR.20180315.1"
    listed = [candidate(chosen, "Cour du travail de Mons" if chosen == mons else "Cour du travail de Liège")]
    found = settle(citation("C. trav. Liège", candidates=listed, cited_ecli=mons, matches=[match(chosen, 0.5, reason)]))
    assert ("ECLI_MISMATCH_IGNORED" in found.rulings["errors"].value) == ignored
    assert "CIT-F3" in {finding.rule for finding in found.findings}


BRACKETS = re.compile(r"\([^)]*(?:at most|[A-Z]{3,}_)")


@pytest.mark.parametrize("confidence", [0.2, 0.5, 0.97])
@pytest.mark.parametrize("reason", ["Case number matches.", "Court aligned.", "As follows.", "Court and context fit."])
def test_suggestions_hold_no_internal_words_and_do_not_repeat_the_errors(reason: str, confidence: float) -> None:
    for chosen in (ONE, TWO):
        record = cassation(NUMBER, NUMBER, OTHER_NUMBER, matches=[match(chosen, confidence, reason)])
        found = {name: ruling.value for name, ruling in settle(record).rulings.items()}
        for text in (found["improvement_suggestions"] or "", found["evaluation_notes"]):
            assert not BRACKETS.search(text), text
            assert "at most 3:" not in text


def test_suggestions_do_not_advise_an_order_that_was_kept() -> None:
    reason = "Court: Cassation, NATIONAL. No number is cited, so 90 % at most. The context fits candidate 1."
    record = cassation(None, None, None, ground_truth=TWO, matches=[match(ONE, 0.4, reason)])
    advice = settle(record).rulings["improvement_suggestions"].value
    assert "order" not in advice
    assert "court" not in advice.lower()
