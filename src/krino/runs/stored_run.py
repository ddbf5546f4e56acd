"""Reads a recorded run folder: its manifest, its judgements in input order, and its recorded labels."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import TypeAdapter

from krino.contract import Ballot, Finding, Judgement, Task
from krino.errors import UsageProblem
from krino.runs.checking import ADVICE, LineCheck
from krino.runs.guarded_files import MOST_BYTES, inside
from krino.runs.index import JournalIndex, is_open
from krino.runs.journal import JOURNAL, known_fields, open_index
from krino.runs.manifest import MANIFEST, Counts, Manifest
from krino.runs.roll import Entry, read_roll
from krino.text.clean import clean_name


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run folder as it is read, finished or not; `krino.Run` can do more with it."""

    folder: Path
    manifest: Manifest

    def __iter__(self) -> Iterator[Judgement]:
        """The judgement of every case, in the order of the input."""
        return map(Judgement.model_validate, self.records())

    def __len__(self) -> int:
        """How many cases have a judgement."""
        return self.counts().total

    def __getitem__(self, case_id: str) -> Judgement:
        """The judgement of a case, by its id (the first, where several share it)."""
        found = next(self.judged().records(ids={case_id, clean_name(case_id)}), None)
        if found is None:
            raise KeyError(case_id)
        return Judgement.model_validate(found)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yields the judgements as plain dicts, for readers of many. Index, id and source are those of the present
        input."""
        return self.judged().records()

    def counts(self) -> Counts:
        """Returns how the cases of the run ended so far."""
        return self.manifest.counts if self.manifest.state == "finished" else self.judged().counts

    def index(self) -> JournalIndex:
        """Returns the index that says where in the journal the line of each content is."""
        return open_index(self.folder, self.manifest)

    def judged(self, index: JournalIndex | None = None) -> JudgedCases:
        """Returns the cases with a judgement, for callers that read them more than once. `index`: if the caller has
        it."""
        return JudgedCases(self, self.index() if index is None else index)

    def roll(self) -> Iterator[Entry]:
        """Yields the cases that were read, judged or not."""
        return read_roll(self.folder, self.manifest)

    @property
    def journal(self) -> Path:
        return self.folder / JOURNAL

    def begun_anew(self) -> UsageProblem:
        """Returns the error for a run that was restarted while it was read; the caller raises it."""
        return UsageProblem(f"{self.folder} was restarted while it was read; try again")


def load_stored_run(folder: str | PathLike[str]) -> StoredRun:
    """Loads the run in a folder that `krino judge` has written."""
    path = Path(folder)
    return StoredRun(path, Manifest.load(path))


class LineReader:
    """Reads single lines of a run's journal. Each must still be the line that was indexed."""

    def __init__(self, run: StoredRun, index: JournalIndex | None = None) -> None:
        """`index`: the index by which lines are found. Unless they were checked for it, they are checked here."""
        self._run = run
        self._check = None if index is None or index.is_checked else LineCheck(run.folder, run.manifest)
        self._file: IO[bytes] | None = None
        self._at = 0

    def read(self, offset: int, input_hash: str) -> dict[str, Any]:
        """Returns the judgement at an offset, of the content whose hash is, or begins with, `input_hash`. Raises
        `UsageProblem` if that is not the line there any more."""
        self._file = self._file or inside(self._run.journal).open("rb")
        if offset != self._at:
            self._file.seek(offset)
        text = self._file.readline(MOST_BYTES)
        self._at = offset + len(text)
        with suppress(orjson.JSONDecodeError):
            record = orjson.loads(text)
            if isinstance(record, dict) and str(record.get("input_hash")).startswith(input_hash):
                self._refuse_foreign(record, offset)
                return known_fields(record)
        raise self._run.begun_anew()

    def _refuse_foreign(self, record: dict[str, Any], offset: int) -> None:
        """Raises a `UsageProblem` with the line number if a record is not a judgement of this run."""
        try:
            if self._check is not None:
                self._check(record)
        except ValueError as problem:
            with self._run.journal.open("rb") as journal:
                number = sum(1 for _ in iter(lambda: journal.tell() < offset and journal.readline(), False)) + 1
            raise UsageProblem(
                f"{self._run.journal}:{number}: not a judgement of this run: {problem}; {ADVICE}"
            ) from None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class JudgedCase(NamedTuple):
    """A judged case of the roll, and the offset of its judgement in the journal."""

    place: int
    """In the input, from 0."""
    entry: Entry
    offset: int
    again: bool
    """An earlier case has the same content, and so the same judgement."""


class JudgedOffsets(NamedTuple):
    """Where the judgements of a roll are in the journal, as arrays."""

    judged: NDArray[np.bool_]
    """For every case of the roll: is it judged?"""
    offsets: NDArray[np.int64]
    """For every judged case: the offset of its line."""
    repeats: NDArray[np.bool_]
    """For every judged case: does an earlier case have the same content?"""


