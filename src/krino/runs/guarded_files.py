"""Reads the files of a run line by line, each line limited in size.

A run folder may come from anyone, so only plain files inside it are read and written.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from krino.errors import UsageProblem


def inside(path: Path) -> Path:
    """Returns the path of a file in a run folder as it was given, also if there is no such file. Raises `UsageProblem`
    for links out of the folder and for pipes and devices.

    A link could expose files that only the reader may see; a pipe may never end.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        if not path.is_symlink():
            return path  # opening it fails with a message
        raise UsageProblem(f"{path} is a broken link; a run's files must be in its folder") from None
    if not stat.S_ISREG(mode):
        raise UsageProblem(f"{path} is no plain file; a run folder holds nothing else")
    if path.is_symlink() and not _real(path).is_relative_to(_real(path.parent)):
        raise UsageProblem(
            f"{path} is a link that leads out of the run folder; nothing outside it is read: put the file itself there"
        )
    return path


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


MOST_BYTES = 64_000_000
"""Limit for one line. No judge writes lines of that length, and a hostile file cannot fill the memory."""


class FilePosition(NamedTuple):
    """How far a file was read: the number of lines, and the offset at which they end."""

    lines: int = 0
    end: int = 0


BEGINNING = FilePosition()


class Line(NamedTuple):
    """One parsed line: its number (from 1), its offset and size in bytes, and its data."""

    number: int
    offset: int
    size: int
    data: Any

    @property
    def place(self) -> FilePosition:
        """The position behind this line."""
        return FilePosition(self.number, self.offset + self.size)


def read_lines(
    path: Path, advice: str, *, after: FilePosition = BEGINNING, most_bytes: int = MOST_BYTES
) -> Iterator[Line]:
    """Yields the complete lines of a file, parsed; an incomplete last one, left by a killed process, is ignored. No
    file: no lines. Raises `UsageProblem` for a line that is too long or no JSON.

    `after`: start at this position.
    """
    try:
        stream = inside(path).open("rb")
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageProblem(f"{path} cannot be read: {error.strerror}") from None
    with stream:
        number, offset = after
        stream.seek(offset)
        while text := stream.readline(most_bytes + 1):
            number += 1
            if len(text) > most_bytes:
                raise UsageProblem(f"{path}:{number}: the line is longer than {most_bytes:,} bytes; {advice}")
            if not text.endswith(b"\n"):
                return
            try:
                data = orjson.loads(text)
            except orjson.JSONDecodeError as error:
                raise UsageProblem(f"{path}:{number}: not JSON ({error}); {advice}") from None
            yield Line(number, offset, len(text), data)
            offset += len(text)
