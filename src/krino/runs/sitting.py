"""One sitting of a run: open its folder, judge what is still open, leave it so that the next sitting can go on."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from krino.cases.item import CaseItem
from krino.contract import Judgement, Labeller, Usage
from krino.engine.local import Crew
from krino.engine.one import AnyJudge, describe_fault, without_verdict
from krino.errors import RunStopped, UsageProblem
from krino.runs.journal import Journal
from krino.runs.manifest import Counts, JudgeCard, Manifest, Plan


@dataclass(slots=True)
class Tally:
    """What a progress display needs to know, kept current while the sitting lasts."""

    skipped: int = 0
    moved: int = 0
    counts: Counts = field(default_factory=Counts)
    usage: Usage = field(default_factory=Usage)

    @property
    def seen(self) -> int:
        return self.skipped + self.moved + self.counts.total


@dataclass(slots=True)
class Sitting:
    """Judges a stream of cases into a run folder."""

    judge: AnyJudge
    labeller: Labeller
    plan: Plan
    folder: Path
    afresh: bool = False
    """Judge every case again, finished or not."""
    tally: Tally = field(default_factory=Tally)
    interrupted: bool = False
    _crew: Crew | None = None
    _read: int = 0
    _hash: Any = field(default_factory=lambda: hashlib.blake2b(digest_size=16))
    _late: set[int] = field(default_factory=set)
    _problem: UsageProblem | None = None

    async def hold(self, cases: Callable[[], Iterator[CaseItem]]) -> Manifest:
        """To the end of the cases, or as far as it can go; the manifest says which.

        Cases that ended in error before come last: should they stop the run again, the others are done.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        journal = Journal(self.folder / "judgements.jsonl")
        try:
            manifest = self._open_manifest(journal)
            self.labeller.already_spent(journal.progress.usage)
            manifest.write(self.folder)
            try:
                await self._judge_all(cases, journal, manifest)
            except BaseException as fault:
                manifest.state, manifest.stop_reason = "interrupted", f"{type(fault).__name__}: {fault}"
                raise
            finally:
                manifest.counts = journal.progress.counts(manifest.cases)
                manifest.usage = journal.progress.usage
                manifest.write(self.folder)
        finally:
            journal.close()
        if self._problem is not None:
            raise self._problem
        return manifest

    def interrupt(self) -> None:
        """Begin nothing new; what is in flight may finish."""
        self.interrupted = True
        if self._crew is not None:
            self._crew.stop()

    async def _judge_all(self, cases: Callable[[], Iterator[CaseItem]], journal: Journal, manifest: Manifest) -> None:
        try:
            await self._pass(cases(), journal, first=True)
            if self._late and not self._stopping:
                await self._pass((item for item in cases() if item.index in self._late), journal, first=False)
            self._stop_if_owed()
        except RunStopped as reason:
            manifest.state, manifest.stop_reason = "stopped", str(reason)
            if reason.kind == "interrupt":
                manifest.state = "interrupted"
        except asyncio.CancelledError:
            manifest.state, manifest.stop_reason = "interrupted", "stopped by the user"
        else:
            if self.interrupted:
                manifest.state, manifest.stop_reason = "interrupted", "stopped by the user"
            elif self._problem is not None:
                manifest.state, manifest.stop_reason = "stopped", str(self._problem)
            else:
                manifest.state, manifest.stop_reason, manifest.cases = "finished", None, self._read
                manifest.input_hash = self._hash.hexdigest()

    def _stop_if_owed(self) -> None:
        """The last case may have been cut short by what stops a run: then it is not finished."""
        owed = self.labeller.take_owed()
        if owed is not None and not self._stopping:
            raise owed

    @property
    def _stopping(self) -> bool:
        return self.interrupted or self._problem is not None

    async def _pass(self, items: Iterator[CaseItem], journal: Journal, *, first: bool) -> None:
        self._crew = Crew(
            judge=self.judge,
            labeller=self.labeller,
            workers=self.labeller.workers,
            on_judgement=lambda judgement, item: self._take(judgement, item, journal),
            is_done=(lambda item, digest: self._is_settled(item, digest, journal)) if first else _never,
        )
        if self.interrupted:
            return
        await self._crew.run(self._readable(items))

    def _readable(self, items: Iterator[CaseItem]) -> Iterator[CaseItem]:
        """A file that turns out unreadable half-way ends the stream; what is in flight is finished first."""
        try:
            yield from items
        except UsageProblem as problem:
            self._problem = problem

    def _is_settled(self, item: CaseItem, digest: str, journal: Journal) -> bool:
        """Called once a case, in the order of the input."""
        self._read = max(self._read, item.index + 1)
        self._hash.update(digest.encode())
        if self.afresh:
            return False
        status = journal.progress.status(item.index, digest)
        if status == "error":
            self._late.add(item.index)
            return True
        if status is not None:
            self.tally.skipped += 1
            return True
        place = journal.progress.elsewhere(digest) if len(journal.progress.statuses) else None
        if place is None:
            return False
        known = journal.read(place)
        known.index, known.id, known.source, known.usage = item.index, item.id, item.source, Usage()
        journal.append(known)
        self.tally.moved += 1
        return True

    def _open_manifest(self, journal: Journal) -> Manifest:
        known = Manifest.load(self.folder) if (self.folder / "run.json").exists() else Manifest(plan=self.plan)
        known.state, known.stop_reason, known.cases, known.input_hash = "running", None, None, None
        known.about = JudgeCard.of(self.judge)
        known.usage = journal.progress.usage
        return known

    def _take(self, judgement: Judgement, item: CaseItem, journal: Journal) -> None:
        try:
            journal.append(judgement)
        except ValueError as fault:  # something in it cannot be written as JSON: the case is an error, not the run
            judgement = without_verdict(self.judge, item, judgement.input_hash, "error", describe_fault(fault))
            journal.append(judgement)
        counts = self.tally.counts
        setattr(counts, judgement.status, getattr(counts, judgement.status) + 1)
        self.tally.usage.add(judgement.usage)


def _never(item: CaseItem, digest: str) -> bool:
    return False
