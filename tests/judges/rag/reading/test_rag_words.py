"""Sentences as sets of things to match: stems, values, denials, opposites."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.grammar import in_one_word
from krino.judges.rag.reading.words import _tokens, _tokens_between, opposed_words, opposite_words, read_sentence
from krino.text.language import READ_LANGUAGES
from krino.text.words import stem


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("built", "build"),
        ("cities", "city"),
        ("opening", "opened"),
        ("stopped", "stop"),
        ("construction", "constructed"),
    ],
)
def test_inflected_forms_meet(first: str, second: str) -> None:
    assert stem(first) == stem(second)


def test_words_that_only_one_side_denies() -> None:
    stated = read_sentence("The bridge is safe.", "en")
    denied = read_sentence("The bridge isn't safe.", "en")
    assert [stated.surface[word] for word in opposed_words(stated, denied)] == ["safe"]
    assert opposed_words(stated, read_sentence("The bridge is not only safe.", "en")) == ()


@pytest.mark.parametrize(
    ("first", "second", "language"),
    [
        ("The museum is open.", "The museum is closed.", "en"),
        ("Arrive before noon.", "Arrive after noon.", "en"),
        ("Prices rose.", "Prices fell.", "en"),
        ("Le musée est ouvert.", "Le musée est fermé.", "fr"),
        ("De prijzen stegen.", "De prijzen daalden.", "nl"),
        ("Die Preise stiegen.", "Die Preise sanken.", "de"),
        ("El museo abre.", "El museo cierra.", "es"),
    ],
)
def test_opposites_are_found_both_ways(first: str, second: str, language: str) -> None:
    ours, theirs = read_sentence(first, language), read_sentence(second, language)
    assert opposite_words(ours, theirs) is not None
    assert opposite_words(theirs, ours) is not None
    assert opposite_words(ours, ours) is None


def test_an_opposite_that_is_denied_or_stands_on_both_sides_is_none() -> None:
    stated = read_sentence("The museum is open.", "en")
    assert opposite_words(stated, read_sentence("The museum is not closed.", "en")) is None
    assert opposite_words(stated, read_sentence("The museum is open, the shop closed.", "en")) is None


def test_a_no_before_the_statement_denies_nothing_in_it() -> None:
    assert read_sentence("No, the museum is open.", "en").denials == 0
    assert read_sentence("No museum is open.", "en").denials == 1


def test_a_value_is_one_thing_whatever_its_unit() -> None:
    ours, theirs = read_sentence("The tunnel is 1.5 km long.", "en"), read_sentence("1,500 metres", "en")
    assert set(theirs.content) <= set(ours.content)


@given(st.text(max_size=80), st.sampled_from([*READ_LANGUAGES, "pt", None]))
def test_any_text_can_be_read(text: str, language: str | None) -> None:
    reading = read_sentence(text, language)
    assert set(reading.content) <= reading.stems


@given(st.text(alphabet="abN't ,;:()_-éß中文かİ1", max_size=40))
def test_a_sentence_without_values_is_cut_as_one_with_values_is(text: str) -> None:
    assert _tokens(text, ()) == list(_tokens_between(text, (), not any(char in text for char in "中文か")))


def test_a_phrase_in_letters_that_only_fold_to_its_own_stays_as_it_is() -> None:
    assert in_one_word("She was laid off, he was laıd off.") == "She was dismissed, he was laıd off."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Don't forget that Mrs Addo wants the signed slip.", "en"),
        ("Do not hesitate to ask the desk.", "en"),
        ("Working part time doesn't stop you from joining.", "en"),
        ("No doubt the road was closed.", "en"),
        ("N'oubliez pas de signer le formulaire.", "fr"),
        ("Vergeet niet het formulier te tekenen.", "nl"),
        ("Vergessen Sie nicht, das Formular zu unterschreiben.", "de"),
        ("No olvide firmar el formulario.", "es"),
    ],
)
def test_a_reminder_denies_nothing(text: str, language: str) -> None:
    reading = read_sentence(text, language)
    assert (reading.denials, reading.negated) == (0, frozenset())


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("They do not forget a face, they cannot remember names.", "en"),
        ("The wall did not stop the flood.", "en"),
        ("Le musée n'ouvre pas le lundi.", "fr"),
        ("Het museum is niet open.", "nl"),
        ("Das Museum ist nicht offen.", "de"),
        ("El museo no abre los lunes.", "es"),
    ],
)
def test_a_denial_that_is_one_stays_one(text: str, language: str) -> None:
    assert read_sentence(text, language).denials != 0
