"""How far a run is, in words and as a share: what is read of it here, and whether it is still being judged."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from pydantic import BaseModel

from krino.results.wording import counted, duration
from krino.web.run_index import Opened, Shelved


class Progress(BaseModel):
    """What a page asks for again and again while something goes on."""

    told: str
    share: float | None
    """Of what is going on, where its end is known."""
    live: bool
    """Something goes on: it is worth asking again."""


def progress_of(opened: Opened, shelved: Shelved) -> Progress:
    counts = opened.counts()
    if opened.behind:
        share = opened.state.journal.end / opened.journal_size
        return Progress(told=f"reading the run: {counted(counts.total)} so far ({share:.0%})", share=share, live=True)
    if opened.indexing:
        return Progress(told="summing the run up", share=None, live=True)
    if shelved.silent:
        since = datetime.fromtimestamp(shelved.heard, UTC)
        told = (
            f"says that it is going on, but nothing was written since {since:%Y-%m-%d %H:%M} UTC: it may have been "
            "killed. The command that began it goes on where it stopped."
        )
        return Progress(told=f"{counted(counts.total)} judged; {told}", share=None, live=True)
    if shelved.going_on:
        return Progress(
            told=f"{counted(counts.total)} judged so far{_pace(opened, counts.total)}", share=None, live=True
        )
    return Progress(told=f"{counted(counts.total)} judged", share=1.0, live=False)


def _pace(opened: Opened, judged: int) -> str:
    """Since the last command began; it may have begun with cases that were judged before, so it is a rough figure."""
    seconds = time.time() - opened.manifest.started.timestamp()
    return f", for {duration(seconds)}" if judged and seconds > 1 else ""
