"""Decides what a value of a verdict is (a number, a few short codes, free text) and what a column of them is.

Summary, slices, stability, comparison, gates, agreement and exports all ask here, so that a field that is a category
in one of them is one in all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import orjson

ValueKind = Literal["null", "flag", "whole", "number", "text", "list", "object"]
ColumnKind = Literal["number", "codes", "other", "empty"]
"""A field of numbers, of a few labels, of free text or names of things, or of nothing but null."""
StorageKind = Literal["bool", "int", "float", "text"]
"""What a column of a table or data frame holds."""

MOST_VALUES = 30
"""With more different codes than this, a field is no category."""
EMPTY_LIST = "(empty list)"

_LARGEST = 1e100  # beyond it no verdict measures anything, and squares would overflow
_LONGEST_CODE, _MOST_WORDS = 40, 4
_LONGEST_LABEL, _MOST_SPACES = 120, 7
_FEW_VALUES = 5
_EXPLANATIONS = ("explanation", "rationale", "reasoning", "comment", "comments", "notes")


# --- one value -------------------------------------------------------------------------------------


def kind_of(value: Any) -> ValueKind:
    """By its type alone. A boolean is a flag and no number."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int):
        return "whole"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "text"
    return "list" if isinstance(value, list | tuple) else "object"


def as_number(value: Any) -> float | None:
    """The value as a finite number; None for everything else, also for nan and infinity, which measure nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not -_LARGEST < value < _LARGEST:  # also false for nan
        return None
    return float(value)


def as_codes(value: Any) -> list[str] | None:
    """The codes that a value holds, one or (a list) several; None for free text and for what is no code at all."""
    if not isinstance(value, list | tuple):
        code = _code_of(value)
        return None if code is None else [code]
    if not value:
        return [EMPTY_LIST]
    if len(value) > MOST_VALUES:
        return None
    codes = dict.fromkeys(map(_code_of, value))
    return None if None in codes else [code for code in codes if code is not None]


def is_text(value: Any) -> bool:
    """Free text or an object, as against numbers and short codes; a list is text if anything in it is."""
    if isinstance(value, list):
        return any(map(is_text, value))
    return isinstance(value, dict) or (isinstance(value, str) and _code_of(value) is None)


def is_too_long_for_label(text: str) -> bool:
    """What people write as a label may be longer than a code that a report counts, but no explanation."""
    return len(text) > _LONGEST_LABEL or text.count(" ") > _MOST_SPACES


def comparison_key(value: Any) -> bytes:
    """Equal for equal values, 1 and 1.0 alike."""
    number = as_number(value)
    return orjson.dumps(value if number is None else number, default=repr)


def _code_of(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str) or len(value) > _LONGEST_CODE:
        return None
    return value if value.isprintable() and len(value.split()) <= _MOST_WORDS else None


# --- a column of values ----------------------------------------------------------------------------


def column_kind(name: str, *, has_numbers: bool, is_text: bool, labels: int, coded: int, closed: bool) -> ColumnKind:
    """Of a field with so many different labels in so many cases that have one.

    `closed`: the judge's schema lists its labels, so that it is a category however many of them a small run has.
    """
    if has_numbers:
        return "number"
    if is_text or (names_explanation(name) and not closed):
        return "other"
    if not labels:
        return "empty"
    return "codes" if closed or not look_like_names(labels, coded) else "other"


def names_explanation(name: str) -> bool:
    """Whether a field holds words about the verdict, by its name: short ones that come again are no category."""
    return name.lower().endswith(_EXPLANATIONS)


def look_like_names(labels: int, cases: int) -> bool:
    """Whether so many labels in so many cases are names of things rather than categories: mostly a new one a case."""
    return labels > max(_FEW_VALUES, cases // 2)


def storage_kind(kinds: Iterable[ValueKind]) -> StorageKind:
    """What can hold all values of these kinds."""
    found = {kind for kind in kinds if kind != "null"}
    if found == {"flag"}:
        return "bool"
    if found == {"whole"}:
        return "int"
    return "float" if found and found <= {"whole", "number"} else "text"
