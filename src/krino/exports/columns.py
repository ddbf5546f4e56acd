"""The columns of a judgement as a table: one definition for CSV, Parquet and data frames.

Plain columns come first, then `verdict_…`, usage and `metadata_…`, and last what is nested, as JSON text.
The prefixes keep a judge's own names apart from ours, and are names that SQL and attribute access take as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import orjson

Kind = Literal["bool", "int", "float", "text"]
Value = bool | int | float | str | None
Record = Mapping[str, Any]

FIRST = ("index", "id", "status", "roll_up")
AFTER_VERDICT = ("reason", "error")
USAGE = ("calls", "cached", "input_tokens", "output_tokens", "cost", "seconds")
LAST = ("judge", "judge_version", "input_hash")
NESTED = ("decided_by", "rules", "evidence", "findings", "labels", "labeller", "source", "ballots")

_SURE: Mapping[str, Kind] = {
    **dict.fromkeys(("index", "usage_calls", "usage_cached", "usage_input_tokens", "usage_output_tokens"), "int"),
    **dict.fromkeys(("usage_cost", "usage_seconds"), "float"),
    **dict.fromkeys((*FIRST[1:], *AFTER_VERDICT, *LAST, *NESTED), "text"),
}


def row_of(judgement: Record) -> dict[str, Value]:
    """The judgement's own columns; another judgement of the run may have others."""
    row: dict[str, Value] = {name: judgement.get(name) for name in FIRST}
    row |= {f"verdict_{name}": _scalar(value) for name, value in (judgement.get("verdict") or {}).items()}
    row |= {name: judgement.get(name) for name in AFTER_VERDICT}
    usage = judgement.get("usage") or {}
    row |= {f"usage_{name}": usage.get(name) for name in USAGE}
    row |= {f"metadata_{name}": _scalar(value) for name, value in (judgement.get("metadata") or {}).items()}
    row |= {name: judgement.get(name) for name in LAST}
    ballots = judgement.get("ballots") or None  # only panels have them: none is null, however it was written
    return row | {name: _json(judgement.get(name)) for name in NESTED} | {"ballots": _json(ballots)}


def columns_of(judgements: Iterable[Record]) -> dict[str, Kind]:
    """Every column of the run, in the order of `row_of`, with the one kind that all its values have.

    A column of mixed kinds is text: its values are then written as JSON. A run without judgements has the columns
    that are sure.
    """
    seen: dict[str, set[str]] = {}
    for judgement in judgements:
        for prefix, values in (("verdict", judgement.get("verdict")), ("metadata", judgement.get("metadata"))):
            for name, value in (values or {}).items():
                found = seen.setdefault(f"{prefix}_{name}", set())
                if value is not None:
                    found.add(_kind(value))
    return {name: _SURE.get(name) or _one_kind(seen[name]) for name in _in_order(seen)}


def as_kind(kind: Kind, value: Value) -> Value:
    """The value as its column holds it."""
    if value is None:
        return None
    if kind == "text":
        text = value if isinstance(value, str) else _json(value) or ""
        return text if text.isascii() else text.encode("utf-8", "replace").decode()  # half a character is no text
    return float(value) if kind == "float" else value


def _in_order(open_names: Iterable[str]) -> list[str]:
    """Verdict fields and metadata, also those that only later judgements have, each with their kin."""
    known = list(open_names)
    verdict = [name for name in known if name.startswith("verdict_")]
    metadata = [name for name in known if name.startswith("metadata_")]
    usage = [f"usage_{name}" for name in USAGE]
    return [*FIRST, *verdict, *AFTER_VERDICT, *usage, *metadata, *LAST, *NESTED]


def _kind(value: Any) -> str:
    if type(value) is int and not -(2**63) <= value < 2**63:
        return "huge"  # no column of numbers can hold it: it is kept as text
    return type(value).__name__


def _one_kind(found: set[str]) -> Kind:
    if found == {"bool"}:
        return "bool"
    if found == {"int"}:
        return "int"
    return "float" if found and found <= {"int", "float"} else "text"


def _scalar(value: Any) -> Value:
    return value if isinstance(value, str | bool | int | float | None) else _json(value)


def _json(value: Any) -> str | None:
    if value is None:
        return None
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()
    except TypeError:  # a number beyond 64 bits, half a character: valid in Python's own JSON
        return json.dumps(value, default=str)
