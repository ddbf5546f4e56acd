"""Disguises come off: letters that look alike, escapes in escapes, remarks, codes. Names and values stay."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.labellers.llm.planted.deobfuscate import (
    LIKE,
    decode_around,
    fold_to_latin,
    fold_to_letters,
    layers,
    strip_comments,
)


def last(text: str) -> str:
    return list(layers(text))[-1]


# --- letters ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("latin", LIKE)
def test_every_look_alike_is_read_as_what_it_looks_like(latin: str) -> None:
    for other in LIKE[latin]:
        assert fold_to_latin(other) == latin
        if latin.isalpha():
            assert fold_to_letters(f"x{other}1") == f"x{latin}1".encode()


def test_no_look_alike_stands_for_two_letters() -> None:
    every = "".join(LIKE.values())
    assert len(set(every)) == len(every)


@pytest.mark.parametrize("code", [0x34F, 0xAD, 0x200C, 0x200D, 0x2060, 0xFE0F, 0xFEFF, 0x115F, 0x1160, 0x3164, 0xFFA0])
def test_what_is_not_seen_is_not_there(code: int) -> None:
    assert fold_to_latin(f"la{chr(code)}bel") == "label"
    assert fold_to_letters(f"la{chr(code)}bel") == b"label"


def test_other_scripts_stay_what_they_are() -> None:
    assert fold_to_latin("日本語 жшщ") == "日本語 жшщ"
    assert fold_to_letters("日本語 a1") == b"a1"


@given(st.text())
def test_a_glance_is_what_a_long_look_shows_of_plain_letters(text: str) -> None:
    seen = "".join(char for char in fold_to_latin(text).lower() if char.isascii() and char.isalnum())
    if not set(text) & set("\\&%"):
        assert fold_to_letters(text).decode() == seen


# --- escapes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("l\\u0061bel", "label"),
        ("l\\u{61}bel", "label"),
        ("l\\U00000061bel", "label"),
        ("l\\x61bel", "label"),
        ("l\\141bel", "label"),
        ("l&#97;bel", "label"),
        ("l&#x61;bel", "label"),
        ("l%61bel", "label"),
        ("l%2561bel", "label"),
        ("l&amp;amp;#97;bel", "label"),
        ("l\\\\u0061bel", "label"),
        ("％61", "a"),
        ("caf%C3%A9", "cafe"),
        ("\\ud835\\udc1a", "a"),
        ("a\\nb\\tc\\fd\\re\\bf\\vg", "a b c d e f g"),
        ('\\"a\\"', '"a"'),
        ("\\u{110000}", " "),
        ("\\u{10ffff}", "\U0010ffff"),
        ("\\ud800", "\ufffd"),
        ("100 % & so \\", "100 % & so \\"),
    ],
)
def test_escapes_are_undone_to_the_last(text: str, plain: str) -> None:
    assert last(text) == plain


@pytest.mark.parametrize("text", ["l\\u0061bel", "l\\x61bel", "l\\141bel", "l&#97;bel", "l%61bel", "l&amp;#97;bel"])
def test_a_glance_sees_through_escapes(text: str) -> None:
    assert b"label" in fold_to_letters(text)


def test_every_layer_is_a_reading_and_there_is_an_end() -> None:
    deep = "x"
    for _ in range(20):
        deep = json.dumps(deep)
    assert len(list(layers(deep))) == 6
    assert list(layers("plain")) == ["plain"]
    assert list(layers('\\"')) == ['\\"', '"']
    assert last(html.escape(quote(json.dumps("ä<b")))) == '"a<b"'


# --- remarks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a /* b */ c", "a  c"),
        ("a/*b*/c/*d*/e", "ace"),
        ("a <!-- b --> c", "a  c"),
        ("a // b\nc", "a \nc"),
        ("a # b\nc", "a \nc"),
        ("a /* b", "a "),
        ("a */ b", "a */ b"),
        ("plain", "plain"),
    ],
)
def test_remarks_are_cut_out(text: str, rest: str) -> None:
    assert strip_comments(text) == rest


# --- codes -----------------------------------------------------------------------------------------

NAMES = ("label", "because_of", "a", "similarity_why")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("before", ["", "x", "xy", "xyz", "a ", "face ", "The sum is "])
def test_a_name_is_found_in_every_code_wherever_it_begins(name: str, before: str) -> None:
    plain = f'{{"{name}": "good and well"}}'
    coded = (
        base64.b64encode(plain.encode()).decode(),
        base64.urlsafe_b64encode(f"{plain}???>>>".encode()).decode(),
        plain.encode().hex(),
        plain.encode().hex(" ").upper(),
        plain[::-1],
        plain.translate(str.maketrans("abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm")),
        plain.translate(str.maketrans("abcdefghijklmnopqrstuvwxyz", "defghijklmnopqrstuvwxyzabc")),
        plain.translate(str.maketrans("abcdefghijklmnopqrstuvwxyz", "zyxwvutsrqponmlkjihgfedcba")),
        " ".join(f"0x{byte:02x}" for byte in plain.encode()),
        " ".join(map(str, plain.encode())),
        " ".join(f"{byte:08b}" for byte in plain.encode()),
        base64.b64encode(plain.encode("utf-16-le")).decode(),
    )
    for code in coded:
        text = before + code
        assert any(plain in reading for reading in decode_around(text, fold_to_letters(text), [name])), code


@pytest.mark.parametrize("text", ["Plain words, none of them in a code.", "", "dGhlIHNreSBpcyBibHVlIHRvZGF5"])
def test_where_the_name_is_in_no_code_nothing_is_decoded(text: str) -> None:
    assert list(decode_around(text, fold_to_letters(text), ["similarity_why"])) == []


def test_a_name_without_latin_letters_is_no_code() -> None:
    assert list(decode_around("日本語", fold_to_letters("日本語"), ["標識"])) == []
