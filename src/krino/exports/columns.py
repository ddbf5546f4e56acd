"""The columns of judgements as a table, shared by CSV, Excel, Parquet and data frames.

Columns for people come first: the case (`inputs_…`), its status, the verdict (`verdict_…`), figures (`figures_…`),
findings in words and `metadata_…`; who judged is for people too. Columns for machines follow: usage, hashes and nested
values as JSON text. Lists of texts or numbers are lists in formats that have lists (Parquet, data frames), and JSON
text in others. The prefixes keep names of judges and users apart from ours, and are valid names in SQL and Python.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal

import orjson

from krino.contract import LEFT_OUT_IF_EMPTY
from krino.contract.identity import JudgedBy, labeller_name
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
"""The kind of a column of lists by the types of their items; other lists are JSON text."""
LISTS = frozenset(_LISTS.values())
_TOO_LARGE = object
"""In place of a type: an integer that does not fit into 64 bits."""
Record = Mapping[str, Any]

FIRST = ("id", "status")
BEFORE_VERDICT = ("roll_up",)
AFTER_VERDICT = ("reason", "error", "notes")
USAGE = ("calls", "cached", "input_tokens", "output_tokens", "cost", "seconds")
WHO = ("judge", "judge_version", "judge_fingerprint", "prompt_hash", "labelled_by", "agreement")
"""Who judged; `labelled_by` names the model, and is null where no labeller was asked."""
LAST = ("index", *WHO, "input_hash")
NESTED = ("decided_by", "rules", "evidence", "findings", "unread", "labels", "labeller", "source", "ballots")

_FIXED_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("index", "usage_calls", "usage_cached", "usage_input_tokens", "usage_output_tokens"), "int"),
    **dict.fromkeys(("usage_cost", "usage_seconds"), "float"),
    **dict.fromkeys((*FIRST, *BEFORE_VERDICT, *AFTER_VERDICT, *LAST[1:], *NESTED), "text"),
}
_FOR_MACHINES = frozenset({*(f"usage_{name}" for name in USAGE), *LAST, *NESTED}) - {*WHO}
JUDGED_BY = "judged_by"
AT_ONCE = 200
"""Judgements that are converted together."""
_PLAIN = frozenset({str, bool, int, float, type(None)})
_PREFIXES = ("inputs", "verdict", "figures", "metadata")
"""The fields of a judgement in which each name, given by judge or user, becomes a column."""


def table_rows(judgements: Iterable[Record], kinds: Mapping[str, Kind]) -> Iterator[tuple[Value, ...]]:
    """Yields one row for each judgement, for formats without lists: they are JSON text."""
    flat: dict[str, Kind] = {name: "text" if kind in LISTS else kind for name, kind in kinds.items()}
    remaining = iter(judgements)
    while some := list(islice(remaining, AT_ONCE)):
        cells = column_values(some, flat)
        yield from zip(*(convert_column(kind, cells[name]) for name, kind in flat.items()), strict=True)


def column_values(judgements: Sequence[Record], kinds: Mapping[str, Kind]) -> dict[str, list[Any]]:
    """The values of these columns, by name, one for each judgement; null where a judgement has no such field."""
    opened = {prefix: [judgement.get(prefix) or {} for judgement in judgements] for prefix in (*_PREFIXES, "usage")}
    return {name: _cells(name, kind in LISTS, judgements, opened) for name, kind in kinds.items()}


def _cells(name: str, lists: bool, judgements: Sequence[Record], opened: Mapping[str, Sequence[Record]]) -> list[Any]:
    """Returns the values of one column, one for each judgement; nested values are JSON text unless `lists`."""
    if name == "notes":
        return [format_findings(judgement) for judgement in judgements]
    if name == "labelled_by":
        return [labeller_name(given) if (given := judgement.get("labeller")) else None for judgement in judgements]
    if name in WHO[2:]:
        return [(judgement.get(JUDGED_BY) or {}).get(name) for judgement in judgements]
    if name in LEFT_OUT_IF_EMPTY:  # most cases have none, which is null however it was written
        return [_json(judgement.get(name) or None) for judgement in judgements]
    if name in NESTED:
        return [_json(judgement.get(name)) for judgement in judgements]
    if name in _FIXED_KINDS and not name.startswith("usage_"):
        return [judgement.get(name) for judgement in judgements]
    prefix, _, key = name.partition("_")
    values = [given.get(key) for given in opened[prefix]]
    if lists:
        return values
    return [value if value.__class__ in _PLAIN else _json(value) for value in values]


def format_findings(judgement: Record) -> str | None:
    """The findings in words with their rules, one a line; None if there are none."""
    lines = [_format_finding(finding) for finding in judgement.get("findings") or () if isinstance(finding, Mapping)]
    return "\n".join(lines) or None


def readable_columns(kinds: Mapping[str, Kind]) -> dict[str, Kind]:
    """The columns for people."""
    return {name: kind for name, kind in kinds.items() if name not in _FOR_MACHINES}


def with_identity(judgements: Iterable[Record], who: JudgedBy) -> Iterator[Record]:
    """The judgements, each with who judged it."""
    for judgement in judgements:
        yield {**judgement, JUDGED_BY: who.with_labeller(judgement.get("labeller")).named()}


def find_columns(judgements: Iterable[Record]) -> dict[str, Kind]:
    """Returns every column of a run with its kind; see `Columns`."""
    columns = Columns()
    for judgement in judgements:
        columns.add(judgement)
    return columns.kinds()


class Columns:
    """Collects the columns of judgements, in order, each with a kind that fits all its values.

    A column of mixed kinds is text, with values as JSON. Without judgements only the fixed columns are there.
    """

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, dict[type, Any]]] = {prefix: {} for prefix in _PREFIXES}
        """By prefix and name: one value of every type that occurred; for lists, the types of their items."""

    def add(self, judgement: Record) -> None:
        """Notes the fields of a judgement and the types of their values."""
        for prefix, seen in self._seen.items():
            for name, value in (judgement.get(prefix) or {}).items():
                known = seen.get(name)
                if known is None:
                    known = seen[name] = {}
                if value.__class__ is list:
                    known.setdefault(list, set()).update(map(_type_of, value))
                elif _type_of(value) is _TOO_LARGE:
                    known[str] = ""  # kept as text
                elif value.__class__ not in known:
                    known[value.__class__] = value

    def kinds(self) -> dict[str, Kind]:
        """The columns seen so far in order, the fixed ones included, each with its kind."""
        seen = {f"{prefix}_{name}": found for prefix, names in self._seen.items() for name, found in names.items()}
        return {name: _FIXED_KINDS.get(name) or _column_kind(seen[name]) for name in _order_columns(seen)}


def _column_kind(seen: Mapping[type, Any]) -> Kind:
    """The kind of a column, given one value of every type that occurred."""
    if seen.keys() - {type(None)} == {list}:
        return _LISTS.get(frozenset(seen[list]), "text")
    return storage_kind("list" if type_ is list else kind_of(value) for type_, value in seen.items())


def _type_of(value: Any) -> type:
    found: type = value.__class__
    return _TOO_LARGE if found is int and not -(2**63) <= value < 2**63 else found


def convert_column(kind: Kind, values: Iterable[Any]) -> list[Any]:
    """The values converted to the kind of their column, null unchanged; ASCII text, the most common, stays as it is."""
    if kind == "text":
        return [v if v is None or (v.__class__ is str and v.isascii()) else _as_text(v) for v in values]
    if kind == "float":
        return [None if value is None else float(value) for value in values]
    if kind == "texts" or kind == "floats":
        make = sound if kind == "texts" else float
        return [None if value is None else [make(item) for item in value] for value in values]
    return list(values)


def _as_text(value: Any) -> str:
    """A value as text that can be written: text as it is, anything else as JSON."""
    return sound(value if isinstance(value, str) else _json(value) or "")


def _order_columns(open_names: Iterable[str]) -> list[str]:
    """All columns in order; names that only later judgements have join their group."""
    known = list(open_names)
    groups = ([name for name in known if name.startswith(f"{prefix}_")] for prefix in _PREFIXES)
    inputs, verdict, figures, metadata = groups
    usage = [f"usage_{name}" for name in USAGE]
    return [*FIRST, *inputs, *BEFORE_VERDICT, *verdict, *figures, *AFTER_VERDICT, *metadata, *usage, *LAST, *NESTED]


def _format_finding(finding: Mapping[str, Any]) -> str:
    where = f" ({finding['where']})" if finding.get("where") else ""
    return f"{finding.get('text') or ''}{where} [{finding.get('rule')}]"


def _json(value: Any) -> str | None:
    """Returns a value as JSON text; None stays None, and unknown types are written as their `str`."""
    if value is None:
        return None
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()
    except TypeError:  # an integer beyond 64 bits or a lone surrogate, which only Python's own JSON takes
        return json.dumps(value, default=str)
