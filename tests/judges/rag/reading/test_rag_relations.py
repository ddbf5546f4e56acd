"""Cause and effect, first and then, in five languages: exchanged they say something else, turned round they do not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.relations import Kind, are_turned, has_another_cause, read_relation
from krino.judges.rag.tables import table
from krino.text.language import READ_LANGUAGES

DATA = table("relations")
TURNED = [
    ("en", "The river dried up because the mill closed.", "The mill closed because the river dried up."),
    ("en", "The jam led to the accident.", "The accident led to the jam."),
    ("en", "The jam caused the accident.", "The jam was caused by the accident."),
    ("en", "Because the mill closed, the river dried up.", "The mill closed because the river dried up."),
    ("en", "Soak the rice, then rinse it.", "Rinse the rice, then soak it."),
    ("fr", "Le toit est tombé parce que l'école a fermé.", "L'école a fermé parce que le toit est tombé."),
    ("fr", "On coupe les pommes, puis on les pèle.", "On pèle les pommes, puis on les coupe."),
    ("nl", "Het stormde omdat het feest niet doorging.", "Het feest ging niet door omdat het stormde."),
    ("nl", "Eerst zwemmen we, daarna eten we.", "Eerst eten we, daarna zwemmen we."),
    ("de", "Die Ernte war schlecht, weil die Preise stiegen.", "Die Preise stiegen, weil die Ernte schlecht war."),
    ("de", "Der Teig ruht, danach wird er geknetet.", "Der Teig wird geknetet, danach ruht er."),
    ("es", "Había niebla porque se canceló el vuelo.", "El vuelo se canceló porque había niebla."),
    ("es", "Vendió el coche y después pintó la casa.", "Pintó la casa y después vendió el coche."),
]
AGREEING = [
    ("en", "Because the river dried up, the mill closed.", "The mill closed because the river dried up."),
    ("en", "The river dried up, therefore the mill closed.", "The mill closed because the river dried up."),
    ("en", "The delay was caused by snow.", "Snow caused the delay."),
    ("en", "The mill closed.", "The mill closed because the river dried up."),
    ("fr", "Une panne a provoqué le retard.", "Le retard est dû à la météo, à cause d'une panne."),
    ("nl", "Omdat het stormde, ging het feest niet door.", "Het feest ging niet door omdat het stormde."),
    ("de", "Weil die Ernte schlecht war, stiegen die Preise.", "Die Preise stiegen, weil die Ernte schlecht war."),
    ("es", "Primero pintó la casa y después vendió el coche.", "Pintó la casa y después vendió el coche."),
]


@pytest.mark.parametrize(("language", "claim", "found"), TURNED)
def test_sides_that_are_exchanged_are_seen_either_way(language: str, claim: str, found: str) -> None:
    assert are_turned(claim, found, language)
    assert are_turned(found, claim, language)


@pytest.mark.parametrize(("language", "claim", "found"), AGREEING)
def test_another_order_of_the_same_is_not(language: str, claim: str, found: str) -> None:
    assert not are_turned(claim, found, language)
    assert not are_turned(found, claim, language)


def test_french_words_run_on_behind_an_apostrophe() -> None:
    for text in ("L'usine a fermé à la suite d'un incendie.", "L'usine a fermé parce qu'un incendie l'a détruite."):
        found = read_relation(text, "cause", "fr")
        assert found is not None
        assert "incend" in " ".join(found.first)


def test_where_no_model_reads_a_cause_of_other_words_is_another() -> None:
    found = ["L'usine a fermé à la suite d'un incendie."]
    assert has_another_cause("L'usine a fermé parce que les ventes baissaient.", found, "fr")
    assert not has_another_cause("L'usine a fermé à cause de l'incendie.", found, "fr")


def test_another_cause_is_one_that_the_rest_tells_of() -> None:
    found = ["The mill closed because the river dried up.", "The owner moved to Ghent."]
    assert has_another_cause("The mill closed because the owner moved to Ghent.", found, "en")
    assert not has_another_cause("The mill closed because the river dried up.", found, "en")
    assert not has_another_cause("The mill closed because there was no water left.", found, "en")  # in other words
    assert not has_another_cause("The owner moved because the mill closed.", found, "en")


@pytest.mark.parametrize("code", READ_LANGUAGES)
@pytest.mark.parametrize("kind", ["cause", "order"])
def test_every_word_parts_two_sides(kind: Kind, code: str) -> None:
    assert sorted(DATA[kind]) == sorted(READ_LANGUAGES)
    for way in ("back", "on"):
        for pattern in _told(DATA[kind][code][way]):
            found = read_relation(f"Anna {pattern} Berta", kind, code)
            assert found is not None, pattern
            assert found.first == {"berta" if way == "back" else "anna"}, pattern


def _told(pattern: str) -> list[str]:
    """One text for each alternative of a pattern, the first of those inside it."""
    plain = pattern.replace(r"\b", "")
    while found := re.search(r"\(\?:([^()|]*)[^()]*\)", plain):
        plain = plain[: found.start()] + found.group(1) + plain[found.end() :]
    return plain.split("|")


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from([*READ_LANGUAGES, None]))
def test_no_text_is_turned_against_itself(claim: str, found: str, language: str | None) -> None:
    assert not are_turned(claim, claim, language)
    assert are_turned(claim, found, language) == are_turned(found, claim, language)
