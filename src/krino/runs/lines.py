"""Reads the lines of a run's files one at a time, each within bounds, and says where something is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from krino.errors import UsageProblem
from krino.runs.inside import inside

MOST_BYTES = 64_000_000
"""Of one line. Nothing that a judge writes comes near it, and who opens a strange file is safe."""


class Line(NamedTuple):
    """One line, parsed: its number (from 1), where in the file it begins, how long it is, and what it says."""

    number: int
    offset: int
    size: int
    data: Any


def read_lines(path: Path, advice: str, *, most_bytes: int = MOST_BYTES) -> Iterator[Line]:
    """The whole lines of a file; a torn last one, left by a process that was killed, is none. No file, no lines."""
    try:
        stream = inside(path).open("rb")
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageProblem(f"{path} cannot be read: {error.strerror}") from None
    with stream:
        number = offset = 0
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
