"""Shows how a run is coming along: a live bar on a terminal, a line now and then elsewhere. Always on stderr."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from krino.runs.sitting import Tally

LIVE_SECONDS = 0.2
PLAIN_SECONDS = 10.0


@contextlib.contextmanager
def shown(tally: Tally, total: int | None, console: Console, *, priced: bool) -> Iterator[None]:
    """While the block runs, in a running event loop."""
    watch = _live(tally, total, console, priced) if console.is_terminal else _plain(tally, total, console, priced)
    task = asyncio.create_task(watch)
    try:
        yield
    finally:
        task.cancel()


async def _live(tally: Tally, total: int | None, console: Console, priced: bool) -> None:
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
            bar.update(task, total=goal, completed=tally.seen, note=_note(tally, started, priced))
            await asyncio.sleep(LIVE_SECONDS)


async def _plain(tally: Tally, total: int | None, console: Console, priced: bool) -> None:
    started = time.monotonic()
    while True:
        await asyncio.sleep(PLAIN_SECONDS)
        of = f" of {total:,}" if total and total >= tally.seen else ""
        console.print(f"{tally.seen:,}{of} cases, {_note(tally, started, priced)}", highlight=False)


def _note(tally: Tally, started: float, priced: bool) -> str:
    rate = tally.counts.total / max(time.monotonic() - started, 1e-9)
    parts = [f"{rate:,.1f}/s"]
    bad = tally.counts.failed + tally.counts.error
    parts.append(f"{bad} failed")
    if tally.usage.calls:
        parts.append(f"{tally.usage.tokens:,} tokens")
    if priced and tally.usage.cost is not None:
        parts.append(f"cost {tally.usage.cost:.4f}")
    return " · ".join(parts)
