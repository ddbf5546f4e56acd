"""What pages and API do alike: bring a case, take an answer, undo; nobody is asked about a case they may not see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request

from krino.people.store import Depth, Event, LabelStore, Subject
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


def labelling(request: Request) -> Labelling:
    """Of the server that a request came to; made at the first request that needs it."""
    state = request.app.state
    if not hasattr(state, "labelling"):
        state.labelling = Labelling(workbench(request))
    found = state.labelling
    assert isinstance(found, Labelling)
    return found
