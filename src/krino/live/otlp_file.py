"""Reads traces from a file of OTLP/JSON lines that grows, as OpenTelemetry collectors write them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import orjson

from krino.errors import UsageProblem
from krino.live.interfaces import SourceDown, WatchedTrace
from krino.live.open_traces import OpenTraces, describe_late_spans, make_trace
from krino.runs.guarded_files import MOST_BYTES

_MOST_READ = 16_000_000
"""Bytes of one look, so that a long file does not fill the memory."""


class OtlpFile:
    """A `TraceSource`. The file may be replaced or cut by a rotation: then it is read from its start again."""

    def __init__(
        self, path: Path, quiet: float, is_known: Callable[[str], bool], notify: Callable[[str], None]
    ) -> None:
        self.path = path
        self.at_end = False
        self._traces = OpenTraces(quiet, is_known)
        self._notify = notify
        self._offset = 0
        self._file_number: int | None = None
        self._late = 0
        self._has_reached_end = False
        """Until then the file may hold traces that an earlier watch judged: none of their spans is late."""

    async def look(self) -> list[WatchedTrace]:
        """Reads what has been added, and returns the traces that are complete."""
        try:
            self._read_lines()
        except OSError as error:
            raise SourceDown(f"{self.path} cannot be read: {error.strerror}") from None
        if self._has_reached_end and self._traces.late > self._late:
            self._notify(describe_late_spans(self._traces.late - self._late))
        self._late = self._traces.late
        self._has_reached_end = self._has_reached_end or self.at_end
        ready = self._traces.take_complete(time.time())
        self.at_end = self.at_end and not self._traces.any_ended
        return [make_trace(spans) for spans in ready]

    def _read_lines(self) -> None:
        """Adds the spans of the lines that are new and complete, at most `_MOST_READ` bytes of them, and notes whether
        that is the end of the file."""
        with self.path.open("rb") as file:
            about = os.fstat(file.fileno())
            if about.st_ino != self._file_number or about.st_size < self._offset:
                self._file_number, self._offset = about.st_ino, 0
            file.seek(self._offset)
            end = self._offset + _MOST_READ
            while self._offset < end:
                line = file.readline(MOST_BYTES + 1)
                if len(line) > MOST_BYTES:
                    raise UsageProblem(f"{self.path}: a line is longer than {MOST_BYTES:,} bytes; write shorter ones")
                if not line.endswith(b"\n"):
                    break
                self._add_line(line, min(about.st_mtime, time.time()))
                self._offset += len(line)
            self.at_end = self._offset < end

    def _add_line(self, line: bytes, now: float) -> None:
        """Adds the spans of one line; a line that is no JSON is reported and left out."""
        if line.isspace():
            return
        try:
            self._traces.add(orjson.loads(line), now)
        except orjson.JSONDecodeError as error:
            self._notify(f"{self.path}, at byte {self._offset}: a line is no JSON ({error}) and was left out")

    async def aclose(self) -> None:
        """The file is not kept open."""
