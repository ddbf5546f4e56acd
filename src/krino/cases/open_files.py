"""Opens each input file once, however often its start or the whole of it is read, and unpacks gzip."""

from __future__ import annotations

import gzip
import io
import os
import stat
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from krino.errors import UsageProblem

MAX_CASE_BYTES = 64 * 1024 * 1024
"""Limit for one case. It bounds the memory that one hostile line can take."""
READ_ERRORS = (OSError, EOFError, zlib.error)
"""What a disk, a pipe or a damaged gzip file can raise in the middle of reading."""
BOM = b"\xef\xbb\xbf"
_BUFFER_BYTES = 1 << 18
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")

MOST_OPEN = 32
"""Files that are kept open at a time; if a folder has more, the one that was opened first is closed."""
CAN_SHARE = hasattr(os, "preadv")
"""Whether bytes can be read at an offset without moving the shared position; on Windows files are opened again."""


class OpenFiles:
    """The input files of one command. Inside a `with` block each is opened once and kept open.

    A command reads its input several times: the start, to find the format; the first cases, to try the judge; then all
    of them. Each time it is the same file, even if another file takes its name meanwhile.
    """

    def __init__(self) -> None:
        self._open: dict[Path, io.FileIO] = {}
        self._is_sharing = False

    def __enter__(self) -> Self:
        self._is_sharing = CAN_SHARE
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._is_sharing = False
        for file in self._open.values():
            file.close()
        self._open.clear()

    def open(self, path: Path) -> io.RawIOBase:
        """Returns a stream of the whole file. The reader closes the stream; inside the `with` block the file stays
        open.

        Pipes are opened anew each time.
        """
        if not self._is_sharing:
            return io.FileIO(path)
        file = self._open.get(path)
        if file is None:
            file = io.FileIO(path)
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file  # a pipe has no offsets
            if len(self._open) >= MOST_OPEN:
                self._open.pop(next(iter(self._open))).close()
            self._open[path] = file
        return _SharedFile(file.fileno())


class _SharedFile(io.RawIOBase):
    """A reader of an open file with a position of its own."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = os.dup(descriptor)  # stays open when the original is closed
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        count = os.preadv(self._descriptor, [buffer], self._position)
        self._position += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: os.fstat(self._descriptor).st_size}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()


# --- byte streams ----------------------------------------------------------------------------------


def open_bytes(path: Path, files: OpenFiles) -> io.BufferedReader:
    """Opens a file for reading its bytes, unpacked if its name ends in .gz."""
    raw = files.open(path)
    if path.suffix.lower() == ".gz":
        # GzipFile reads lines in Python; a C buffer around it makes JSONL several times faster.
        unpacked = _Unpacked(io.BufferedReader(raw, _BUFFER_BYTES))
        return io.BufferedReader(cast(io.RawIOBase, unpacked), _BUFFER_BYTES)
    return io.BufferedReader(raw, _BUFFER_BYTES)


class _Unpacked(gzip.GzipFile):
    """Closes the packed file together with itself."""

    def __init__(self, packed: io.BufferedReader) -> None:
        self._packed = packed
        super().__init__(mode="rb", fileobj=packed)

    def close(self) -> None:
        super().close()
        self._packed.close()


def skip_mark_and_blanks(stream: io.BufferedReader) -> tuple[bytes, int]:
    """Skips a byte order mark and white space. Returns the next byte (b"" at the end) and the lines skipped."""
    if stream.peek(len(BOM)).startswith(BOM):
        stream.read(len(BOM))
    lines = 0
    while (byte := stream.peek(1)[:1]).isspace():
        lines += stream.read(1) == b"\n"
    return byte, lines


def check_not_empty(stream: io.BufferedReader, shown: str) -> None:
    """Raises `UsageProblem` for an empty text, and for UTF-16."""
    if stream.peek(2)[:2] in _UTF16_MARKS:
        raise UsageProblem(f"{shown}: this is UTF-16 text; save it as UTF-8")
    first, _ = skip_mark_and_blanks(stream)
    if not first:
        raise empty(shown)


def empty(shown: str) -> UsageProblem:
    """The error for an empty file, for the caller to raise."""
    return UsageProblem(f"{shown}: the file is empty; give a file with at least one case")


def rest_unreadable(where: str, reason: object) -> str:
    """The message for a file that could not be read to its end."""
    return f"{where}: reading broke off: {reason}; the rest of the file could not be read: restore the file"
