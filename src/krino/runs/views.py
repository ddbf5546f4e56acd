"""The views of a run's cases (`views.jsonl`): one line for each case, appended after its judgement is in the journal.

The report, `krino show` and the workbench read the views from here. A line belongs to the content of its case, as in
the journal; of several lines for one content the last counts. The file may come from anyone: lines are limited in size,
parsed and checked, and a line with any fault is ignored.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import orjson

from krino.blocks import Block, from_data
from krino.engine.views import FIRST_VIEWS, LONGEST_VIEW, ROOM_FOR_OK, ROOM_FOR_OTHERS, CaseView, broke_unlabelled
from krino.errors import UsageProblem
from krino.runs.guarded_files import inside
from krino.runs.hash_table import HashTable
from krino.writing import open_own, write_failed

VIEWS = "views.jsonl"
MOST_BYTES = ROOM_FOR_OK + ROOM_FOR_OTHERS + 10_000_000
"""Limit for the whole file. Each session and worker has its own limit; views beyond all of them are dropped."""
MOST_LINES = 1_000_000
"""More than the file can hold of the shortest views: a file of blank lines is not read to its end."""
_DEEPEST_BLOCK = 16
_LONGEST_REQUEST = 20_000
_HASH = re.compile("[0-9a-f]{32}")
_HEAD = re.compile(rb'\{"input_hash":"([0-9a-f]{32})",')


class ViewFile:
    """Appends views, for the one process that writes a run. The file is created with the first view."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / VIEWS
        self._file: IO[bytes] | None = None
        self._size = 0

    def append(self, line: bytes) -> None:
        """Writes one line with one system call; it is dropped if the file would become too large."""
        if self._file is None:
            self._open()
        assert self._file is not None
        if self._size + len(line) > MOST_BYTES:
            return
        try:
            self._file.write(line)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(self._size)
            raise write_failed(self._path, error) from None
        self._size += len(line)

    def clear(self) -> None:
        """Deletes all views: everything is judged again."""
        self.close()
        self._path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> None:
        """Opens the file for appending, and ends a line that was cut off by a crash."""
        try:
            self._file = open(inside(self._path), "ab", buffering=0, opener=open_own)  # noqa: SIM115 - see `close`
            self._size = os.fstat(self._file.fileno()).st_size
            self._end_torn_line()
        except OSError as error:
            raise write_failed(self._path, error) from None

    def _end_torn_line(self) -> None:
        """Ends a line that a killed process left half written; the next view must not be appended to it."""
        assert self._file is not None
        if self._size == 0:
            return
        with self._path.open("rb") as written:
            written.seek(self._size - 1)
            if written.read(1) != b"\n":
                self._size += self._file.write(b"\n")


class StoredViews:
    """Finds views by the content of their cases. The offsets are read once, and take 24 bytes for each view.

    Thread-safe: each lookup opens the file, except inside a `with` block, which keeps it open for many lookups.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / VIEWS
        self._offsets = HashTable()
        self._held: IO[bytes] | None = None
        with contextlib.suppress(OSError, UsageProblem):
            if inside(self._path).stat().st_size <= MOST_BYTES:
                self._note_offsets()

    def __enter__(self) -> Self:
        with contextlib.suppress(OSError, UsageProblem):
            self._held = inside(self._path).open("rb")
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    def __len__(self) -> int:
        return len(self._offsets)

    def line(self, input_hash: str) -> bytes | None:
        """Returns the line of a case as it is in the file; None if there is none, or if it is too long."""
        if (offset := self._offset_of(input_hash)) is None:
            return None
        try:
            if self._held is not None:
                line = _line_at(self._held, offset)
            else:
                with inside(self._path).open("rb") as file:
                    line = _line_at(file, offset)
        except (OSError, UsageProblem):
            return None
        found = _HEAD.match(line)
        is_same = found is not None and found[1].decode() == input_hash
        return line if is_same and line.endswith(b"\n") and len(line) <= LONGEST_VIEW else None

    def of(self, input_hash: str) -> CaseView | None:
        """Returns the checked view of a case; None if there is none that can be read."""
        line = self.line(input_hash)
        return None if line is None else _parse_view(line)

    def blocks_of(self, input_hash: str) -> list[Block] | None:
        """Returns the view of a case as blocks; None if there is no view."""
        view = self.of(input_hash)
        return None if view is None else from_data(view.blocks)

    def _offset_of(self, input_hash: str) -> int | None:
        return self._offsets.get(input_hash) if _HASH.fullmatch(input_hash) else None

    def _note_offsets(self) -> None:
        """Notes where the view of each case begins; torn, long and foreign lines are passed over."""
        at, begins = 0, True
        with self._path.open("rb") as file:
            for _ in range(MOST_LINES):
                if not (piece := file.readline(LONGEST_VIEW + 1)):
                    return
                ends = piece.endswith(b"\n")
                if begins and ends and len(piece) <= LONGEST_VIEW and (found := _HEAD.match(piece)):
                    self._offsets.set(found[1].decode(), at)
                at, begins = at + len(piece), ends


def why_no_view(judgement: Mapping[str, Any]) -> str:
    """Returns why a case has no view; empty for a case that never gets one."""
    if broke_unlabelled(judgement["status"], judgement.get("labeller")):
        return ""
    return (
        "The run keeps no view of this case, so only its judgement is shown. Views are kept of the first "
        f"{FIRST_VIEWS:,} cases and of those that failed, as far as there is room; runs of earlier versions "
        "have none. `krino serve` makes one if the input file is available."
    )


def _line_at(file: IO[bytes], offset: int) -> bytes:
    file.seek(offset)
    return file.readline(LONGEST_VIEW + 1)


def _parse_view(line: bytes) -> CaseView | None:
    """Parses a line as a view, or returns None if it is none."""
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    blocks, request = data.get("blocks"), data.get("request")
    if not isinstance(blocks, list) or not isinstance(request, str | None) or _is_deeper(blocks, _DEEPEST_BLOCK):
        return None
    return CaseView(blocks, request if request is None else request[:_LONGEST_REQUEST])


def _is_deeper(value: object, levels: int) -> bool:
    """Are lists and objects nested deeper than in any view that Krino writes?"""
    items = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return any(levels == 0 or _is_deeper(item, levels - 1) for item in items if isinstance(item, list | dict))
