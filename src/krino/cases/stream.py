"""Byte streams of inputs: open them (gzip too), look at their start, and know how reading can break."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import cast

from krino.cases.open_files import OpenFiles
from krino.errors import UsageProblem

MAX_CASE_BYTES = 64 * 1024 * 1024
"""No single case may be larger: it bounds what one hostile line can take in memory."""

READ_ERRORS = (OSError, EOFError, zlib.error)
"""What a disk, a pipe or a damaged gzip file can raise in the middle of reading."""

BOM = b"\xef\xbb\xbf"
_BUFFER_BYTES = 1 << 18
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def open_bytes(path: Path, files: OpenFiles) -> io.BufferedReader:
    """The file's bytes, unpacked when its name ends in .gz."""
    raw = files.open(path)
    if path.suffix.lower() == ".gz":
        # GzipFile reads lines in Python; a C buffer around it makes JSONL several times faster.
        unpacked = _Unpacked(io.BufferedReader(raw, _BUFFER_BYTES))
        return io.BufferedReader(cast(io.RawIOBase, unpacked), _BUFFER_BYTES)
    return io.BufferedReader(raw, _BUFFER_BYTES)


class _Unpacked(gzip.GzipFile):
    """Closes the file that it unpacks, which is opened for it alone."""

    def __init__(self, packed: io.BufferedReader) -> None:
        self._packed = packed
        super().__init__(mode="rb", fileobj=packed)

    def close(self) -> None:
        super().close()
        self._packed.close()


def skip_mark_and_blanks(stream: io.BufferedReader) -> tuple[bytes, int]:
    """Skip a byte order mark and white space; the first byte after them (b"" at the end), and lines passed."""
    if stream.peek(len(BOM)).startswith(BOM):
        stream.read(len(BOM))
    lines = 0
    while (byte := stream.peek(1)[:1]).isspace():
        lines += stream.read(1) == b"\n"
    return byte, lines


def check_not_empty(stream: io.BufferedReader, shown: str) -> None:
    """Raise `UsageProblem` for a text that holds nothing, or that is plainly not UTF-8."""
    if stream.peek(2)[:2] in _UTF16_MARKS:
        raise UsageProblem(f"{shown}: this is UTF-16 text; save it as UTF-8")
    first, _ = skip_mark_and_blanks(stream)
    if not first:
        raise empty(shown)


def empty(shown: str) -> UsageProblem:
    return UsageProblem(f"{shown}: the file is empty; give a file with at least one case")


def rest_unreadable(where: str, reason: object) -> str:
    return f"{where}: reading broke off: {reason}; the rest of the file could not be read: restore the file"
