"""A run folder that is there: its manifest, its judgements in the order of the input, and its recorded labels."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import TypeAdapter

from krino.contract import Ballot, Finding, Judgement, Status, Task
from krino.errors import UsageProblem
from krino.runs.checking import LineCheck
from krino.runs.contents import Contents
from krino.runs.files import Line, inside
from krino.runs.journal import CODES, JOURNAL, NAMES, is_open, known_fields, line_of, read_journal
from krino.runs.manifest import MANIFEST, Counts, Manifest
from krino.runs.roll import Entry, read_roll
from krino.text.clean import clean_name


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run folder as it is read, finished or not; `krino.Run` has more to say of it.

    Iterating reads the journal: some forty bytes a case are held in memory.
    """

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
        wanted = {case_id, clean_name(case_id)}
        found = next((record for record in self.records() if record["id"] in wanted), None)
        if found is None:
            raise KeyError(case_id)
        return Judgement.model_validate(found)

    def records(self) -> Iterator[dict[str, Any]]:
        """The judgements as plain dicts, for readers of many. Place, id and source are those of the present input."""
        return self.found().records()

    def counts(self) -> Counts:
        """How the cases of the run ended so far."""
        return self.manifest.counts if self.manifest.state == "finished" else self.found().counts()

    def lines(self) -> Iterator[Line]:
        """All that was ever judged in the folder, each line checked: for those who sort it out with `Found`."""
        return read_journal(self.folder, LineCheck(self.folder, self.manifest))

    def same_line(self, text: bytes, entry: Entry) -> dict[str, Any]:
        """It was checked when it was found; since then the journal can only have been emptied and filled again."""
        with suppress(orjson.JSONDecodeError):
            record = orjson.loads(text)
            if isinstance(record, dict) and record.get("input_hash") == entry.input_hash:
                return known_fields(record)
        raise self.begun_anew()

    def begun_anew(self) -> UsageProblem:
        return UsageProblem(f"{self.folder} was begun anew while it was read; try again")

    def found(self, lines: Contents | None = None) -> Found:
        """Where in the journal each case has its line, for those who read the judgements more than once.

        `lines`: what the session that has just written the run knows (`Session.lines`), so that nothing is read for it.
        """
        found = Found(self, lines=lines)
        for line in self.lines() if lines is None else ():
            found.note(line.data["input_hash"], line.data["status"], line.offset)
        return found

    def roll(self) -> Iterator[Entry]:
        """The cases that were read, judged or not."""
        return read_roll(self.folder, self.manifest)

    @property
    def journal(self) -> Path:
        return self.folder / JOURNAL


