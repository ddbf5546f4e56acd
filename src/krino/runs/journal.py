"""The journal of a run (`judgements.jsonl`): one line a judgement, appended as it finishes, never rewritten.

A line is written with one call to the operating system, so a process killed at any moment leaves whole lines and
at most one torn one, which the next session cuts off. A line belongs to the content of its case (`input_hash`), not to
a place in the input: cases may move, leave and come back, and what was paid for is found again. Of several lines for
one content the first that is settled (ok or failed) counts; of errors, which are tried again, the last.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from krino.contract import Judgement, Status, Usage
from krino.engine.protocol import Finished
from krino.errors import UsageProblem
from krino.runs.checking import ADVICE, LineCheck
from krino.runs.contents import Contents
from krino.runs.files import BEGINNING, MOST_BYTES, Line, Place, inside, read_lines
from krino.writing import open_own, unwritten

JOURNAL = "judgements.jsonl"
CODES: dict[Status, int] = {"ok": 1, "failed": 2, "error": 3}
_KNOWN = Judgement.model_fields.keys()
NAMES: dict[int, Status] = {code: status for status, code in CODES.items()}


def read_journal(folder: Path, check: LineCheck, after: Place = BEGINNING) -> Iterator[Line]:
    """Every line, also those replaced since and those of cases that are no longer on the roll; each one checked."""
    path = folder / JOURNAL
    for line in read_lines(path, ADVICE, after=after):
        try:
            check(line.data)
        except ValueError as problem:
            raise UsageProblem(f"{path}:{line.number}: not a judgement of this run: {problem}; {ADVICE}") from None
        yield line if line.data.keys() <= _KNOWN else line._replace(data=known_fields(line.data))


def known_fields(data: dict[str, Any]) -> dict[str, Any]:
    """A judgement without what a later version of Krino has added to it."""
    return data if data.keys() <= _KNOWN else {name: value for name, value in data.items() if name in _KNOWN}


def packed_line(offset: int, status: Status) -> int:
    """Where a line of the journal begins and the status it has, as one number."""
    return offset << 2 | CODES[status]


def line_of(packed: int | None) -> tuple[int, int]:
    """The offset, and the code of the status; code 0 where there is no line."""
    return (0, 0) if packed is None else (packed >> 2, packed & 3)


def is_open(status: Status | None) -> bool:
    """Whether a later line for the same content still counts: nothing was said so far, or only that it went wrong."""
    return status is None or status == "error"


class Journal:
    """Opened by the one process that writes a run."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / JOURNAL
        self.lines = Contents()
        """For each content where its line begins that counts, and how it ended; see `packed_line`."""
        self.usage = Usage()
        """What all its lines have cost."""
        self.unpriced = False
        """Whether some of it was asked without a price: then `usage.cost` is not the cost of all of it."""
        self.has_verdicts = False
        """Whether any case ended well."""
        try:
            self._file = open(inside(self.path), "ab", buffering=0, opener=open_own)  # noqa: SIM115 - see `close`
        except OSError as error:
            raise UsageProblem(
                f"{folder} cannot be written: {error.strerror}; name another folder with --run"
            ) from None
        self._end = os.fstat(self._file.fileno()).st_size
        try:
            _lock(self._file.fileno())
        except OSError:
            self._file.close()
            raise UsageProblem(f"another process is writing {folder}; wait for it or name another folder") from None

    @property
    def is_empty(self) -> bool:
        return os.fstat(self._file.fileno()).st_size == 0

    def load(self, check: LineCheck) -> None:
        """Learn what it holds; a torn last line is cut off."""
        self._end = 0
        for line in read_journal(self.path.parent, check):
            data = line.data
            self._note(data["input_hash"], data["status"], Usage.of(data["usage"]), line.offset)
            self._end = line.offset + line.size
        self._file.truncate(self._end)

    def clear(self) -> None:
        """Forget everything: the run is judged anew."""
        self._file.truncate(0)
        self._end = 0

    def status(self, digest: str) -> Status | None:
        """How the case with this content ended, if it did."""
        return NAMES.get(line_of(self.lines.get(digest))[1])

    def append(self, *judgements: Finished) -> None:
        """In one go. Raises `ValueError`, and writes none of them, where one cannot be written down."""
        lines = [_line(judgement) for judgement in judgements]
        data = b"".join(lines)
        try:
            written = self._file.write(data)
            while written < len(data):  # a full disk raises; a short write (rare on files) goes on
                written += self._file.write(data[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(self._end)  # half a line: what is finished next must not be written onto it
            raise unwritten(self.path, error) from None
        for judgement, line in zip(judgements, lines, strict=True):
            self._note(judgement.input_hash, judgement.status, judgement.usage, self._end)
            self._end += len(line)

    def is_in_place(self) -> bool:
        """False when the file was deleted or replaced while it was written."""
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            return False

    def close(self) -> None:
        self._file.close()

    def _note(self, digest: str, status: Status, usage: Usage, offset: int) -> None:
        self.has_verdicts = self.has_verdicts or status == "ok"
        line = packed_line(offset, status)
        known = self.lines.add(digest, line)
        if known != line and is_open(NAMES[line_of(known)[1]]):
            self.lines.set(digest, line)
        self.unpriced = self.unpriced or (usage.cost is None and usage.calls > 0)
        self.usage.add(usage)


def _line(judgement: Finished) -> bytes:
    line = judgement.to_json() + b"\n"
    if len(line) > MOST_BYTES:
        raise ValueError(f"the judgement has {len(line):,} bytes, of which a journal takes {MOST_BYTES:,}")
    return line


def _lock(descriptor: int) -> None:
    """One writer a journal. Where the platform has no such lock, the user is trusted."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
