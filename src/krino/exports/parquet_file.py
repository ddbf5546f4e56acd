"""A run as a Parquet table, for those who have pyarrow (`pip install 'krino[parquet]'`)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from shutil import copyfileobj
from typing import IO, Any, Self

from krino.errors import UsageProblem
from krino.exports.columns import Columns, Kind, Record, Value, as_column, columns_of, row_of
from krino.writing import replacing

ROWS = 5_000
TABLE = "judgements.parquet"

Kinds = Mapping[str, Kind]


class ParquetBeside:
    """`judgements.parquet` in the run's own folder, made while the run is read for other things too.

    What its columns hold is known for sure only at the end. So the first rows say what they hold, and where later ones
    turn out to hold something else, the judgements are read once more.
    """

    def __init__(self, folder: Path, again: Callable[[], Iterable[Record]]) -> None:
        """Does nothing without pyarrow. `again` reads the judgements anew."""
        self._target, self._again = folder / TABLE, again
        self._able = _is_installed()
        self._columns = Columns()
        self._waiting: list[dict[str, Value]] = []
        self._rows: _Rows | None = None
        self._scratch = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.close()

    def add(self, judgement: Record) -> None:
        if not self._able:
            return
        self._columns.add(judgement)
        self._waiting.append(row_of(judgement))
        if len(self._waiting) == ROWS:
            self._write_waiting()

    def write(self) -> Path | None:
        """None without pyarrow, or without judgements."""
        self._write_waiting()
        if self._rows is None:
            return None
        kinds = self._columns.kinds()
        with replacing(self._target) as sink:
            if self._rows.kinds == kinds:
                self._rows.close()
                self._draft.seek(0)
                copyfileobj(self._draft, sink)
            else:
                _write(sink, self._again(), kinds)
        return self._target

    def _write_waiting(self) -> None:
        if self._waiting and self._rows is None:
            draft = tempfile.TemporaryFile(dir=self._target.parent)  # noqa: SIM115 - closed with the rest
            self._draft = self._scratch.enter_context(draft)
            self._rows = self._scratch.enter_context(_Rows(self._draft, self._columns.kinds()))
        if self._rows is not None and self._rows.kinds == self._columns.kinds():
            self._rows.write(self._waiting)
        self._waiting = []


def write_parquet(sink: IO[bytes], judgements: Callable[[], Iterable[Record]]) -> int:
    """Read twice: first for what each column holds, then to write it. Gives the number of rows."""
    if not _is_installed():
        raise UsageProblem("Parquet needs pyarrow: pip install 'krino[parquet]'")
    return _write(sink, judgements(), columns_of(judgements()))


def arrow_schema(kinds: Kinds) -> Any:
    import pyarrow as pa

    types = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64(), "text": pa.string()}
    return pa.schema([pa.field(name, types[kind]) for name, kind in kinds.items()])


def _is_installed() -> bool:
    try:
        import pyarrow.parquet  # noqa: F401 - only whether it is there
    except ImportError:
        return False
    return True


def _write(sink: IO[bytes], judgements: Iterable[Record], kinds: Kinds) -> int:
    count = 0
    with _Rows(sink, kinds) as rows:
        waiting: list[dict[str, Value]] = []
        for count, judgement in enumerate(judgements, 1):  # noqa: B007 - the last number is the result
            waiting.append(row_of(judgement))
            if len(waiting) == ROWS:
                rows.write(waiting)
                waiting = []
        rows.write(waiting)
    return count


class _Rows:
    """A Parquet file that is written some thousand rows at a time."""

    def __init__(self, sink: IO[bytes], kinds: Kinds) -> None:
        import pyarrow.parquet as pq

        self.kinds = dict(kinds)
        self._schema = arrow_schema(kinds)
        self._writer = pq.ParquetWriter(sink, self._schema)

    def write(self, rows: list[dict[str, Value]]) -> None:
        import pyarrow as pa

        if rows:
            columns = {name: as_column(kind, (row.get(name) for row in rows)) for name, kind in self.kinds.items()}
            self._writer.write_table(pa.table(columns, schema=self._schema))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._writer.close()
