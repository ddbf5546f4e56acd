"""One session of a run: open its folder, judge what is still open, leave it so that the next session can go on."""

from __future__ import annotations

import asyncio
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from krino.cases.item import CaseItem, as_text
from krino.contract import AnyJudge, Labeller, Source, Usage
from krino.contract.code_limit import CASE_SECONDS
from krino.engine.case import unwritable
from krino.engine.pool import LocalPool
from krino.engine.protocol import Assignment, Engine, Finished, Returned, opened
from krino.engine.rehearsal import Trial
from krino.engine.views import ViewKeeper
from krino.errors import RunStopped, UsageProblem
from krino.labellers.llm.batch.ledger import forget_answered
from krino.runs.checking import LineCheck
from krino.runs.contents import Contents
from krino.runs.folder import BATCHES, clear_results, make, refuse_batches_out, refuse_other, unclaim, was_killed
from krino.runs.journal import Journal
from krino.runs.manifest import Counts, JudgeCard, Manifest, Plan
from krino.runs.roll import RollWriter, read_roll
from krino.runs.views import ViewFile

CaseSource = Callable[[], Iterator[CaseItem]]
"""Gives the cases from the first on, each time it is called."""


@dataclass(slots=True)
class Tally:
    """What a progress display needs to know, kept current while the session lasts."""

    skipped: int = 0
    """Cases whose content was judged before, or stands in the input twice."""
    counts: Counts = field(default_factory=Counts)
    usage: Usage = field(default_factory=Usage)

    @property
    def seen(self) -> int:
        return self.skipped + self.counts.total


