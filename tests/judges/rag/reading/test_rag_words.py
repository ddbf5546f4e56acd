"""Sentences as sets of things to match: stems and values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.words import _tokens, _tokens_between, read_sentence
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
