"""The columns of a judgement as a table: one definition for CSV, Excel, Parquet and data frames.

First what a person reads: the case (`inputs_…`), how it ended, the verdict (`verdict_…`), figures beside it
(`figures_…`), notes in words and `metadata_…`. Then what machines read: usage, versions, and last what is nested, as
JSON text. A list of texts or of numbers is a list where a format has lists (Parquet, data frames), else JSON text. The
prefixes are the names of the judgement's own fields: they keep a judge's names apart from ours, and are
names that SQL and attribute access take as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

import orjson

from krino.contract import LEFT_OUT_IF_EMPTY
from krino.results.field_kinds import StorageKind, kind_of, storage_kind
from krino.text.clean import sound

Kind = StorageKind | Literal["texts", "ints", "floats"]
"""The last three: lists of such values."""
Value = bool | int | float | str | None
_LISTS: Mapping[frozenset[type], Kind] = {
    frozenset(): "texts",
    frozenset({str}): "texts",
    frozenset({int}): "ints",
    frozenset({float}): "floats",
    frozenset({int, float}): "floats",
}
"""What a column of lists is, by the types of all that they hold; of other types it is JSON text."""
LISTS = frozenset(_LISTS.values())
_BEYOND = object
"""Stands for a whole number that no column can hold."""
Record = Mapping[str, Any]

FIRST = ("id", "status")
BEFORE_VERDICT = ("roll_up",)
AFTER_VERDICT = ("reason", "error", "notes")
USAGE = ("calls", "cached", "input_tokens", "output_tokens", "cost", "seconds")
LAST = ("index", "judge", "judge_version", "input_hash")
NESTED = ("decided_by", "rules", "evidence", "findings", "unread", "labels", "labeller", "source", "ballots")

_SURE: Mapping[str, Kind] = {
    **dict.fromkeys(("index", "usage_calls", "usage_cached", "usage_input_tokens", "usage_output_tokens"), "int"),
    **dict.fromkeys(("usage_cost", "usage_seconds"), "float"),
    **dict.fromkeys((*FIRST, *BEFORE_VERDICT, *AFTER_VERDICT, *LAST[1:], *NESTED), "text"),
}
_FOR_MACHINES = frozenset({*(f"usage_{name}" for name in USAGE), *LAST, *NESTED})
AT_ONCE = 200
"""Judgements that are turned into columns together."""
_PLAIN = frozenset({str, bool, int, float, type(None)})
_OPEN = ("inputs", "verdict", "figures", "metadata")
"""The fields of a judgement whose names are the judge's or the user's own: each name is a column."""


def table_rows(judgements: Iterable[Record], kinds: Mapping[str, Kind]) -> Iterator[tuple[Value, ...]]:
    """One row a judgement, as the columns of a sheet hold it: lists are JSON text there."""
    flat: dict[str, Kind] = {name: "text" if kind in LISTS else kind for name, kind in kinds.items()}
    remaining = iter(judgements)
    while some := list(islice(remaining, AT_ONCE)):
        cells = column_values(some, flat)
        yield from zip(*(convert_column(kind, cells[name]) for name, kind in flat.items()), strict=True)


def column_values(judgements: Sequence[Record], kinds: Mapping[str, Kind]) -> dict[str, list[Any]]:
    """Some judgements as columns of these kinds; a judgement that has no such field has null there."""
    opened = {prefix: [judgement.get(prefix) or {} for judgement in judgements] for prefix in (*_OPEN, "usage")}
    return {name: _cells(name, kind in LISTS, judgements, opened) for name, kind in kinds.items()}


def _cells(name: str, lists: bool, judgements: Sequence[Record], opened: Mapping[str, Sequence[Record]]) -> list[Any]:
    if name == "notes":
        return [format_findings(judgement) for judgement in judgements]
    if name in LEFT_OUT_IF_EMPTY:  # few cases have them: none is null, however it was written
        return [_json(judgement.get(name) or None) for judgement in judgements]
    if name in NESTED:
        return [_json(judgement.get(name)) for judgement in judgements]
    if name in _SURE and not name.startswith("usage_"):
        return [judgement.get(name) for judgement in judgements]
    prefix, _, key = name.partition("_")
    values = [given.get(key) for given in opened[prefix]]
    if lists:
        return values
    return [value if value.__class__ in _PLAIN else _json(value) for value in values]


def format_findings(judgement: Record) -> str | None:
    """The findings in words, each with its rule."""
    lines = [_note(finding) for finding in judgement.get("findings") or () if isinstance(finding, Mapping)]
    return "\n".join(lines) or None


def readable_columns(kinds: Mapping[str, Kind]) -> dict[str, Kind]:
    """Those of the columns that a person reads."""
    return {name: kind for name, kind in kinds.items() if name not in _FOR_MACHINES}


def find_columns(judgements: Iterable[Record]) -> dict[str, Kind]:
    """Every column of a run; see `Columns`."""
    columns = Columns()
    for judgement in judgements:
        columns.add(judgement)
    return columns.kinds()


class Columns:
    """Takes judgements, and tells every column of theirs, in its order, with the one kind that all its values have.

    A column of mixed kinds is text: its values are then written as JSON. Without judgements there are the columns
    that are sure.
    """

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, dict[type, Any]]] = {prefix: {} for prefix in _OPEN}
        """For each prefix and name, a value of every type that came up; of lists the types of what they hold."""

    def add(self, judgement: Record) -> None:
        for prefix, seen in self._seen.items():
            for name, value in (judgement.get(prefix) or {}).items():
                known = seen.get(name)
                if known is None:
                    known = seen[name] = {}
                if value.__class__ is list:
                    known.setdefault(list, set()).update(map(_type_of, value))
                elif _type_of(value) is _BEYOND:
                    known[str] = ""  # no column of numbers can hold it: it is kept as text
                elif value.__class__ not in known:
                    known[value.__class__] = value

    def kinds(self) -> dict[str, Kind]:
        seen = {f"{prefix}_{name}": found for prefix, names in self._seen.items() for name, found in names.items()}
        return {name: _SURE.get(name) or _column_kind(seen[name]) for name in _in_order(seen)}


def _column_kind(seen: Mapping[type, Any]) -> Kind:
    """Of the values that came up in a column, by type."""
    if seen.keys() - {type(None)} == {list}:
        return _LISTS.get(frozenset(seen[list]), "text")
    return storage_kind("list" if type_ is list else kind_of(value) for type_, value in seen.items())


def _type_of(value: Any) -> type:
    found: type = value.__class__
    return _BEYOND if found is int and not -(2**63) <= value < 2**63 else found


def convert_column(kind: Kind, values: Iterable[Any]) -> list[Any]:
    """All values of a column as it holds them; plain text, by far the most common, needs no look."""
    if kind == "text":
        return [v if v is None or (v.__class__ is str and v.isascii()) else _as_text(v) for v in values]
    if kind == "float":
        return [None if value is None else float(value) for value in values]
    if kind == "texts" or kind == "floats":
        make = sound if kind == "texts" else float
        return [None if value is None else [make(item) for item in value] for value in values]
    return list(values)


def _as_text(value: Any) -> str:
    return sound(value if isinstance(value, str) else _json(value) or "")


def _in_order(open_names: Iterable[str]) -> list[str]:
    """Inputs, verdict fields and metadata, also those that only later judgements have, each group together."""
    known = list(open_names)
    inputs, verdict, figures, metadata = ([name for name in known if name.startswith(f"{prefix}_")] for prefix in _OPEN)
    usage = [f"usage_{name}" for name in USAGE]
    return [*FIRST, *inputs, *BEFORE_VERDICT, *verdict, *figures, *AFTER_VERDICT, *metadata, *usage, *LAST, *NESTED]


def _note(finding: Mapping[str, Any]) -> str:
    where = f" ({finding['where']})" if finding.get("where") else ""
    return f"{finding.get('text') or ''}{where} [{finding.get('rule')}]"


def _json(value: Any) -> str | None:
    if value is None:
        return None
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()
    except TypeError:  # a number beyond 64 bits, half a character: valid in Python's own JSON
        return json.dumps(value, default=str)
