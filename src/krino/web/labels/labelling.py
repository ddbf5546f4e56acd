"""What pages and API do alike: bring a case, take an answer, undo; nobody is asked about a case they may not see."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import quote, unquote, urlencode

from fastapi import Depends, Request

from krino.errors import UsageProblem
from krino.people.store import CaseRef, Depth, Event, Subject, normalize_rater
from krino.web.index.case_view import case_of, why_not_at_hand
from krino.web.index.question import Question
from krino.web.labels.agreement import Comparisons
from krino.web.labels.asking import Asked, ask
from krino.web.labels.queue import Interest, Queue, Ranking, interest_of
from krino.web.problems import Problem, refuse_damaged
from krino.web.run_index import NoSuchRun, Opened
from krino.web.workbench import Workbench, workbench

_KEPT = "interest"
_MOST_OTHERS = 4
_MOST_RANKINGS = 8
_MOST_RECORDS = 64
_HASH = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Looked:
    """One case of a run; `judgement` is what nobody is shown who has not judged yet."""

    opened: Opened
    place: CaseRef
    judgement: Mapping[str, Any]


class Labelling:
    """One for each server; many threads may use it at once. A ranking is made once and kept until its run changes."""

    def __init__(self, workbench: Workbench) -> None:
        self.store = workbench.labels
        self.comparisons = Comparisons(self.store)
        self._runs, self._served = workbench.runs, workbench.settings.runs
        self._rankings: OrderedDict[tuple[Any, ...], Ranking] = OrderedDict()
        self._records: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    # --- one case --------------------------------------------------------------------------------------

    def open(self, name: str, where: str = "run") -> Opened:
        """`where`: the part of a request that names it."""
        try:
            opened = self._runs.open(name)
        except NoSuchRun as problem:
            raise Problem(404, str(problem), where=where, remedy="the first page and GET /v1/runs list them") from None
        refuse_damaged(opened, where)
        return opened

    def case(self, opened: Opened, input_hash: str, where: str = "case") -> Looked:
        """By its content."""
        row = opened.cases.of_contents([input_hash]).get(input_hash) if _HASH.fullmatch(input_hash) else None
        if row is None:
            raise no_case(input_hash, where, "open it from the queue")
        (judgement,) = opened.cases.judgements([row])
        return Looked(opened, CaseRef(Subject.of(opened.manifest), input_hash, row.entry.id, opened.name), judgement)

    def asked(self, looked: Looked) -> Asked:
        opened, judgement = looked.opened, looked.judgement
        rolls_up = judgement.get("roll_up") is not None or self._ranking(opened).rolls_up
        record = self._record(looked)
        missing = why_not_at_hand(opened.run, self._served) if record is None else ""
        return ask(opened.manifest, record, rolls_up=rolls_up, digest=looked.place.input_hash, missing=missing)

    def _record(self, looked: Looked) -> Mapping[str, Any] | None:
        """The case itself. To find it the input is read from its beginning: what was shown last is kept, for the answer
        that will come. A case is known by its content, so that what is kept is never of before."""
        digest = looked.place.input_hash
        found = self._records.get(digest) or case_of(looked.opened.run, looked.judgement, self._served)
        if found is not None:
            with self._lock:
                self._records[digest] = found
                while len(self._records) > _MOST_RECORDS:
                    self._records.popitem(last=False)
        return found

    # --- what is said of it ----------------------------------------------------------------------------

    def judged(self, opened: Opened, rater: str) -> set[str]:
        """The cases that a rater has labelled, at whatever depth."""
        events = self.store.current(Subject.of(opened.manifest), rater=rater)
        return {event.place.input_hash for event in events if event.action == "label"}

    def save(
        self, looked: Looked, rater: str, depth: Depth, answer: Mapping[str, Any], *, note: str, key: str | None = None
    ) -> Event:
        """Raises `UsageProblem` for an answer that does not hold; what is returned is on disk."""
        said = self.asked(looked).at(depth).accept(answer)
        event = Event(looked.place, rater, depth, "label", said.answer, said.verdict, note=note)
        return self._add(looked.opened, event, key)

    def skip(self, looked: Looked, rater: str, depth: Depth) -> Event:
        return self._add(looked.opened, Event(looked.place, rater, depth, "skip"))

    def _add(self, opened: Opened, event: Event, key: str | None = None) -> Event:
        turn = self.queue(opened, event.depth).turn_of(event.rater, event.place.input_hash)
        return self.store.add(replace(event, why=turn.why, random=turn.random), key)

    def undo(self, opened: Opened, rater: str) -> Event | None:
        return self.store.undo(Subject.of(opened.manifest), rater, opened.name)

    # --- which comes next ------------------------------------------------------------------------------

    def queue(self, opened: Opened, depth: Depth) -> Queue:
        return Queue(self._ranking(opened), self.store.current(Subject.of(opened.manifest)), depth)

    def _ranking(self, opened: Opened) -> Ranking:
        others = self._others(opened)
        key = (opened.name, _made_of(opened), *((other.name, _made_of(other)) for other in others))
        with self._lock:
            if key not in self._rankings:
                said = [{case.input_hash: case.values for case in _interests(other)} for other in others]
                self._rankings[key] = Ranking(_interests(opened), said)
                while len(self._rankings) > _MOST_RANKINGS:
                    self._rankings.popitem(last=False)
            self._rankings.move_to_end(key)
            return self._rankings[key]

    def _others(self, opened: Opened) -> list[Opened]:
        """The newest other runs of the same judge with the same options, that have come to their end."""
        own, found = Subject.of(opened.manifest), list[Opened]()
        for shelved in self._runs.runs():
            manifest = shelved.manifest
            if shelved.name == opened.name or manifest is None or manifest.state == "running":
                continue
            theirs = Subject.of(manifest)
            if (theirs.judge, theirs.options) == (own.judge, own.options) and len(found) < _MOST_OTHERS:
                found.append(self._runs.open(shelved.name))
        return found


def no_case(name: str, where: str, remedy: str) -> Problem:
    return Problem(404, f"the run has no judged case `{name[:80]}`", where=where, remedy=remedy)


def _made_of(opened: Opened) -> str:
    return f"{opened.state.folder} {opened.state.started} {opened.state.journal.end} {opened.state.roll.end}"


def _interests(opened: Opened) -> list[Interest]:
    """Read from the index where they were worked out before: a large run is gone through once."""
    if opened.book.made_of(_KEPT) == _made_of(opened):
        return [Interest(*values) for values in opened.book.result(_KEPT) or ()]
    rows = opened.cases.page(Question((("status", "ok"),)), 0, -1).rows
    found = {case.input_hash: case for case in map(interest_of, opened.cases.judgements(rows))}
    data = [(case.input_hash, case.values, case.split, case.unsure, case.rolled_up) for case in found.values()]
    if not opened.indexing:
        opened.book.keep(_KEPT, _made_of(opened), data)
    return list(found.values())


# --- who labels ----------------------------------------------------------------------------------------


def rater_of(request: Request) -> str | None:
    """The name that this browser chose; None where it has not, or where somebody made one up that is none."""
    given = request.cookies.get(rater_cookie(request))
    try:
        return normalize_rater(unquote(given)) if given else None
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
        places = [CaseRef(subject, digest, name, opened.name) for digest, name in cases]
        workbench(request).labels.mark_seen(places, rater, listed=listed)
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


Desk = Annotated[Labelling, Depends(labelling)]
"""What a route of labelling works with."""
