"""Merges runs into the run that judging all their cases at once would give, whatever their order or overlap.

Every case has a place: its position in the whole input of its shard, or else its file and line. Runs that share a place
must have the same case there. Of several judgements of one content the first settled one counts, of errors the last, as
in a journal; others that were paid for stay in the journal, so that costs are complete. An existing target is one of
the runs: merging the same runs again changes nothing, and merging more adds to it. If it is killed, the target is an
unfinished run or what it was before.
"""

from __future__ import annotations

import hashlib
import io
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
import orjson
from numpy.typing import NDArray

from krino.contract import Judgement, Source, Status, Usage
from krino.engine.views import ViewKeeper
from krino.errors import UsageProblem
from krino.runs.checking import LineCheck
from krino.runs.folder import BATCHES, RESULTS
from krino.runs.guarded_files import inside
from krino.runs.hash_table import HashTable
from krino.runs.index import CODES, NAMES, is_open
from krino.runs.journal import JOURNAL, Journal, read_journal, sealed_line
from krino.runs.manifest import MANIFEST, Counts, Manifest, Part, Plan, differences
from krino.runs.roll import ROLL, Entry, RepeatedIds, entries_with_offsets, entry_of
from krino.runs.views import StoredViews, ViewFile
from krino.writing import make_own_folder, replacing

Key = tuple[int, int, int]
"""The place of a case: in the whole input (0, position, 0), or (file, line, number within that line)."""


@dataclass(frozen=True, slots=True)
class _Source:
    """One of the runs."""

    folder: Path
    manifest: Manifest

    @property
    def plan(self) -> Plan:
        return self.manifest.plan


def merge_runs(folders: Sequence[Path], into: Path) -> Manifest:
    """Merges the runs, and the run in `into` if there is one, into the folder `into`; returns the manifest of the
    merged run. Raises `UsageProblem` for runs that do not belong together."""
    target = into if (into / MANIFEST).exists() else None
    names = {path.resolve(): path for path in (*folders, *([target] if target else []))}
    sources = [_Source(path, Manifest.load(path)) for path in names.values()]
    whole = _refuse_strangers(sources)
    make_own_folder(into)
    journal = Journal(into)  # holds the lock of the target
    try:
        if target is None and not journal.is_empty:
            raise UsageProblem(f"{into} has judgements and no {MANIFEST} that says whose they are; name another folder")
        with ExitStack() as stack:
            return _Merged(sources, whole, stack).write(into)
    finally:
        journal.close()


def _refuse_strangers(sources: Sequence[_Source]) -> Part | None:
    """Raises `UsageProblem` for runs of different judges, labellers or inputs. Returns the whole input that they are
    parts of; None without shards."""
    first = sources[0]
    for other in sources:
        if (other.folder / BATCHES).exists():
            raise UsageProblem(
                f"{other.folder} has requests out in batch files: collect them first, with --engine batch"
            )
        if changed := differences(first.plan.identity(), other.plan.identity()):
            reasons = "".join(f"\n  {line}" for line in changed)
            raise UsageProblem(
                f"{other.folder} was not judged as {first.folder} was, so they are not one run:{reasons}"
            )
    whole = next((source.plan.part for source in sources if source.plan.part is not None), None)
    if whole is None:
        return None
    for source in sources:
        part, manifest = source.plan.part, source.manifest
        known = (manifest.cases, manifest.input_hash) if part is None else (part.cases, part.input_hash)
        if known != (whole.cases, whole.input_hash):
            raise UsageProblem(
                f"{source.folder} is no part of the {whole.cases:,} cases that others are shards of: merge it apart, "
                "or cut the input again and judge the new shards in the same folders: what is judged stays judged"
            )
    return whole


class _Best:
    """For each content the line that counts: its status, time, run and offset."""

    def __init__(self) -> None:
        self.codes, self.times = bytearray(), array("d")
        self.runs, self.offsets = array("l"), array("q")
        self.payments = array("q")

    def add(self) -> None:
        """Makes room for one more content."""
        self.codes.append(0)
        self.times.append(0.0)
        self.runs.append(0)
        self.offsets.append(0)
        self.payments.append(FREE)

    def offer(self, slot: int, status: Status, moment: float, run: int, offset: int, payment: int) -> None:
        """Takes this line for the content if it counts before the one that is known."""
        if self._is_better(NAMES.get(self.codes[slot]), self.times[slot], status, moment):
            self.codes[slot], self.times[slot] = CODES[status], moment
            self.runs[slot], self.offsets[slot], self.payments[slot] = run, offset, payment

    @staticmethod
    def _is_better(known: Status | None, at: float, status: Status, moment: float) -> bool:
        """Does a line count before the known one? A settled one beats an error; of settled ones the first, of errors
        the last."""
        if known is None or is_open(known) != is_open(status):
            return known is None or is_open(known)
        return moment > at if is_open(status) else moment < at


