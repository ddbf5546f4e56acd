"""What the sentence model is asked about the question: only what can still change a label."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from krino.judges.rag.local import label_locally
from krino.judges.rag.reading.grammar import root_of
from krino.judges.rag.reading.question import question_parts
from krino.judges.rag.support.draft_claims import lay_out
from krino.judges.rag.support.evidence import told_for
from krino.judges.rag.support.relevance import open_pairs
from krino.judges.rag.tables import table
from rag_making import HARBOUR, QUESTION, facts_of

FERRY = "Ferries crossed the water before."
TOLL = "Drivers paid a toll for each crossing."


def asked(**changes: Any) -> list[str]:
    """The texts that are held against the question."""
    facts = facts_of(**changes)
    return [text for _, text in open_pairs(lay_out(facts), question_parts(facts.case.question))]


def test_a_sentence_with_the_words_of_the_question_needs_no_model() -> None:
    assert asked() == [HARBOUR]


def test_of_each_passage_the_sentence_that_speaks_most_of_the_question_is_asked_about_whatever_the_answer_says() -> (
    None
):
    context = [f"{FERRY} {TOLL}", HARBOUR]
    question = "Who paid for the water?"
    told = [
        [text for text in asked(question=question, answer=answer, context=context) if text != answer]
        for answer in (
            "Drivers paid a toll and big ships with timber came.",
            "Ferries with horses crossed the cold water before there was a bridge.",
        )
    ]
    assert told[0] == told[1]
    assert HARBOUR in told[0]
    assert len(set(told[0])) <= len(context)


@pytest.mark.parametrize("group", table("questions")["told"]["groups"])
def test_each_word_of_a_group_is_told_for_the_others(group: str) -> None:
    for first, second in permutations(map(root_of, group.split()), 2):
        assert first == second or second in told_for(first)


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("Who bought whom?", "Alpha acquired Beta in 2019."),
        ("Quel est le prix du billet ?", "Le billet coûte 12 euros."),
        ("Wat is de prijs van een kaartje?", "Een kaartje kost 12 euro."),
        ("Was ist der Preis der Karte?", "Die Karte kostet 12 Euro."),
        ("¿Cuál es el precio de la entrada?", "La entrada cuesta 12 euros."),
    ],
)
def test_a_passage_that_tells_in_another_word_of_the_matter_is_useful(question: str, passage: str) -> None:
    labels = label_locally([facts_of(question=question, context=[passage, TOLL], answer="12.")])[0]
    assert [use.useful_sentences for use in labels.passages] == [[1], []]
    assert all(need.held for need in labels.needs)


def test_a_question_without_words_of_its_own_asks_for_no_nearness() -> None:
    assert asked(question="What does it say?", context=[FERRY, TOLL], answer="It was opened in 1904.") == []


def test_an_answer_that_declines_is_not_held_against_the_question() -> None:
    declined = "I cannot answer that, because the passages do not say it."
    assert declined not in asked(answer=declined, question="Who painted it?", context=[FERRY])
    assert "Nobody knows." in asked(answer="Nobody knows.", question="Why was the roof painted?", context=[FERRY])


def test_other_languages_ask_nothing() -> None:
    french = "Le pont de fer de Varde a été ouvert en 1904 et porte deux voies de chemin de fer."
    assert asked(question="Quand le pont de fer de Varde a-t-il été ouvert ?", context=[french], answer=french) == []


def test_the_question_is_the_one_that_was_asked() -> None:
    facts = facts_of()
    assert {first for first, _ in open_pairs(lay_out(facts), question_parts(QUESTION))} == {QUESTION}


def test_what_is_told_of_another_name_answers_nothing() -> None:
    context = ["Jan Rot leads the choir of Ulm.", "Eva Lind leads the choir of Bonn."]
    question = "Who leads the choir of Ulm?"
    labels = [
        label_locally([facts_of(question=question, context=context, answer=answer)])[0]
        for answer in ("Eva Lind leads the choir of Bonn.", "Jan Rot leads the choir there.")
    ]
    assert [part.answered for item in labels for part in item.parts] == [False, True]
