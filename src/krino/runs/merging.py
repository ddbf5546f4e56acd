"""Merges runs into one that is what a run over all their cases would be, whatever their order, overlap or repetition.

Every case has a place: in the whole that its shard was cut from, or else its file and line. What several runs say about
the same place must be the same case; of several judgements of one content the first that is settled counts, of errors
the last, as in a journal; the others stay in it where they were paid for, so that the bill is whole. Where the merged
run is there already, it is one of the runs: merging the same again changes nothing, and merging more adds to it. Killed
at any moment, the target is an unfinished run or the one before.
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
from krino.runs.contents import Contents
from krino.runs.files import inside
from krino.runs.folder import BATCHES, RESULTS
from krino.runs.journal import CODES, JOURNAL, NAMES, Journal, is_open, read_journal
from krino.runs.manifest import MANIFEST, Counts, Manifest, Part, Plan, differences
from krino.runs.roll import ROLL, Entry, RepeatedIds, entries_with_offsets, entry_of
from krino.runs.views import StoredViews, ViewFile
from krino.writing import make_own_folder, replacing

Key = tuple[int, int, int]
"""Where a case belongs: in the whole (0, place, 0), or (file, line, which of the cases of that line)."""


@dataclass(frozen=True, slots=True)
class _Source:
    """One of the runs."""

    folder: Path
    manifest: Manifest

    @property
    def plan(self) -> Plan:
        return self.manifest.plan


def merge_runs(folders: Sequence[Path], into: Path) -> Manifest:
    """The manifest of the merged run in `into`. Raises `UsageProblem` for runs that do not belong together."""
    target = into if (into / MANIFEST).exists() else None
    names = {path.resolve(): path for path in (*folders, *([target] if target else []))}
    sources = [_Source(path, Manifest.load(path)) for path in names.values()]
    whole = _refuse_strangers(sources)
    make_own_folder(into)
    journal = Journal(into)  # nobody else writes there meanwhile
    try:
        if target is None and not journal.is_empty:
            raise UsageProblem(f"{into} has judgements and no {MANIFEST} that says whose they are; name another folder")
        with ExitStack() as stack:
            return _Merged(sources, whole, stack).write(into)
    finally:
        journal.close()


def _refuse_strangers(sources: Sequence[_Source]) -> Part | None:
    """Only runs of one judge, labeller and whole are merged. Gives the whole that they are parts of, if any is one."""
    first = sources[0]
    for other in sources:
        if (other.folder / BATCHES).exists():
            raise UsageProblem(
                f"{other.folder} has requests out in batch files: collect them first, with --engine batch"
            )
        if changed := differences(first.plan.identity(), other.plan.identity()):
            told = "".join(f"\n  {line}" for line in changed)
            raise UsageProblem(f"{other.folder} was not judged as {first.folder} was, so they are not one run:{told}")
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
    """Of each content, the line that counts: how it ended, when it was written, and where it is."""

    def __init__(self) -> None:
        self.codes, self.times = bytearray(), array("d")
        self.runs, self.offsets = array("l"), array("q")
        self.payments = array("q")

    def add(self) -> None:
        self.codes.append(0)
        self.times.append(0.0)
        self.runs.append(0)
        self.offsets.append(0)
        self.payments.append(FREE)

    def offer(self, slot: int, status: Status, moment: float, run: int, offset: int, payment: int) -> None:
        if self._is_better(NAMES.get(self.codes[slot]), self.times[slot], status, moment):
            self.codes[slot], self.times[slot] = CODES[status], moment
            self.runs[slot], self.offsets[slot], self.payments[slot] = run, offset, payment

    @staticmethod
    def _is_better(known: Status | None, at: float, status: Status, moment: float) -> bool:
        if known is None or is_open(known) != is_open(status):
            return known is None or is_open(known)
        return moment > at if is_open(status) else moment < at


_MOST_NAMED = 20
FREE = -1
"""In place of a payment: nobody was asked for the judgement."""


class _Paid:
    """Every judgement that cost a call, once, in however many of the runs it stands: its place and when it was made."""

    def __init__(self) -> None:
        self._known = Contents()
        self._times, self._runs, self._offsets, self._open = array("d"), array("l"), array("q"), bytearray()

    def add(self, line: Mapping[str, Any], moment: float, run: int, offset: int) -> int:
        """The number of the payment; the same judgement in two runs (one of them merged before) is one."""
        if not line["usage"]["calls"]:
            return FREE
        said = orjson.dumps([line["input_hash"], moment, line["status"], line["usage"]], option=orjson.OPT_SORT_KEYS)
        payment = self._known.add(hashlib.blake2b(said, digest_size=16).hexdigest(), len(self._runs))
        if payment == len(self._runs):
            self._times.append(moment)
            self._runs.append(run)
            self._offsets.append(offset)
            self._open.append(is_open(line["status"]))
        return payment

    def replaced(self, counting: array[int], *, opened: bool) -> Iterator[tuple[int, int]]:
        """Run and offset of those that do not count, in the order of time: errors, or what is settled."""
        others = np.setdiff1d(np.arange(len(self._runs)), np.frombuffer(counting, np.int64))
        for payment in sorted(others.tolist(), key=lambda number: (self._times[number], number)):
            if bool(self._open[payment]) == opened:
                yield self._runs[payment], self._offsets[payment]


class _Merged:
    """What is known of all the runs: some eighty bytes a case are held in memory."""

    def __init__(self, sources: Sequence[_Source], whole: Part | None, stack: ExitStack) -> None:
        # In an order of their own, so that the order in which they were named changes nothing.
        self._sources = sorted(sources, key=lambda source: orjson.dumps(source.plan.model_dump(mode="json")))
        self._whole = whole
        self._rolls = [_opened(source.folder / ROLL, stack) for source in self._sources]
        self._journals = [_opened(source.folder / JOURNAL, stack) for source in self._sources]
        self._views = [stack.enter_context(StoredViews(source.folder)) for source in self._sources]
        self._slots, self._best, self._paid = Contents(), _Best(), _Paid()
        self._places = self._sorted_places()
        digest, self._cases = hashlib.blake2b(digest_size=16), 0
        for entry in self._entries():
            digest.update(entry.input_hash.encode())
            self._cases += 1
        self._input_hash = digest.hexdigest()
        self._complete = self._is_complete()

    def write(self, into: Path) -> Manifest:
        manifest = Manifest(plan=self._plan(), about=self._sources[0].manifest.about)
        manifest.write(into)  # unfinished, and a part of the whole, before anything else changes
        for name in RESULTS:
            if name != ROLL:
                (into / name).unlink(missing_ok=True)
        self._read_journals()
        found, repeated = Counter[int](), RepeatedIds()
        with closing(ViewFile(into)) as file, replacing(into / JOURNAL) as journal, replacing(into / ROLL) as roll:
            file.clear()
            views = ViewKeeper(file.append)
            # In a journal the last error counts and the first that is settled: what was replaced stands around those.
            self._keep_replaced(journal, manifest, opened=True)
            given = bytearray(len(self._best.codes))
            for index, entry in enumerate(self._entries()):
                slot = self._slots.get(entry.input_hash)
                assert slot is not None, "every content of a roll has one"
                roll.write((entry._replace(place=None) if self._complete else entry).written())
                found[self._best.codes[slot]] += 1
                repeated.add(entry.id, entry.input_hash)
                if self._best.codes[slot] and not given[slot]:
                    given[slot] = 1
                    judgement = self._judgement(slot, index, entry)
                    manifest.usage.add(judgement.usage)
                    journal.write(judgement.to_json() + b"\n")
                    if (line := self._views[self._best.runs[slot]].line(entry.input_hash)) is not None:
                        views.keep_line(judgement, line)
            self._keep_replaced(journal, manifest, opened=False)
        manifest.counts = Counts(**{status: found[code] for status, code in CODES.items()})
        repeated.tell(manifest)
        self._conclude(manifest, found[0], into)
        manifest.write(into)
        return manifest

    def _conclude(self, manifest: Manifest, not_judged: int, into: Path) -> None:
        if self._complete:
            manifest.plan = manifest.plan.model_copy(update={"part": None})
            manifest.cases, manifest.input_hash = self._cases, self._input_hash
        if self._complete and not not_judged:
            manifest.state = "finished"
            return
        of = f" of {self._whole.cases:,}" if self._whole is not None else ""
        missing = "; ".join(filter(None, (self._missing(manifest.plan), self._unfinished(into))))
        manifest.state = "interrupted"
        manifest.stop_reason = (
            f"merged from runs that are not all there is: {self._cases:,}{of} cases, {not_judged:,} of them not judged"
            + (f"; {missing}; judge what is missing, and merge again" if missing else "")
        )

    def _missing(self, plan: Plan) -> str:
        """The shards that no run was about."""
        if plan.part is None:
            return ""
        absent = sorted({*range(1, plan.part.of + 1)} - {*plan.part.shards})
        more = f" and {len(absent) - _MOST_NAMED:,} more" if len(absent) > _MOST_NAMED else ""
        named = ", ".join(f"{number:04d}" for number in absent[:_MOST_NAMED])
        return f"missing of {plan.part.of:,} shards: {named}{more}" if absent else ""

    def _unfinished(self, into: Path) -> str:
        """The runs, but for the merged one, that have not come to their end."""
        others = [source for source in self._sources if source.folder.resolve() != into.resolve()]
        names = [str(source.folder) for source in others if source.manifest.state != "finished"]
        more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
        return f"unfinished: {', '.join(names[:_MOST_NAMED])}{more}" if names else ""

    # --- the cases ---------------------------------------------------------------------------------

    def _sorted_places(self) -> NDArray[np.int64]:
        """A row a case of a run: the three parts of its key, its run, and where its line begins; sorted by the key."""
        files: dict[str, int] = {}
        table = array("q")
        for run, source in enumerate(self._sources):
            for position, (offset, entry) in enumerate(entries_with_offsets(source.folder, source.manifest)):
                if self._slots.add(entry.input_hash, len(self._best.codes)) == len(self._best.codes):
                    self._best.add()
                table.extend((*self._key(entry, position, files), run, offset))
        rows = np.frombuffer(table, np.int64).reshape(-1, 5).copy()
        names = sorted(files)
        ranks = np.empty(len(names), np.int64)
        ranks[[files[name] for name in names]] = np.arange(len(names))
        if self._whole is None and len(rows):
            rows[:, 0] = ranks[rows[:, 0]]
            rows[:, 2] = _numbered(rows)
        return rows[np.lexsort((rows[:, 3], rows[:, 2], rows[:, 1], rows[:, 0]))]

    def _key(self, entry: Entry, position: int, files: dict[str, int]) -> Key:
        if self._whole is not None:
            return 0, position if entry.place is None else entry.place, 0
        source = entry.source or {}
        return files.setdefault(source.get("file", ""), len(files)), source.get("line") or 0, position

    def _entries(self) -> Iterator[Entry]:
        """The cases in the order of their places, each once; refuses two that claim one place."""
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
        where = Source(**entry.source) if entry.source else f"case {entry.id}"
        return UsageProblem(
            f"{self._sources[known[2]].folder} and {self._sources[run].folder} have different cases in one place "
            f"({where}): the input has changed between them, so they are not parts of one run"
        )

    def _is_complete(self) -> bool:
        """Whether no case of the whole is missing; judged or not."""
        if self._whole is not None:
            if self._cases != self._whole.cases:
                return False
            if self._input_hash != self._whole.input_hash:
                raise UsageProblem("these runs have other cases than the input that their shards were cut from")
            return True
        ended = [source for source in self._sources if source.manifest.state == "finished"]
        covered = {name for source in ended for name in source.plan.inputs}
        return all(set(source.plan.inputs) <= covered for source in self._sources)

    def _plan(self) -> Plan:
        plan = self._sources[0].plan
        if self._whole is None:
            names = sorted({name for source in self._sources for name in source.plan.inputs})
            return plan.model_copy(update={"inputs": names})
        parts = (source.plan.part for source in self._sources if source.plan.part is not None)
        shards = sorted({shard for part in parts for shard in part.shards})
        return plan.model_copy(update={"part": self._whole.model_copy(update={"shards": shards})})

    # --- the judgements ----------------------------------------------------------------------------

    def _read_journals(self) -> None:
        for run, source in enumerate(self._sources):
            for line in read_journal(source.folder, LineCheck(source.folder, source.manifest)):
                data, moment = line.data, _moment(line.data.get("time"))
                payment = self._paid.add(data, moment, run, line.offset)
                if (slot := self._slots.get(data["input_hash"])) is not None:
                    self._best.offer(slot, data["status"], moment, run, line.offset, payment)

    def _keep_replaced(self, journal: IO[bytes], manifest: Manifest, *, opened: bool) -> None:
        for run, offset in self._paid.replaced(self._best.payments, opened=opened):
            self._journals[run].seek(offset)
            line = self._journals[run].readline()
            manifest.usage.add(Usage.of(orjson.loads(line)["usage"]))
            journal.write(line.rstrip(b"\n") + b"\n")

    def _judgement(self, slot: int, index: int, entry: Entry) -> Judgement:
        """As a run over the whole would have written it: of the first case with this content."""
        stream = self._journals[self._best.runs[slot]]
        stream.seek(self._best.offsets[slot])
        source = None if entry.source is None else Source(**entry.source)
        found = Judgement.model_validate_json(stream.readline())
        return found.model_copy(update={"index": index, "id": entry.id, "source": source})


def _numbered(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Which of the cases of its line each is, within its run: a record may hold several."""
    order = np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0], rows[:, 3]))
    groups = rows[order][:, [3, 0, 1]]
    begins = np.concatenate([[True], (groups[1:] != groups[:-1]).any(axis=1)])
    starts = np.maximum.accumulate(np.where(begins, np.arange(len(rows)), 0))
    numbers = np.empty(len(rows), np.int64)
    numbers[order] = np.arange(len(rows)) - starts
    return numbers


def _opened(path: Path, stack: ExitStack) -> BinaryIO:
    """A run that was killed early may lack the file: then it has no lines."""
    return stack.enter_context(inside(path).open("rb")) if path.exists() else io.BytesIO()


def _moment(time: Any) -> float:
    try:
        return datetime.fromisoformat(time).timestamp()
    except (TypeError, ValueError):
        return 0.0
