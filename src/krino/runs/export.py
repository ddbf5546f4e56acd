"""The finished run as a Parquet table, for those who have pyarrow (`pip install 'krino[parquet]'`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

ROWS = 5_000
FLAT = ("index", "id", "judge", "judge_version", "status", "reason", "error", "input_hash")


def write_parquet(folder: Path, judgements: Iterable[dict[str, Any]]) -> Path | None:
    """`judgements.parquet`: plain columns, one per verdict field, the rest as JSON text. None without pyarrow."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return None
    target, draft = folder / "judgements.parquet", folder / ".judgements.parquet"
    rows = iter(judgements)
    schema, writer = None, None
    try:
        while chunk := [_row(judgement) for judgement in islice(rows, ROWS)]:
            if writer is None:
                schema = pa.schema(_fields(pa, chunk))
                writer = pq.ParquetWriter(draft, schema)
            writer.write_table(pa.Table.from_pylist(chunk, schema=schema))
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        return None
    draft.replace(target)
    return target


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


def _fields(pa: Any, rows: list[dict[str, Any]]) -> Iterator[Any]:
    """Column types from the first rows; a column that is null there becomes text."""
    names = dict.fromkeys(name for row in rows for name in row)
    for name in names:
        values = [row.get(name) for row in rows if row.get(name) is not None]
        if name == "usage_cost" or (
            values and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
        ):
            whole = name != "usage_cost" and all(isinstance(v, int) for v in values)
            yield pa.field(name, pa.int64() if whole else pa.float64())
        elif values and all(isinstance(v, bool) for v in values):
            yield pa.field(name, pa.bool_())
        else:
            yield pa.field(name, pa.string())


def _json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value).decode()
