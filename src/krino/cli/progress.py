"""Shows how a run is coming along: a live bar on a terminal, a line now and then elsewhere. Always on stderr."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from krino.contract import Labeller
from krino.runs.session import Tally

LIVE_SECONDS = 0.2
PLAIN_SECONDS = 10.0
FIRST_LOOK = 1.0  # seconds after which it is said for the first time what is waited for


@contextlib.contextmanager
def shown(
    tally: Tally, total: int | None, console: Console, labeller: Labeller, every: float | None = None
) -> Iterator[None]:
    """While the block runs, in a running event loop."""
    display = Display(tally, total, console, labeller, every or PLAIN_SECONDS)
    task = asyncio.create_task(display.live() if console.is_terminal else display.plain())
    try:
        yield
    finally:
        task.cancel()


@dataclass(slots=True)
class Display:
    """What is known of a run while it goes on: of finished cases from the tally, of the others from the labeller."""

    tally: Tally
    total: int | None
    console: Console
    labeller: Labeller
    every: float = PLAIN_SECONDS
    """Seconds between two lines where there is no terminal."""
    started: float = field(default_factory=time.monotonic)

    async def live(self) -> None:
        columns = (
            TextColumn("judging"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self.console, transient=True) as bar:
            task = bar.add_task("judging", total=self.total, note="")
            while True:
                # Records may hold more than one case, so the total can turn out too small.
                goal = None if self.total is None else max(self.total, self.tally.seen)
                bar.update(task, total=goal, completed=self.tally.seen, note=escape(self.note()))
                await asyncio.sleep(LIVE_SECONDS)

    async def plain(self) -> None:
        while time.monotonic() - self.started < self.every:  # workers may take a while to ask anything
            await asyncio.sleep(FIRST_LOOK)
            if self.labeller.waiting_for() is not None:
                self._tell()
                break
        while True:
            await asyncio.sleep(self.every)
            self._tell()

    def note(self) -> str:
        """One line: pace, failures, spend, retries, time-outs, and what is waited for."""
        rate = self.tally.counts.total / max(time.monotonic() - self.started, 1e-9)
        parts = [f"{rate:,.1f}/s", f"{self.tally.counts.failed + self.tally.counts.error} failed"]
        so_far = self.labeller.so_far()
        usage = self.tally.usage if so_far is None else so_far.usage
        if usage.calls:
            parts.append(f"{usage.tokens:,} tokens")
        if usage.cost is not None:
            least, rest = ("at least ", f" ({usage.unpriced:,} calls without a price)") if usage.unpriced else ("", "")
            parts.append(f"cost {least}{usage.cost:.4f}{rest}")
        if so_far is not None and so_far.retries:
            parts.append("1 retry" if so_far.retries == 1 else f"{so_far.retries:,} retries")
        if so_far is not None and so_far.timeouts:
            parts.append("1 time-out" if so_far.timeouts == 1 else f"{so_far.timeouts:,} time-outs")
        if (waiting := self.labeller.waiting_for()) is not None:
            parts.append(waiting)
        return " · ".join(parts)

    def _tell(self) -> None:
        of = f" of {self.total:,}" if self.total and self.total >= self.tally.seen else ""
        word = "case" if self.tally.seen == 1 and not of else "cases"
        told = f"{self.tally.seen:,}{of} {word}, {self.note()}"
        self.console.print(told, highlight=False, markup=False, soft_wrap=True)
