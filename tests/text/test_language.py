"""Which language a text is in, also where it is short or has close neighbours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.text.language import foreign_language, guess_language, is_gibberish, language_name


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The bridge was opened in the spring of that year.", "en"),
        ("Anna is 34 years old. Ben is 29 years old.", "en"),
        ("Is parking free?", "en"),
        ("Le pont a été ouvert au printemps de cette année.", "fr"),
        ("Rouge, bleu et vert.", "fr"),
        ("De brug werd in het voorjaar van dat jaar geopend.", "nl"),
        ("Wie is de burgemeester?", "nl"),
        ("Die Brücke wurde im Frühling des Jahres eröffnet.", "de"),
        ("Rot, blau und grün.", "de"),
        ("El museo cierra los lunes.", "es"),
        ("¿Quién es el alcalde?", "es"),
        ("Il museo è chiuso il lunedì.", "it"),
        ("O museu está fechado às segundas-feiras.", "pt"),
        ("Den ble åpnet av en ingeniør som ikke bodde i byen.", "no"),
        ("Hvornår blev broen åbnet, og hvem byggede den?", "da"),
        ("Die aflewering neem drie weke.", "af"),
        ("Мост был открыт весной того же года.", "ru"),
        ("1904", None),
        ("5 m.", None),
        ("2 l", None),
        ("Elle est à 5 m d'ici, dans la cour.", "fr"),
        ("Varde", None),
        ("Prisene steg i mai.", None),
    ],
)
def test_language_guess(text: str, language: str | None) -> None:
    assert guess_language(text) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Il ponte è stato aperto nel 1904 ed è stato costruito da un ingegnere.", "Italian"),
        ("Den ble åpnet i 1904 og bygget av en ingeniør som ikke bodde i byen.", "Norwegian"),
        ("桥", "Chinese"),
        ("افتتح جسر فاردا عام 1904.", "Arabic"),
    ],
)
def test_what_is_surely_in_another_language_is_named(text: str, language: str) -> None:
    code = foreign_language(text)
    assert code is not None
    assert language_name(code) == language


@pytest.mark.parametrize("text", ["King Haakon", "Rio de Janeiro", "Anna is 34 jaar oud.", "XK-4471-QZ", "", "12"])
def test_what_is_short_or_a_name_is_no_foreign_language(text: str) -> None:
    assert foreign_language(text) is None


@pytest.mark.parametrize(
    ("text", "gibberish"),
    [
        ("asdkjh qwlekjr zxcmnbv qpwoeiru", True),
        ("The bridge was opened in 1904.", False),
        ("asdkjh", False),
        ("the asdkjh qwlekjr zxcmnbv", False),
        ("Žižekovský wrote it", False),
    ],
)
def test_letters_at_random_are_told_from_words(text: str, gibberish: bool) -> None:
    assert is_gibberish(text) is gibberish


@given(st.text(max_size=80))
def test_any_text_can_be_guessed(text: str) -> None:
    code = guess_language(text)
    assert code is None or language_name(code)
    foreign_language(text)
    is_gibberish(text)