class Found:
    """Finds for each case of a run the line of the journal that counts; a number (its place, say) stands for the line.

    First `note` every line, then take the cases, `in_order` or all `at_once`.
    """

    def __init__(self, run: StoredRun, cases: Iterator[Entry] | None = None, lines: Contents | None = None) -> None:
        """`cases`: the roll of the run, for those who want to see it go by. `lines`: those that are known already."""
        self._run = run
        self._slots = Contents()
        self._slot_of = array("q")
        """For each case, which of the contents it has."""
        self._numbers, self._codes = array("q"), bytearray()
        for entry in run.roll() if cases is None else cases:
            slot = self._slots.add(entry.input_hash, len(self._codes))
            self._slot_of.append(slot)
            if slot == len(self._codes):
                offset, code = line_of(None if lines is None else lines.get(entry.input_hash))
                self._numbers.append(offset)
                self._codes.append(code)

    def note(self, digest: str, status: Status, number: int) -> bool:
        """Whether the line counts, as far as can be told before the next."""
        slot = self._slots.get(digest)
        if slot is None or not is_open(NAMES.get(self._codes[slot])):
            return False
        self._numbers[slot], self._codes[slot] = number, CODES[status]
        return True

    @property
    def places(self) -> tuple[array[int], bytearray]:
        """The number of each line and how the case ended: all that another process cannot read in the roll."""
        return self._numbers, self._codes

    @places.setter
    def places(self, known: tuple[array[int], bytearray]) -> None:
        self._numbers, self._codes = known

    def records(self, wanted: Collection[int] | None = None) -> Iterator[dict[str, Any]]:
        """The judgements in the order of the input, where the numbers are those of `StoredRun.found`.

        `wanted`: only of the cases at these places of the input; the others are not even read.
        """
        with ExitStack() as stack:
            journal, at = None, 0
            for index, entry, offset, again in self.in_order():
                if wanted is not None and index not in wanted:
                    continue
                journal = journal or stack.enter_context(inside(self._run.journal).open("rb"))
                if offset != at:
                    journal.seek(offset)
                text = journal.readline()
                at = offset + len(text)
                record = self._run.same_line(text, entry)
                record["index"], record["id"], record["source"] = index, entry.id, entry.source
                if again:
                    record["usage"] = unpaid(record["usage"])
                yield record

    def in_order(self) -> Iterator[tuple[int, Entry, int, bool]]:
        """Index, case, number of its line, and whether an earlier case has the same content and so the same line.

        Of an unfinished run those that are judged; a finished one must have them all.
        """
        self._refuse_gaps()
        given = bytearray(len(self._codes))
        cases = self._run.roll()
        for index, slot in enumerate(self._slot_of):  # of a run that goes on, more may be there by now
            entry = next(cases, None)
            if entry is None or self._slots.get(entry.input_hash) != slot:
                raise self._run.begun_anew()
            if self._codes[slot]:
                yield index, entry, self._numbers[slot], bool(given[slot])
                given[slot] = True

    def at_once(self) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.bool_]]:
        """Which cases are judged; and of those the number of each line, and whether an earlier case has the same."""
        self._refuse_gaps()
        slots = np.frombuffer(self._slot_of, np.int64)
        judged = np.frombuffer(self._codes, np.uint8)[slots] > 0
        slots = slots[judged]
        again = np.zeros(len(slots), np.bool_)
        again[1:] = slots[1:] <= np.maximum.accumulate(slots)[:-1]  # slots are given out as contents come up
        return judged, np.frombuffer(self._numbers, np.int64)[slots], again

    def counts(self) -> Counts:
        """How the cases ended that are judged."""
        slots = np.frombuffer(self._slot_of, np.int64)
        ended = np.bincount(np.frombuffer(self._codes, np.uint8)[slots], minlength=len(NAMES) + 1)
        return Counts(**{status: int(ended[code]) for status, code in CODES.items()})

    def _refuse_gaps(self) -> None:
        """A finished run has a line for every case, and as many of each kind as it had when it was finished."""
        counts, manifest = self.counts(), self._run.manifest
        if manifest.state == "finished" and counts != manifest.counts:
            raise UsageProblem(
                f"{self._run.journal}: of {len(self._slot_of):,} cases {_listed(counts)} are there, and yet the run "
                f"was finished with {_listed(manifest.counts)} (by {self._run.folder / MANIFEST}): one of the files "
                "was changed; run the command again, it judges what is missing"
            )


def _listed(counts: Counts) -> str:
    return ", ".join(f"{count:,} {status}" for status, count in counts.model_dump().items())


def unpaid(usage: dict[str, Any]) -> dict[str, Any]:
    """For a case that shares its verdict with an earlier one: what was paid is counted there."""
    return {name: None if value is None else type(value)(0) for name, value in usage.items()}


def load_run(folder: str | PathLike[str]) -> StoredRun:
    """The run in a folder that `krino judge` has written."""
    path = Path(folder)
    return StoredRun(path, Manifest.load(path))


_BALLOT = TypeAdapter(Ballot)
_FINDING = TypeAdapter(Finding)


class RecordedLabels:
    """Looks labels up in the journal of a run; holds no more than a few bytes a case."""

    def __init__(self, run: StoredRun) -> None:
        self._offsets = Contents()
        for line in run.lines():
            if line.data["status"] != "error" and self._offsets.get(line.data["input_hash"]) is None:
                self._offsets.set(line.data["input_hash"], line.offset)
        self._journal = run.journal
        self._file = inside(self._journal).open("rb")

    def __getstate__(self) -> dict[str, Any]:
        """For a worker, which opens the file for itself."""
        return {name: value for name, value in vars(self).items() if name != "_file"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._file = inside(self._journal).open("rb")

    def __call__(self, task: Task[Any, Any, Any]) -> Mapping[str, Any] | None:
        labels = self._line(task).get("labels")
        return labels if isinstance(labels, dict) else None

    def ballots(self, task: Task[Any, Any, Any]) -> list[Ballot]:
        """What each seat of a panel said; empty where one labeller was asked."""
        return [_BALLOT.validate_python(ballot) for ballot in self._line(task).get("ballots") or ()]

    def findings(self, task: Task[Any, Any, Any]) -> list[Finding]:
        """What came with the labels: the rules of today find their own again, these nobody would."""
        line = self._line(task)
        count = line.get("labeller_findings") or 0
        return [_FINDING.validate_python(found) for found in (line.get("findings") or [])[-count:]] if count else []

    def _line(self, task: Task[Any, Any, Any]) -> Mapping[str, Any]:
        offset = self._offsets.get(task.input_hash)
        if offset is None:
            return {}
        self._file.seek(offset)
        line: dict[str, Any] = orjson.loads(self._file.readline())
        return line

    def close(self) -> None:
        self._file.close()
