"""Shows how a run is coming along: a live bar on a terminal, a line now and then elsewhere. Always on stderr."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from krino.runs.session import Tally

LIVE_SECONDS = 0.2
PLAIN_SECONDS = 10.0
FIRST_LOOK = 1.0  # seconds after which it is said for the first time what is waited for
Waiting = Callable[[], str | None]


@contextlib.contextmanager
def shown(tally: Tally, total: int | None, console: Console, *, priced: bool, waiting: Waiting) -> Iterator[None]:
    """While the block runs, in a running event loop; `waiting` tells what keeps the labeller."""
    watch = _live if console.is_terminal else _plain
    task = asyncio.create_task(watch(tally, total, console, priced, waiting))
    try:
        yield
    finally:
        task.cancel()


async def _live(tally: Tally, total: int | None, console: Console, priced: bool, waiting: Waiting) -> None:
    columns = (
        TextColumn("judging"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("judging", total=total, note="")
        started = time.monotonic()
        while True:
            goal = None if total is None else max(total, tally.seen)  # records may hold more than one case
            note = _note(tally, started, priced, waiting())
            bar.update(task, total=goal, completed=tally.seen, note=escape(note))
            await asyncio.sleep(LIVE_SECONDS)


async def _plain(tally: Tally, total: int | None, console: Console, priced: bool, waiting: Waiting) -> None:
    started = time.monotonic()

    def tell(told: str) -> None:
        of = f" of {total:,}" if total and total >= tally.seen else ""
        console.print(f"{tally.seen:,}{of} cases, {told}", highlight=False, markup=False, soft_wrap=True)

    await asyncio.sleep(FIRST_LOOK)
    if (kept := waiting()) is not None:
        tell(kept)
    while True:
        await asyncio.sleep(PLAIN_SECONDS)
        tell(_note(tally, started, priced, waiting()))


def _note(tally: Tally, started: float, priced: bool, kept: str | None) -> str:
    rate = tally.counts.total / max(time.monotonic() - started, 1e-9)
    parts = [f"{rate:,.1f}/s"]
    bad = tally.counts.failed + tally.counts.error
    parts.append(f"{bad} failed")
    if tally.usage.calls:
        parts.append(f"{tally.usage.tokens:,} tokens")
    if priced and tally.usage.cost is not None:
        parts.append(f"cost {tally.usage.cost:.4f}")
    if kept is not None:
        parts.append(kept)
    return " · ".join(parts)
