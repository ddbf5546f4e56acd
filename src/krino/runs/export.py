"""The finished run as a Parquet table, for those who have pyarrow (`pip install 'krino[parquet]'`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

ROWS = 5_000
FLAT = ("index", "id", "judge", "judge_version", "status", "reason", "error", "input_hash")


def write_parquet(folder: Path, judgements: Callable[[], Iterable[dict[str, Any]]]) -> Path | None:
    """`judgements.parquet`: plain columns, one per verdict field, the rest as JSON text. None without pyarrow.

    Read twice: first for what each column holds, then to write it. A column of mixed kinds becomes JSON text.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return None
    kinds = _kinds(judgements())
    if not kinds:
        return None
    types = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "text": pa.string()}
    schema = pa.schema([pa.field(name, types[kind]) for name, kind in kinds.items()])
    target, draft = folder / "judgements.parquet", folder / ".judgements.parquet"
    rows = iter(judgements())
    with pq.ParquetWriter(draft, schema) as writer:
        while chunk := [_row(judgement) for judgement in islice(rows, ROWS)]:
            plain = [{name: _as(kind, row.get(name)) for name, kind in kinds.items()} for row in chunk]
            writer.write_table(pa.Table.from_pylist(plain, schema=schema))
    draft.replace(target)
    return target


def _kinds(judgements: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Column to what all its values are: bool, int, float or text."""
    seen: dict[str, set[str]] = {}
    for judgement in judgements:
        for name, value in _row(judgement).items():
            found = seen.setdefault(name, set())
            if value is not None:
                found.add(type(value).__name__)
    kinds = {name: _one_kind(found) for name, found in seen.items()}
    return {**kinds, "usage_cost": "float"} if kinds else {}


def _one_kind(found: set[str]) -> str:
    if found in ({"bool"}, {"int"}):
        return found.pop()
    return "float" if found and found <= {"int", "float"} else "text"


def _as(kind: str, value: Any) -> Any:
    if value is None or (kind == "text" and isinstance(value, str)):
        return value
    return _json(value) if kind == "text" else float(value) if kind == "float" else value


def _row(judgement: dict[str, Any]) -> dict[str, Any]:
    row = {key: judgement.get(key) for key in FLAT}
    for key, value in (judgement.get("verdict") or {}).items():
        row[f"verdict_{key}"] = value if isinstance(value, str | bool | int | float | None) else _json(value)
    row["usage_calls"] = judgement["usage"]["calls"]
    row["usage_tokens"] = judgement["usage"]["input_tokens"] + judgement["usage"]["output_tokens"]
    row["usage_cost"] = judgement["usage"]["cost"]
    for key in ("decided_by", "evidence", "findings", "labels", "labeller", "metadata", "source"):
        row[key] = _json(judgement.get(key))
    return row


def _json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value).decode()
