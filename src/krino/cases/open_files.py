"""Opens each input file once, however often its start or the whole of it is read."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Any, Self

MOST_OPEN = 32
"""Files that are kept open at a time; of a folder with more, the one that was opened first is closed."""
CAN_SHARE = hasattr(os, "preadv")
"""Reading at a place without moving a position that others share; Windows has no such call, and opens files anew."""


class OpenFiles:
    """The input files of one command. Inside a `with` block each is opened once and kept open.

    A command looks at its input several times: at its start, before anything is promised; as a first look at the cases;
    then at all of them. All of these see one and the same file, also if another takes its name meanwhile.
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
        """The bytes of the file from its first, for a reader who closes the stream and nothing else."""
        if not self._is_sharing:
            return io.FileIO(path)
        file = self._open.get(path)
        if file is None:
            file = io.FileIO(path)
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return file  # a pipe has no places to read at
            if len(self._open) >= MOST_OPEN:
                self._open.pop(next(iter(self._open))).close()
            self._open[path] = file
        return _SharedFile(file.fileno())


class _SharedFile(io.RawIOBase):
    """A reader of an open file with a position of its own."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = os.dup(descriptor)  # it outlives the one that it was made of
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
