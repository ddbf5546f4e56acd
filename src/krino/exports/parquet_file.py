"""A run as a Parquet table, for those who have pyarrow (`pip install 'krino[parquet]'`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import IO, Any

from krino.errors import UsageProblem
from krino.exports.columns import Kind, Record, as_kind, columns_of, row_of
from krino.writing import replacing

ROWS = 5_000


def write_beside(folder: Path, judgements: Callable[[], Iterable[Record]]) -> Path | None:
    """`judgements.parquet` in the run's own folder; None without pyarrow, or without judgements."""
    try:
        import pyarrow  # noqa: F401 - only whether it is there
    except ImportError:
        return None
    if next(iter(judgements()), None) is None:
        return None
    target = folder / "judgements.parquet"
    with replacing(target) as sink:
        write_parquet(sink, judgements)
    return target


def write_parquet(sink: IO[bytes], judgements: Callable[[], Iterable[Record]]) -> int:
    """Read twice: first for what each column holds, then to write it. Gives the number of rows."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageProblem("Parquet needs pyarrow: pip install 'krino[parquet]'") from None
    kinds = columns_of(judgements())
    schema = arrow_schema(kinds)
    rows, count = map(row_of, judgements()), 0
    with pq.ParquetWriter(sink, schema) as writer:
        while chunk := list(islice(rows, ROWS)):
            plain = [{name: as_kind(kind, row.get(name)) for name, kind in kinds.items()} for row in chunk]
            writer.write_table(pa.Table.from_pylist(plain, schema=schema))
            count += len(chunk)
    return count


def arrow_schema(kinds: dict[str, Kind]) -> Any:
    import pyarrow as pa

    types = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "text": pa.string()}
    return pa.schema([pa.field(name, types[kind]) for name, kind in kinds.items()])
