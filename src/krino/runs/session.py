"""One session of a run: opens the folder, judges the cases that are still open, and leaves it ready to be continued."""

from __future__ import annotations

import asyncio
from array import array
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from krino.cases.item import CaseItem, storable_text
from krino.contract import AnyJudge, Labeller, Source, Usage
from krino.contract.code_limit import CASE_SECONDS
from krino.engine.case import unwritable
from krino.engine.interface import Assignment, Engine, Finished, Returned, Trial, has_broken, opened
from krino.engine.pool import LocalPool
from krino.engine.views import ViewKeeper
from krino.errors import RunStopped, UsageProblem
from krino.labellers.llm.batch.ledger import forget_answered
from krino.runs.folder import BATCHES, clear_results, make, refuse_batches_out, refuse_other, unclaim, was_killed
from krino.runs.hash_table import HashTable
from krino.runs.index import JournalIndex
from krino.runs.journal import Journal
from krino.runs.manifest import Counts, JudgeCard, Manifest, Plan
from krino.runs.roll import RollWriter, read_roll
from krino.runs.views import ViewFile

CaseSource = Callable[[], Iterator[CaseItem]]
"""Gives the cases from the first on, each time it is called."""


@dataclass(slots=True)
class SessionProgress:
    """Counts for a progress display, updated during the session."""

    skipped: int = 0
    """Cases whose content was judged before, or is in the input twice."""
    counts: Counts = field(default_factory=Counts)
    usage: Usage = field(default_factory=Usage)

    @property
    def seen(self) -> int:
        return self.skipped + self.counts.total


