"""The roll of a run (`roll.jsonl`): the cases of the last command in the order of its input, one short line each.

Each session rewrites the roll as it reads the input. The journal stores verdicts by the content of a case; the roll
lists the contents that the run is about, with ids and sources. A case that is not on the roll is not counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import orjson
from pydantic import ValidationError
from pydantic_core import SchemaValidator, core_schema

from krino.cases.item import CaseItem
from krino.errors import UsageProblem
from krino.runs.checking import COUNT, HASH, SOURCE, TEXT, typed
from krino.runs.guarded_files import BEGINNING, FilePosition, Line, inside, read_lines
from krino.runs.hash_table import HashTable
from krino.runs.manifest import MANIFEST, Manifest
from krino.writing import open_own, write_failed

ROLL = "roll.jsonl"
ADVICE = "run the command again: the roll is rewritten, and existing judgements are kept"
_BUFFER = 1 << 16


class Entry(NamedTuple):
    """One case of the run."""

    id: str
    input_hash: str
    source: dict[str, Any] | None
    place: int | None = None
    """Position in the whole input, in a run over shards."""

    def to_line(self) -> bytes:
        """Returns the entry as a line of JSON."""
        data: dict[str, Any] = {"id": self.id, "input_hash": self.input_hash, "source": self.source}
        if self.place is not None:
            data["place"] = self.place
        return orjson.dumps(data) + b"\n"


class RepeatedIds:
    """Counts cases whose id an earlier case with other content has: they cannot be distinguished by id."""

    def __init__(self) -> None:
        self._contents = HashTable()
        """From the hash of an id to part of the hash of its first content."""
        self.count = 0
        self.example: str | None = None

    def add(self, own_id: str, digest: str) -> None:
        """Notes an id, and counts it if it occurred before with other content."""
        content = int(digest[:15], 16)
        name = hashlib.blake2b(own_id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        if self._contents.add(name, content) != content:
            self.count += 1
            self.example = self.example or own_id

    def record(self, manifest: Manifest) -> None:
        manifest.repeated_ids, manifest.repeated_id = self.count, self.example


class RollWriter:
    """Starts an empty roll. Entries are on disk after `flush`, or earlier."""

    def __init__(self, folder: Path) -> None:
        self._path = inside(folder / ROLL)
        self._file = open(self._path, "wb", buffering=_BUFFER, opener=open_own)  # noqa: SIM115 - see `close`
        self._hash = hashlib.blake2b(digest_size=16)
        self.cases = 0
        self.repeated = RepeatedIds()

    def add(self, item: CaseItem, digest: str) -> None:
        """Appends a case to the roll, and to the hash of the whole input."""
        source = None if item.source is None else {"file": item.source.file, "line": item.source.line}
        entry = Entry(item.id, digest, source, item.place)
        try:
            self._file.write(entry.to_line())
        except OSError as error:
            raise write_failed(self._path, error) from None
        self._hash.update(digest.encode())
        self.cases += 1
        self.repeated.add(item.id, digest)

    def flush(self) -> None:
        """Writes what is buffered to the file."""
        try:
            self._file.flush()
        except OSError as error:
            raise write_failed(self._path, error) from None

    def input_hash(self) -> str:
        """Returns a hash over the content of all cases in order."""
        return self._hash.hexdigest()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; a fault on closing is reported like one on writing."""
        try:
            self._file.close()
        except OSError as error:
            raise write_failed(self._path, error) from None


def read_roll(folder: Path, manifest: Manifest) -> Iterator[Entry]:
    """Yields the cases in order. For a finished run, raises `UsageProblem` at the end if they are not those that it
    ended with."""
    return (entry for _, entry in entries_with_offsets(folder, manifest))


def entries_with_offsets(folder: Path, manifest: Manifest) -> Iterator[tuple[int, Entry]]:
    """Yields the entries, each with the offset of its line. For a finished run, raises `UsageProblem` at the end if
    they are not those that it ended with."""
    whole = hashlib.blake2b(digest_size=16)
    cases = 0
    for line in read_lines(folder / ROLL, ADVICE):
        entry = _entry_in(line, folder)
        whole.update(entry.input_hash.encode())
        cases += 1
        yield line.offset, entry
    if manifest.state == "finished" and (cases, whole.hexdigest()) != (manifest.cases, manifest.input_hash):
        raise UsageProblem(
            f"{folder / ROLL}: these {cases:,} cases are not the {manifest.cases} that the run was finished with "
            f"(by {folder / MANIFEST}): one of the files was changed; {ADVICE}"
        )


def read_entries(folder: Path, after: FilePosition = BEGINNING) -> Iterator[tuple[Entry, FilePosition]]:
    """Yields the cases after a position in the roll, each with the position behind it. The roll may be incomplete."""
    for line in read_lines(folder / ROLL, ADVICE, after=after):
        yield _entry_in(line, folder), line.place


def _entry_in(line: Line, folder: Path) -> Entry:
    """Parses one line of a roll; raises `UsageProblem` with its number if it is none."""
    try:
        return entry_of(line.data)
    except ValidationError:
        raise UsageProblem(
            f"{folder / ROLL}:{line.number}: not a case of a roll (id, input_hash, source); {ADVICE}"
        ) from None


def entry_of(data: Any) -> Entry:
    """Returns the entry in a line of a roll; raises `ValidationError` for anything else."""
    _ENTRY.validate_python(data)
    return Entry(data["id"], data["input_hash"], data["source"], data.get("place"))


_FIELDS = {"id": TEXT, "input_hash": HASH, "source": core_schema.nullable_schema(SOURCE), "place": COUNT}
_ENTRY = SchemaValidator(typed(_FIELDS, optional={"place"}))
