"""Letters are read by what they look like, and no offset moves."""

from __future__ import annotations

import pytest

from krino.text.forms import plain_letters, readable


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ｏｐｅｎ １２", "open 12"),
        ("𝐨𝐩𝐞𝐧 𝟗", "open 9"),
        ("Ⓞⓟⓔⓝ", "Open"),
        ("оpеn", "open"),
        ("12 m² und ½", "12 m² und ½"),
        ("Музей открыт", "Музей открыт"),
        ("Μουσείο", "Μουσείο"),
        ("The Привет sign", "The Привет sign"),
    ],
)
def test_styled_and_look_alike_letters_become_plain(text: str, plain: str) -> None:
    assert plain_letters(text) == plain
    assert len(plain_letters(text)) == len(text)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("op\u00aden\u200b now", "open now"),
        ("o p e n   t o d a y", "open today"),
        ("plan A b c", "plan A b c"),
        ("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"),
    ],
)
def test_invisible_characters_go_and_spaced_words_are_joined(text: str, seen: str) -> None:
    assert readable(text) == seen
