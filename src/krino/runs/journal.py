"""The journal of a run (`judgements.jsonl`): one line for each judgement, appended as it finishes, never rewritten.

A line is written with one system call, so a process that is killed leaves complete lines and at most one torn line,
which the next session cuts off. A line belongs to the content of its case (`input_hash`), not to a position in the
input: cases may move, disappear and return, and paid judgements are found again. If a content has several lines, the
first settled one (ok or failed) counts; of errors, which are tried again, the last.

Each line ends with a seal: a hash of the text before it. It detects lines that were changed by accident or in an
editor. It is not a signature: anyone who forges a line can seal it again, and only `krino verify` finds out.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from krino.contract import Judgement, Usage
from krino.engine.interface import Finished
from krino.errors import UsageProblem
from krino.runs.checking import ADVICE, LineCheck
from krino.runs.guarded_files import BEGINNING, MOST_BYTES, FilePosition, Line, inside, read_lines
from krino.runs.index import JournalIndex
from krino.runs.manifest import Manifest
from krino.writing import open_own, write_failed

JOURNAL = "judgements.jsonl"
_KNOWN = Judgement.model_fields.keys()
_SEAL = "seal"


def read_journal(folder: Path, check: LineCheck, after: FilePosition = BEGINNING) -> Iterator[Line]:
    """Yields every line, checked and without its seal; also superseded lines, and lines of cases that are no longer on
    the roll. Raises `UsageProblem` for a line that is no judgement of this run."""
    path = folder / JOURNAL
    for line in read_lines(path, ADVICE, after=after):
        try:
            check(line.data)
        except ValueError as problem:
            raise UsageProblem(f"{path}:{line.number}: not a judgement of this run: {problem}; {ADVICE}") from None
        known = known_fields(line.data)
        yield line if known is line.data else line._replace(data=known)


def known_fields(data: dict[str, Any]) -> dict[str, Any]:
    """Returns a judgement without its seal (removed in place), and without the fields that a later version of Krino has
    added."""
    data.pop(_SEAL, None)
    return data if data.keys() <= _KNOWN else {name: value for name, value in data.items() if name in _KNOWN}


def open_index(folder: Path, manifest: Manifest) -> JournalIndex:
    """Returns the index of a run's journal: the one that is kept beside it, or else made from the journal, line by
    line."""
    if (kept := JournalIndex.load(folder / JOURNAL)) is not None:
        return kept
    index = JournalIndex()
    for line in read_journal(folder, LineCheck(folder, manifest)):
        data = line.data
        index.note(data["input_hash"], data["status"], Usage.of(data["usage"]), line.offset, line.size)
    return index


class Journal:
    """The journal of a run, for the one process that writes it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / JOURNAL
        self.index = JournalIndex()
        try:
            self._file = open(inside(self.path), "ab", buffering=0, opener=open_own)  # noqa: SIM115 - see `close`
        except OSError as error:
            raise UsageProblem(
                f"{folder} cannot be written: {error.strerror}; name another folder with --run"
            ) from None
        self._end = os.fstat(self._file.fileno()).st_size
        self._is_indexed = self._end == 0
        try:
            _lock(self._file.fileno())
        except OSError:
            self._file.close()
            raise UsageProblem(f"another process is writing {folder}; wait for it or name another folder") from None

    @property
    def is_empty(self) -> bool:
        return os.fstat(self._file.fileno()).st_size == 0

    def load(self, manifest: Manifest) -> None:
        """Loads the index, and cuts off a torn last line."""
        self.index, self._is_indexed = open_index(self.path.parent, manifest), True
        if self.index.end < self._end:
            self._file.truncate(self.index.end)
        self._end = self.index.end

    def clear(self) -> None:
        """Deletes all lines: everything is judged again."""
        self._file.truncate(0)
        self._end, self.index, self._is_indexed = 0, JournalIndex(), True

    def append(self, *judgements: Finished) -> None:
        """Appends judgements in one write. Raises `ValueError` and writes nothing if one of them cannot be written as
        JSON."""
        lines = [_line(judgement) for judgement in judgements]
        data = b"".join(lines)
        try:
            written = self._file.write(data)
            while written < len(data):  # a full disk raises; a short write (rare on files) is continued
                written += self._file.write(data[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(self._end)  # the next judgement must not be appended to half a line
            raise write_failed(self.path, error) from None
        for judgement, line in zip(judgements, lines, strict=True):
            self.index.note(judgement.input_hash, judgement.status, judgement.usage, self._end, len(line))
            self._end += len(line)

    def is_in_place(self) -> bool:
        """Is the file still at its path? False when it was deleted or replaced while it was written."""
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Saves the index beside the journal, if the journal is indexed and still in place, and closes it."""
        if self._end and self._is_indexed and self.is_in_place():
            self.index.save(self.path)
        self._file.close()


def sealed_line(judgement: Finished) -> bytes:
    """Returns the line of a judgement, with its seal."""
    text = judgement.to_json()
    return b'%b,"seal":"%b"}\n' % (text[:-1], _seal(text[:-1]))


def parse_line(text: bytes) -> tuple[dict[str, Any], bool]:
    """Returns the judgement on a line, and whether its seal fits. A line of an older version has no seal and counts as
    whole."""
    data: dict[str, Any] = orjson.loads(text)
    body, _, seal = text.rpartition(b',"seal":"')
    is_whole = _SEAL not in data or seal == _seal(body) + b'"}\n'
    return known_fields(data), is_whole


def _seal(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=8).hexdigest().encode()


def _line(judgement: Finished) -> bytes:
    """Returns the sealed line of a judgement; raises `ValueError` if it is too long."""
    line = sealed_line(judgement)
    if len(line) > MOST_BYTES:
        raise ValueError(f"the judgement has {len(line):,} bytes, but a line of a journal takes {MOST_BYTES:,}")
    return line


def _lock(descriptor: int) -> None:
    """Locks the journal for this process; raises `OSError` if another one writes it. On a platform without locks the
    user must see to it."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
