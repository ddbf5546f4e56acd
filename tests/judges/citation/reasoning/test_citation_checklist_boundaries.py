"""The six questions about a reasoning, as its words answer them, at the edges of each."""

from __future__ import annotations

from typing import Any

import pytest

from citation_cases import CASSATION, by_hand, candidate, citation, match, study
from krino.judges.citation.local import Answers, answer_by_words, choose_answers, reasoning_by_words

ONE, TWO = CASSATION.format(1), CASSATION.format(2)
APPEAL = "ECLI:BE:CALIE:2018:ARR.20180315.3"
NUMBER, OTHER_NUMBER = "C.17.0001.F", "C.17.0002.F"
SAME, OTHER_TYPE, UNREAD = (ONE, "Cour de cassation"), (APPEAL, "Cour d'appel de Liège"), ("decision 7", None)


def answers(
    reason: str,
    *,
    number: str | None = None,
    carried: str | None = None,
    listed: tuple[tuple[str, str | None], ...] = (SAME,),
    matched: bool = True,
) -> Answers:
    rows = [candidate(name, court, carried) for name, court in listed]
    answer: dict[str, Any] = {"matches": [match(listed[0][0], 0.5, reason)]} if matched else {"no_match_reason": reason}
    return answer_by_words(study(citation("Cass.", number, candidates=rows) | answer))


@pytest.mark.parametrize(
    ("reason", "first"),
    [
        ("Court aligned. Number compared.", True),
        ("Number compared. Court aligned.", False),
        ("Number compared.", False),
        ("The seat is uncertain.", True),
        ("Number compared. The seat of the court is uncertain.", False),
        ("The city is known.", False),
    ],
)
def test_the_court_comes_first_where_it_or_its_seat_is_argued_before_the_rest(reason: str, first: bool) -> None:
    assert answers(reason, number=NUMBER).court_first == first


def test_where_no_number_is_cited_to_say_so_first_jumps_no_step() -> None:
    said = "No case number to verify. The Court of Cassation is the cited court. The context fits."
    assert answers(said).court_first
    assert not answers(said, number=NUMBER).court_first
    assert not answers("The context fits. The court is Cassation.").court_first


@pytest.mark.parametrize(
    ("listed", "matched", "as_one"),
    [
        ((SAME,), True, False),
        ((SAME,), False, False),
        ((SAME, UNREAD), True, False),
        ((SAME, OTHER_TYPE), False, False),
        ((OTHER_TYPE,), True, True),
        ((OTHER_TYPE,), False, True),
        ((UNREAD,), False, True),
    ],
)
def test_courts_that_are_said_to_differ_are_taken_for_two_where_one_listed_is_the_cited_one(
    listed: tuple[tuple[str, str | None], ...], matched: bool, as_one: bool
) -> None:
    assert answers("A different court.", listed=listed, matched=matched).languages_as_one == as_one
    assert answers("The court fits.", listed=listed, matched=matched).languages_as_one


@pytest.mark.parametrize(
    ("reason", "number", "carried", "compared"),
    [
        ("The case number matches.", NUMBER, NUMBER, True),
        ("The court fits.", NUMBER, NUMBER, False),
        ("No case number is cited.", NUMBER, OTHER_NUMBER, False),
        ("No case number is cited.", NUMBER, NUMBER, True),
        ("No case number is cited.", None, None, True),
        ("The case number differs.", NUMBER, OTHER_NUMBER, True),
    ],
)
def test_who_says_that_no_number_is_cited_where_one_is_has_not_compared_it(
    reason: str, number: str | None, carried: str | None, compared: bool
) -> None:
    assert answers(reason, number=number, carried=carried).number_compared == compared


@pytest.mark.parametrize(
    ("reason", "number", "carried", "apart"),
    [
        ("No case number is cited.", None, None, True),
        ("No case number: heavily penalised.", None, None, False),
        ("The case number was not found.", None, None, False),
        ("The case number was not found.", NUMBER, OTHER_NUMBER, True),
        ("No case number is cited.", NUMBER, OTHER_NUMBER, False),
        ("No case number is cited.", NUMBER, NUMBER, True),
        ("The court fits.", NUMBER, OTHER_NUMBER, True),
    ],
)
def test_a_number_that_is_missing_is_told_from_one_that_differs(
    reason: str, number: str | None, carried: str | None, apart: bool
) -> None:
    assert answers(reason, number=number, carried=carried).missing_told_apart == apart


def test_context_and_other_candidates_count_where_they_are_named() -> None:
    named, silent = answers("The summary fits. The others do not."), answers("The court fits.")
    assert (named.context_cited, named.others_rejected) == (True, True)
    assert (silent.context_cited, silent.others_rejected) == (False, False)


def test_the_answers_of_a_labeller_count_before_those_of_the_words() -> None:
    facts = study(citation("Cass.", candidates=[candidate(*SAME)], matches=[match(ONE, 0.5, "Court aligned.")]))
    assert choose_answers(facts, None) == answer_by_words(facts)
    assert choose_answers(facts, by_hand()) == Answers(True, True, True, True, True, True)
    for place, name in enumerate(Answers._fields):
        assert choose_answers(facts, by_hand(no=(name,))) == Answers(*(at != place for at in range(6)))


def test_the_answers_are_shown_with_yes_or_no_in_evidence_and_as_labels() -> None:
    facts = study(citation("Cass.", candidates=[candidate(*SAME)], matches=[match(ONE, 0.5, "Court aligned.")]))
    assert answer_by_words(facts).words() == (
        "court first: yes",
        "FR/NL as one: yes",
        "number compared: no",
        "missing kept apart from mismatched: yes",
        "context cited: no",
        "others rejected: no",
    )
    labels = reasoning_by_words(facts)
    assert (labels.court_first.yes, labels.court_first.why) == (True, "by its words: court first: yes")
    assert (labels.others_rejected.yes, labels.others_rejected.why) == (False, "by its words: others rejected: no")
