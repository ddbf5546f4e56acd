"""Values of a claim held against those of its evidence."""

from __future__ import annotations

import pytest

from krino.judges.rag.embedded.evidence import Index
from krino.judges.rag.embedded.support import draft_claim
from krino.judges.rag.embedded.values_against import Values
from rag_making import facts_of


def compared(question: str, passage: str, claim: str) -> Values:
    facts = facts_of(question=question, context=[passage], answer=claim)
    return draft_claim(facts, Index(facts), 1, claim).values


@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        ("The ticket costs 12 euros.", "The ticket costs 15 euros."),
        ("Use it for at most 3 days.", "Use it for at least 3 days."),
        ("The fee is 25 euros per year.", "The fee is 25 euros per month."),
        ("It has 12 rooms and 48 suites.", "It has 48 rooms and 12 suites."),
        ("Of the 900 members who could vote, 45 did.", "45 percent of the members voted."),
        ("Recovery on Standard takes 4 hours. Recovery on Premium takes 1 hour.", "Recovery on Standard takes 1 hour."),
    ],
)
def test_another_value_bound_owner_or_count_is_a_conflict(passage: str, claim: str) -> None:
    assert compared("How is it?", passage, claim).conflict is not None


@pytest.mark.parametrize(
    ("passage", "claim"),
    [
        ("The ticket costs 12 euros.", "You pay EUR 12.00 for the ticket."),
        ("It takes two hours.", "It takes 120 minutes."),
        ("Use it for at most 3 days.", "Do not use it for more than 3 days."),
        ("It has 12 rooms and 48 suites.", "It has 48 suites and 12 rooms."),
        ("Of the 800 residents who got the form, 60 sent it back.", "60 residents sent the form back."),
        ("Of the 100 members who could vote, 60 did.", "60 percent of the members voted."),
    ],
)
def test_the_same_value_in_another_form_is_none(passage: str, claim: str) -> None:
    assert compared("How is it?", passage, claim).conflict is None


def test_a_sum_of_what_the_passage_has_is_derived_and_not_absent() -> None:
    found = compared("What do both cost?", "A ticket is 12 euros and a guide 5 euros.", "Together they cost 17 euros.")
    assert [value.text for value in found.derived] == ["17 euros"]
    assert found.absent == ()


def test_a_value_that_nothing_gives_is_absent() -> None:
    found = compared("What does it cost?", "The ticket is sold at the desk.", "The ticket costs 12 euros.")
    assert [value.text for value in found.absent] == ["12 euros"]
    assert found.conflict is None
