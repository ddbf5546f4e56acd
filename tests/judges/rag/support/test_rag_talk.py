"""Talk between writer and reader is no claim; what states something stays one, however chatty it sounds."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import krino
from krino.judges.rag.case import RagCase
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.local import label_locally
from krino.judges.rag.support.draft_claims import Desk, lay_out
from krino.judges.rag.support.talk import talk_shares, without_talk
from krino.judges.rag.tables import table
from krino.models.embedder import SIZE

TRAINED_ON = tomllib.loads((Path(__file__).parents[4] / "training" / "talk.toml").read_text(encoding="utf-8"))
TALK = [
    "Planning ahead is always smart!",
    "I realise this may not be what you hoped to hear.",
    "Just come as you are and have a great evening.",
    "I could go on about castles all day.",
    "It is good to see that people care about this.",
]
STATEMENTS = [
    "The owner keeps two parrots in the lobby.",
    "You have to show your passport at the gate.",
    "Breakfast is served in the garden.",
    "Unfortunately, the lift is out of order.",
    "I hope nobody was hurt when the roof fell in.",
]


def facts_of(answer: str, context: str = "The mill grinds oats.") -> RagFacts:
    return RagFacts(RagCase(question="What does the mill grind?", context=[context], answer=answer))


def desk_of(answer: str) -> Desk:
    return without_talk([lay_out(facts_of(answer))])[0]


@pytest.mark.parametrize("text", TALK)
def test_talk_beside_a_claim_is_none(text: str) -> None:
    desk = desk_of(f"{text} The mill grinds oats.")
    assert [draft.text for draft in desk.drafts] == ["The mill grinds oats."]
    assert desk.empty == (1,)
    assert not desk.drafts[0].pair.company, "talk is no company: the claim is the only one"


@pytest.mark.parametrize("text", STATEMENTS)
def test_what_states_something_stays_a_claim(text: str) -> None:
    desk = desk_of(f"The mill grinds oats. {text}")
    assert {draft.sentence for draft in desk.drafts} == {1, 2}


def test_what_the_rule_was_fitted_on_is_not_what_it_is_tested_on() -> None:
    assert not {*TALK, *STATEMENTS} & {*TRAINED_ON["talk"], *TRAINED_ON["statements"]}
    assert not {*TRAINED_ON["talk"]} & {*TRAINED_ON["statements"]}
    assert len(table("talk")["weights"]) == SIZE


def test_an_answer_that_is_nothing_but_talk_keeps_its_claims() -> None:
    facts = facts_of("You learn something new every day, I always say. That would make a great movie.")
    laid_out = lay_out(facts)
    assert laid_out.drafts
    assert without_talk([laid_out]) == [laid_out]


@pytest.mark.parametrize("extra", ["since 1846", "at Lindqvist's"])
def test_nothing_with_a_name_or_a_value_is_talk(extra: str) -> None:
    desk = desk_of(f"The mill grinds oats. It is good to see that people care about this {extra}.")
    assert {draft.sentence for draft in desk.drafts} == {1, 2}


@pytest.mark.parametrize("word", table("answers")["no_names"].split())
def test_what_is_only_written_like_a_name_may_stand_in_talk(word: str) -> None:
    desk = desk_of(f"The mill grinds oats. It is good to see that people care about {word.upper()} so much.")
    assert {draft.sentence for draft in desk.drafts} == {1}


def test_a_half_sentence_of_talk_leaves_the_other_half() -> None:
    desk = desk_of("I went through the page that you shared, and it says that the mill grinds oats.")
    assert [draft.text for draft in desk.drafts] == ["The mill grinds oats."]


def test_talk_in_one_case_of_a_batch_changes_no_other() -> None:
    answers = [f"{TALK[0]} The mill grinds oats.", "The mill grinds oats.", f"{STATEMENTS[0]} It grinds oats."]
    together = label_locally([facts_of(answer) for answer in answers])
    assert together == [label_locally([facts_of(answer)])[0] for answer in answers]
    assert [labels.empty_sentences for labels in together] == [[1], [], []]


def test_talk_adds_no_risk() -> None:
    plain = krino.judge("rag", record("The mill grinds oats. It runs at night."))
    chatty = krino.judge("rag", record(f"{TALK[0]} The mill grinds oats. It runs at night. {TALK[3]}"))
    assert chatty.figures["hallucination_risk"] == plain.figures["hallucination_risk"]


def record(answer: str) -> dict[str, object]:
    return {"question": "What does the mill grind?", "context": ["The mill grinds oats."], "answer": answer}


def test_shares_are_probabilities() -> None:
    assert talk_shares([]) == []
    assert all(0 < share < 1 for share in talk_shares([*TALK, *STATEMENTS]))
