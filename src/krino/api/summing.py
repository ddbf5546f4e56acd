"""Sums up a run and writes its table; for a large run in a second process, while this one writes the report."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from krino.engine.child_process import ChildProcess
from krino.exports.columns import with_identity
from krino.exports.parquet_file import ParquetBeside
from krino.results.summary import Collected, JudgementSink, collect
from krino.runs.stored_run import StoredRun, load_stored_run

LARGE_RUN = 5_000
"""Number of cases above which a second process saves more time than its start takes."""

Records = Callable[[], Iterable[Mapping[str, Any]]]


def sum_up(run: StoredRun, records: Records, *takers: JudgementSink) -> Collected:
    """Sums up a run and writes its table in one pass over its records, which `takers` receive as well."""
    who = run.manifest.judged_by()

    def identified() -> Iterable[Mapping[str, Any]]:
        return with_identity(records(), who)

    with ParquetBeside(run.folder, identified) as table:
        found = collect(identified(), *takers, table, schema=run.manifest.about.fields_schema)
        table.write()
    return found


class SummaryProcess:
    """Sums up a run in another process, which starts at once and ends with this one.

    It reports no errors: after one there is no `result`, and the caller sums up the run itself, which raises the error.
    """

    def __init__(self, folder: Path) -> None:
        self._child = ChildProcess(_sum_up_and_send, folder, name="krino-summing")

    @classmethod
    def start(cls, folder: Path) -> Self | None:
        """Starts the process; None if no further process can be started."""
        try:
            return cls(folder)
        except OSError:
            return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.terminate()  # if it is writing, it removes the partial file
        self._child.join()

    def result(self) -> Collected | None:
        """Waits for the result; None if the process failed or died."""
        try:
            found: Collected = self._child.pipe.recv()
        except (EOFError, OSError):
            return None
        return found


def _sum_up_and_send(pipe: Connection[Collected, Any], folder: Path) -> None:
    """Sums up a run and sends the result to the other process; on any error it sends nothing."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    gc.disable()  # judgements are trees, and this process ends soon
    with suppress(Exception):
        run = load_stored_run(folder)
        pipe.send(sum_up(run, run.judged().records))
