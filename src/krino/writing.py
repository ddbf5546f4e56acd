"""How a file is written: whole or not at all, and never in the place of a device, a pipe or a link."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from krino.errors import UsageProblem

_OPEN_FILE = re.compile(r"/(?:dev|proc/(?:self|\d+))/fd/(\d+)")
_MOST_LINKS = 40


@contextlib.contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """A file that the user named. What stood there stays until the new file is whole; a link goes on pointing to it.

    A device or a pipe is written to as it is, as any other program would.
    """
    kind = _kind(path)
    number = _open_file(path)
    if kind == stat.S_IFDIR:
        raise UsageProblem(f"{path} is a folder; name a file in it")
    if number is not None or kind not in (None, stat.S_IFREG):
        with io.BufferedWriter(_opened(path if number is None else number, os.O_WRONLY, path)) as through:
            yield through
        return
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # links that lead to each other: the last one must not be replaced either
        raise _cannot(path, errno.ELOOP)
    if kind is not None and not os.access(target, os.W_OK):
        raise _cannot(path, errno.EACCES)
    with replacing(target, shown=path) as draft:
        yield draft


def write_text(path: Path, text: str) -> None:
    """A file that the user named, as UTF-8."""
    with writing(path) as sink:
        sink.write(text.encode("utf-8", "backslashreplace"))


@contextlib.contextmanager
def replacing(target: Path, *, shown: Path | None = None) -> Iterator[IO[bytes]]:
    """A draft beside the target, which takes its name (and its rights) once it is whole.

    The draft's name cannot be guessed and must be new: a link that lies in wait in the folder is never written through.
    """
    draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}")
    sink = _opened(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, shown or target)
    try:
        with io.BufferedWriter(sink) as whole:
            yield whole
        with contextlib.suppress(OSError):
            shutil.copymode(target, draft)
        _rename(draft, target, shown or target)
    finally:
        draft.unlink(missing_ok=True)


def _rename(draft: Path, target: Path, shown: Path) -> None:
    try:
        draft.replace(target)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise _cannot(shown, error.errno) from None
        shutil.copyfile(draft, target)  # a file mounted into a container: it can be written, not replaced


class _Sink(io.FileIO):
    """Says which file it was that could not be written."""

    def __init__(self, descriptor: int, shown: Path) -> None:
        super().__init__(descriptor, "w")
        self._shown = shown

    def write(self, data: Any, /) -> int | None:  # type: ignore[override]
        try:
            return super().write(data)
        except OSError as error:
            raise _cannot(self._shown, error.errno) from None


def _opened(path: Path | int, flags: int, shown: Path) -> _Sink:
    try:
        if isinstance(path, int):
            return _Sink(os.dup(path), shown)
        return _Sink(os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666), shown)
    except OSError as error:
        raise _cannot(shown, error.errno) from None


def unwritten(path: Path, error: OSError) -> UsageProblem:
    """Of a file that a run grows by: a disk that is full, above all. Nothing may go on as if it had been written."""
    advice = "make room and give the same command again: what is judged is kept"
    return UsageProblem(f"{path} cannot be written: {error.strerror}; {advice}")


def _cannot(path: Path, reason: int | None) -> UsageProblem:
    hint = "; name a file in a folder that is there" if reason in (errno.ENOENT, errno.ENOTDIR) else ""
    return UsageProblem(f"{path} cannot be written: {os.strerror(reason or errno.EIO)}{hint}")


def _kind(path: Path) -> int | None:
    """Of what the path leads to; None where there is nothing."""
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except OSError:
        return None  # what is wrong with it is told when it is opened


def _open_file(path: Path) -> int | None:
    """The number of a file that we have open already and that the path stands for (/dev/stdout, /dev/fd/3)."""
    for _ in range(_MOST_LINKS):
        if found := _OPEN_FILE.fullmatch(str(path)):
            return int(found[1])
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None
