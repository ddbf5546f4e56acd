"""Judges the traces of a source as they come, in a run folder, and has their scores written.

The folder is the memory of a watch: `records.jsonl` has the traces that were taken, the journal their judgements, and
`written.jsonl` those whose scores were written. So a watch that was killed continues where it was. The folder is that
of an ordinary run, for every command that reads runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from krino.api.judging import apply_mapping
from krino.cases.item import CaseItem, case_id
from krino.contract import AnyJudge, Judgement, Labeller, Source
from krino.contract.code_limit import CASE_SECONDS
from krino.engine.case import input_hash
from krino.engine.pool import LocalPool
from krino.engine.rehearsal import lacks_labeller, rehearse
from krino.errors import RunStopped, UsageProblem
from krino.live.interfaces import ScoreTarget, SourceDown, TraceSource, WatchedTrace
from krino.live.lines import ADVICE, AppendedLines
from krino.live.scores import JudgedTrace, ScoreWriter
from krino.runs.guarded_files import read_lines
from krino.runs.inputs import RECORDS
from krino.runs.manifest import Manifest, Plan
from krino.runs.session import Session
from krino.runs.stored_run import LineReader, StoredRun

TRACES = f"{RECORDS}.jsonl"
TICK = 0.2
RETRY = 10.0
"""Seconds before a source that could not be read is tried again."""
LAST_WRITES = 30.0
"""Seconds that the last scores may take to be written when the watch ends."""


@dataclass(slots=True)
class WatchPlan:
    """What a watch does: who judges, what is watched, and where scores go."""

    judge: AnyJudge
    address: str
    labeller: Labeller
    source: str
    """What is watched, the same for each start."""
    make_source: Callable[[Path, Callable[[str], bool]], TraceSource]
    """Makes the source, given the folder and whether a trace was taken before."""
    make_target: Callable[[Manifest, Path], ScoreTarget] | None = None
    """Makes the target of scores; without one they stay in the folder."""
    mapping: Mapping[str, str] = field(default_factory=dict)
    case_seconds: float = CASE_SECONDS
    interval: float = 1.0
    """Seconds between two looks at the source."""
    once: bool = False
    """End when everything that is there was judged."""

    def run_plan(self) -> Plan:
        """Makes the plan of the run, by which its folder is found again."""
        source = hashlib.blake2b(self.source.encode(), digest_size=8).hexdigest()
        return Plan(
            judge={"address": self.address, **self.judge.fingerprint()},
            labeller=self.labeller.describe(),
            inputs=[f"{RECORDS}:{source}.jsonl"],
            format="jsonl",
            mapping=dict(self.mapping),
        )


class Watch:
    """One process that watches."""

    def __init__(self, plan: WatchPlan, folder: Path, notify: Callable[[str], None]) -> None:
        self.plan, self.folder, self.notify = plan, folder, notify
        self.known: set[str] = set()
        """The ids of all traces that were taken."""
        self._source = plan.make_source(folder, self.known.__contains__)
        self.stopped: RunStopped | None = None
        self.unwritten = 0
        """Traces whose scores could not be written before the end."""
        self.rejected = 0
        """Scores that the target refused for good."""
        self._engine = LocalPool()
        self._session = Session(
            plan.judge,
            plan.labeller,
            plan.run_plan(),
            folder,
            make_engine=lambda: self._engine,
            on_judgement=lambda _: self._hand_over(),
            case_seconds=plan.case_seconds,
        )
        self._writer: ScoreWriter | None = None
        self._writing: asyncio.Task[None] | None = None
        self._lines: LineReader | None = None
        self._unjudged: dict[str, JudgedTrace] = {}
        """Traces without a judgement, by the hash of their content; the id of a trace is part of that."""
        self._ending = asyncio.Event()
        self._is_down = False

    def stop(self) -> None:
        """Takes no more traces; those under way are finished."""
        self._ending.set()

    async def run(self) -> Manifest:
        """Watches until it is stopped or a limit is reached, and with `once` until all was judged; returns the manifest
        of the run."""
        if lacks_labeller(self.plan.judge, self.plan.labeller):
            self.plan.judge.label_locally([])  # raises the error that says so
        for line in islice(read_lines(self.folder / TRACES, ADVICE), 1):  # before anything in the folder is changed
            _refuse_other(line.data, self.folder / TRACES, line.number)
        try:
            async with contextlib.aclosing(self._items()) as items:
                manifest = await self._session.run(items)
            self.stopped = self._session.stopped
            await self._finish_writing()
        finally:
            await self._close()
        return manifest

    # --- the cases -----------------------------------------------------------------------------------

    async def _items(self) -> AsyncGenerator[CaseItem, None]:
        """Yields the cases of the traces that were taken before, then of those that come, after storing each."""
        self._begin_writing()
        records = AppendedLines(self.folder / TRACES)
        try:
            number = 0
            for number, record in enumerate(records.read(), 1):
                _refuse_other(record, self.folder / TRACES, number)
                yield self._take(record, number)
            async for trace in self._new_traces():
                number += 1
                records.add(trace.case)
                yield self._take(trace.case, number)
        finally:
            records.close()

    def _take(self, record: Mapping[str, Any], number: int) -> CaseItem:
        """Makes the case of a line of `records.jsonl`, after a rehearsal, and remembers it: its scores are written as
        soon as it has a judgement."""
        self.known.add(record["trace_id"])
        name = case_id(record) or record["trace_id"]
        item = CaseItem(number - 1, name, record, Source(str(self.folder / TRACES), number))
        (item,) = apply_mapping(iter([item]), self.plan.judge, self.plan.mapping)
        rehearse(self.plan.judge, item, self.plan.case_seconds)
        digest = input_hash(item, self.plan.judge)
        judged = JudgedTrace(record["trace_id"], record.get("span_id"), digest)
        self._unjudged[digest] = judged
        self._hand_over([digest])  # an earlier process may have judged it
        return item

    async def _new_traces(self) -> AsyncGenerator[WatchedTrace, None]:
        """Yields traces that were not taken before, as they become complete."""
        source = self._source
        while not self.is_ending():
            for trace in await self._look():
                if self.is_ending():
                    return
                if trace.id not in self.known:
                    yield trace
            if self.plan.once and source.at_end:
                return
            if source.at_end or self._is_down:
                await self._pause(RETRY if self._is_down else self.plan.interval)

    async def _look(self) -> list[WatchedTrace]:
        """Returns what the source gives; nothing while it cannot be read, which with `once` is a `UsageProblem`."""
        try:
            found = await self._source.look()
        except SourceDown as problem:
            if self.plan.once:
                raise UsageProblem(str(problem)) from None
            if not self._is_down:
                self.notify(f"waiting: {problem}")
            self._is_down = True
            return []
        self._is_down = False
        return found

    def is_ending(self) -> bool:
        """Whether no more traces are taken."""
        return self._ending.is_set() or self._engine.is_stopping

    async def _pause(self, seconds: float) -> None:
        """Waits this long, or until the watch is to end."""
        end = time.monotonic() + seconds
        while not self.is_ending() and (left := end - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), min(TICK, left))

    # --- the scores ----------------------------------------------------------------------------------

    def _begin_writing(self) -> None:
        """Opens the journal for reading, and starts to write scores."""
        run = StoredRun(self.folder, Manifest.load(self.folder))
        self._lines = LineReader(run, self._session.index)
        if self.plan.make_target is not None:
            target = self.plan.make_target(run.manifest, self.folder.resolve())
            self._writer = ScoreWriter(target, self.folder, self._read_judgement, self.notify)
            self._writing = asyncio.create_task(self._writer.run())
            self._writing.add_done_callback(lambda _: self.stop())

    def _hand_over(self, digests: Iterable[str] | None = None) -> None:
        """Gives the writer those of these traces (all without `digests`) whose content has a judgement by now."""
        index = self._session.index
        assert index is not None
        for digest in list(self._unjudged if digests is None else digests):
            if index.status(digest) is not None:
                judged = self._unjudged.pop(digest)
                if self._writer is not None:
                    self._writer.add(judged)

    def _read_judgement(self, digest: str) -> Judgement:
        """Reads the judgement of a content from the journal."""
        index = self._session.index
        assert index is not None and self._lines is not None
        number = index.number(digest)
        assert number is not None
        return Judgement.model_validate(self._lines.read(index.offset_at(number), digest))

    async def _finish_writing(self) -> None:
        """Waits for the last scores, but not long, and notes how many could not be written; a fault of the writer is
        raised here."""
        if self._writer is None or self._writing is None:
            return
        finishing = asyncio.create_task(self._writer.finish(LAST_WRITES))
        await asyncio.wait([finishing, self._writing], return_when=asyncio.FIRST_COMPLETED)
        finishing.cancel()
        if self._writing.done():
            await self._writing
        self.unwritten, self.rejected = self._writer.waiting, self._writer.rejected

    async def _close(self) -> None:
        """Ends what goes on in the background, and closes source, target and files."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        if self._writer is not None:
            await self._writer.aclose()
        await self._source.aclose()
        if self._lines is not None:
            self._lines.close()


def _refuse_other(record: Any, path: Path, number: int) -> None:
    """Raises `UsageProblem` for a line that no watch wrote: the folder is that of another run."""
    if not isinstance(record, dict) or not isinstance(record.get("trace_id"), str):
        raise UsageProblem(f"{path}:{number}: not a trace that a watch took; name another folder with --run")
