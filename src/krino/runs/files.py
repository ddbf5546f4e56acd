"""How the files of a run are read: only plain files that lie in its folder, line by line, each within bounds.

A run folder may come from anyone: of it, only plain files are read and written that lie in it.
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
    """The path of a file in a run folder, if it leads to no other folder and to nothing that is no file.

    A link out of the folder would show what the folder's maker may not see but its reader may; a pipe never ends.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        if not path.is_symlink():
            return path  # whoever opens it says what is wrong
        raise UsageProblem(f"{path} is a link to what is not there; a run's files must lie in its folder") from None
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
"""Of one line. Nothing that a judge writes comes near it, and who opens a strange file is safe."""


class Place(NamedTuple):
    """How far a file was read: so many lines, which end there."""

    lines: int = 0
    end: int = 0


BEGINNING = Place()


class Line(NamedTuple):
    """One line, parsed: its number (from 1), where in the file it begins, how long it is, and what it says."""

    number: int
    offset: int
    size: int
    data: Any

    @property
    def place(self) -> Place:
        """How far one has read with it."""
        return Place(self.number, self.offset + self.size)


def read_lines(path: Path, advice: str, *, after: Place = BEGINNING, most_bytes: int = MOST_BYTES) -> Iterator[Line]:
    """The whole lines of a file; a torn last one, left by a process that was killed, is none. No file, no lines.

    `after`: go on from there, for those who have read what stands before it.
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