class JudgedCases:
    """The judged cases of a run at this moment; cases that a running one adds later are left out.

    Iterating reads the roll. A finished run must have a judgement for every case.
    """

    def __init__(self, run: StoredRun, index: JournalIndex, roll: Iterator[Entry] | None = None) -> None:
        """`roll`: the roll of the run, for callers that read the entries as well."""
        self._run, self._index = run, index
        content = hashlib.blake2b(digest_size=16)
        self._numbers = array("q")
        """For each case the number of its line in the index, or -1."""
        for entry in run.roll() if roll is None else roll:
            content.update(entry.input_hash.encode())
            number = index.number(entry.input_hash)
            self._numbers.append(-1 if number is None else number)
        self._content = content.digest()
        self.counts = index.count(self._numbers)
        """How the cases ended that are judged."""

    def __iter__(self) -> Iterator[JudgedCase]:
        self._refuse_gaps()
        given, content = bytearray(len(self._index)), hashlib.blake2b(digest_size=16)
        for place, (number, entry) in enumerate(zip(self._numbers, self._run.roll(), strict=False)):
            content.update(entry.input_hash.encode())
            if number >= 0:
                yield JudgedCase(place, entry, self._index.offset_at(number), bool(given[number]))
                given[number] = True
        if content.digest() != self._content:
            raise self._run.begun_anew()

    def records(
        self, wanted: Collection[int] | None = None, ids: Collection[str] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yields the judgements in the order of the input, with the present index, id and source; usage counts only for
        the first case of a content. `wanted`, `ids`: only of the cases at these places or with these ids; the lines of
        other cases are not read."""
        with LineReader(self._run, self._index) as lines:
            for place, entry, offset, again in self:
                if (wanted is not None and place not in wanted) or (ids is not None and entry.id not in ids):
                    continue
                record = lines.read(offset, entry.input_hash)
                record["index"], record["id"], record["source"] = place, entry.id, entry.source
                if again:
                    record["usage"] = unpaid(record["usage"])
                yield record

    def judged_offsets(self) -> JudgedOffsets:
        """Returns which cases of the roll are judged, where their lines begin, and which repeat an earlier case."""
        self._refuse_gaps()
        numbers = np.frombuffer(self._numbers, np.int64)
        judged = numbers >= 0
        again = np.ones(int(judged.sum()), np.bool_)
        again[np.unique(numbers[judged], return_index=True)[1]] = False
        return JudgedOffsets(judged, self._index.offsets()[numbers[judged]], again)

    def _refuse_gaps(self) -> None:
        """Raises `UsageProblem` for a finished run without a line for every case, or with other counts than when it was
        finished."""
        manifest = self._run.manifest
        if manifest.state == "finished" and self.counts != manifest.counts:
            raise UsageProblem(
                f"{self._run.journal}: of {len(self._numbers):,} cases {_listed(self.counts)} are there, and yet the "
                f"run was finished with {_listed(manifest.counts)} (by {self._run.folder / MANIFEST}): one of the "
                "files was changed; run the command again, it judges what is missing"
            )


def _listed(counts: Counts) -> str:
    return ", ".join(f"{count:,} {status}" for status, count in counts.model_dump().items())


def unpaid(usage: dict[str, Any]) -> dict[str, Any]:
    """Returns a usage of zeros, for a case that shares its verdict with an earlier one, where what was paid is
    counted."""
    return {name: None if value is None else type(value)(0) for name, value in usage.items()}


_BALLOT = TypeAdapter(Ballot)
_FINDING = TypeAdapter(Finding)


class RecordedLabels:
    """Looks labels up in the journal of a run; holds no more than the index."""

    def __init__(self, run: StoredRun) -> None:
        self._run, self._index = run, run.index()
        self._lines = LineReader(run, self._index)

    def __getstate__(self) -> dict[str, Any]:
        """For a worker, which opens the file for itself."""
        return {"_run": self._run, "_index": self._index}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lines = LineReader(self._run, self._index)

    def __call__(self, task: Task[Any, Any, Any]) -> Mapping[str, Any] | None:
        labels = self._line(task).get("labels")
        return labels if isinstance(labels, dict) else None

    def ballots(self, task: Task[Any, Any, Any]) -> list[Ballot]:
        """Returns the vote of each seat of a panel; empty where one labeller was asked."""
        return [_BALLOT.validate_python(ballot) for ballot in self._line(task).get("ballots") or ()]

    def findings(self, task: Task[Any, Any, Any]) -> list[Finding]:
        """Returns the findings that came with the labels: present rules find their own again, but not these."""
        line = self._line(task)
        count = line.get("labeller_findings") or 0
        return [_FINDING.validate_python(found) for found in (line.get("findings") or [])[-count:]] if count else []

    def _line(self, task: Task[Any, Any, Any]) -> Mapping[str, Any]:
        """Returns the recorded line of a case; an empty mapping if it was not judged or ended in error."""
        number = self._index.number(task.input_hash)
        if number is None or is_open(self._index.status(task.input_hash)):
            return {}
        return self._lines.read(self._index.offset_at(number), task.input_hash)

    def close(self) -> None:
        self._lines.close()
