"""Columns of the index: values of a judgement to filter and sort by, and the text to search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krino.cases.metadata import column_value
from krino.results.field_kinds import ROLL_UP, as_codes, as_number, own_fields
from krino.results.verdict_schema import Schema, is_text_explanation

MOST_FIELDS = 32
MOST_METADATA = 24
FIELDS = tuple(f"f{place}" for place in range(MOST_FIELDS))
METADATA = tuple(f"m{place}" for place in range(MOST_METADATA))
"""Names of SQL columns. Field names never become part of a statement: a run may come from anyone."""
_LONGEST_WORDS = 8_000
_LONGEST_TEXT = 2_000
_EDGE = "\x1f"  # delimits codes, so that one can be found in a list of several


def field_names(schema: Schema) -> list[str]:
    """Lists the verdict fields that get a column, at most `MOST_FIELDS`. Explanations get none; they are found by
    search."""
    parts = schema.get("properties")
    names = parts if isinstance(parts, Mapping) else ()
    return [name for name in names if name != ROLL_UP and not is_text_explanation(schema, name)][:MOST_FIELDS]


def to_column(value: Any) -> float | str | None:
    """Converts a value to how it is stored: numbers as they are, codes with delimiters, None for free text."""
    number = as_number(value)
    if number is not None:
        return number
    codes = as_codes(value)
    return None if codes is None else _EDGE + _EDGE.join(codes) + _EDGE


def delimit_code(value: str) -> str:
    """Returns a code with its delimiters, as it appears in a stored value."""
    return f"{_EDGE}{value}{_EDGE}"


def field_values(judgement: Mapping[str, Any], names: list[str]) -> list[float | str | None]:
    """Returns one value per SQL column for these verdict fields; all are None unless the status of the case is ok."""
    verdict = own_fields(judgement) if judgement["status"] == "ok" else {}
    values = [to_column(verdict.get(name)) for name in names]
    return [*values, *[None] * (MOST_FIELDS - len(values))]


def metadata_values(judgement: Mapping[str, Any], names: list[str]) -> list[str | None]:
    """Returns one value per SQL column, as slices count them. A new name gets the next free column and is added to
    `names`."""
    metadata = judgement.get("metadata") or {}
    for name in metadata:
        if name not in names and len(names) < MOST_METADATA:
            names.append(name)
    values = [column_value(metadata, [name]) if name in metadata else None for name in names]
    return [*values, *[None] * (MOST_METADATA - len(values))]


def searchable_text(judgement: Mapping[str, Any]) -> str:
    """Joins the texts of a judgement that search looks through, limited in length."""
    words, room = [], _LONGEST_WORDS
    for text in _list_texts(judgement):
        if room <= 0:
            break
        words.append(text[: min(room, _LONGEST_TEXT)])
        room -= len(words[-1])
    return "\n".join(words)


def _list_texts(judgement: Mapping[str, Any]) -> Iterator[str]:
    """Yields the texts of a judgement that can be searched."""
    yield judgement["id"]
    for problem in (judgement.get("reason"), judgement.get("error")):
        if problem:
            yield problem
    yield from (judgement.get("inputs") or {}).values()
    for finding in judgement.get("findings") or ():
        yield f"{finding['rule']} {finding['text']}"
    for value in (judgement.get("verdict") or {}).values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield " ".join(item for item in value if isinstance(item, str))
    yield from (value for value in (judgement.get("metadata") or {}).values() if isinstance(value, str))
