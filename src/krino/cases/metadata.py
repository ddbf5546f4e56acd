"""Metadata of a record to slice results by: short values, the same for every judge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

PREFIX = "metadata."
_MOST = 50
_LONGEST_NAME = 60
_LONGEST_VALUE = 100
_LARGEST = 2**63
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " "})  # harmless, and common in French


def record_metadata(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record's `metadata` object, and its fields named `metadata.NAME` (columns of a table, or mapped so).

    Only short texts, numbers, booleans and null are taken: metadata is for counting, not for reading.
    """
    found: dict[str, Any] = {}
    for name, value in _given(record):
        if len(found) < _MOST and _is_name(name) and _is_short(value):
            found[name] = value
    return found


def metadata_with(columns: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """The record's metadata and the columns of its judge. A name that both have is the judge's; the record's value is
    kept as `metadata.NAME`."""
    own = record_metadata(record)
    return {**{f"{PREFIX}{name}" if name in columns else name: value for name, value in own.items()}, **columns}


def column_value(metadata: Mapping[str, Any] | None, columns: Sequence[str]) -> str:
    """The value in a column of metadata, or in several combined, as text to group by."""
    return " · ".join([slice_text((metadata or {}).get(column)) for column in columns])


def slice_text(value: Any) -> str:
    """One value as text to group by; null is `none`, booleans are lower case."""
    if isinstance(value, str):  # nearly all are
        return value
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _given(record: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Yields metadata fields: those under `metadata`, and those whose names begin with the prefix."""
    nested = record.get("metadata")
    if isinstance(nested, Mapping):
        yield from nested.items()
    for name, value in record.items():
        if isinstance(name, str) and name.startswith(PREFIX):
            yield name.removeprefix(PREFIX), value


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable()


def _is_short(value: Any) -> bool:
    """Is a value a short printable text, a finite number, a boolean or null, so that results can be sliced by it?"""
    if isinstance(value, str):
        return len(value) <= _LONGEST_VALUE and value.translate(_SPACES).isprintable()
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool) or (isinstance(value, int) and -_LARGEST < value < _LARGEST)
