"""The cases of a run for those who label them: one case by its content, and the ranking of all of them."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from krino.people.store import Place, Subject
from krino.web.index.case_view import case_of
from krino.web.index.question import Question
from krino.web.labels.asking import Asked, ask
from krino.web.labels.queue import Interest, Ranking, interest_of
from krino.web.problems import Problem, refuse_damaged
from krino.web.run_index import NoSuchRun, Opened
from krino.web.workbench import Workbench

_KEPT = "interest"
_MOST_OTHERS = 4
_MOST_RANKINGS = 8
_MOST_RECORDS = 64
_HASH = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Looked:
    """One case of a run; `judgement` is what nobody is shown who has not judged yet."""

    place: Place
    judgement: Mapping[str, Any]


class Runs:
    """What labelling needs of the runs on the shelf. Rankings are made once and kept until the run changes."""

    def __init__(self, workbench: Workbench) -> None:
        self._workbench = workbench
        self._rankings: OrderedDict[tuple[Any, ...], Ranking] = OrderedDict()
        self._records: OrderedDict[str, Mapping[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, name: str, where: str = "run") -> Opened:
        """`where`: the part of a request that names it."""
        try:
            opened = self._workbench.runs.open(name)
        except NoSuchRun as problem:
            raise Problem(404, str(problem), where=where, remedy="the first page and GET /v1/runs list them") from None
        refuse_damaged(opened, where)
        return opened

    def case(self, opened: Opened, input_hash: str, where: str = "case") -> Looked:
        row = opened.cases.of_contents([input_hash]).get(input_hash) if _HASH.fullmatch(input_hash) else None
        if row is None:
            raise Problem(
                404,
                f"the run has no judged case `{input_hash[:80]}`",
                where=where,
                remedy="open it from the queue",
            )
        (judgement,) = opened.cases.judgements([row])
        return Looked(Place(Subject.of(opened.manifest), input_hash, row.entry.id, opened.name), judgement)

    def case_by_id(self, opened: Opened, case_id: str) -> Looked:
        row = opened.cases.find(case_id)
        if row is None:
            raise Problem(
                404,
                f"the run has no judged case `{case_id[:80]}`",
                where="body.case",
                remedy="GET /v1/runs/RUN/cases lists them",
            )
        return self.case(opened, row.entry.input_hash)

    def labelled(self, opened: Opened, hashes: Iterable[str]) -> Iterator[dict[str, Any]]:
        """The judgements of these contents, as far as the run has them."""
        return opened.cases.judgements(opened.cases.of_contents(hashes).values())

    def asked(self, opened: Opened, looked: Looked) -> Asked:
        record = self._record(opened, looked)
        rolls_up = looked.judgement.get("roll_up") is not None or self.ranking(opened).rolls_up
        inputs = looked.judgement.get("inputs") or {}
        return ask(opened.manifest, inputs, record, rolls_up=rolls_up, digest=looked.place.input_hash)

    def _record(self, opened: Opened, looked: Looked) -> Mapping[str, Any] | None:
        """The case itself. To find it the input is read from its beginning: what was shown last is kept, for the answer
        that will come. A case is known by its content, so that what is kept is never of before."""
        digest = looked.place.input_hash
        found = self._records.get(digest) or case_of(opened.run, looked.judgement, self._workbench.settings.runs)
        if found is not None:
            with self._lock:
                self._records[digest] = found
                while len(self._records) > _MOST_RECORDS:
                    self._records.popitem(last=False)
        return found

    # --- rankings --------------------------------------------------------------------------------------

    def ranking(self, opened: Opened) -> Ranking:
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
        for shelved in self._workbench.runs.runs():
            manifest = shelved.manifest
            if shelved.name == opened.name or manifest is None or manifest.state == "running":
                continue
            theirs = Subject.of(manifest)
            if (theirs.judge, theirs.options) == (own.judge, own.options) and len(found) < _MOST_OTHERS:
                found.append(self._workbench.runs.open(shelved.name))
        return found


def _made_of(opened: Opened) -> str:
    return f"{opened.state.folder} {opened.state.started} {opened.state.journal.end} {opened.state.roll.end}"


def _interests(opened: Opened) -> list[Interest]:
    """Read from the index where they were worked out before: a large run is gone through once."""
    if opened.book.made_of(_KEPT) == _made_of(opened):
        return [Interest(*values) for values in opened.book.result(_KEPT) or ()]
    rows = opened.cases.page(Question(statuses=("ok",)), 0, -1).rows
    found = {case.input_hash: case for case in map(interest_of, opened.cases.judgements(rows))}
    data = [(case.input_hash, case.values, case.split, case.unsure, case.rolled_up) for case in found.values()]
    if not opened.indexing:
        opened.book.keep(_KEPT, _made_of(opened), data)
    return list(found.values())
