"""Entities of HTML are read whatever a stranger writes into them."""

from __future__ import annotations

import html

import pytest

import krino
from krino.text.clean import unescape_html

LONG = "&#" + "1" * 5_000 + ";"


@pytest.mark.parametrize(
    "text", ["a & b", "&eacute;&#233;&#xe9;", "&#0;&#13;&#1114112;", "&#65 &#065;", "&ampx;&#;&#x;"]
)
def test_entities_are_read_as_browsers_read_them(text: str) -> None:
    assert unescape_html(text) == html.unescape(text)


def test_a_number_without_end_is_no_character() -> None:
    assert unescape_html(f"a{LONG}b") == "a\ufffdb"
    assert unescape_html("&#" + "0" * 5_000 + "65;") == "A"


def test_a_court_with_such_an_entity_is_judged() -> None:
    record = {"cited_court_name": f"Cass. {LONG}", "cited_date": "12 mai 2016", "candidates": [], "matches": []}
    assert krino.judge("citation", record).status == "ok"
