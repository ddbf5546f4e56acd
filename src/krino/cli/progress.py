"""Shows the progress of a run on stderr: a live bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from krino.contract import Labeller
from krino.runs.session import SessionProgress
from krino.text.clean import clean_line

LIVE_SECONDS = 0.2
PLAIN_SECONDS = 10.0
FIRST_LINE = 1.0  # seconds after which a line first says what the run is waiting for


@contextlib.contextmanager
def show_progress(
    progress: SessionProgress, total: int | None, console: Console, labeller: Labeller, every: float | None = None
) -> Iterator[None]:
    """Shows progress while the block runs, in a running event loop: a bar on a terminal, else lines."""
    display = Display(progress, total, console, labeller, every or PLAIN_SECONDS)
    task = asyncio.create_task(display.update_bar() if console.is_terminal else display.print_lines())
    try:
        yield
    finally:
        task.cancel()


@dataclass(slots=True)
class Display:
    """What is known of a run while it goes on: of finished cases from the progress, of the others from the labeller."""

    progress: SessionProgress
    total: int | None
    console: Console
    labeller: Labeller
    every: float = PLAIN_SECONDS
    """Seconds between two lines if there is no terminal."""
    started: float = field(default_factory=time.monotonic)

    async def update_bar(self) -> None:
        """Draws the progress bar until it is cancelled."""
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
                goal = None if self.total is None else max(self.total, self.progress.seen)
                bar.update(task, total=goal, completed=self.progress.seen, note=self.describe_progress())
                await asyncio.sleep(LIVE_SECONDS)

    async def print_lines(self) -> None:
        """Prints a line every few seconds until it is cancelled; the first one sooner if the labeller has to wait."""
        while time.monotonic() - self.started < self.every:  # workers may take a while to ask anything
            await asyncio.sleep(FIRST_LINE)
            if self.labeller.waiting_for() is not None:
                self._print_line()
                break
        while True:
            await asyncio.sleep(self.every)
            self._print_line()

    def describe_progress(self) -> str:
        """Describes in one line: pace, failures, cost, retries, time-outs, and what the run is waiting for."""
        rate = self.progress.counts.total / max(time.monotonic() - self.started, 1e-9)
        parts = [f"{rate:,.1f}/s", f"{self.progress.counts.failed + self.progress.counts.error} failed"]
        so_far = self.labeller.so_far()
        usage = self.progress.usage if so_far is None else so_far.usage
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
            parts.append(clean_line(waiting))
        return " · ".join(parts)

    def _print_line(self) -> None:
        """Prints one line of progress."""
        of = f" of {self.total:,}" if self.total and self.total >= self.progress.seen else ""
        word = "case" if self.progress.seen == 1 and not of else "cases"
        line = f"{self.progress.seen:,}{of} {word}, {self.describe_progress()}"
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)