_MOST_NAMED = 20
FREE = -1
"""Instead of the number of a payment: the judgement cost no call."""


class _Paid:
    """The judgements that cost a call, each once even if several runs have it: time, run and offset."""

    def __init__(self) -> None:
        self._known = HashTable()
        self._times, self._runs, self._offsets, self._open = array("d"), array("l"), array("q"), bytearray()

    def add(self, line: Mapping[str, Any], moment: float, run: int, offset: int) -> int:
        """Notes a judgement that cost a call, and returns the number of its payment; `FREE` if it cost none. The same
        judgement in two runs (one may be a merged run) is one payment."""
        if not line["usage"]["calls"]:
            return FREE
        key = orjson.dumps([line["input_hash"], moment, line["status"], line["usage"]], option=orjson.OPT_SORT_KEYS)
        payment = self._known.add(hashlib.blake2b(key, digest_size=16).hexdigest(), len(self._runs))
        if payment == len(self._runs):
            self._times.append(moment)
            self._runs.append(run)
            self._offsets.append(offset)
            self._open.append(is_open(line["status"]))
        return payment

    def list_superseded(self, counting: array[int], *, errors: bool) -> Iterator[tuple[int, int]]:
        """Yields run and offset of those that do not count, by time: either errors or settled ones."""
        others = np.setdiff1d(np.arange(len(self._runs)), np.frombuffer(counting, np.int64))
        for payment in sorted(others.tolist(), key=lambda number: (self._times[number], number)):
            if bool(self._open[payment]) == errors:
                yield self._runs[payment], self._offsets[payment]


