"""Sums a run up and writes its table; of a large run in a process of its own, while this one makes the report."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

from krino.engine.started import follow_the_starter
from krino.exports.parquet_file import ParquetBeside
from krino.results.summary import Collected, JudgementSink, collect
from krino.runs.reading import Found, StoredRun, load_run

LARGE_RUN = 5_000
"""Cases from which on a second process saves more than it takes to start one."""

Records = Callable[[], Iterable[Mapping[str, Any]]]


def sum_up(run: StoredRun, records: Records, *takers: JudgementSink) -> Collected:
    """What the run comes to, from one reading, of which others may take what they need too."""
    with ParquetBeside(run.folder, records) as table:
        found = collect(records(), *takers, table, schema=run.manifest.about.fields_schema)
        table.write()
    return found


class SummedBeside:
    """The same in another process: `begin` it, and ask for its `result`. It ends with this one, however this one ends.

    All it says is what the run comes to. Where anything is wrong it says nothing, and the work is done here: then
    whoever started it finds the same fault for itself, and tells it as ever.
    """

    def __init__(self, folder: Path) -> None:
        context = multiprocessing.get_context("spawn")  # as workers are started
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, folder), name="krino-summing", daemon=True)
        self._process.start()
        theirs.close()

    @classmethod
    def started(cls, folder: Path) -> Self | None:
        """None where no further process may be started."""
        try:
            return cls(folder)
        except OSError:
            return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()  # it may be writing, and puts away what is not whole
        self._process.join()
        self._pipe.close()

    def begin(self, found: Found) -> None:
        """Tell it where the lines of the journal are, which took this process the whole run to learn."""
        with suppress(OSError):  # it has died, and has no result
            self._pipe.send(found.places)

    def result(self) -> Collected | None:
        """None where the process died."""
        try:
            found: Collected = self._pipe.recv()
        except (EOFError, OSError):
            return None
        return found


def _work(pipe: Connection[Collected, Any], folder: Path) -> None:
    follow_the_starter()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    gc.disable()  # judgements are trees, and this process ends soon
    with suppress(Exception):
        run = load_run(folder)
        found = Found(run)
        found.places = pipe.recv()
        pipe.send(sum_up(run, found.records))
