"""Old and new the other way round, and both for either, in five languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.exchanges import both_for_either, is_change_turned
from krino.judges.rag.tables import table
from krino.text.language import READ_LANGUAGES

TOLD = [
    ("en", "The school replaced {} with {} in May.", "chalk boards", "white boards"),
    ("en", "In 2019 {} were replaced by {}.", "the trams", "electric buses"),
    ("en", "The firm moved its office from {} to {}.", "Leeds", "York"),
    ("fr", "La commune a remplacé {} par {}.", "les platanes", "des tilleuls"),
    ("fr", "En mai, {} ont été remplacés par {}.", "les platanes", "des tilleuls"),
    ("nl", "De school verving {} door {}.", "de krijtborden", "schermen"),
    ("nl", "In mei werden {} vervangen door {}.", "de bussen", "trams"),
    ("nl", "{} zijn door {} vervangen.", "De bussen", "de trams"),
    ("nl", "{} werden vervangen door {}.", "De bussen", "de trams"),
    ("nl", "Vorig jaar zijn {} door {} vervangen.", "de bussen", "trams"),
    ("nl", "Het bedrijf verhuisde van {} naar {}.", "Gent", "Brugge"),
    ("de", "Die Schule ersetzte {} durch {}.", "die Tafeln", "Bildschirme"),
    ("de", "Im Mai wurden {} durch {} ersetzt.", "die Busse", "Bahnen"),
    ("de", "{} wurden im Mai durch {} ersetzt.", "Die Busse", "die Bahnen"),
    ("de", "Die Familie zog von {} nach {}.", "Kassel", "Bonn"),
    ("es", "La escuela sustituyó {} por {}.", "las pizarras", "pantallas"),
    ("es", "En mayo {} fueron reemplazados por {}.", "los autobuses", "tranvías"),
]
CHOICES = [
    ("en", "You get both {} and {}.", "You get either {} or {}.", "a starter", "a dessert"),
    ("fr", "Le menu comprend à la fois {} et {}.", "Le menu comprend soit {} soit {}.", "une entrée", "un dessert"),
    ("nl", "U krijgt zowel {} als {}.", "U krijgt ofwel {} ofwel {}.", "soep", "ijs"),
    ("de", "Der Preis enthält sowohl {} als auch {}.", "Er enthält entweder {} oder {}.", "Suppe", "Eis"),
    ("es", "Incluye tanto {} como {}.", "Incluye o bien {} o bien {}.", "sopa", "helado"),
]


@pytest.mark.parametrize(("language", "told", "old", "new"), TOLD)
def test_old_and_new_exchanged_are_told_from_the_same(language: str, told: str, old: str, new: str) -> None:
    right, wrong = told.format(old, new), told.format(new, old)
    assert is_change_turned(wrong, right, language)
    assert not is_change_turned(right, right, language)
    assert not is_change_turned(right, f"{right} {wrong}", language), "who tells both ways contradicts nobody"


def test_a_change_is_the_same_in_the_passive_and_of_other_things_nothing() -> None:
    told = "The club replaced its gas boilers with heat pumps."
    assert not is_change_turned("The gas boilers were replaced by heat pumps.", told, "en")
    assert is_change_turned("The heat pumps were replaced by gas boilers.", told, "en")
    assert not is_change_turned("The club replaced its heat pumps with solar panels.", told, "en")


@pytest.mark.parametrize(("language", "both", "either", "first", "second"), CHOICES)
def test_both_is_not_what_one_may_choose_from(language: str, both: str, either: str, first: str, second: str) -> None:
    claim, found = both.format(first, second), either.format(first, second)
    assert both_for_either(claim, found, language) is not None
    assert both_for_either(claim, claim, language) is None
    assert both_for_either(found, found, language) is None
    assert both_for_either(both.format("xylo", "zebu"), found, language) is None


@pytest.mark.parametrize(
    ("language", "claim", "found"),
    [
        ("en", "Tickets are sold both online and at the desk.", "Tickets are sold either online or at the desk."),
        ("en", "You can pay both in cash and by card.", "You can pay either in cash or by card."),
        ("de", "Man zahlt sowohl bar als auch mit Karte.", "Man zahlt entweder bar oder mit Karte."),
    ],
)
def test_two_ways_that_are_both_open_are_no_choice_of_one(language: str, claim: str, found: str) -> None:
    assert both_for_either(claim, found, language) is None


def test_every_language_that_is_read_has_its_patterns_and_each_is_tried() -> None:
    assert set(table("exchanges")) == set(READ_LANGUAGES)
    assert {language for language, *_ in CHOICES} == set(READ_LANGUAGES)
    for language, entry in table("exchanges").items():
        assert sum(tried == language for tried, *_ in TOLD) == len(entry["change"])


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from([None, *READ_LANGUAGES]))
def test_any_text_can_be_read(claim: str, found: str, language: str | None) -> None:
    assert not is_change_turned(claim, claim, language)
    is_change_turned(claim, found, language)
    both_for_either(claim, found, language)
