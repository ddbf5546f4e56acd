"""What pages and API share: open a case for labelling, accept an answer, undo, and rank the queue."""

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
from krino.people.rows import Answers
from krino.people.store import CaseRef, Depth, Event, Subject, normalise_rater
from krino.web.index.case_filter import CaseFilter
from krino.web.index.case_view import case_of, why_not_at_hand
from krino.web.labels.agreement import AgreementCache
from krino.web.labels.queue import CaseInterest, Queue, QueueRanking, measure_interest
from krino.web.labels.tasks import LabelTask, make_label_task
from krino.web.problems import Problem, refuse_damaged
from krino.web.runs_folder import NoSuchRun, OpenRun
from krino.web.workbench import Workbench, get_workbench

_STORED = "interest"
_MOST_OTHERS = 4
_MOST_RANKINGS = 8
_MOST_RECORDS = 64
_HASH = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class LabelCase:
    """A case of a run with its judgement, which is hidden from raters who have not labelled it."""

    opened: OpenRun
    place: CaseRef
    judgement: Mapping[str, Any]


class LabellingService:
    """The labelling of one server. Thread-safe. Rankings are cached until their run changes."""

    def __init__(self, workbench: Workbench) -> None:
        self.store = workbench.labels
        self.agreements = AgreementCache(self.store)
        self._runs, self._served = workbench.runs, workbench.settings.runs
        self._rankings: OrderedDict[tuple[Any, ...], QueueRanking] = OrderedDict()
        self._records: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    # --- one case --------------------------------------------------------------------------------------

    def open(self, name: str, where: str = "run") -> OpenRun:
        """Opens a run; `Problem` if there is none or it is damaged. `where`: the part of the request that names it."""
        try:
            opened = self._runs.open(name)
        except NoSuchRun as problem:
            raise Problem(404, str(problem), where=where, remedy="the first page and GET /v1/runs list them") from None
        refuse_damaged(opened, where)
        return opened

    def case(self, opened: OpenRun, input_hash: str, where: str = "case") -> LabelCase:
        """Finds a case by its content hash and reads its judgement; `Problem` if there is none."""
        row = opened.cases.find_by_hashes([input_hash]).get(input_hash) if _HASH.fullmatch(input_hash) else None
        if row is None:
            raise case_not_found(input_hash, where, "open it from the queue")
        (judgement,) = opened.cases.read_judgements([row])
        return LabelCase(opened, CaseRef(Subject.of(opened.manifest), input_hash, row.entry.id, opened.name), judgement)

    def make_task(self, case: LabelCase) -> LabelTask:
        """Makes the labelling task of a case; without its input, it says why nobody can label it."""
        opened, judgement = case.opened, case.judgement
        rolls_up = judgement.get("roll_up") is not None or self._ranking(opened).rolls_up
        record = self._find_record(case)
        missing = why_not_at_hand(opened.run, self._served) if record is None else ""
        return make_label_task(
            opened.manifest, record, rolls_up=rolls_up, digest=case.place.input_hash, missing=missing
        )

    def _find_record(self, case: LabelCase) -> Mapping[str, Any] | None:
        """Returns the input record, None if it cannot be read. Finding it means reading the input from the start, so
        recent ones are cached for the answer that follows. Records are keyed by content, so a cached one is never
        outdated."""
        digest = case.place.input_hash
        found = self._records.get(digest) or case_of(case.opened.run, case.judgement, self._served)
        if found is not None:
            with self._lock:
                self._records[digest] = found
                while len(self._records) > _MOST_RECORDS:
                    self._records.popitem(last=False)
        return found

    # --- labels ---------------------------------------------------------------------------------------

    def list_labelled(self, opened: OpenRun, rater: str) -> set[str]:
        """Returns the content hashes of the cases that a rater has labelled, at any depth."""
        events = self.store.current(Subject.of(opened.manifest), rater=rater)
        return {event.place.input_hash for event in events if event.action == "label"}

    def save(
        self,
        case: LabelCase,
        rater: str,
        depth: Depth,
        answer: Mapping[str, Any],
        *,
        note: str,
        key: str | None = None,
        target: str = "",
    ) -> Event:
        """Checks and saves a label; it is on disk when this returns. Raises `UsageProblem` if the answer is invalid.

        `target`: the rate that the rater labels for, which decides the order of the queue.
        """
        said = self.make_task(case).at(depth).accept(answer)
        event = Event(case.place, rater, depth, "label", said.answer, said.verdict, note=note)
        return self._add_event(case.opened, event, key, target)

    def skip(self, case: LabelCase, rater: str, depth: Depth, target: str = "") -> Event:
        """Records that a rater skips a case."""
        return self._add_event(case.opened, Event(case.place, rater, depth, "skip"), None, target)

    def _add_event(self, opened: OpenRun, event: Event, key: str | None, target: str) -> Event:
        """Stores a label or skip, with the reason for which the queue offered the case."""
        turn = self.queue(opened, event.depth, target).explain_offer(event.rater, event.place.input_hash)
        return self.store.add(replace(event, why=turn.why, random=turn.random, target=turn.target), key)

    def undo(self, opened: OpenRun, rater: str) -> Event | None:
        """Undoes a rater's last label or skip and returns it; None if there is none."""
        return self.store.undo(Subject.of(opened.manifest), rater, opened.name)

    # --- queue ---------------------------------------------------------------------------------------

    def queue(self, opened: OpenRun, depth: Depth, target: str = "") -> Queue:
        """Makes the queue of a run, given the labels so far. `target`: the rate that labels are wanted for (`Problem`
        if no verdict has that label); empty: disputed cases first."""
        ranking = self._ranking(opened)
        if target and not any(ranking.answers(target).values()):
            remedy = f"choose one of {', '.join(ranking.targets()[:10]) or 'none: every verdict is the same'}"
            raise Problem(404, f"no verdict has a label for `{target[:80]}`", where="of", remedy=remedy)
        return Queue(ranking, self.store.current(Subject.of(opened.manifest)), depth, target)

    def answers(self, opened: OpenRun) -> tuple[str, Answers]:
        """Returns the run's name, and a function for its judge's answers on a target, for sampling weights."""
        return opened.name, self._ranking(opened).answers

    def _ranking(self, opened: OpenRun) -> QueueRanking:
        """Returns the order of the queue; it is computed again only when a run has changed."""
        others = self._find_other_runs(opened)
        key = (opened.name, _source_key(opened), *((other.name, _source_key(other)) for other in others))
        with self._lock:
            if key not in self._rankings:
                said = [{case.input_hash: case.values for case in _measure_interests(other)} for other in others]
                self._rankings[key] = QueueRanking(_measure_interests(opened), said)
                while len(self._rankings) > _MOST_RANKINGS:
                    self._rankings.popitem(last=False)
            self._rankings.move_to_end(key)
            return self._rankings[key]

    def _find_other_runs(self, opened: OpenRun) -> list[OpenRun]:
        """Opens the newest other runs of the same judge with the same options that are not running, at most
        `_MOST_OTHERS`."""
        own, found = Subject.of(opened.manifest), list[OpenRun]()
        for listed in self._runs.runs():
            manifest = listed.manifest
            if listed.name == opened.name or manifest is None or manifest.state == "running":
                continue
            theirs = Subject.of(manifest)
            if (theirs.judge, theirs.options) == (own.judge, own.options) and len(found) < _MOST_OTHERS:
                found.append(self._runs.open(listed.name))
        return found


