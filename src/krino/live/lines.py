"""A file of JSON lines in the folder of a watch, to which only that process adds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from krino.runs.guarded_files import inside, read_lines
from krino.writing import make_own_folder, open_own, write_failed

ADVICE = "the file was changed or damaged: put it back, or name another folder with --run"
_CHUNK = 1 << 16


class AppendedLines:
    """Lines are added with one system call each, so a killed process leaves at most one torn line, which is cut off."""

    def __init__(self, path: Path) -> None:
        self.path = path
        make_own_folder(path.parent)
        self._file = open(inside(path), "a+b", buffering=0, opener=open_own)  # noqa: SIM115 - see `close`
        self._file.truncate(_end_of_lines(self._file.fileno()))

    def read(self) -> Iterator[Any]:
        """Yields the parsed lines that are there now; raises `UsageProblem` for a damaged one."""
        return (line.data for line in read_lines(self.path, ADVICE))

    def add(self, *objects: Any) -> None:
        """Adds a line for each object."""
        data = b"".join(orjson.dumps(found) + b"\n" for found in objects)
        try:
            while data:  # a short write is rare on files
                data = data[self._file.write(data) :]
        except OSError as error:
            raise write_failed(self.path, error) from None

    def close(self) -> None:
        self._file.close()


def _end_of_lines(descriptor: int) -> int:
    """Returns the offset behind the last complete line of an open file."""
    end = os.fstat(descriptor).st_size
    while end:
        start = max(0, end - _CHUNK)
        if (found := os.pread(descriptor, end - start, start).rfind(b"\n")) >= 0:
            return start + found + 1
        end = start
    return 0
