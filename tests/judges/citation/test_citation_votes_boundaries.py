"""How the votes of several seats on a citation become one set of labels, and how a shuffled list is told back."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from citation_cases import CASSATION, by_hand, candidate, citation, match, study
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.labels import CitationLabels
from krino.judges.citation.votes import join_votes, reorder

SUBJECTS = ("bail commercial", "licenciement", "responsabilité")


def facts(reason: str = "Court aligned.", shown: int = 3) -> CitationFacts:
    listed = [candidate(CASSATION.format(n), "Cass.", None, SUBJECTS[n - 1]) for n in range(1, shown + 1)]
    matches = [match(CASSATION.format(1), 0.5, reason)]
    return study(citation("Cass.", candidates=listed, citation_snippet="bail", matches=matches))


def quoting(place: int | None, strength: str, quote: str) -> CitationLabels:
    labels = by_hand(place, strength)
    return labels.model_copy(update={"subject": labels.subject.model_copy(update={"quote": quote})})


@pytest.mark.parametrize(
    ("votes", "subject", "ties"),
    [
        ([(1, "strong"), (1, "strong"), (2, "strong")], (1, "strong"), ()),
        ([(None, "none"), (None, "none"), (2, "strong")], (None, "none"), ()),
        ([(1, "strong"), (2, "strong")], (None, "none"), ("subject.candidate: 1 1, 2 1; taken as null",)),
        ([(1, "strong"), (None, "none")], (None, "none"), ("subject.candidate: 1 1, null 1; taken as null",)),
        ([(1, "strong"), (1, "weak")], (1, "weak"), ("subject.strength: strong 1, weak 1; taken as weak",)),
        ([(1, "weak"), (1, "none")], (1, "none"), ("subject.strength: none 1, weak 1; taken as none",)),
        ([(1, "weak"), (1, "strong"), (1, "strong"), (2, "weak")], (1, "strong"), ()),
    ],
)
def test_most_seats_choose_the_candidate_and_those_that_chose_it_its_strength(
    votes: list[tuple[int | None, str]], subject: tuple[int | None, str], ties: tuple[str, ...]
) -> None:
    found = join_votes(facts(), [by_hand(place, strength) for place, strength in votes])
    assert (found.labels.subject.candidate, found.labels.subject.strength) == subject
    assert found.ties == ties


def test_the_quotation_comes_from_a_seat_that_chose_candidate_and_strength() -> None:
    seats = [quoting(1, "strong", "b"), quoting(1, "strong", "c"), quoting(1, "weak", "a"), quoting(2, "strong", "a")]
    assert join_votes(facts(), seats).labels.subject.quote in ("b", "c")
    assert join_votes(facts(), seats) == join_votes(facts(), seats[::-1])


@pytest.mark.parametrize(("reason", "by_words"), [("Court aligned.", True), ("The summary fits. Court seen.", False)])
def test_seats_that_are_split_on_the_reasoning_leave_it_to_its_words(reason: str, by_words: bool) -> None:
    found = join_votes(facts(reason), [by_hand(), by_hand(no=("court_first",))])
    assert found.labels.reasoning.court_first.yes is by_words
    told = f"reasoning.court_first: false 1, true 1; read by its words as {str(by_words).lower()}"
    assert found.ties == (told,)


def test_most_seats_answer_a_question_on_the_reasoning() -> None:
    no, yes = by_hand(no=("context_cited",)), by_hand()
    assert not join_votes(facts(), [no, no, yes]).labels.reasoning.context_cited.yes
    assert join_votes(facts(), [no, yes, yes]).labels.reasoning.context_cited.yes
    assert join_votes(facts(), [no, yes, yes]).ties == ()


def test_candidates_shown_in_another_order_are_told_back_in_their_own() -> None:
    case_facts = facts()
    for seed in range(8):
        moved: Any = reorder(case_facts.case, case_facts, Random(seed))
        assert sorted(moved.order) == [1, 2, 3]
        assert [item.id for item in moved.facts.shown] == [case_facts.shown[n - 1].id for n in moved.order]
        for place in (1, 2, 3):
            told = moved.restore(by_hand(place, "strong")).subject.candidate
            assert case_facts.shown[told - 1].id == moved.facts.shown[place - 1].id
        assert moved.restore(by_hand()) == by_hand()


def test_a_single_candidate_has_no_other_order() -> None:
    alone = facts(shown=1)
    assert reorder(alone.case, alone, Random(1)) is None