def case_not_found(name: str, where: str, remedy: str) -> Problem:
    return Problem(404, f"no judged case `{name[:80]}` in this run", where=where, remedy=remedy)


def _source_key(opened: OpenRun) -> str:
    return f"{opened.state.folder} {opened.state.started} {opened.state.journal.end} {opened.state.roll.end}"


def _measure_interests(opened: OpenRun) -> list[CaseInterest]:
    """Measures how interesting each case of a run is; stored in the index, so that a large run is read only once."""
    if opened.index.source_of(_STORED) == _source_key(opened):
        return [CaseInterest(*values) for values in opened.index.result(_STORED) or ()]
    rows = opened.cases.page(CaseFilter((("status", "ok"),)), 0, -1).rows
    found = {case.input_hash: case for case in map(measure_interest, opened.cases.read_judgements(rows))}
    data = [(case.input_hash, case.values, case.split, case.unsure, case.rolled_up) for case in found.values()]
    if not opened.is_indexing:
        opened.index.keep(_STORED, _source_key(opened), data)
    return list(found.values())


# --- raters --------------------------------------------------------------------------------------------


def get_rater(request: Request) -> str | None:
    """Returns the rater's name from the cookie; None if it is missing or invalid."""
    given = request.cookies.get(rater_cookie(request))
    try:
        return normalise_rater(unquote(given)) if given else None
    except UsageProblem:
        return None


def rater_cookie(request: Request) -> str:
    """Returns the name of the rater cookie. Browsers share cookies between ports, so the port is part of it."""
    return f"krino_rater_{get_workbench(request).settings.port}"


def record_seen(
    request: Request, opened: OpenRun, cases: Iterable[tuple[str, str]], *, listed: bool = True
) -> str | None:
    """Records that the current rater is shown these verdicts, so that later labels are not blind.

    `cases`: pairs of content hash and id. `listed`: shown briefly in a list. Returns the rater's name, if any.
    """
    rater = get_rater(request)
    if rater is not None:
        subject = Subject.of(opened.manifest)
        places = [CaseRef(subject, digest, name, opened.name) for digest, name in cases]
        get_workbench(request).labels.mark_seen(places, rater, listed=listed)
    return rater


def label_address(run: str, case: str = "", **query: str) -> str:
    """Returns the URL of a run's labelling queue, or of labelling one of its cases; empty query values are left out."""
    path = f"/runs/{quote(run, safe='')}/label{f'/{case}' if case else ''}"
    words = {name: value for name, value in query.items() if value}
    return f"{path}?{urlencode(words)}" if words else path


def get_labelling(request: Request) -> LabellingService:
    """Returns the labelling service of the server."""
    found = request.app.state.labelling
    assert isinstance(found, LabellingService)
    return found


LabellingDep = Annotated[LabellingService, Depends(get_labelling)]
"""Type of the parameter by which routes get the service."""
