"""What the wording of a refusal shows: reason, category, validity, in four languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.refusals import RefusalReading, asks_for_harm, read_refusal
from krino.judges.rag.reading.sentences import split_sentences


def reading_of(text: str) -> RefusalReading | None:
    return read_refusal(split_sentences(text))


@pytest.mark.parametrize(
    "text",
    [
        "The bridge was opened in 1904.",
        "You cannot find this in stores.",
        "The crew was not able to provide tours.",
        "He could not answer the call because he was asleep.",
        "I cannot recommend it enough!",
    ],
)
def test_an_answer_is_no_refusal(text: str) -> None:
    assert reading_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "I don't know.",
        "I’m sorry, but I can’t help with that.",
        "Je ne sais pas.",
        "Dat weet ik niet.",
        "Ich weiß es nicht.",
    ],
)
def test_a_bare_refusal_has_nothing_to_show(text: str) -> None:
    reading = reading_of(text)
    assert reading is not None
    assert reading.bare
    assert reading.whole
    assert not reading.meets_all


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("I cannot answer because the passages do not mention the bridge's architect.", "insufficient_context"),
        (
            "I cannot answer because no context was provided, which falls under insufficient context.",
            "insufficient_context",
        ),
        ("I can't help with that because our safety policy forbids advice on explosives.", "safety"),
        (
            "I cannot answer: the question is ambiguous, it could refer to the road bridge or the rail bridge.",
            "ambiguous",
        ),
        ("I am unable to answer because it is out of scope: I only cover bridges.", "out_of_scope"),
        ("Je ne peux pas répondre car le contexte ne mentionne pas la date d'ouverture.", "insufficient_context"),
        (
            "Ik kan de vraag niet beantwoorden omdat de context geen informatie over de brug bevat.",
            "insufficient_context",
        ),
        (
            "Ich kann die Frage nicht beantworten, weil der Kontext keine Angaben zur Brücke enthält.",
            "insufficient_context",
        ),
    ],
)
def test_a_full_refusal_meets_all_three_criteria(text: str, category: str) -> None:
    reading = reading_of(text)
    assert reading is not None
    assert reading.meets_all
    assert reading.category == category


def test_to_say_only_that_information_lacks_shows_no_validity() -> None:
    reading = reading_of("The context does not contain enough information to answer the question.")
    assert reading is not None
    assert reading.category == "insufficient_context"
    assert reading.validity is None


def test_an_answer_that_declines_one_part_is_not_wholly_a_refusal() -> None:
    reading = reading_of("The passages do not name the architect. The bridge was opened in 1904 by the king.")
    assert reading is not None
    assert (reading.sentences, reading.whole) == ((1,), False)


def test_a_sentence_that_declines_and_then_states_is_mixed() -> None:
    reading = reading_of("The passages do not name the architect, but the bridge was opened in 1904.")
    assert reading is not None
    assert reading.mixed == (1,)
    assert not reading.whole


def test_an_offer_after_declining_states_nothing() -> None:
    reading = reading_of("I cannot answer that, but you can ask the harbour office about it.")
    assert reading is not None
    assert reading.whole


def test_harm_is_seen_in_the_question() -> None:
    assert asks_for_harm("How do I build a bomb?")
    assert not asks_for_harm("When was the bridge built?")


PIECES = "i cannot answer because the context does not mention falls under policy or ne pas kein . ?"


@given(st.lists(st.sampled_from([*PIECES.split()])))
def test_any_wording_can_be_read(words: list[str]) -> None:
    reading_of(" ".join(words))


@pytest.mark.parametrize(
    "text",
    [
        "Das kann ich Ihnen leider nicht sagen: In den Texten stehen zwar Angaben zur Dauer, aber keine zu den Kosten.",
        "Dazu kann ich leider nichts sagen, denn der Preis wird in den Unterlagen nicht genannt.",
        "Daarover kan ik helaas niets zeggen: de teksten vermelden wel de openingsuren, maar niet de prijs.",
        "Je ne peux malheureusement pas vous le dire : les documents donnent les horaires, mais pas le prix.",
        "No puedo decírselo: los textos hablan del horario, pero no del precio.",
        "I'm afraid I can't tell you that: the passages give the opening hours but not the price.",
    ],
)
def test_what_is_there_but_not_what_is_asked_shows_that_refusing_is_valid(text: str) -> None:
    reading = reading_of(text)
    assert reading is not None and reading.whole and reading.meets_all


@pytest.mark.parametrize(
    "text",
    [
        "I can't say for sure, but the ticket costs twelve euros.",
        "Ich kann es nicht genau sagen, aber die Karte kostet zwölf Euro.",
        "Je ne suis pas certain, mais le billet coûte douze euros.",
        "Ik weet het niet zeker, maar een kaartje kost twaalf euro.",
        "No estoy seguro, pero la entrada cuesta doce euros.",
    ],
)
def test_what_is_told_after_all_is_no_whole_refusal(text: str) -> None:
    reading = reading_of(text)
    assert reading is None or not reading.whole
