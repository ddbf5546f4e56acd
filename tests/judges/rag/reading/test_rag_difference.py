"""Where answer and reference cannot both be true, to the letter, and where they only differ in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.difference import find_difference, may_differ


@pytest.mark.parametrize(
    ("answer", "reference", "language"),
    [
        ("There are 300 seats.", "There are 400 seats.", "en"),
        ("The dose is 5 g.", "The dose is 5 mg.", "en"),
        ("It is on Tuesday.", "It is on Thursday.", "en"),
        ("Smoking is not allowed.", "Smoking is allowed.", "en"),
        ("The museum is closed.", "The museum is open.", "en"),
        ("Arrive before the start.", "Arrive after the start.", "en"),
        ("The capital is Sydney.", "The capital is Canberra.", "en"),
        ("Le marché a lieu le mardi.", "Le marché a lieu le jeudi.", "fr"),
        ("Het museum is gesloten.", "Het museum is open.", "nl"),
        ("Die Preise sanken im Mai.", "Die Preise stiegen im Mai.", "de"),
        ("El museo está cerrado.", "El museo está abierto.", "es"),
    ],
)
def test_a_difference_is_found_both_ways(answer: str, reference: str, language: str) -> None:
    assert find_difference("What is it?", answer, reference, language) is not None
    assert find_difference("What is it?", reference, answer, language) is not None


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("It takes one week.", "It takes 7 days."),
        ("The capital of Australia is Canberra, founded in 1913.", "Canberra"),
        ("He was born in the US.", "He was born in the United States."),
        ("The museum is open, the shop is closed.", "The museum is open."),
        ("Signed on 3 May 1998.", "It was signed on 1998-05-03."),
        ("Prices rose because supply fell.", "As supply fell, prices rose."),
        ("Doctors advise rest.", "Rest is what doctors advise."),
    ],
)
def test_other_words_are_no_difference(answer: str, reference: str) -> None:
    assert find_difference("What is it?", answer, reference, "en") is None


WORDS = [
    *(
        "the",
        "a",
        "mill",
        "bridge",
        "was",
        "is",
        "not",
        "no",
        "never",
        "opened",
        "closed",
        "built",
        "by",
        "Anna",
        "Bela",
    ),
    *(
        "in",
        "1904",
        "three",
        "two",
        "weeks",
        "week",
        "all",
        "some",
        "most",
        "refused",
        "to",
        "sign",
        "signed",
        "before",
    ),
    *("after", "safe", "unsafe", "laid", "off", "more", "than", "less", "Paris", "wide", "narrow", "river", "and"),
]


@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=14),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=14),
    st.sampled_from(["en", "fr", None]),
)
def test_the_cheap_look_passes_over_nothing(ours: list[str], theirs: list[str], language: str | None) -> None:
    answer, reference = (" ".join(words).capitalize() + "." for words in (ours, theirs))
    if not may_differ(answer, reference):
        assert find_difference("What is said?", answer, reference, language) is None


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("Ghent beat Bruges.", "Bruges beat Ghent."),
        ("The fee is 25 euros per year.", "The fee is 25 euros per month."),
        ("All of them won.", "None of them won."),
        ("It was painless.", "It was painful."),
        ("The contract is invalid.", "The contract is valid."),
    ],
)
def test_amounts_roles_and_forms_tell_apart(answer: str, reference: str) -> None:
    assert find_difference("What is said?", answer, reference, "en") is not None
