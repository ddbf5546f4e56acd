"""Where answer and reference cannot both be true, to the letter, and where they only differ in words."""

from __future__ import annotations

import pytest

from krino.judges.rag.reading.difference import find_difference


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
