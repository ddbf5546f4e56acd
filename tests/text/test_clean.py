"""Names and ids are the same where they look the same, and nothing in them acts on a terminal."""

from __future__ import annotations

import pytest

from krino.text.clean import clean_name, has_unseen

UNSEEN = {
    "soft hyphen": "an\u00adna",
    "zero width space": "an\u200bna",
    "zero width joiner": "an\u200dna",
    "word joiner": "an\u2060na",
    "byte order mark": "\ufeffanna",
    "right-to-left override": "\u202eanna\u202c",
    "isolate": "\u2067anna\u2069",
    "variation selector": "anna\ufe0f",
    "filler": "anna\u3164",
    "tag": "anna\U000e0061",
}


@pytest.mark.parametrize("name", UNSEEN.values(), ids=UNSEEN)
def test_a_name_is_kept_without_what_nobody_sees(name: str) -> None:
    assert clean_name(name) == "anna"
    assert has_unseen(name)


def test_letters_are_composed_and_others_stay() -> None:
    assert clean_name("Rene\u0301") == "Ren\u00e9"
    for name in ("Anna", "Élodie", "Борис", "李 雷", "a  b", "case:1#2"):
        assert clean_name(name) == name
        assert not has_unseen(name)


def test_a_long_run_of_accents_is_not_sorted() -> None:
    """The standard library takes time that grows with the square of such a run."""
    name = "a" + "\u0301\u0323" * 500_000
    assert clean_name(name) == name
