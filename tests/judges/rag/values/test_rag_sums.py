"""Sums, differences, products and lengths of time that follow from what is told; others do not."""

from __future__ import annotations

import pytest

import krino
from krino.judges.rag.reading.words import read_sentence
from krino.judges.rag.tables import table
from krino.judges.rag.values.finding import find_values
from krino.judges.rag.values.sums import cue_words, follows_from
from krino.text.words import plain_words, stem


def reckoned(claim: str, found: str, question: str = "") -> bool:
    """Whether the last value of the claim follows."""
    values = find_values(claim)
    words = frozenset([*plain_words(claim), *map(stem, plain_words(claim))])
    return follows_from(values[-1], find_values(found), [*values[:-1], *find_values(question)], words)


@pytest.mark.parametrize(
    ("claim", "wrong", "found"),
    [
        ("In total it costs 45 euros.", "In total it costs 55 euros.", "40 euros and 5 euros"),
        ("It grew by 1,500 people.", "It grew by 2,500 people.", "4,000 people, then 5,500 people"),
        ("It lasts 150 minutes.", "It lasts 160 minutes.", "from 19:00 to 21:30"),
        ("It needs one hour and 25 minutes.", "It needs one hour and 35 minutes.", "leaves at 08:15, arrives at 09:40"),
        ("The choir has 40 members.", "The choir has 31 members.", "14 sopranos, 11 altos, 6 tenors and 9 basses"),
        ("7.5 percent sent it back.", "60 percent sent it back.", "of the 800 residents 60 sent it back"),
        ("8 % sent it back.", "9 % sent it back.", "of the 800 residents 60 sent it back"),
        ("60 percent said yes.", "40 percent said yes.", "of 100 voters 60 said yes"),
        ("It lasted 12 years.", "It lasted 8 years.", "from 2004 to 2016"),
        ("Three tickets cost 45 euros.", "Three tickets cost 60 euros.", "15 euros"),
        ("It employs 42 doctors and nurses.", "It employs 52 doctors and nurses.", "12 doctors and 30 nurses"),
        ("It comes to 96 euros a year.", "It comes to 80 euros a year.", "8 euros a month"),
        ("It is 150 euros cheaper.", "It is 250 euros cheaper.", "899 euros and 749 euros"),
        ("Together they drew 95,000 visitors.", "Together they drew 85,000 visitors.", "40,000 visitors and 55,000"),
    ],
)
def test_what_follows_is_told_from_what_does_not(claim: str, wrong: str, found: str) -> None:
    assert reckoned(claim, found)
    assert not reckoned(wrong, found)


def test_counts_of_the_question_are_reckoned_with() -> None:
    asked = "What do two adults and one child pay together?"
    assert reckoned("Together that is 29 pounds.", "12 pounds and 5 pounds", asked)
    assert not reckoned("Together that is 27 pounds.", "12 pounds and 5 pounds", asked)


def test_a_share_is_taken_off() -> None:
    assert reckoned("They pay 60 euros for both.", "80 euros less 25%")
    assert not reckoned("They pay 65 euros for both.", "80 euros less 25%")


@pytest.mark.parametrize("word", table("values")["sums"]["cues"].split())
def test_without_a_word_for_it_nothing_is_summed_up(word: str) -> None:
    assert reckoned(f"It is {word} 45 euros.", "40 euros and 5 euros")
    assert not reckoned("It is 45 euros.", "40 euros and 5 euros")


def test_dates_bare_numbers_and_other_units_follow_from_nothing() -> None:
    assert not reckoned("In total, in 2004.", "2000 and 4")
    assert not reckoned("In total, 45.", "40 and 5")
    assert not reckoned("In total, 45 euros.", "40 dollars and 5 euros")


def test_a_word_that_the_passage_has_too_is_no_sign_of_reckoning() -> None:
    claim = "It fell by 90 points."
    assert "by" not in cue_words(claim, read_sentence(claim, "en"), ["It fell by 70 points."])
    assert "by" in cue_words(claim, read_sentence(claim, "en"), ["It fell 70 points, then 20."])


def test_what_was_reckoned_is_no_other_value_than_the_quotation_has() -> None:
    case = {"question": "What is the total?", "context": ["The ticket costs 40 euros and the fee is 5 euros."]}
    told = krino.judge("rag", {**case, "answer": "The ticket and the fee cost 45 euros in total."})
    assert told.verdict is not None and told.verdict["faithfulness"] == 1.0
    assert "RAG-N9" not in {finding.rule for finding in told.findings}
