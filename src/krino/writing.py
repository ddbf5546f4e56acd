"""How a file is written: whole or not at all, and never in the place of a device, a pipe or a link.

A file that the user names gets the rights that the user's other files have (the umask). What Krino keeps by itself
(runs, replies, labels) holds texts of cases and is made for its owner only.
"""

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
OWNER_ONLY = 0o600
_FULL = (errno.ENOSPC, errno.EDQUOT)
ANYBODY = 0o666  # less the umask


def make_own_folder(folder: Path) -> None:
    """Makes the folder, for its owner only if it is new; those above it are made as usual."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def open_own(path: str, flags: int) -> int:
    """Opens a file, as an `opener` of `open`: a new one is for its owner only."""
    return os.open(path, flags, OWNER_ONLY)


def make_own_file(path: Path) -> None:
    """Makes an empty file for its owner only, unless there is one: for a database, which would make it for
    everybody."""
    if not path.exists():
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, OWNER_ONLY))


@contextlib.contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """Opens a file that the user named. What stood there stays until the new file is whole; a link goes on pointing to
    it. Raises `UsageProblem` if it cannot be written.

    A device or a pipe is written to as it is, as any other program would.
    """
    kind = _kind(path)
    number = _find_open_descriptor(path)
    if kind == stat.S_IFDIR:
        raise UsageProblem(f"{path} is a folder; name a file in it")
    if number is not None or kind not in (None, stat.S_IFREG):
        with io.BufferedWriter(_open_sink(path if number is None else number, os.O_WRONLY, path)) as through:
            yield through
        return
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # links that lead to each other: the last one must not be replaced either
        raise _write_error(path, errno.ELOOP)
    if kind is not None and not os.access(target, os.W_OK):
        raise _write_error(path, errno.EACCES)
    with replacing(target, shown=path, mode=ANYBODY) as draft:
        yield draft


def write_text(path: Path, text: str) -> None:
    """Writes a text into a file that the user named, as UTF-8."""
    with writing(path) as sink:
        sink.write(text.encode("utf-8", "backslashreplace"))


@contextlib.contextmanager
def replacing(target: Path, *, shown: Path | None = None, mode: int = OWNER_ONLY) -> Iterator[IO[bytes]]:
    """Opens a draft beside the target, which takes its name (and its rights) once it is whole; after an error the
    target stays as it was. `mode`: of a new file.

    The draft's name cannot be guessed and must be new: a link that lies in wait in the folder is never written through.
    """
    draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}")
    sink = _open_sink(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, shown or target, mode)
    try:
        with io.BufferedWriter(sink) as whole:
            yield whole
    except OSError as error:
        if not is_full(error):
            raise
        raise _write_error(shown or target, error.errno) from None  # also where it was a file to help with this one
    else:
        with contextlib.suppress(OSError):
            shutil.copymode(target, draft)
        _rename(draft, target, shown or target)
    finally:
        draft.unlink(missing_ok=True)


def _rename(draft: Path, target: Path, shown: Path) -> None:
    """Puts the finished draft in the place of the target; copies it into a target that can only be written."""
    try:
        draft.replace(target)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise _write_error(shown, error.errno) from None
        shutil.copyfile(draft, target)  # a file mounted into a container: it can be written, not replaced


class _Sink(io.FileIO):
    """Says which file it was that could not be written."""

    def __init__(self, descriptor: int, shown: Path) -> None:
        super().__init__(descriptor, "w")
        self._shown = shown

    def write(self, data: Any, /) -> int | None:  # type: ignore[override]
        """Writes to the file; a fault says which file and what to do."""
        try:
            return super().write(data)
        except OSError as error:
            raise _write_error(self._shown, error.errno) from None


def _open_sink(path: Path | int, flags: int, shown: Path, mode: int = ANYBODY) -> _Sink:
    """Opens a file descriptor or path; a fault says which file and what to do."""
    try:
        if isinstance(path, int):
            return _Sink(os.dup(path), shown)
        return _Sink(os.open(path, flags | getattr(os, "O_BINARY", 0), mode), shown)
    except OSError as error:
        raise _write_error(shown, error.errno) from None


def is_full(error: OSError) -> bool:
    """Whether the disk is full, or the user's part of it."""
    return error.errno in _FULL


def write_failed(path: Path, error: OSError) -> UsageProblem:
    """Returns the error for a failed write to a run's file, mostly a full disk; the run must not go on."""
    advice = "make room and give the same command again: what is judged is kept"
    return UsageProblem(f"{path} cannot be written: {error.strerror}; {advice}")


def _write_error(path: Path, reason: int | None) -> UsageProblem:
    """Returns the error for a file that cannot be written, with a hint."""
    hint = "; name a file in a folder that is there" if reason in (errno.ENOENT, errno.ENOTDIR) else ""
    if reason in _FULL:
        hint = "; make room there and give the same command again"
    return UsageProblem(f"{path} cannot be written: {os.strerror(reason or errno.EIO)}{hint}")


def _kind(path: Path) -> int | None:
    """Returns what kind of file a path leads to; None if there is none."""
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except OSError:
        return None  # opening it reports what is wrong


def _find_open_descriptor(path: Path) -> int | None:
    """Returns the number of a file that is open already and that the path stands for (/dev/stdout, /dev/fd/3); None if
    it stands for none."""
    for _ in range(_MOST_LINKS):
        if found := _OPEN_FILE.fullmatch(str(path)):
            return int(found[1])
        if not path.is_symlink():
            return None
        path = path.parent / path.readlink()
    return None
