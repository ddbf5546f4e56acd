"""Where answer and reference cannot both be true because of a value or an identifier."""

from __future__ import annotations

import pytest

from krino.judges.rag.reading.difference import find_exact_difference


@pytest.mark.parametrize(
    ("answer", "reference", "language"),
    [
        ("There are 300 seats.", "There are 400 seats.", "en"),
        ("The dose is 5 g.", "The dose is 5 mg.", "en"),
        ("It is on Tuesday.", "It is on Thursday.", "en"),
        ("Take form B20.", "Take form B21.", "en"),
        ("Le marché a lieu le mardi.", "Le marché a lieu le jeudi.", "fr"),
        ("Der Zug fährt um 14:00.", "Der Zug fährt um 15:00.", "de"),
    ],
)
def test_a_difference_is_found_both_ways(answer: str, reference: str, language: str) -> None:
    assert find_exact_difference("What is it?", answer, reference, language) is not None
    assert find_exact_difference("What is it?", reference, answer, language) is not None


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("It takes one week.", "It takes 7 days."),
        ("The capital of Australia is Canberra, founded in 1913.", "Canberra"),
        ("Signed on 3 May 1998.", "It was signed on 1998-05-03."),
        ("Smoking is not allowed.", "Smoking is allowed."),
        ("It happens daily.", "It happens each spring."),
    ],
)
def test_other_words_are_no_exact_difference(answer: str, reference: str) -> None:
    assert find_exact_difference("What is it?", answer, reference, "en") is None


def test_a_value_that_the_question_names_is_no_difference() -> None:
    question = "What did the 300 guests drink?"
    assert find_exact_difference(question, "The 300 guests drank tea.", "About 200 drank tea.", "en") is None
