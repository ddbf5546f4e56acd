"""Writes a run as a Parquet table; needs pyarrow (`pip install 'krino[parquet]'`)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from io import BytesIO
from itertools import islice
from pathlib import Path
from shutil import copyfileobj
from typing import IO, Any, Self

import orjson

from krino.errors import UsageProblem
from krino.exports.columns import AT_ONCE, Columns, Kind, Record, Value, column_values, convert_column, find_columns
from krino.writing import replacing

ROWS = 5_000
TABLE = "judgements.parquet"

Kinds = Mapping[str, Kind]


class ParquetBeside(ExitStack):
    """Writes `judgements.parquet` into the run's folder, while the run is read for other purposes too.

    The kinds of columns are certain only at the end. They are taken from the first rows, and if later rows need others,
    the judgements are read again. Leaving the context closes the temporary file.
    """

    def __init__(self, folder: Path, again: Callable[[], Iterable[Record]]) -> None:
        """Does nothing without pyarrow. `again` reads the judgements again."""
        super().__init__()
        self._target, self._again = folder / TABLE, again
        self._has_pyarrow = _is_installed()
        self._columns = Columns()
        self._waiting: list[Record] = []
        self._rows: _RowWriter | None = None

    def add(self, judgement: Record) -> None:
        """Adds a judgement to the table, if pyarrow is installed."""
        if self._has_pyarrow:
            self._columns.add(judgement)
            self._waiting.append(judgement)
            if len(self._waiting) == AT_ONCE:
                self._write_waiting()

    def write(self) -> Path | None:
        """Writes the table and returns its path; None without pyarrow, or without judgements."""
        self._write_waiting()
        if self._rows is None:
            return None
        kinds = self._columns.kinds()
        with replacing(self._target) as sink:
            if self._rows.accepts(kinds):
                self._rows.close()
                self._draft.seek(0)
                copyfileobj(self._draft, sink)
            else:
                _write(sink, self._again(), kinds)
        return self._target

    def _write_waiting(self) -> None:
        """Writes the waiting judgements into the draft. After a new column or type it drops them: `write` reads all of
        them again."""
        if self._waiting and self._rows is None:
            draft = tempfile.TemporaryFile(dir=self._target.parent)  # noqa: SIM115 - closed with the rest
            self._draft = self.enter_context(draft)
            self._rows = self.enter_context(_RowWriter(self._draft))
        kinds = self._columns.kinds()
        if self._rows is not None and self._rows.accepts(kinds):
            self._rows.add(self._waiting, kinds)
        self._waiting = []


def write_parquet(sink: IO[bytes], judgements: Callable[[], Iterable[Record]]) -> None:
    """Writes a Parquet file. Judgements are read twice: for the columns, then for the rows."""
    if not _is_installed():
        raise UsageProblem("Parquet needs pyarrow: pip install 'krino[parquet]'")
    _write(sink, judgements(), find_columns(judgements()))


def arrow_schema(kinds: Kinds) -> Any:
    """Returns the Arrow schema of the columns."""
    import pyarrow as pa

    types = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "text": pa.string()}
    types |= {"texts": pa.list_(pa.string()), "ints": pa.list_(pa.int64()), "floats": pa.list_(pa.float64())}
    return pa.schema([pa.field(name, types[kind]) for name, kind in kinds.items()])


def _is_installed() -> bool:
    """Is pyarrow installed?"""
    try:
        import pyarrow.parquet  # noqa: F401 - only a test for its presence
    except ImportError:
        return False
    return True


def _write(sink: IO[bytes], judgements: Iterable[Record], kinds: Kinds) -> None:
    """Writes judgements as Parquet, group by group."""
    remaining = iter(judgements)
    with _RowWriter(sink, kinds) as rows:
        while some := list(islice(remaining, AT_ONCE)):
            rows.add(some, kinds)
        rows.close()


class _RowWriter:
    """Writes a Parquet file some thousand rows at a time; the first ones determine the kinds of columns."""

    def __init__(self, sink: IO[bytes], kinds: Kinds | None = None) -> None:
        """`kinds`: the columns of a file without rows."""
        self._sink = sink
        self._kinds: Kinds = kinds or {}
        self._cells: dict[str, list[Value]] = {}
        self._count = 0
        self._writer: Any = None

    def accepts(self, kinds: Kinds) -> bool:
        """Whether columns of these kinds can still be written."""
        return self._writer is None or self._kinds == kinds

    def add(self, judgements: Sequence[Record], kinds: Kinds) -> None:
        """Adds judgements to the current group of rows."""
        self._kinds = kinds
        for name, values in column_values(judgements, kinds).items():
            self._cells.setdefault(name, [None] * self._count).extend(values)
        self._count += len(judgements)
        if self._count >= ROWS:
            self._write()

    def close(self) -> None:
        """Writes the remaining rows and ends the file; a file without rows has its columns."""
        if self._count or self._writer is None:
            self._write()
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()

    def _write(self) -> None:
        """Writes the current group of rows."""
        import pyarrow.parquet as pq

        schema = arrow_schema(self._kinds)
        self._writer = self._writer or pq.ParquetWriter(self._sink, schema)
        columns = [convert_column(kind, self._cells.get(name, ())) for name, kind in self._kinds.items()]
        self._writer.write_table(_arrow_table(schema, columns))
        self._cells, self._count = {}, 0


def _arrow_table(schema: Any, columns: Sequence[Sequence[Any]]) -> Any:
    """Makes an Arrow table by way of JSON, because pyarrow imports pandas to convert Python values, if it is installed.

    That would take every command a fifth of a second; JSON takes 4 microseconds a row.
    """
    from pyarrow import json

    lines = b"\n".join(orjson.dumps(dict(zip(schema.names, row, strict=True))) for row in zip(*columns, strict=True))
    if not lines:
        return schema.empty_table()
    return json.read_json(
        BytesIO(lines),
        read_options=json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        parse_options=json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
    )
