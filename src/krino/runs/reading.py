"""A run folder read from Python: its manifest, and its judgements in the order of the input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import orjson

from krino.contract import Judgement, Status
from krino.errors import UsageProblem
from krino.runs.checking import LineCheck
from krino.runs.contents import Contents
from krino.runs.inside import inside
from krino.runs.journal import CODES, JOURNAL, NAMES, is_open, read_journal
from krino.runs.lines import Line
from krino.runs.manifest import MANIFEST, Counts, Manifest
from krino.runs.roll import Entry, read_roll


@dataclass(frozen=True, slots=True)
class Run:
    """A run on disk, finished or not. Iterating reads the journal: nothing but 24 bytes a case is held in memory."""

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
        found = next((record for record in self.records() if record["id"] == case_id), None)
        if found is None:
            raise KeyError(case_id)
        return Judgement.model_validate(found)

    def records(self) -> Iterator[dict[str, Any]]:
        """The judgements as plain dicts, for readers of many. Place, id and source are those of the present input."""
        lines = Found(self)
        for line in self.lines():
            lines.note(line.data["input_hash"], line.data["status"], line.offset)
        if not len(lines):
            return
        with inside(self.journal).open("rb") as journal:
            at = 0
            for index, entry, offset, again in lines.in_order():
                if offset != at:
                    journal.seek(offset)
                text = journal.readline()
                at = offset + len(text)
                record = orjson.loads(text)
                record["index"], record["id"], record["source"] = index, entry.id, entry.source
                if again:
                    record["usage"] = unpaid(record["usage"])
                yield record

    def counts(self) -> Counts:
        """How the cases of the run ended so far."""
        if self.manifest.state == "finished":
            return self.manifest.counts
        ended = Counter(str(record["status"]) for record in self.records())
        return Counts(ok=ended["ok"], failed=ended["failed"], error=ended["error"])

    def lines(self) -> Iterator[Line]:
        """All that was ever judged in the folder, each line checked: for those who sort it out with `Found`."""
        return read_journal(self.folder, LineCheck(self.folder, self.manifest))

    def roll(self) -> Iterator[Entry]:
        """The cases that were read, judged or not."""
        return read_roll(self.folder, self.manifest)

    def frame(self, kind: Literal["pandas", "polars", "arrow"] = "pandas") -> Any:
        """The whole run as a data frame; see `krino.frame`."""
        from krino.exports.frame import frame

        return frame(self, kind)

    @property
    def journal(self) -> Path:
        return self.folder / JOURNAL


class Found:
    """Finds for each case of a run the line of the journal that counts; a number (its place, say) stands for the line.

    First `note` every line, then take the cases `in_order`.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known = Contents()
        for entry in run.roll():
            self._known.set(entry.input_hash, _NOT_JUDGED)

    def __len__(self) -> int:
        """How many contents the run is about."""
        return len(self._known)

    def note(self, digest: str, status: Status, number: int) -> bool:
        """Whether the line counts, as far as can be told before the next."""
        known = self._known.get(digest)
        if known is None or not is_open(NAMES.get(known & _CODE)):
            return False
        self._known.set(digest, number << _BITS | CODES[status])
        return True

    def in_order(self) -> Iterator[tuple[int, Entry, int, bool]]:
        """Index, case, number of its line, and whether an earlier case had the same content and so the same line.

        Of an unfinished run those that are judged; a finished one must have them all.
        """
        for index, entry in enumerate(self._run.roll()):
            known = self._known.get(entry.input_hash)
            if not known:
                self._refuse_gap(entry)
                continue
            yield index, entry, known >> _BITS, bool(known & _GIVEN)
            self._known.set(entry.input_hash, known | _GIVEN)

    def _refuse_gap(self, entry: Entry) -> None:
        if self._run.manifest.state == "finished":
            raise UsageProblem(
                f"{self._run.journal}: the case {entry.id[:80]!r} has no line there, and yet the run is finished (by "
                f"{self._run.folder / MANIFEST}): run the command again, it judges what is missing"
            )


_NOT_JUDGED, _CODE, _GIVEN, _BITS = 0, 0b011, 0b100, 3


def unpaid(usage: dict[str, Any]) -> dict[str, Any]:
    """For a case that shares its verdict with an earlier one: what was paid is counted there."""
    return {name: None if value is None else type(value)(0) for name, value in usage.items()}


def load_run(folder: str | PathLike[str]) -> Run:
    """The run in a folder that `krino judge` has written."""
    path = Path(folder)
    if not path.is_dir():
        raise UsageProblem(f"{path} is no run folder: there is no such folder")
    return Run(path, Manifest.load(path))
