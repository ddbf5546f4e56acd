"""Which sentences of an answer claim something, and which only pass between writer and reader."""

from __future__ import annotations

import pytest

from krino.judges.rag.case import RagCase
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.support.draft_claims import lay_out
from krino.judges.rag.tables import table

CLAIM = "The heron nests in reeds."
TALK = table("answers")["talk"]


def claims(answer: str, context: str = CLAIM) -> list[str]:
    case = RagCase.model_validate({"question": "Where does it nest?", "context": [context], "answer": answer})
    return [draft.text for draft in lay_out(RagFacts(case)).drafts]


@pytest.mark.parametrize("opening", TALK["wishes"])
def test_a_wish_claims_nothing(opening: str) -> None:
    assert claims(f"{CLAIM} {opening.strip().capitalize()} blue skies.") == [CLAIM]


@pytest.mark.parametrize("word", TALK["writer"].split())
def test_the_writer_on_themselves_claims_nothing(word: str) -> None:
    told = f"The weekend told {word} stories."
    assert claims(f"{CLAIM} {told} {CLAIM}") == [CLAIM, CLAIM]
    assert told in claims(f"{CLAIM} {told} {CLAIM}", f"{CLAIM} A ranger wrote {word} down.")


@pytest.mark.parametrize("word", TALK["advice"].split())
def test_advice_is_a_claim(word: str) -> None:
    assert len(claims(f"{CLAIM} I {word} binoculars for your trip. {CLAIM}")) == 3


@pytest.mark.parametrize("word", TALK["offers"].split())
def test_what_the_reader_may_or_needs_is_a_claim(word: str) -> None:
    assert len(claims(f"{CLAIM} You {word} bring binoculars.")) == 2


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        (f"{CLAIM} Bring your binoculars!", 1),
        (f"Ooh, good pick for tonight! {CLAIM}", 1),
        (f"{CLAIM} Ooh, good pick for tonight! {CLAIM}", 3),
        (f"{CLAIM} Sunny greetings from our hut ☀️", 1),
        (f"{CLAIM} Your heron loves reeds!", 2),
        (f"{CLAIM} It weighs 2 kg!", 2),
        (f"{CLAIM} Your neighbour is Anna Bell.", 2),
        ("Your dinner looks tasty.", 1),
    ],
)
def test_an_aside_holds_nothing_of_the_matter_and_no_value_or_name(answer: str, count: int) -> None:
    assert len(claims(answer)) == count
