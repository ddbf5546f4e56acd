"""Writes the scores of a watch to its target, each once, and remembers over restarts which were written."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from krino.contract import Judgement
from krino.errors import UsageProblem
from krino.live.interfaces import NotWritten, Scored, ScoreTarget
from krino.live.lines import AppendedLines
from krino.runs.folder import WRITTEN

MOST_AT_ONCE = 50
PAUSE = 10.0
"""Seconds before scores that could not be written are tried again."""


class JudgedTrace(NamedTuple):
    """A trace whose judgement is in the journal."""

    trace_id: str
    span_id: str | None
    digest: str


class ScoreWriter:
    """Takes traces as they are judged, and writes their scores in the background.

    What was written is recorded after the target has confirmed it. If the process is killed in between, the same scores
    are written again with the same ids, which a target counts once.
    """

    def __init__(
        self,
        target: ScoreTarget,
        folder: Path,
        read: Callable[[str], Judgement],
        notify: Callable[[str], None],
    ) -> None:
        """`read`: finds the judgement of a content in the journal."""
        self._target, self._read, self._notify = target, read, notify
        self._record = AppendedLines(folder / WRITTEN)
        self.rejected = 0
        """Scores that the target refused for good, over all starts."""
        self._written: set[str] = set()
        for traces, rejected in _read_written(self._record):
            self._written.update(traces)
            self.rejected += rejected
        self._waiting: deque[JudgedTrace] = deque()
        self._news = asyncio.Event()
        self._settled = asyncio.Event()
        """All scores are written, or the last ones could not be."""
        self._settled.set()
        self._is_down = False

    @property
    def waiting(self) -> int:
        """Traces whose scores are not written yet."""
        return len(self._waiting)

    def add(self, judged: JudgedTrace) -> None:
        """Has the scores of a trace written, unless they were written before."""
        if judged.trace_id not in self._written:
            self._written.add(judged.trace_id)
            self._waiting.append(judged)
            self._settled.clear()
            self._news.set()

    async def run(self) -> None:
        """Writes the scores that come, until it is cancelled. What the target does not take is tried again later."""
        while True:
            await self._news.wait()
            try:
                await self._write_some()
            except NotWritten as problem:
                if not self._is_down:
                    self._notify(f"scores wait to be written: {problem}")
                self._is_down = True
                self._settled.set()
                await asyncio.sleep(PAUSE)

    async def _write_some(self) -> None:
        """Writes the next scores, at most `MOST_AT_ONCE` traces, and records that they were written."""
        batch = [self._waiting[place] for place in range(min(MOST_AT_ONCE, len(self._waiting)))]
        scored = [Scored(one.trace_id, one.span_id, self._read(one.digest)) for one in batch]
        rejected = await self._target.write(scored)
        self._record.add({"written": [one.trace_id for one in batch], "rejected": rejected})
        self.rejected += rejected
        for _ in batch:
            self._waiting.popleft()
        if self._is_down:
            self._is_down = False
            self._notify("scores are written again")
        if not self._waiting:
            self._news.clear()
            self._settled.set()

    async def finish(self, seconds: float) -> None:
        """Waits until everything is written or the target is down, but not longer than this."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._settled.wait(), seconds)

    async def aclose(self) -> None:
        """Closes the target and the record."""
        await self._target.aclose()
        self._record.close()


def _read_written(record: AppendedLines) -> Iterator[tuple[list[str], int]]:
    """Yields the traces whose scores earlier processes wrote, and how many of these scores the target refused."""
    for number, line in enumerate(record.read(), 1):
        if not isinstance(line, dict) or not isinstance(line.get("written"), list):
            raise UsageProblem(f"{record.path}:{number}: not written by a watch; name another folder with --run")
        yield line["written"], int(line.get("rejected", 0))
