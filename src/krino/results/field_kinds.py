"""The fields of judgements, and their kinds: numbers, short codes (labels), free text.

Summary, slices, stability, comparison, gates, agreement and exports all use these functions, so that a field that is a
category in one of them is a category in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import orjson

from krino.contract import RollUp

ValueKind = Literal["null", "flag", "whole", "number", "text", "list", "object"]
ColumnKind = Literal["number", "codes", "other", "empty"]
"""Numbers; a few labels; free text or names; nothing but null."""
StorageKind = Literal["bool", "int", "float", "text"]
"""The type of a table or data frame column."""

ROLL_UP = "roll_up"
ROLL_UPS: tuple[RollUp, ...] = get_args(RollUp)
"""From the best to the worst."""
MOST_VALUES = 30
"""A field with more distinct codes is not a category."""
EMPTY_LIST = "(empty list)"

_LARGEST = 1e100  # no verdict measures anything larger, and squares would overflow
_LONGEST_CODE, _MOST_WORDS = 40, 4
_LONGEST_LABEL, _MOST_SPACES = 120, 7
_FEW_VALUES = 5
_EXPLANATIONS = ("explanation", "rationale", "reasoning", "comment", "comments", "notes")


# --- the fields of a judgement --------------------------------------------------------------------


def fields_of(holder: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a judgement or ballot that results use. The roll-up is one if the judge gives it."""
    fields = dict(own_fields(holder))
    return {ROLL_UP: holder[ROLL_UP], **fields} if holder.get(ROLL_UP) else fields


def own_fields(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    """The judge's own fields: those of the verdict, then the figures, which never replace a field of the verdict."""
    verdict: Mapping[str, Any] = holder.get("verdict") or {}
    figures: Mapping[str, Any] = holder.get("figures") or {}
    return {**verdict, **{name: figures[name] for name in figures if name not in verdict}} if figures else verdict


# --- one value -------------------------------------------------------------------------------------


def kind_of(value: Any) -> ValueKind:
    """The kind of a value by its type. A boolean is a flag, not a number."""
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
    """The value as a finite number; None for everything else, nan and infinity included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not -_LARGEST < value < _LARGEST:  # also false for nan
        return None
    return float(value)


def as_codes(value: Any) -> list[str] | None:
    """The codes of a value, several for a list; None if it is free text or anything else that is not a code."""
    if not isinstance(value, list | tuple):
        code = _as_code(value)
        return None if code is None else [code]
    if not value:
        return [EMPTY_LIST]
    if len(value) > MOST_VALUES:
        return None
    codes = dict.fromkeys(map(_as_code, value))
    return None if None in codes else [code for code in codes if code is not None]


def is_text(value: Any) -> bool:
    """Whether a value is free text or an object, not a number or code; a list is text if any item is."""
    if isinstance(value, list):
        return any(map(is_text, value))
    return isinstance(value, dict) or (isinstance(value, str) and _as_code(value) is None)


def is_too_long_for_label(text: str) -> bool:
    """Is a text too long for a label of people? They may be longer than codes in reports, but not as an explanation."""
    return len(text) > _LONGEST_LABEL or text.count(" ") > _MOST_SPACES


def comparison_key(value: Any) -> bytes:
    """A key that is equal for equal values; 1 and 1.0 are equal."""
    number = as_number(value)
    return orjson.dumps(value if number is None else number, default=repr)


def _as_code(value: Any) -> str | None:
    """Returns a value as a short label, or None if it is free text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str) or len(value) > _LONGEST_CODE:
        return None
    return value if value.isprintable() and len(value.split()) <= _MOST_WORDS else None


# --- a column of values ----------------------------------------------------------------------------


def column_kind(name: str, *, has_numbers: bool, is_text: bool, labels: int, coded: int, closed: bool) -> ColumnKind:
    """The kind of a field with `labels` distinct labels in `coded` cases that have one.

    `closed`: the judge's schema lists the labels, so that the field is a category even if a small run has many of them.
    """
    if has_numbers:
        return "number"
    if is_text or (names_explanation(name) and not closed):
        return "other"
    if not labels:
        return "empty"
    return "codes" if closed or not look_like_names(labels, coded) else "other"


def names_explanation(name: str) -> bool:
    """Whether a field explains the verdict, by its name; repeated short explanations do not make it a category."""
    return name.lower().endswith(_EXPLANATIONS)


def look_like_names(labels: int, cases: int) -> bool:
    """Whether labels are names rather than categories, because most cases have a new one."""
    return labels > max(_FEW_VALUES, cases // 2)


def storage_kind(kinds: Iterable[ValueKind]) -> StorageKind:
    """The column type that can hold values of all these kinds."""
    found = {kind for kind in kinds if kind != "null"}
    if found == {"flag"}:
        return "bool"
    if found == {"whole"}:
        return "int"
    return "float" if found and found <= {"whole", "number"} else "text"
