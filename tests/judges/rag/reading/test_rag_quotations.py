"""What stands in quotation marks is held to the letter; titles, single words and JSON are no quotations."""

from __future__ import annotations

import pytest

from krino.judges.rag.reading.quotations import find_quotations, is_quoted
from rag_making import facts_of

SAID = "Always unplug the kettle before you clean it"
SOURCE = f"Safety first. {SAID}, and let it cool."
MARKS = [('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"), ("« ", " »")]


@pytest.mark.parametrize(("opens", "closes"), MARKS)
def test_every_kind_of_marks_is_known(opens: str, closes: str) -> None:
    for text in (f"{opens}{SAID}.{closes}", f"It says: {opens}{SAID}{closes}."):
        assert [is_quoted(item.text, [SOURCE]) for item in find_quotations(text)] == [True]
        rewritten = text.replace("clean", "wash")
        assert [is_quoted(item.text, [SOURCE]) for item in find_quotations(rewritten)] == [False]


@pytest.mark.parametrize(
    "quotation",
    [
        "Always unplug the kettle ... and let it cool.",
        "Always unplug […] before you clean it",
        "always  unplug the kettle before you clean it!",
        "[You must] always unplug the kettle",
    ],
)
def test_what_is_left_out_or_put_in_openly_is_quoted_all_the_same(quotation: str) -> None:
    assert is_quoted(quotation, ["Something else.", SOURCE])


@pytest.mark.parametrize(
    "text",
    [
        'The novel "North of the River" won.',
        'It is called "the old mill".',
        'He played in "The Long Road to the Northern Harbour of Dreams" then.',
        '{"answer": "the kettle must always be unplugged before it is cleaned"}',
        "It's the guide's job to open the gates at nine.",
        '5" pipes and 6" pipes',
        'Lay a 4" layer of sand, and cut the two long beams to 70" before you begin.',
        'The answer to the question "What does the colour of the water mean?" is here.',
    ],
)
def test_titles_words_and_json_are_no_quotations(text: str) -> None:
    assert find_quotations(text) == []


def test_pieces_must_stand_in_one_text() -> None:
    assert not is_quoted("unplug the kettle ... open the window", ["unplug the kettle", "open the window"])


def test_a_quotation_over_two_sentences_is_held_against_both() -> None:
    answer = 'It opens at nine. The guide says: "Do unplug the kettle now. Then clean it well."'
    facts = facts_of(context=[SOURCE], answer=answer)
    assert sorted(facts.misquoted) == [2, 3]


def test_without_passages_nothing_is_misquoted() -> None:
    assert facts_of(context=[], answer=f'"{SAID}."').misquoted == {}