@dataclass(slots=True)
class Session:
    """Judges a stream of cases into a run folder.

    However it ends, the folder speaks of the cases that were read in this session and of no others. Killed at any
    moment, it is an unfinished run: `run.json` says so before the roll is emptied, and the journal only ever grows.
    """

    judge: AnyJudge
    labeller: Labeller
    plan: Plan
    folder: Path
    fresh: bool = False
    """Forget what the folder holds and judge every case."""
    make_engine: Callable[[], Engine] = LocalPool
    on_judgement: Callable[[Tally], None] | None = None
    case_seconds: float = CASE_SECONDS
    """What the judge's code may take for a case."""
    may_kill: bool = False
    """Whether it is known beforehand that one of the cases may kill its process."""
    tally: Tally = field(default_factory=Tally)
    interrupted: bool = False
    stopped: RunStopped | None = None
    """What ended the session before its cases did, if that was no interruption."""
    lines: Contents | None = None
    """Where in the journal the line of each content begins, once the session is over; see `Journal.lines`."""
    _views: ViewFile = field(init=False)
    _view_keeper: ViewKeeper = field(init=False)
    _engine: Engine | None = None
    _met: Contents = field(default_factory=Contents)
    """Where each content came by first: a record that stands in the input twice is judged once."""
    _late: array[int] = field(default_factory=lambda: array("Q"))
    """Places of the cases that ended in error in an earlier session, in the order of the input."""
    _killed: bool = False
    """Whether one of the cases may kill its process: so it is said, or the session before this one was killed."""
    _problem: UsageProblem | None = None

    def __post_init__(self) -> None:
        self._views = ViewFile(self.folder)
        self._view_keeper = ViewKeeper(self._views.append)

    async def run(self, cases: CaseSource) -> Manifest:
        """To the end of the cases, or as far as it can go; the manifest says which.

        Cases that ended in error before come last: should they stop the run again, the others are done.
        """
        made = make(self.folder)
        journal = Journal(self.folder)
        try:
            manifest = self._begin(journal)
            # Part of a cost is none: a limit reckons then what all the tokens cost at the prices of now.
            known = replace(journal.usage, cost=None) if journal.unpriced else replace(journal.usage)
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
        self.lines = journal.lines
        if self._problem is not None:
            raise self._problem
        return manifest

    def interrupt(self) -> None:
        """Begin nothing new; what is in flight may finish."""
        self.interrupted = True
        if self._engine is not None:
            self._engine.stop()

    # --- how it begins and ends ----------------------------------------------------------------------

    def _begin(self, journal: Journal) -> Manifest:
        """Everything that can be refused is refused before the folder is changed."""
        about = JudgeCard.of(self.judge)
        if (self.folder / BATCHES).exists() and not isinstance(self.make_engine(), _batch_files()):
            refuse_batches_out(self.folder)
        if not self.fresh and not journal.is_empty:
            known = Manifest.load(self.folder)
            refuse_other(known.plan, self.plan, self.folder)
            journal.load(LineCheck(self.folder, known))
        self._killed = self.may_kill or was_killed(self.folder)
        clear_results(self.folder)
        if self.fresh:
            journal.clear()
            self._views.clear()
        return Manifest(plan=self.plan, about=about, usage=replace(journal.usage))

    async def _judge_and_record(
        self, cases: CaseSource, journal: Journal, roll: RollWriter, manifest: Manifest
    ) -> None:
        try:
            await self._judge_all(cases, journal, roll, manifest)
        except BaseException as fault:
            manifest.state, manifest.stop_reason = "interrupted", f"{type(fault).__name__}: {fault}"
            raise
        finally:
            roll.flush()
            roll.repeated.tell(manifest)
            self._record(journal, manifest)

    def _record(self, journal: Journal, manifest: Manifest) -> None:
        if not journal.is_in_place():
            raise UsageProblem(
                f"{self.folder} was deleted, moved or replaced while the run was going on: what was judged is not in it"
            )
        manifest.counts = _count(self.folder, manifest, journal)
        manifest.usage = replace(journal.usage)
        manifest.write(self.folder)

    # --- the cases -----------------------------------------------------------------------------------

    async def _judge_all(self, cases: CaseSource, journal: Journal, roll: RollWriter, manifest: Manifest) -> None:
        def is_open(item: CaseItem, digest: str) -> bool:
            return self._is_open(item, digest, journal, roll)

        def is_error(_: CaseItem, digest: str) -> bool:
            return journal.status(digest) == "error"  # the input may have changed since it was read first

        try:
            trial = Trial(passed=journal.has_verdicts)
            await self._pass(cases(), journal, roll, is_open, trial, may_kill=self._killed)
            if self._late and self._problem is None:
                late = _at(self._late, cases())
                await self._pass(late, journal, roll, is_error, Trial(passed=True), may_kill=True)
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

    async def _pass(
        self,
        items: Iterator[CaseItem],
        journal: Journal,
        roll: RollWriter,
        is_open: Callable[[CaseItem, str], bool],
        trial: Trial,
        *,
        may_kill: bool = False,
    ) -> None:
        """Once through the items; judges those that are open."""

        async def receive(cases: Sequence[tuple[Returned, Finished | None]]) -> None:
            finished = [(case, judgement) for case, judgement in cases if judgement is not None]
            self._take(finished, journal, roll)
            for _, judgement in finished:
                trial.check(judgement)

        if self.interrupted:
            return
        self._engine = self.make_engine()
        cases = opened(self._readable(items), is_open, self.judge)
        seconds, views = self.case_seconds, self._view_keeper
        work = Assignment(self.judge, self.labeller, self.folder, seconds, may_kill, views)
        await self._engine.run(work, cases, receive)

    def _readable(self, items: Iterator[CaseItem]) -> Iterator[CaseItem]:
        """The items until an interruption, or a file that turns out unreadable; what is in flight is finished first."""
        try:
            for item in items:
                if self.interrupted:
                    return
                yield _with_plain_names(item)
        except UsageProblem as problem:
            self._problem = problem

    def _is_open(self, item: CaseItem, digest: str, journal: Journal, roll: RollWriter) -> bool:
        """Called once a case, in the order of the input."""
        roll.add(item, digest)
        if self._met.add(digest, item.index) != item.index:
            self.tally.skipped += 1
            return False
        status = journal.status(digest)
        if status == "error":
            self._late.append(item.index)
        elif status is not None:
            self.tally.skipped += 1
        return status is None

    def _take(self, finished: Sequence[tuple[Returned, Finished]], journal: Journal, roll: RollWriter) -> None:
        """Into the journal, and into the counts."""
        roll.flush()  # no verdict is in the journal before its case is on the roll
        judgements = [judgement for _, judgement in finished]
        try:
            journal.append(*judgements)
        except ValueError as fault:  # something in it cannot be written down: the case is an error, not the run
            if len(finished) > 1:
                for one in finished:
                    self._take([one], journal, roll)
                return
            case, judgement = finished[0]
            judgements = [unwritable(self.judge, case.item, judgement, fault)]
            journal.append(*judgements)
        counts = self.tally.counts
        for judgement in judgements:
            setattr(counts, judgement.status, getattr(counts, judgement.status) + 1)
            self.tally.usage.add(judgement.usage)
        if judgements and self.on_judgement is not None:
            self.on_judgement(self.tally)


def _batch_files() -> type[Engine]:
    """Loaded where it is needed only: it brings HTTP along."""
    from krino.engine.batch import BatchFiles

    return BatchFiles


def _with_plain_names(item: CaseItem) -> CaseItem:
    try:
        item.id.encode()
        if item.source is not None:
            item.source.file.encode()
    except UnicodeEncodeError:
        source = item.source and Source(as_text(item.source.file), item.source.line)
        return replace(item, id=as_text(item.id), source=source)
    return item


def _count(folder: Path, manifest: Manifest, journal: Journal) -> Counts:
    """How the cases on the roll ended: what a reader of the folder will find."""
    found = Counter(journal.status(entry.input_hash) for entry in read_roll(folder, manifest))
    return Counts(ok=found["ok"], failed=found["failed"], error=found["error"])


def _at(places: array[int], items: Iterator[CaseItem]) -> Iterator[CaseItem]:
    """Those at the places, which are in order."""
    wanted = iter(places)
    place = next(wanted, None)
    for item in items:
        if item.index == place:
            yield item
            place = next(wanted, None)
