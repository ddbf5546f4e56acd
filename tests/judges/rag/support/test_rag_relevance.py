"""What the sentence model is asked about the question: only what can still change a label."""

from __future__ import annotations

from typing import Any

from krino.judges.rag.local import label_locally
from krino.judges.rag.reading.question import question_parts
from krino.judges.rag.support.draft_claims import lay_out
from krino.judges.rag.support.relevance import open_pairs
from rag_making import BRIDGE, HARBOUR, QUESTION, facts_of

FERRY = "Ferries crossed the water before."
TOLL = "Drivers paid a toll for each crossing."


def asked(cited: tuple[str, ...] = (), **changes: Any) -> list[str]:
    """The texts that are held against the question."""
    facts = facts_of(**changes)
    return [text for _, text in open_pairs(lay_out(facts), question_parts(facts.case.question), frozenset(cited))]


def test_a_sentence_with_the_words_of_the_question_needs_no_model() -> None:
    assert asked() == [HARBOUR]


def test_what_a_claim_rests_on_is_asked_about_and_what_it_does_not_rest_on_is_not() -> None:
    answer = "Ferries crossed the water. Drivers paid a toll."
    context = [f"{BRIDGE} {FERRY} {TOLL}", HARBOUR]
    assert asked(answer=answer, context=context, cited=(TOLL,)) == [HARBOUR, TOLL]


def test_a_cited_sentence_with_some_words_of_the_question_is_useful_without_a_model() -> None:
    question = "Did timber come to Esbjerg?"
    assert HARBOUR in asked(question=question)
    assert HARBOUR not in asked(question=question, cited=(HARBOUR,))


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
    assert {first for first, _ in open_pairs(lay_out(facts), question_parts(QUESTION), frozenset())} == {QUESTION}


def test_what_is_told_of_another_name_answers_nothing() -> None:
    context = ["Jan Rot leads the choir of Ulm.", "Eva Lind leads the choir of Bonn."]
    question = "Who leads the choir of Ulm?"
    labels = [
        label_locally([facts_of(question=question, context=context, answer=answer)])[0]
        for answer in ("Eva Lind leads the choir of Bonn.", "Jan Rot leads the choir there.")
    ]
    assert [part.answered for item in labels for part in item.parts] == [False, True]
