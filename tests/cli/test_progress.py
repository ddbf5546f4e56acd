"""The live bar on a terminal: it keeps drawing, with what is known of the run beside it."""

from __future__ import annotations

import asyncio
import io

from rich.text import Text

from krino.cli.progress import Display, show_progress
from krino.contract import Usage
from krino.render.terminal import screen
from krino.runs.manifest import Counts
from krino.runs.session import SessionProgress
from scripted_labeller import Scripted

PATIENCE = 10.0


class WaitingLabeller(Scripted):
    """Waits, and says why in the words of an endpoint."""

    def __init__(self, reason: str) -> None:
        super().__init__({})
        self.reason = reason

    def waiting_for(self) -> str:
        return self.reason


async def test_the_live_bar_shows_counts_and_what_the_run_waits_for() -> None:
    drawn = io.StringIO()
    console = screen(file=drawn, force_terminal=True, width=200)
    progress = SessionProgress(counts=Counts(ok=1, failed=2), usage=Usage(calls=1, input_tokens=1_500))
    with show_progress(progress, 10, console, WaitingLabeller("waiting for host: 503")):
        await until_drawn(drawn, "3/10", "2 failed", "1,500 tokens", "waiting for host: 503")
        progress.counts.ok += 4
        await until_drawn(drawn, "7/10")


async def test_the_live_bar_shows_brackets_as_they_are() -> None:
    drawn = io.StringIO()
    console = screen(file=drawn, force_terminal=True, width=200)
    reason = "waiting for host: [error] busy [/error]"
    with show_progress(SessionProgress(), 10, console, WaitingLabeller(reason)):
        await until_drawn(drawn, reason)


def test_the_words_of_an_endpoint_cannot_control_the_terminal() -> None:
    display = Display(
        SessionProgress(), 10, screen(), WaitingLabeller("waiting for host: \x1b[2J\x1b]0;t\x07busy\nnow")
    )
    assert display.describe_progress().endswith(" · waiting for host: busy now")


async def until_drawn(drawn: io.StringIO, *wanted: str) -> None:
    """Waits until the terminal shows all these texts; fails at once if a task of the event loop has ended."""
    tasks = asyncio.all_tasks()
    end = asyncio.get_running_loop().time() + PATIENCE
    while asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0.05)
        for task in tasks:
            assert not task.done(), f"the display ended: {task!r}"
        shown = Text.from_ansi(drawn.getvalue()).plain
        if all(text in shown for text in wanted):
            return
    raise AssertionError(f"not shown: {[text for text in wanted if text not in shown]} in {shown[-400:]!r}")