class _Merged:
    """All the runs together. Takes some eighty bytes of memory for each case."""

    def __init__(self, sources: Sequence[_Source], whole: Part | None, stack: ExitStack) -> None:
        # Sorted, so that the order in which they were named does not matter.
        self._sources = sorted(sources, key=lambda source: orjson.dumps(source.plan.model_dump(mode="json")))
        self._whole = whole
        self._rolls = [_open(source.folder / ROLL, stack) for source in self._sources]
        self._journals = [_open(source.folder / JOURNAL, stack) for source in self._sources]
        self._views = [stack.enter_context(StoredViews(source.folder)) for source in self._sources]
        self._slots, self._best, self._paid = HashTable(), _Best(), _Paid()
        self._places = self._sort_places()
        digest, self._cases = hashlib.blake2b(digest_size=16), 0
        for entry in self._entries():
            digest.update(entry.input_hash.encode())
            self._cases += 1
        self._input_hash = digest.hexdigest()
        self._complete = self._is_complete()

    def write(self, into: Path) -> Manifest:
        """Writes the merged run: first an unfinished manifest, then roll, journal and views, then the state."""
        manifest = Manifest(plan=self._make_plan(), about=self._sources[0].manifest.about)
        manifest.write(into)  # unfinished before anything else changes
        for name in RESULTS:
            if name != ROLL:
                (into / name).unlink(missing_ok=True)
        self._read_journals()
        found, repeated = Counter[int](), RepeatedIds()
        with closing(ViewFile(into)) as file, replacing(into / JOURNAL) as journal, replacing(into / ROLL) as roll:
            file.clear()
            views = ViewKeeper(file.append)
            # The first settled line of a journal counts, and the last error: write superseded lines on the other side.
            self._keep_superseded(journal, manifest, errors=True)
            given = bytearray(len(self._best.codes))
            for index, entry in enumerate(self._entries()):
                slot = self._slots.get(entry.input_hash)
                assert slot is not None, "every content of a roll has one"
                roll.write((entry._replace(place=None) if self._complete else entry).to_line())
                found[self._best.codes[slot]] += 1
                repeated.add(entry.id, entry.input_hash)
                if self._best.codes[slot] and not given[slot]:
                    given[slot] = 1
                    judgement = self._read_judgement(slot, index, entry)
                    manifest.usage.add(judgement.usage)
                    journal.write(sealed_line(judgement))
                    if (line := self._views[self._best.runs[slot]].line(entry.input_hash)) is not None:
                        views.keep_line(judgement, line)
            self._keep_superseded(journal, manifest, errors=False)
        manifest.counts = Counts(**{status: found[code] for status, code in CODES.items()})
        repeated.record(manifest)
        self._conclude(manifest, found[0], into)
        manifest.write(into)
        return manifest

    def _conclude(self, manifest: Manifest, not_judged: int, into: Path) -> None:
        """Sets the state: finished if every case of the whole is there and judged, otherwise what is missing."""
        if self._complete:
            manifest.plan = manifest.plan.model_copy(update={"part": None})
            manifest.cases, manifest.input_hash = self._cases, self._input_hash
        if self._complete and not not_judged:
            manifest.state = "finished"
            return
        of = f" of {self._whole.cases:,}" if self._whole is not None else ""
        missing = "; ".join(filter(None, (self._name_missing(manifest.plan), self._name_unfinished(into))))
        manifest.state = "interrupted"
        manifest.stop_reason = (
            f"merged from runs that are not all there is: {self._cases:,}{of} cases, {not_judged:,} of them not judged"
            + (f"; {missing}; judge what is missing, and merge again" if missing else "")
        )

    def _name_missing(self, plan: Plan) -> str:
        """Names the shards that are in none of the runs; empty if there are none."""
        if plan.part is None:
            return ""
        absent = sorted({*range(1, plan.part.of + 1)} - {*plan.part.shards})
        more = f" and {len(absent) - _MOST_NAMED:,} more" if len(absent) > _MOST_NAMED else ""
        named = ", ".join(f"{number:04d}" for number in absent[:_MOST_NAMED])
        return f"missing of {plan.part.of:,} shards: {named}{more}" if absent else ""

    def _name_unfinished(self, into: Path) -> str:
        """Names the runs, except the target, that are not finished; empty if all are."""
        others = [source for source in self._sources if source.folder.resolve() != into.resolve()]
        names = [str(source.folder) for source in others if source.manifest.state != "finished"]
        more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
        return f"unfinished: {', '.join(names[:_MOST_NAMED])}{more}" if names else ""

    # --- the cases ---------------------------------------------------------------------------------

    def _sort_places(self) -> NDArray[np.int64]:
        """Returns one row for each case of a run: the three parts of its key, its run and its offset, sorted by key.
        Also gives every content a slot."""
        files: dict[str, int] = {}
        table = array("q")
        for run, source in enumerate(self._sources):
            for position, (offset, entry) in enumerate(entries_with_offsets(source.folder, source.manifest)):
                if self._slots.add(entry.input_hash, len(self._best.codes)) == len(self._best.codes):
                    self._best.add()
                table.extend((*self._make_key(entry, position, files), run, offset))
        rows = np.frombuffer(table, np.int64).reshape(-1, 5).copy()
        names = sorted(files)
        ranks = np.empty(len(names), np.int64)
        ranks[[files[name] for name in names]] = np.arange(len(names))
        if self._whole is None and len(rows):
            rows[:, 0] = ranks[rows[:, 0]]
            rows[:, 2] = _number_in_lines(rows)
        return rows[np.lexsort((rows[:, 3], rows[:, 2], rows[:, 1], rows[:, 0]))]

    def _make_key(self, entry: Entry, position: int, files: dict[str, int]) -> Key:
        """Returns the sort key of an entry: its position in the whole input if that is known, else file, line and
        position. Adds a new file to `files`."""
        if self._whole is not None:
            return 0, position if entry.place is None else entry.place, 0
        source = entry.source or {}
        return files.setdefault(source.get("file", ""), len(files)), source.get("line") or 0, position

    def _entries(self) -> Iterator[Entry]:
        """Yields the cases in the order of their places, each once; raises `UsageProblem` for two cases in one
        place."""
        known: tuple[Key, Entry, int] | None = None
        for row in self._places:
            first, second, third, run, offset = (int(value) for value in row)
            key = first, second, third
            stream = self._rolls[run]
            stream.seek(offset)
            entry = entry_of(orjson.loads(stream.readline()))
            if self._whole is not None:
                entry = entry._replace(place=second)
            if known is not None and known[0] == key:
                if known[1] != entry:
                    raise self._contradiction(known, entry, run)
                continue
            known = key, entry, run
            yield entry

    def _contradiction(self, known: tuple[Key, Entry, int], entry: Entry, run: int) -> UsageProblem:
        """Returns the error for two runs that have different cases at the same position."""
        where = Source(**entry.source) if entry.source else f"case {entry.id}"
        return UsageProblem(
            f"{self._sources[known[2]].folder} and {self._sources[run].folder} have different cases in one place "
            f"({where}): the input has changed between them, so they are not parts of one run"
        )

    def _is_complete(self) -> bool:
        """Do the runs have all cases of the whole input, judged or not? Without shards: do the finished runs cover
        every input? Raises `UsageProblem` if there are as many cases, but others."""
        if self._whole is not None:
            if self._cases != self._whole.cases:
                return False
            if self._input_hash != self._whole.input_hash:
                raise UsageProblem("these runs have other cases than the input that their shards were cut from")
            return True
        ended = [source for source in self._sources if source.manifest.state == "finished"]
        covered = {name for source in ended for name in source.plan.inputs}
        return all(set(source.plan.inputs) <= covered for source in self._sources)

    def _make_plan(self) -> Plan:
        """Returns the plan of the merged run."""
        plan = self._sources[0].plan
        if self._whole is None:
            names = sorted({name for source in self._sources for name in source.plan.inputs})
            return plan.model_copy(update={"inputs": names})
        parts = (source.plan.part for source in self._sources if source.plan.part is not None)
        shards = sorted({shard for part in parts for shard in part.shards})
        return plan.model_copy(update={"part": self._whole.model_copy(update={"shards": shards})})

    # --- the judgements ----------------------------------------------------------------------------

    def _read_journals(self) -> None:
        """Reads all journals, and notes every payment and for each content which line counts."""
        for run, source in enumerate(self._sources):
            for line in read_journal(source.folder, LineCheck(source.folder, source.manifest)):
                data, moment = line.data, _parse_moment(line.data.get("time"))
                payment = self._paid.add(data, moment, run, line.offset)
                if (slot := self._slots.get(data["input_hash"])) is not None:
                    self._best.offer(slot, data["status"], moment, run, line.offset, payment)

    def _keep_superseded(self, journal: IO[bytes], manifest: Manifest, *, errors: bool) -> None:
        """Copies lines that were paid for and do not count, and adds their usage, so that the merged costs are
        complete."""
        for run, offset in self._paid.list_superseded(self._best.payments, errors=errors):
            self._journals[run].seek(offset)
            line = self._journals[run].readline()
            manifest.usage.add(Usage.of(orjson.loads(line)["usage"]))
            journal.write(line.rstrip(b"\n") + b"\n")

    def _read_judgement(self, slot: int, index: int, entry: Entry) -> Judgement:
        """Returns the judgement as a run over the whole input would have written it, for the first case with this
        content."""
        stream = self._journals[self._best.runs[slot]]
        stream.seek(self._best.offsets[slot])
        source = None if entry.source is None else Source(**entry.source)
        found = Judgement.model_validate_json(stream.readline())
        return found.model_copy(update={"index": index, "id": entry.id, "source": source})


def _number_in_lines(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the number of each case within its line and run: a record may hold several cases."""
    order = np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0], rows[:, 3]))
    groups = rows[order][:, [3, 0, 1]]
    begins = np.concatenate([[True], (groups[1:] != groups[:-1]).any(axis=1)])
    starts = np.maximum.accumulate(np.where(begins, np.arange(len(rows)), 0))
    numbers = np.empty(len(rows), np.int64)
    numbers[order] = np.arange(len(rows)) - starts
    return numbers


def _open(path: Path, stack: ExitStack) -> BinaryIO:
    """Opens the file, or an empty one: a run that was killed early may lack it."""
    return stack.enter_context(inside(path).open("rb")) if path.exists() else io.BytesIO()


def _parse_moment(time: Any) -> float:
    """Converts an ISO time into seconds, or 0 if it cannot be read."""
    try:
        return datetime.fromisoformat(time).timestamp()
    except (TypeError, ValueError):
        return 0.0
