"""The journal of a run (`judgements.jsonl`): one line a judgement, appended as it finishes, never rewritten.

A line is written with one call to the operating system, so a process killed at any moment leaves whole lines and
at most one torn one, which the next sitting cuts off. A case judged again appends a newer line; the last one counts.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from krino.contract import Judgement, Status, Usage
from krino.errors import UsageProblem
from krino.runs.inside import inside
from krino.runs.manifest import Counts

CODES: dict[Status, int] = {"ok": 1, "failed": 2, "error": 3}
NAMES: dict[int, Status] = {code: status for status, code in CODES.items()}


@dataclass(slots=True)
class Progress:
    """Where each case stands: 17 bytes a case, whatever the judgements hold."""

    digests: array[int] = field(default_factory=lambda: array("Q"))
    statuses: bytearray = field(default_factory=bytearray)
    offsets: array[int] = field(default_factory=lambda: array("Q"))
    usage: Usage = field(default_factory=Usage)
    _places: dict[int, int] | None = None

    def note(self, index: int, status: Status, digest: str, offset: int) -> None:
        missing = index + 1 - len(self.statuses)
        if missing > 0:
            self.digests.extend([0] * missing)
            self.statuses.extend(bytes(missing))
            self.offsets.extend([0] * missing)
        self.digests[index] = _short(digest)
        self.statuses[index] = CODES[status]
        self.offsets[index] = offset

    def is_done(self, index: int, digest: str) -> bool:
        """Settled for this very content. An error is a system fault: it is tried again; a failed case would only
        fail again."""
        return self.status(index, digest) in {"ok", "failed"}

    def status(self, index: int, digest: str) -> Status | None:
        """How the case with this content ended at this place, if it was judged there."""
        if index >= len(self.statuses) or self.digests[index] != _short(digest):
            return None
        return NAMES.get(self.statuses[index])

    def elsewhere(self, digest: str) -> int | None:
        """Where in the journal a case with this content was settled under another number: lines may have moved."""
        if self._places is None:  # made when first needed, of what stood there before this sitting
            settled = (CODES["ok"], CODES["failed"])
            places = zip(self.digests, self.statuses, self.offsets, strict=True)
            self._places = {found: offset for found, code, offset in places if code in settled}
        return self._places.get(_short(digest))

    def counts(self, cases: int | None = None) -> Counts:
        """Over the first `cases` places (all, if unknown): what is no longer in the input does not count."""
        seen = self.statuses if cases is None else self.statuses[:cases]
        return Counts(ok=seen.count(1), failed=seen.count(2), error=seen.count(3))


class Journal:
    """Opened by the one process that writes a run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = inside(path).open("ab", buffering=0)
        try:
            _lock(self._file.fileno())
        except OSError:
            self._file.close()
            raise UsageProblem(f"another process is writing {path}; wait for it or name another folder") from None
        self.progress = scan(path, repair=True)
        self._end = path.stat().st_size

    def read(self, offset: int) -> Judgement:
        """The judgement that stands at a place of the file."""
        with self.path.open("rb") as lines:
            lines.seek(offset)
            return Judgement.model_validate_json(lines.readline())

    def append(self, judgement: Judgement) -> None:
        line = judgement.to_json() + b"\n"
        written = self._file.write(line)
        while written < len(line):  # a full disk raises; a short write (rare on files) goes on
            written += self._file.write(line[written:])
        self.progress.note(judgement.index, judgement.status, judgement.input_hash, self._end)
        self.progress.usage.add(judgement.usage)
        self._end += len(line)

    def close(self) -> None:
        self._file.close()


def scan(path: Path, *, repair: bool = False) -> Progress:
    """What the journal says, line by line; `repair` cuts off a torn last line."""
    progress = Progress()
    if not inside(path).exists():
        return progress
    offset = 0
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                break
            try:
                data = orjson.loads(line)
                progress.note(data["index"], data["status"], data["input_hash"], offset)
                progress.usage.add(Usage(**data["usage"]))
            except (ValueError, KeyError, TypeError) as error:
                raise _no_judgement(path, number, error) from None
            offset += len(line)
    if repair and offset < path.stat().st_size:
        os.truncate(path, offset)
    return progress


def read_raw(path: Path) -> Iterator[dict[str, Any]]:
    """Every judgement as it was written, also those replaced since: in half the time, for readers who sort that out."""
    if not inside(path).exists():
        return
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                return
            try:
                data = orjson.loads(line)
                int(data["index"]), CODES[data["status"]], _short(data["input_hash"]), dict(data["usage"])
            except (ValueError, KeyError, TypeError) as error:
                raise _no_judgement(path, number, error) from None
            yield data


def read_in_order(path: Path, cases: int | None = None) -> Iterator[Judgement]:
    """The last judgement of every case, in the order of the input."""
    for data in read_raw_in_order(path, cases):
        yield Judgement.model_validate(data)


def read_raw_in_order(path: Path, cases: int | None = None) -> Iterator[dict[str, Any]]:
    """The same as plain dicts, for readers of many."""
    progress = scan(path)
    if not progress.statuses:
        return
    with path.open("rb") as journal:
        at = 0
        for index, offset in enumerate(progress.offsets):
            if cases is not None and index >= cases:
                return
            if not progress.statuses[index]:
                continue
            if offset != at:
                journal.seek(offset)
            line = journal.readline()
            at = offset + len(line)
            yield orjson.loads(line)


def _no_judgement(path: Path, number: int, error: Exception) -> UsageProblem:
    return UsageProblem(
        f"{path}:{number}: not a judgement ({type(error).__name__}: {error}); "
        "remove the line, its case will be judged again"
    )


def _short(digest: str) -> int:
    return int(digest[:16], 16)


def _lock(descriptor: int) -> None:
    """One writer a journal. Where the platform has no such lock, the user is trusted."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
