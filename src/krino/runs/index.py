"""The index of a journal: for each content, where the line that counts begins and how the case ended.

Every reader finds judgements by it: the session that continues a run, results, gates, comparison, exports, `krino show`
and recorded labels. It is made as the journal is written, and kept beside it (`judgements.index`) when the
journal is closed. The journal is the truth: where the file is missing, torn, or belongs to a journal of another size or
time of change, the index is made from the journal again.

Like the journal, the file may come from anyone. It decides only which lines are read; lines found with it are checked
when they are read (`reading.LineReader`).
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Self

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import ValidationError
from pydantic_core import SchemaValidator, core_schema

from krino.contract import Status, Usage
from krino.errors import UsageProblem
from krino.runs.checking import COUNT, HASH, USAGE, typed
from krino.runs.guarded_files import inside
from krino.runs.hash_table import BYTES, HashTable
from krino.runs.manifest import Counts
from krino.writing import replacing

INDEX = "judgements.index"
CODES: dict[Status, int] = {"ok": 1, "failed": 2, "error": 3}
NAMES: dict[int, Status] = {code: status for status, code in CODES.items()}
_FORMAT = 1
_LONGEST_HEAD = 4_096
_SHORTEST_LINE = 100  # bytes; bounds how many contents a journal can have
_STAMP = core_schema.list_schema(COUNT, strict=True, min_length=2, max_length=2)
_HEAD = SchemaValidator(
    typed(
        {
            "format": core_schema.literal_schema([_FORMAT]),
            "journal": _STAMP,
            "usage": USAGE,
            "unpriced": core_schema.bool_schema(strict=True),
            "hash": HASH,
        }
    )
)


class JournalIndex:
    """Some 24 bytes for each content. Of several lines for one content the first that is settled (ok or failed) counts;
    of errors, which are tried again, the last."""

    def __init__(self) -> None:
        self._lines = HashTable()
        """Offset and status code of each line, as one number."""
        self.usage = Usage()
        """The cost of all lines, also of those that no longer count."""
        self.end = 0
        """How many bytes of the journal are indexed."""
        self.unpriced = False
        """Whether some line has no price for its calls: then `usage.cost` is not the cost of everything."""
        self.is_checked = True
        """Whether every line was checked when it was indexed. If not, readers check the lines that they read."""

    def note(self, digest: str, status: Status, usage: Usage, offset: int, size: int) -> None:
        """Adds the next line of the journal. It replaces an earlier line for the same content only if that was an
        error."""
        self.end = offset + size
        line = offset << 2 | CODES[status]
        known = self._lines.add(digest, line)
        if known != line and is_open(NAMES[known & 3]):
            self._lines.set(digest, line)
        self.unpriced = self.unpriced or (usage.cost is None and usage.calls > 0)
        self.usage.add(usage)

    def __len__(self) -> int:
        return len(self._lines)

    def status(self, digest: str) -> Status | None:
        """Returns how the case with this content ended; None if it was not judged."""
        line = self._lines.get(digest)
        return None if line is None else NAMES[line & 3]

    def number(self, digest: str) -> int | None:
        """Returns the number of a content's line, from 0 and valid until the next `note`; None if it was not judged."""
        return self._lines.place(digest)

    def offset_at(self, number: int) -> int:
        """Returns where the line with this number begins in the journal."""
        return self._lines.value_at(number) >> 2

    def offsets(self) -> NDArray[np.int64]:
        """Returns where all lines begin in the journal, by number."""
        return self._lines.values() >> 2

    def count(self, numbers: array[int]) -> Counts:
        """Counts by status how the lines with these numbers ended; the number -1 is skipped."""
        wanted = np.frombuffer(numbers, np.int64)
        codes = self._lines.values()[wanted[wanted >= 0]] & 3
        found = np.bincount(codes, minlength=len(CODES) + 1)
        return Counts(**{status: int(found[code]) for status, code in CODES.items()})

    def has_same_lines(self, other: JournalIndex) -> bool:
        """Whether both lead to the same lines."""
        return self._lines.to_bytes() == other._lines.to_bytes()

    @property
    def has_verdicts(self) -> bool:
        """Whether any case ended well."""
        return bool((self._lines.values() & 3 == CODES["ok"]).any())

    # --- the file ----------------------------------------------------------------------------------

    def save(self, journal: Path) -> None:
        """Writes the index of a complete journal beside it. It can be made again, so nothing is said if that fails."""
        body = self._lines.to_bytes()
        head = {
            "format": _FORMAT,
            "journal": _stamp(journal),
            "usage": asdict(self.usage),
            "unpriced": self.unpriced,
            "hash": _hash(body),
        }
        with suppress(OSError, UsageProblem), replacing(journal.with_name(INDEX)) as file:
            file.write(orjson.dumps(head) + b"\n")
            file.writelines(body)

    @classmethod
    def load(cls, journal: Path) -> Self | None:
        """Reads the index that was kept for the journal as it is now; None if there is none that can be read. Its lines
        are unchecked."""
        try:
            with inside(journal.with_name(INDEX)).open("rb") as file:
                head = orjson.loads(file.readline(_LONGEST_HEAD))
                _HEAD.validate_python(head)
                most = head["journal"][0] // _SHORTEST_LINE * BYTES
                body = file.read(most + 1) if head["journal"] == _stamp(journal) else b""
        except (OSError, UsageProblem, orjson.JSONDecodeError, ValidationError):
            return None
        if not body or len(body) > most or _hash([body]) != head["hash"]:
            return None
        index = cls()
        index._lines, index.usage, index.unpriced = (
            HashTable.from_bytes(body),
            Usage.of(head["usage"]),
            head["unpriced"],
        )
        index.end, index.is_checked = head["journal"][0], False
        lines = index._lines.values()
        return index if ((lines >= 0) & (lines & 3 != 0)).all() else None


def is_open(status: Status | None) -> bool:
    """Whether a later line for the same content still counts: there is none so far, or only an error."""
    return status is None or status == "error"


def _stamp(journal: Path) -> list[int]:
    """Returns size and time of change of the journal."""
    found = inside(journal).stat()
    return [found.st_size, found.st_mtime_ns]


def _hash(parts: Iterable[bytes | memoryview]) -> str:
    """Hashes the parts as if they were one text."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        found.update(part)
    return found.hexdigest()
