"""Word pieces: the expected cuts were taken from the original tokenizer of the vocabulary."""

from __future__ import annotations

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.models.wordpiece import WordPiece

PIECES = WordPiece(files("krino.models") / "minilm" / "vocab.txt")
WORDS = (files("krino.models") / "minilm" / "vocab.txt").read_text("utf-8").split("\n")


def cut(text: str, most: int = 64) -> list[str]:
    return [WORDS[number] for number in PIECES.encode(text, most)][1:-1]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("The Atomium's spheres", ["the", "atom", "##ium", "'", "s", "spheres"]),
        ("Café ÉCOLE naïve", ["cafe", "ecole", "naive"]),
        ("cost: $5.50, +3%", ["cost", ":", "$", "5", ".", "50", ",", "+", "3", "%"]),
        ("東京 tower", ["東", "京", "tower"]),
        ("soft\u00adhyphen\u200b and\x00nul", ["soft", "##hy", "##ph", "##en", "and", "##nu", "##l"]),
        ("x" * 101, ["[UNK]"]),
        ("🙂", ["[UNK]"]),
    ],
)
def test_texts_are_cut_as_the_original_does(text: str, pieces: list[str]) -> None:
    assert cut(text) == pieces


def test_names_of_control_tokens_are_text() -> None:
    assert cut("[SEP]") == ["[", "sep", "]"]


def test_a_long_text_loses_its_end_and_keeps_its_marks() -> None:
    ids = PIECES.encode("bridge " * 500, 10)
    assert len(ids) == 10
    assert [WORDS[number] for number in (ids[0], ids[-1])] == ["[CLS]", "[SEP]"]


@given(st.text(st.characters(exclude_categories=())), st.integers(2, 40))
def test_any_text_fits(text: str, most: int) -> None:
    ids = PIECES.encode(text, most)
    assert 2 <= len(ids) <= most
    assert all(0 <= number < len(WORDS) for number in ids)
