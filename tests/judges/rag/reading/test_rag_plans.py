"""What was planned is told from what was done, and what is certain from what is possible."""

from __future__ import annotations

import pytest

from krino.judges.rag.reading.grammar import word_list
from krino.judges.rag.reading.plans import told_as_certain, told_as_done


@pytest.mark.parametrize("word", sorted(word_list("words", "plans")))
def test_what_is_only_planned_is_not_done(word: str) -> None:
    assert told_as_done("The line opened in 2027.", [f"The line {word} to open in 2027."]) == "opened"


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("The line is expected to open.", "The line is expected to open."),
        ("The shop opened.", "The shop planned to open in May and opened in June."),
        ("The legs were played in March.", "The legs will be played in March."),
        ("The line will be opened.", "The line is expected to open."),
        ("Waves are released.", "The stars are expected to release waves."),
        ("The stars released waves.", "We expect them to release waves."),
    ],
)
def test_what_is_told_alike_or_may_be_done_by_now_is_no_conflict(claim: str, found: str) -> None:
    assert told_as_done(claim, [found]) is None


def test_a_further_sentence_may_tell_that_it_was_done() -> None:
    assert told_as_done("The line opened.", ["The line is expected to open.", "It opened in May."]) is None


@pytest.mark.parametrize("word", sorted(word_list("certain", "plans")))
def test_a_word_that_makes_sure_is_told(word: str) -> None:
    assert told_as_certain(f"It is {word} that coffee helps.", "Coffee may help.") == word
    assert told_as_certain(f"It is {word} that coffee helps.", "Coffee helps.") is None
    assert told_as_certain(f"It is not {word} that coffee helps.", "Coffee may help.") is None


@pytest.mark.parametrize("word", sorted(word_list("possible", "plans")))
def test_a_word_that_leaves_it_open_counts(word: str) -> None:
    assert told_as_certain("Coffee definitely helps.", f"Coffee {word} helps.") == "definitely"
