"""All for some, a whole for a part, and without for a condition, in five languages; and names with another part."""

from __future__ import annotations

import pytest

from krino.judges.rag.reading.name_parts import other_part
from krino.judges.rag.reading.narrowing import told_of_all, told_of_whole, told_without
from krino.judges.rag.tables import table
from krino.text.language import READ_LANGUAGES

DATA = table("narrowing")
ALL = {"en": "every", "fr": "chaque", "nl": "iedere", "de": "jede", "es": "cualquier"}


def test_every_language_has_every_list() -> None:
    assert sorted(DATA) == sorted(READ_LANGUAGES)
    assert all(told.keys() == DATA["en"].keys() for told in DATA.values())


@pytest.mark.parametrize("code", READ_LANGUAGES)
def test_each_word_for_some_and_each_that_narrows_is_no_all(code: str) -> None:
    claim = f"{ALL[code]} lampe shines"
    assert told_of_all(claim, "lampe shines", code) is None
    for word in DATA[code]["some"].split():
        assert told_of_all(claim, f"{word} lampe shines", code), word
    for word in DATA[code]["behind"].split():
        assert told_of_all(claim, f"lampe {word} 50 euro shines", code), word
        assert told_of_all(f"{claim} {word} 50 euro", f"lampe {word} 50 euro shines", code) is None
    for word in DATA[code]["rows"].split():
        assert told_of_all(claim, f"lampe {DATA[code]['behind'].split()[0]} {word} shelf shines", code), word


@pytest.mark.parametrize("code", READ_LANGUAGES)
def test_each_word_for_a_whole_needs_the_thing_in_the_passage(code: str) -> None:
    for word in DATA[code]["whole"].split():
        assert told_of_whole(f"It burnt the {word} kwartier", "It burnt the kitchen", code), word
        assert told_of_whole(f"It burnt the {word} kwartier", "It burnt the kwartier", code) is None
        assert told_of_whole(f"It burnt the {word} kwartier", f"It burnt the {word} town", code) is None


@pytest.mark.parametrize(
    ("language", "claim", "found"),
    [
        ("en", "You park for free without a card.", "You park for free if you have a card."),
        ("en", "Dogs may come in off the lead.", "Dogs may come in provided that they are on a lead."),
        ("fr", "Ils entrent sans adulte.", "Ils entrent s'ils sont accompagnés d'un adulte."),
        ("nl", "Parkeren is gratis zonder kaart.", "Parkeren is gratis als u een kaart hebt."),
        ("de", "Sie können ohne Beleg stornieren.", "Sie können stornieren, wenn Sie den Beleg haben."),
        ("es", "Puede entrar sin entrada.", "Puede entrar si tiene una entrada."),
    ],
)
def test_what_is_a_condition_cannot_be_done_without(language: str, claim: str, found: str) -> None:
    assert told_without(claim, found, language)
    assert told_without(found, claim, language) is None
    assert told_without(claim, claim, language) is None


def test_a_condition_that_denies_agrees_with_without() -> None:
    assert told_without("It is dear without a card.", "It is dear if you have no card.", "en") is None
    assert told_without("You cannot park without a card.", "You park if you have a card.", "en") is None
    assert told_without("You park without a dog.", "You park if you have a card.", "en") is None


@pytest.mark.parametrize(
    ("claim", "found", "differs"),
    [
        ("Anna Berger leitet sie.", "Anna Keller leitet sie.", True),
        ("Sie wird von Paul Keller geleitet.", "Sie wird von Anna Keller geleitet.", True),
        ("Die Deutsche Bahn fährt.", "Die Deutsche Bank fährt.", True),
        ("Anna Keller leitet sie.", "Geleitet wird sie von Anna Keller.", False),
        ("Anna Kellers leitet sie.", "Anna Keller leitet sie.", False),
        ("Anna Berger kam.", "Anna Keller traf Berger.", False),
        ("Die Schule ist offen.", "Die Bank ist offen.", False),
    ],
)
def test_a_name_with_another_part_is_another(claim: str, found: str, differs: bool) -> None:
    assert (other_part(claim, found) is not None) == differs
