"""Guess quickly how many cases the inputs hold, for a progress bar."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from krino.cases import parquet
from krino.cases.origin import Origin, find_origins
from krino.errors import UsageProblem

_MAX_COUNTED_BYTES = 200_000_000
_CHUNK_BYTES = 1 << 20


def count_hint(inputs: Sequence[str | os.PathLike[str]]) -> int | None:
    """How many cases there are, or None where counting would mean reading everything.

    Parquet says it in its metadata; the lines of a JSONL file are counted, blank ones included.
    """
    total = 0
    try:
        for origin in find_origins(inputs, "auto"):
            count = _count(origin)
            if count is None:
                return None
            total += count
    except (UsageProblem, OSError):
        return None
    return total


def _count(origin: Origin) -> int | None:
    if origin.path is None or not origin.is_regular:
        return None
    if origin.format == "parquet":
        return parquet.row_count(origin.path, origin.shown)
    packed = origin.path.suffix.lower() == ".gz"
    if origin.format == "jsonl" and not packed and origin.path.stat().st_size < _MAX_COUNTED_BYTES:
        return _count_lines(origin.path)
    return None


def _count_lines(path: Path) -> int:
    lines = 0
    last = b"\n"
    with path.open("rb", buffering=0) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            lines += chunk.count(b"\n")
            last = chunk[-1:]
    return lines + (last != b"\n")
