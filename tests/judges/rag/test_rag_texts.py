"""Sentences, quotations, languages, numbers and names: the facts that word matching rests on."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.sentences import split_sentences
from krino.judges.rag.reading.values import canonical_number, find_names, find_values
from krino.judges.rag.reading.words import opposed_words, read_sentence
from krino.text.forms import canonical, is_blank, locate
from krino.text.language import guess_language
from krino.text.words import stem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rained. It stopped.", ["It rained.", "It stopped."]),
        ("Dr. Meier came at 3.5 km/h. He left.", ["Dr. Meier came at 3.5 km/h.", "He left."]),
        ("See e.g. Smith. J. K. Rowling wrote it.", ["See e.g. Smith.", "J. K. Rowling wrote it."]),
        ("No. It was not. See No. 5 there.", ["No.", "It was not.", "See No. 5 there."]),
        ("Am 3. Mai kam er. Im 19. Jahrhundert nicht.", ["Am 3. Mai kam er.", "Im 19. Jahrhundert nicht."]),
        ("- first thing\n- second thing\n3. third", ["first thing", "second thing", "third"]),
        ("1. Open it. 2. Close it.", ["Open it.", "Close it."]),
        ("It was a line\nthat wraps. Next", ["It was a line that wraps.".replace(" that", "\nthat"), "Next"]),
        ('He said "No!" Then he left.', ['He said "No!"', "Then he left."]),
        ("Really?! Yes…", ["Really?!", "Yes…"]),
        ("橋は古い。港は新しい。", ["橋は古い。", "港は新しい。"]),
        ("...", ["..."]),
        ("", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in split_sentences(text)] == expected


@given(st.text(alphabet=st.sampled_from("aB1. \n-!?)(•é\u200b#"), max_size=120) | st.text(max_size=120))
def test_sentences_stand_where_they_say_in_order(text: str) -> None:
    sentences = split_sentences(text)
    assert all(text[item.start : item.end] == item.text for item in sentences)
    assert all(first.end <= second.start for first, second in pairwise(sentences))
    assert bool(sentences) == bool(text.strip())


def test_long_hostile_text_is_split_in_linear_time() -> None:
    started = time.perf_counter()
    for piece in ("Dr. ", "- ", "1. ", "A. ", "\n", "((", "not "):
        split_sentences(piece * 40_000)
    assert time.perf_counter() - started < 5


def test_a_quotation_is_found_whatever_its_spaces_case_and_quotes() -> None:
    text = "He said:  “It’s the\nOldest bridge” – in 1904."
    place = locate("it's the oldest BRIDGE\" - in", text)
    assert place is not None
    assert text[slice(*place)] == "It’s the\nOldest bridge” – in"
    assert locate('"Oldest bridge."', text) is not None


@pytest.mark.parametrize("quote", ["", "  ", '""', "newest bridge", "the bridge"])
def test_what_is_not_there_is_not_found(quote: str) -> None:
    assert locate(quote, "It is the oldest bridge.") is None


@given(st.text(max_size=60), st.text(max_size=20))
def test_any_place_found_lies_in_the_text(text: str, quote: str) -> None:
    place = locate(quote, text)
    assert place is None or 0 <= place[0] < place[1] <= len(text)


def test_blank_is_what_shows_nothing() -> None:
    assert is_blank(None)
    assert is_blank(" \u200b\ufeff\n")
    assert not is_blank(".")


def test_texts_are_the_same_but_for_case_spaces_and_quotes() -> None:
    assert canonical(" “In  1904.” ") == canonical("in 1904")
    assert canonical("in 1905") != canonical("in 1904")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The bridge was opened in the spring of that year.", "en"),
        ("Le pont a été ouvert au printemps de cette année.", "fr"),
        ("De brug werd in het voorjaar van dat jaar geopend.", "nl"),
        ("Die Brücke wurde im Frühling des Jahres eröffnet.", "de"),
        ("Мост был открыт весной того же года.", "other"),
        (
            "El puente fue inaugurado durante aquella primavera lluviosa cuando muchos vecinos celebraban juntos",
            "other",
        ),
        ("1904", None),
        ("Varde", None),
    ],
)
def test_language_guess(text: str, language: str | None) -> None:
    assert guess_language(text) == language


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("in 1904", ["1904"]),
        ("1,000 or 1.000 men", ["1000", "1000"]),
        ("2,50 and 2.5", ["2.5", "2.5"]),
        ("two hundred lifts", ["200"]),
        ("1.5 million", ["1500000"]),
        ("5 million, five million", ["5000000", "5000000"]),
        ("on 5 May 1904", ["5", "month 5", "1904"]),
        ("you may go", []),
        ("see [3] and [1, 2]", []),
        ("v1.2.3", ["1.2.3"]),
        ("007", ["7"]),
        ("deux cents", ["2"]),
    ],
)
def test_values(text: str, keys: list[str]) -> None:
    assert [value.key for value in find_values(text)] == keys


def test_names_are_capitalised_words_inside_a_sentence() -> None:
    assert find_names("Yesterday Anna Berg met Ole's aunt. Nobody saw.") == ("Anna", "Berg", "Ole")


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


@given(st.text(max_size=80), st.sampled_from(["en", "fr", "nl", "de", "other", None]))
def test_any_text_can_be_read(text: str, language: str | None) -> None:
    reading = read_sentence(text, language)
    assert set(reading.content) <= reading.stems
    assert all(isinstance(canonical_number(value.text), str) for value in reading.values)
    guess_language(text)
