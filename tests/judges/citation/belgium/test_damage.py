"""What encodings, markup and scanners do to text is undone, and nothing else is touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.citation.belgium.courts import Court, Unknown, resolve_court
from krino.judges.citation.belgium.damage import LOST, rejoined, restored, with_letters


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Cour d&#39;appel de Li&egrave;ge", "Cour d'appel de Liège"),
        ("C\u200bass\u00ad.\ufeff", "Cass."),
        ("LiÃ¨ge, Conseil dâ€™Ã‰tat", "Liège, Conseil d’État"),
        ("S.A. Ãx", "S.A. Ãx"),
        ("R & D, Liège", "R & D, Liège"),
    ],
)
def test_entities_hidden_characters_and_letters_encoded_twice_are_restored(written: str, meant: str) -> None:
    assert restored(written) == meant


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Arbeids- rechtbank", "Arbeidsrechtbank"),
        ("consti-\ntutionnelle", "constitutionnelle"),
        ("Familie- en jeugdrechtbank", "Familie- en jeugdrechtbank"),
        ("Bruxelles - Liège", "Bruxelles - Liège"),
        ("Li`ege", "Liege"),
        ("Li?ge, d'\ufffdtat", f"Li{LOST}ge, d'{LOST}tat"),
        ("which court?", "which court?"),
    ],
)
def test_broken_words_are_joined_and_lost_letters_marked(written: str, meant: str) -> None:
    assert rejoined(written) == meant


def test_digits_are_read_as_the_letters_that_they_look_like() -> None:
    assert list(with_letters("c0ur")) == ["cour", "cour"]
    assert list(with_letters("appe1")) == ["appel", "appei"]
    assert list(with_letters("cour")) == []
    assert list(with_letters("2e")) == []


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("C0ur de cassation", ("cassation", None)),
        ("Cour d'appe1 de Liege", ("appeal", "liege")),
        ("Tribuna1 du travail de Bruxe11es", ("labour_tribunal", "bruxelles")),
        ("Arbeids- rechtbank Antwerpen", ("labour_tribunal", "antwerpen")),
        ("Conseil d'?tat", ("council_of_state", None)),
        ("Cour d'appel de Li\ufffdge", ("appeal", "liege")),
        ("Trib. entr. Li`ege", ("enterprise", "liege")),
        ("Cour d&#39;appel de Li&egrave;ge", ("appeal", "liege")),
        ("Cour du travail de LiÃ¨ge", ("labour_court", "liege")),
        ("C\u200bass.", ("cassation", None)),
        ("Courd'appel de Mons", ("appeal", "mons")),
        ("Cour d'appel deMons", ("appeal", "mons")),
        ("Hofvan Cassatie", ("cassation", None)),
    ],
)
def test_a_damaged_name_of_a_court_is_read(written: str, expected: tuple[str, str | None]) -> None:
    found = resolve_court(written)
    assert isinstance(found, Court), found
    assert (found.type, found.place) == expected


def test_a_name_that_had_to_be_mended_says_so() -> None:
    found = resolve_court("Arbeids- rechtbank Antwerpen")
    assert isinstance(found, Court)
    assert found.mended


@pytest.mark.parametrize("text", ["Cour d'appel de Xy?zzy", "Ligue des droits", "1234", "appelé de Rodez", "????"])
def test_what_is_no_court_is_not_mended_into_one(text: str) -> None:
    assert isinstance(resolve_court(text), Unknown)


@given(st.text(max_size=80))
def test_any_text_can_be_restored_and_read(text: str) -> None:
    assert isinstance(rejoined(restored(text)), str)
    resolve_court(text)