@dataclass(slots=True)
class Session:
    """Judges a stream of cases into a run folder.

    However it ends, the folder is about the cases that were read in this session and no others. If it is killed, the
    run is unfinished: `run.json` says so before the roll is emptied, and the journal only grows.
    """

    judge: AnyJudge
    labeller: Labeller
    plan: Plan
    folder: Path
    fresh: bool = False
    """Ignore what the folder holds and judge every case."""
    make_engine: Callable[[], Engine] = LocalPool
    on_judgement: Callable[[SessionProgress], None] | None = None
    case_seconds: float = CASE_SECONDS
    """Time limit for the judge's code for each case."""
    may_kill: bool = False
    """Whether a case may kill its process."""
    progress: SessionProgress = field(default_factory=SessionProgress)
    interrupted: bool = False
    stopped: RunStopped | None = None
    """Why the session stopped early, unless it was interrupted."""
    broken: int = 0
    """Cases on which the judge's own code broke after they were labelled."""
    index: JournalIndex | None = None
    """Of the journal, once the session has begun."""
    _views: ViewFile = field(init=False)
    _view_keeper: ViewKeeper = field(init=False)
    _engine: Engine | None = None
    _first_places: HashTable = field(default_factory=HashTable)
    """Where each content was read first: a record that is in the input twice is judged once."""
    _earlier_errors: array[int] = field(default_factory=lambda: array("Q"))
    """Positions of cases that ended in error in an earlier session, in the order of the input."""
    _killed: bool = False
    """Whether a case may kill its process: `may_kill`, or the last session was killed."""
    _problem: UsageProblem | None = None

    def __post_init__(self) -> None:
        self._views = ViewFile(self.folder)
        self._view_keeper = ViewKeeper(self._views.append)

    async def run(self, cases: CaseSource | AsyncIterator[CaseItem]) -> Manifest:
        """Judges all cases, or as many as possible; the manifest says which.

        Cases that ended in error before come last, so that the others are done if they stop the run again. A stream
        (an `AsyncIterator`) cannot be read twice, so in it they are not judged again.
        """
        made = make(self.folder)
        journal = Journal(self.folder)
        try:
            manifest = self._begin(journal)
            self.index = journal.index
            # A partial cost is not a cost: the budget then prices all tokens at present prices.
            spent = journal.index.usage
            known = replace(spent, cost=None) if journal.index.unpriced else replace(spent)
            self.labeller.already_spent(known)
            with RollWriter(self.folder) as roll:
                manifest.write(self.folder)
                await self._judge_and_record(cases, journal, roll, manifest)
        except UsageProblem:
            if made and journal.is_empty:
                unclaim(self.folder, made)
            raise
        finally:
            journal.close()
            self._views.close()
        if self._problem is not None:
            raise self._problem
        return manifest

    def interrupt(self) -> None:
        """Starts no more cases; cases in flight may finish."""
        self.interrupted = True
        if self._engine is not None:
            self._engine.stop()

    # --- start and end -------------------------------------------------------------------------------

    def _begin(self, journal: Journal) -> Manifest:
        """Refuses what must be refused, then prepares the folder: loads or clears the journal, deletes old results.
        Returns a new manifest, not written yet."""
        about = JudgeCard.of(self.judge)
        if (self.folder / BATCHES).exists() and not isinstance(self.make_engine(), _batch_files()):
            refuse_batches_out(self.folder)
        if not self.fresh and not journal.is_empty:
            known = Manifest.load(self.folder)
            refuse_other(known.plan, self.plan, self.folder)
            journal.load(known)
        self._killed = self.may_kill or was_killed(self.folder)
        clear_results(self.folder)
        if self.fresh:
            journal.clear()
            self._views.clear()
        return Manifest(plan=self.plan, about=about, usage=replace(journal.index.usage))

    async def _judge_and_record(
        self, cases: CaseSource | AsyncIterator[CaseItem], journal: Journal, roll: RollWriter, manifest: Manifest
    ) -> None:
        """Judges the cases, and records state and counts whatever happens."""
        try:
            await self._judge_all(cases, journal, roll, manifest)
        except BaseException as fault:
            manifest.state, manifest.stop_reason = "interrupted", f"{type(fault).__name__}: {fault}"
            raise
        finally:
            roll.flush()
            roll.repeated.record(manifest)
            self._record(journal, manifest)

    def _record(self, journal: Journal, manifest: Manifest) -> None:
        """Writes counts and usage into the manifest; raises `UsageProblem` if the folder was replaced meanwhile."""
        if not journal.is_in_place():
            raise UsageProblem(
                f"{self.folder} was deleted, moved or replaced while the run was going on: what was judged is not in it"
            )
        manifest.counts = _count(self.folder, manifest, journal)
        manifest.usage = replace(journal.index.usage)
        manifest.write(self.folder)

    # --- the cases -----------------------------------------------------------------------------------

    async def _judge_all(
        self, cases: CaseSource | AsyncIterator[CaseItem], journal: Journal, roll: RollWriter, manifest: Manifest
    ) -> None:
        """Judges all open cases, then those that ended in error in an earlier session; sets the state of the run, also
        if it was stopped."""

        def is_open(item: CaseItem, digest: str) -> bool:
            return self._is_open(item, digest, journal, roll)

        def is_error(_: CaseItem, digest: str) -> bool:
            return journal.index.status(digest) == "error"  # the input may have changed since it was read first

        try:
            trial = Trial(passed=journal.index.has_verdicts)
            items = cases if isinstance(cases, AsyncIterator) else cases()
            await self._judge_once(items, journal, roll, is_open, trial, may_kill=self._killed)
            if self._earlier_errors and self._problem is None and not isinstance(cases, AsyncIterator):
                late = _select_at(self._earlier_errors, cases())
                await self._judge_once(late, journal, roll, is_error, Trial(passed=True), may_kill=True)
        except RunStopped as reason:
            self.stopped = reason
            manifest.state = "interrupted" if reason.kind == "interrupt" else "stopped"
            manifest.stop_reason = str(reason)
        except asyncio.CancelledError:
            manifest.state, manifest.stop_reason = "interrupted", "stopped by the user"
        else:
            if self.interrupted:
                manifest.state, manifest.stop_reason = "interrupted", "stopped by the user"
            elif self._problem is not None:
                manifest.state, manifest.stop_reason = "stopped", str(self._problem)
            else:
                manifest.state, manifest.stop_reason = "finished", None
                manifest.cases, manifest.input_hash = roll.cases, roll.input_hash()
                if (self.folder / BATCHES).exists():
                    forget_answered(self.folder / BATCHES)

    async def _judge_once(
        self,
        items: Iterator[CaseItem] | AsyncIterator[CaseItem],
        journal: Journal,
        roll: RollWriter,
        is_open: Callable[[CaseItem, str], bool],
        trial: Trial,
        *,
        may_kill: bool = False,
    ) -> None:
        """Reads the items once, and judges those that are open. Raises `RunStopped` if the run must end."""

        async def receive(cases: Sequence[tuple[Returned, Finished | None]]) -> None:
            """Records finished cases in journal and counts. Raises `RunStopped` if the judge's own code broke on each
            of the first labelled cases."""
            finished = [(case, judgement) for case, judgement in cases if judgement is not None]
            self._record_judgements(finished, journal, roll)
            self.broken += sum(has_broken(judgement) for _, judgement in finished)
            for _, judgement in finished:
                trial.check(judgement)

        if self.interrupted:
            return
        self._engine = self.make_engine()
        stream = items if isinstance(items, AsyncIterator) else self._stop_at_problem(items)
        cases = opened(stream, is_open, self.judge)
        seconds, views = self.case_seconds, self._view_keeper
        work = Assignment(self.judge, self.labeller, self.folder, seconds, may_kill, views)
        await self._engine.run(work, cases, receive)

    def _stop_at_problem(self, items: Iterator[CaseItem]) -> Iterator[CaseItem]:
        """Yields the items until an interruption or an unreadable file, whose problem is kept: cases in flight finish
        first."""
        try:
            for item in items:
                if self.interrupted:
                    return
                yield _make_encodable(item)
        except UsageProblem as problem:
            self._problem = problem

    def _is_open(self, item: CaseItem, digest: str, journal: Journal, roll: RollWriter) -> bool:
        """Is the case to be judged now? Also adds it to the roll, counts it as skipped if it is not, and notes an
        earlier error for the second pass. Called once for each case, in the order of the input."""
        roll.add(item, digest)
        if self._first_places.add(digest, item.index) != item.index:
            self.progress.skipped += 1
            return False
        status = journal.index.status(digest)
        if status == "error":
            self._earlier_errors.append(item.index)
        elif status is not None:
            self.progress.skipped += 1
        return status is None

    def _record_judgements(
        self, finished: Sequence[tuple[Returned, Finished]], journal: Journal, roll: RollWriter
    ) -> None:
        """Adds judgements to the journal and to the counts, and reports progress. One that cannot be written becomes an
        error."""
        roll.flush()  # a case is on the roll before its verdict is in the journal
        judgements = [judgement for _, judgement in finished]
        try:
            journal.append(*judgements)
        except ValueError as fault:  # it cannot be written: the case is an error, the run continues
            if len(finished) > 1:
                for one in finished:
                    self._record_judgements([one], journal, roll)
                return
            case, judgement = finished[0]
            judgements = [unwritable(self.judge, case.item, judgement, fault)]
            journal.append(*judgements)
        counts = self.progress.counts
        for judgement in judgements:
            setattr(counts, judgement.status, getattr(counts, judgement.status) + 1)
            self.progress.usage.add(judgement.usage)
        if judgements and self.on_judgement is not None:
            self.on_judgement(self.progress)


def _batch_files() -> type[Engine]:
    """Returns the engine of batch files, imported only if needed, because it imports HTTP."""
    from krino.engine.batch import BatchFiles

    return BatchFiles


def _make_encodable(item: CaseItem) -> CaseItem:
    """Returns the item with an id and a file name that can be written as UTF-8."""
    try:
        item.id.encode()
        if item.source is not None:
            item.source.file.encode()
    except UnicodeEncodeError:
        source = item.source and Source(storable_text(item.source.file), item.source.line)
        return replace(item, id=storable_text(item.id), source=source)
    return item


def _count(folder: Path, manifest: Manifest, journal: Journal) -> Counts:
    """Counts by status how the cases on the roll ended."""
    found = Counter(journal.index.status(entry.input_hash) for entry in read_roll(folder, manifest))
    return Counts(ok=found["ok"], failed=found["failed"], error=found["error"])


def _select_at(places: array[int], items: Iterator[CaseItem]) -> Iterator[CaseItem]:
    """Yields the items at these positions, which are in ascending order."""
    wanted = iter(places)
    place = next(wanted, None)
    for item in items:
        if item.index == place:
            yield item
            place = next(wanted, None)
