"""One sitting of a run: open its folder, judge what is still open, leave it so that the next sitting can go on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from krino.cases.item import CaseItem
from krino.contract import Judgement, Labeller, Usage
from krino.engine.local import Crew
from krino.engine.one import AnyJudge
from krino.errors import RunStopped
from krino.runs.journal import Journal
from krino.runs.manifest import Counts, Manifest, Plan


@dataclass(slots=True)
class Tally:
    """What a progress display needs to know, kept current while the sitting lasts."""

    skipped: int = 0
    counts: Counts = field(default_factory=Counts)
    usage: Usage = field(default_factory=Usage)

    @property
    def seen(self) -> int:
        return self.skipped + self.counts.total


@dataclass(slots=True)
class Sitting:
    """Judges a stream of cases into a run folder."""

    judge: AnyJudge
    labeller: Labeller
    plan: Plan
    folder: Path
    on_progress: Callable[[Tally], None] = lambda tally: None
    tally: Tally = field(default_factory=Tally)
    interrupted: bool = False
    _crew: Crew | None = None

    async def hold(self, items: Iterator[CaseItem]) -> Manifest:
        """To the end of the stream, or as far as it can go; the manifest says which."""
        self.folder.mkdir(parents=True, exist_ok=True)
        journal = Journal(self.folder / "judgements.jsonl")
        try:
            manifest = self._open_manifest(journal)
            self.labeller.already_spent(journal.progress.usage)
            manifest.write(self.folder)
            await self._judge_all(items, journal, manifest)
            manifest.counts = journal.progress.counts(manifest.cases)
            manifest.usage = journal.progress.usage
            manifest.write(self.folder)
            return manifest
        finally:
            journal.close()

    def interrupt(self) -> None:
        """Begin nothing new; what is in flight may finish."""
        self.interrupted = True
        if self._crew is not None:
            self._crew.stop()

    async def _judge_all(self, items: Iterator[CaseItem], journal: Journal, manifest: Manifest) -> None:
        read = 0

        def counted() -> Iterator[CaseItem]:
            nonlocal read
            for item in items:
                read = item.index + 1
                yield item

        self._crew = Crew(
            judge=self.judge,
            labeller=self.labeller,
            workers=self.labeller.workers,
            on_judgement=lambda judgement: self._take(judgement, journal),
            is_done=journal.progress.is_done,
            on_skip=self._skip,
        )
        try:
            await self._crew.run(counted())
        except RunStopped as reason:
            manifest.state, manifest.stop_reason = "stopped", str(reason)
        except asyncio.CancelledError:
            manifest.state, manifest.stop_reason = "interrupted", "stopped by the user"
        else:
            if self.interrupted:
                manifest.state, manifest.stop_reason = "interrupted", "stopped by the user"
            else:
                manifest.state, manifest.stop_reason, manifest.cases = "finished", None, read

    def _open_manifest(self, journal: Journal) -> Manifest:
        known = Manifest.load(self.folder) if (self.folder / "run.json").exists() else Manifest(plan=self.plan)
        known.state, known.stop_reason = "running", None
        known.usage = journal.progress.usage
        return known

    def _take(self, judgement: Judgement, journal: Journal) -> None:
        journal.append(judgement)
        counts = self.tally.counts
        setattr(counts, judgement.status, getattr(counts, judgement.status) + 1)
        self.tally.usage.add(judgement.usage)
        self.on_progress(self.tally)

    def _skip(self, item: CaseItem) -> None:
        self.tally.skipped += 1
        self.on_progress(self.tally)
