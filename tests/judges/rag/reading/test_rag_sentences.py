"""Where sentences begin and end, in five languages."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.sentences import split_any, split_prose, split_sentences


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
        ("It opens at 9 a.m. The café opens at noon.", ["It opens at 9 a.m.", "The café opens at noon."]),
        ("It opens at 9 a.m. Monday to Friday.", ["It opens at 9 a.m. Monday to Friday."]),
        ("...", ["..."]),
        ("It helps: a. More oxygen b. Less pain c. Sleep.", ["It helps: a. More oxygen b. Less pain c. Sleep."]),
        ("Needed: 1. A pass 2. A visa. It is due.", ["Needed: 1. A pass 2. A visa.", "It is due."]),
        ("1.\nOpen it.\n2.\n\nClose it.", ["Open it.", "Close it."]),
        ("**1. Your home.** It counts.", ["**1. Your home.** It counts."]),
        ("Use tools (e.g.\nExcel). Go.", ["Use tools (e.g.\nExcel).", "Go."]),
        ("It is max. € 500. Go.", ["It is max. € 500.", "Go."]),
        ("Am **30. Juni 2026**. Danach nicht.", ["Am **30. Juni 2026**.", "Danach nicht."]),
        ("Bis 30.\nJuni 2026. Danach nicht.", ["Bis 30.\nJuni 2026.", "Danach nicht."]),
        ("Bis zum 31. Dez. 2026. Danach nicht.", ["Bis zum 31. Dez. 2026.", "Danach nicht."]),
        ("Pay by Sept. 30. He left.", ["Pay by Sept. 30.", "He left."]),
        ("Es muss der\nBank vorliegen.", ["Es muss der\nBank vorliegen."]),
        ("It is 5 euros.[1] It is due.[2]", ["It is 5 euros.[1]", "It is due.[2]"]),
        ("It is 5 euros. (Passage 1) It is due.", ["It is 5 euros.", "(Passage 1) It is due."]),
        ("It is 5 euros. (Passage 1)", ["It is 5 euros. (Passage 1)"]),
        ("The year is 5. Then it ended.", ["The year is 5.", "Then it ended."]),
        ("", []),
        ("server:\n  timeout: 30\n  retries: 5", ["server:", "timeout: 30", "retries: 5"]),
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
    started = time.process_time()
    for piece in ("Dr. ", "- ", "1. ", "A. ", "\n", "((", "not "):
        split_sentences(piece * 40_000)
    assert time.process_time() - started < 5


PIECES = [
    "The mill",
    "Dr",
    "No",
    "J",
    "U.S",
    "at 9 a.m",
    "is old",
    "A",
    "It burned",
    "in 19",
    "Mr",
    "see",
    "Wow",
    "3",
    "e.g",
]
STOPS = [". ", "! ", "? ", " ", ".", ", ", ".\n", "... ", ".) "]


@given(st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(STOPS)), min_size=1, max_size=12))
def test_the_cheap_way_through_prose_cuts_as_the_thorough_one_does(pieces: list[tuple[str, str]]) -> None:
    text = "".join(piece + stop for piece, stop in pieces).strip()
    assert split_prose(text) in (None, split_any(text))


def test_plain_prose_goes_the_cheap_way() -> None:
    assert split_prose("The mill is old. It burned in May.") is not None


def test_a_reference_mark_behind_a_full_stop_belongs_to_the_sentence_before() -> None:
    text = "Le pont est interdit aux camions. [1] Le pont a été achevé en 1921. [1, 2] Il est long. [3]"
    assert [sentence.text for sentence in split_sentences(text)] == [
        "Le pont est interdit aux camions. [1]",
        "Le pont a été achevé en 1921. [1, 2]",
        "Il est long. [3]",
    ]
