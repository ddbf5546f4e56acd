"""What pages and API do alike: bring a case, take an answer, undo; nobody is asked about a case they may not see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlencode

from fastapi import Request

from krino.errors import UsageProblem
from krino.people.store import Depth, Event, LabelStore, Place, Subject, rater_name
from krino.web.labels.agreement import Comparisons
from krino.web.labels.cases import Looked, Runs
from krino.web.labels.queue import Queue
from krino.web.run_index import Opened
from krino.web.workbench import Workbench, workbench


class Labelling:
    """One for each server; safe to be used by several threads."""

    def __init__(self, workbench: Workbench) -> None:
        self.store: LabelStore = workbench.labels
        self.runs = Runs(workbench)
        self.comparisons = Comparisons(self.runs, self.store)

    def queue(self, opened: Opened, depth: Depth) -> Queue:
        return Queue(self.runs.ranking(opened), self.store.current(Subject.of(opened.manifest)), depth)

    def judged(self, opened: Opened, rater: str) -> set[str]:
        """The cases that a rater has labelled, at whatever depth."""
        events = self.store.current(Subject.of(opened.manifest), rater=rater)
        return {event.place.input_hash for event in events if event.action == "label"}

    def save(
        self,
        opened: Opened,
        looked: Looked,
        rater: str,
        depth: Depth,
        answer: Mapping[str, Any],
        *,
        note: str = "",
        key: str | None = None,
    ) -> Event:
        """Raises `UsageProblem` for an answer that does not hold; what is returned is on disk."""
        said = self.runs.asked(opened, looked).at(depth).accept(answer)
        turn = self.queue(opened, depth).turn_of(rater, looked.place.input_hash)
        event = Event(
            looked.place,
            rater,
            depth,
            "label",
            said.answer,
            said.verdict,
            note=note,
            why=turn.why,
            random=turn.random,
        )
        return self.store.add(event, key)

    def skip(self, opened: Opened, looked: Looked, rater: str, depth: Depth) -> Event:
        turn = self.queue(opened, depth).turn_of(rater, looked.place.input_hash)
        return self.store.add(Event(looked.place, rater, depth, "skip", why=turn.why, random=turn.random))

    def undo(self, opened: Opened, rater: str) -> Event | None:
        return self.store.undo(Subject.of(opened.manifest), rater, opened.name)


def rater_of(request: Request) -> str | None:
    """The name that this browser chose; None where it has not, or where somebody made one up that is none."""
    given = request.cookies.get(rater_cookie(request))
    try:
        return rater_name(unquote(given)) if given else None
    except UsageProblem:
        return None


def rater_cookie(request: Request) -> str:
    """Browsers share cookies among the ports of a machine: each server has its own."""
    return f"krino_rater_{workbench(request).settings.port}"


def note_seen(request: Request, opened: Opened, cases: Iterable[tuple[str, str]], *, listed: bool = True) -> str | None:
    """A rater is being shown verdicts: what this person says of these cases from now on is not blind.

    Cases by content and id; `listed`: among others, each in short. Gives the rater's name, where there is one.
    """
    rater = rater_of(request)
    if rater is not None:
        subject = Subject.of(opened.manifest)
        places = [Place(subject, digest, name, opened.name) for digest, name in cases]
        workbench(request).labels.see(places, rater, listed=listed)
    return rater


def label_address(run: str, case: str = "", **query: str) -> str:
    """Of the queue of a run, or of one of its cases."""
    path = f"/runs/{quote(run, safe='')}/label{f'/{case}' if case else ''}"
    words = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(words)}" if words else path


def labelling(request: Request) -> Labelling:
    """Of the server that a request came to."""
    found = request.app.state.labelling
    assert isinstance(found, Labelling)
    return found
