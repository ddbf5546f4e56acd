"""Lists as Python prints them are read, whoever printed them; nothing else is taken for one."""

from __future__ import annotations

from typing import Any

import pytest

from krino.text.python_values import looks_like_list, parse_python


class Thing:
    """Prints itself as documents do."""

    def __repr__(self) -> str:
        return "Document(metadata={'page': 1}, page_content='a \"b\"')"


@pytest.mark.parametrize(
    "value",
    [
        ["a", 'it\'s "b"', "c\nd\t\\", "é\u2028\x00"],
        [{"text": "a", "score": 0.5, "n": -3, "ok": True, "none": None}],
        {"a": [1, [2.5e-7]]},
        [],
    ],
)
def test_what_python_prints_is_read_back(value: Any) -> None:
    assert parse_python(repr(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("['one' 'two'\n 'three']", ["one", "two", "three"]),
        ("array(['a', 'b'], dtype=object)", ["a", "b"]),
        (repr([Thing()]), [{"metadata": {"page": 1}, "page_content": 'a "b"'}]),
        ("('a', 'b')", ["a", "b"]),
        ("[nan, 'b']", [None, "b"]),
    ],
)
def test_arrays_and_objects_are_read(text: str, value: Any) -> None:
    assert parse_python(text) == value


@pytest.mark.parametrize(
    "text",
    ["['a', 'b'", "['a' ... 'z']", "[1] a note", "'a'", "[a]", "[__import__('os')]", "{'a': 1, 'a': 2}", "[" * 500, ""],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_python(text)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("('It is old.', 'It is tall.')", True),
        ("{'It is old.', 'It is tall.'}", True),
        ('{"It is old.","It is tall."}', True),
        ("array(['It is old.'], dtype=object)", True),
        ("collections.deque(['It is old.'])", True),
        ("frozenset({'It is old.'})", True),
        ("[b'It is old.']", True),
        ("\"['It is old.', 'It is tall.']\"", True),
        ("page_content='It is old.' metadata={}", True),
        ("<generator object read at 0x7f21>", True),
        ("<map object at 0x7f21>", True),
        ('("The Tower", 1958) tells of it.', False),
        ("('Old', as they say.)", False),
        ('{"It is old."}', False),
        ('{"tower": "old", "bridge": "tall"}', False),
        ("list(ing) of towers", False),
        ("'[1] See' is what it says", False),
    ],
)
def test_what_else_python_prints_of_texts_in_a_row_looks_like_a_list(text: str, is_one: bool) -> None:
    assert looks_like_list(text) is is_one


@pytest.mark.parametrize(
    ("text", "is_one"), [("['a', 'b']", True), ('[{"a": 1}]', True), ("[1] See", False), ("a", False)]
)
def test_only_a_list_of_texts_or_objects_looks_like_one(text: str, is_one: bool) -> None:
    assert looks_like_list(text) is is_one
