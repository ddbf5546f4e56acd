"""Who and whom exchanged: by pronouns in five languages, by places in those that have no frames."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.sides import are_exchanged, find_exchange
from krino.judges.rag.tables import table
from krino.text.language import READ_LANGUAGES

EXCHANGED = [
    ("en", "He paid Anna for the work.", "Anna paid him for the work."),
    ("en", "She sued them in March.", "They sued her in March."),
    ("en", "Tom paid Anna in cash.", "Anna paid him in cash."),
    ("en", "They thanked the pilot after the rescue.", "The pilot thanked them after the rescue."),
    ("nl", "Hij betaalde Anna voor het werk.", "Anna betaalde hem voor het werk."),
    ("de", "Er bezahlte Anna für die Arbeit.", "Anna bezahlte ihn für die Arbeit."),
    ("fr", "Il a payé Anna pour le travail.", "Anna l'a payé pour le travail."),
    ("es", "Él pagó a Anna por el trabajo.", "Anna le pagó por el trabajo."),
    ("fr", "Anne a battu Claire en finale.", "Claire a battu Anne en finale."),
    ("nl", "Veldkamp nam Rietland over.", "Rietland nam Veldkamp over."),
    ("de", "Alpha kaufte Beta im Jahr 2019.", "Beta kaufte Alpha im Jahr 2019."),
    ("de", "Alpha kaufte Beta.", "Beta kaufte Alpha im Jahr 2019."),
    ("es", "Alfa compró Beta en 2019.", "Beta compró Alfa en 2019."),
    ("de", "Der Mann biss den Hund.", "Der Hund biss den Mann."),
    ("de", "Die Katze jagt den Hund.", "Der Hund jagt die Katze."),
    ("fr", "Le chat poursuit la souris.", "La souris poursuit le chat."),
    ("nl", "Anna heeft Piet betaald.", "Piet heeft Anna betaald."),
    ("de", "Anna wurde von Piet bezahlt.", "Piet wurde von Anna bezahlt."),
    ("es", "Ana venció a Clara.", "Clara venció a Ana."),
    ("de", "Anna ist größer als Piet.", "Piet ist größer als Anna."),
]
THE_SAME = [
    ("en", "His brother left Oslo two years before him.", "He left Oslo two years after his brother."),
    ("en", "Anna paid Tom in cash.", "Anna paid him in cash."),
    ("en", "He was paid by Anna for the work.", "Anna paid him for the work."),
    ("en", "He met Anna in Oslo.", "Anna met him in Oslo."),
    ("en", "He paid Tom.", "Anna told him to pay Tom."),
    ("de", "Den Mann biss der Hund.", "Der Hund biss den Mann."),
    ("fr", "Anne et Claire ont signé.", "Claire et Anne ont signé."),
    ("nl", "Vandaag opende het museum.", "Het museum opende vandaag."),
    ("nl", "In mei opende het museum.", "Het museum opende in mei."),
    ("de", "Anna wurde von Piet bezahlt.", "Piet bezahlte Anna."),
    ("fr", "Paul est le chef.", "Le chef est Paul."),
    ("fr", "Le prix du billet comprend le repas.", "Le repas est compris dans le prix du billet."),
    ("nl", "Op zondag is het museum open.", "Het museum is open op zondag."),
    ("de", "In Paris traf Anne den Minister.", "Anne traf den Minister in Paris."),
    ("de", "In Paris eröffnete Anne die Schule.", "Anne eröffnete die Schule in Paris."),
    ("fr", "À Paris, Anne a ouvert l'école.", "Anne a ouvert l'école à Paris."),
    ("es", "La directora firmó el contrato.", "El contrato lo firmó la directora."),
    ("nl", "Het contract tekende de directeur gisteren.", "De directeur tekende het contract gisteren."),
]
KEYS = {"aside", "who", "whom", "by", "joints", "be", "both", "articles", "object", "marked", "free"}


@pytest.mark.parametrize(("language", "claim", "found"), EXCHANGED)
def test_sides_that_changed_places_are_seen_either_way_round(language: str, claim: str, found: str) -> None:
    assert are_exchanged(claim, found, language)
    assert are_exchanged(found, claim, language)


@pytest.mark.parametrize(("language", "claim", "found"), THE_SAME)
def test_another_order_of_the_same_is_no_exchange(language: str, claim: str, found: str) -> None:
    assert not are_exchanged(claim, found, language)
    assert not are_exchanged(found, claim, language)


def test_every_language_has_every_list() -> None:
    assert sorted(table("sides")) == sorted(READ_LANGUAGES)
    assert all(set(told) == KEYS for told in table("sides").values())


@pytest.mark.parametrize("code", READ_LANGUAGES)
def test_what_two_do_to_each_other_is_never_exchanged(code: str) -> None:
    told = table("sides")[code]
    who, whom = told["who"][0], told["whom"][0].split("|")[0].split("(")[0]
    for deed in told["both"].split():
        assert not are_exchanged(f"{who} {deed} Anna.", f"Anna {deed} {whom}.", code)


@pytest.mark.parametrize("code", READ_LANGUAGES)
def test_a_list_is_no_relation(code: str) -> None:
    for joint in table("sides")[code]["joints"].split():
        assert not are_exchanged(f"Anna {joint} Berta", f"Berta {joint} Anna", code)


def test_a_sentence_is_not_its_own_exchange() -> None:
    for language, claim, found in EXCHANGED:
        assert not are_exchanged(claim, claim, language)
        assert not are_exchanged(found, found, language)


@given(st.lists(st.sampled_from("abcdef"), max_size=6), st.lists(st.sampled_from("abcdef"), max_size=6))
def test_an_exchange_that_is_found_turns_one_row_into_the_other(first: list[str], second: list[str]) -> None:
    found = find_exchange(first, second)
    if found is not None:
        start, head, tail, end = found
        middle = first[start + head : end - tail]
        turned = first[end - tail : end] + middle + first[start : start + head]
        assert first[:start] + turned + first[end:] == second
