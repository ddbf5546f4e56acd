"""What needs a loaded judge: its prompt, its overview of a run, and views of cases that have none yet.

A case gets its view when it is judged (`krino.engine.views`). Here views are made for cases of older runs, and for
cases that are judged without a run. Such cases are read and studied again.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from krino.blocks import Block, as_data, from_data
from krino.contract import AnyJudge, Judgement, Overview
from krino.contract.code_limit import CASE_SECONDS, CodeLimit, TookTooLong
from krino.engine.views import StudiedCase, blocks_of, broke_unlabelled, problem_with, request_of
from krino.labellers.llm.prompt import system_text
from krino.render.html import to_html
from krino.results.table import Record


@dataclass(slots=True)
class LiveJudge:
    """A loaded judge that shows its judgements. An error in its code costs its own blocks, never the report."""

    judge: AnyJudge
    seconds: float = CASE_SECONDS
    """Time limit for showing a case. A judge that exceeds it shows no more cases."""
    _is_too_slow: bool = False
    _studied_last: tuple[Record, StudiedCase] | None = None
    """The last record with its case and facts, because the view and the request of a case are asked for in turn."""

    def prompt(self) -> str:
        """Returns the instructions, which are the same for every case, in the form for JSON schemas."""
        return system_text(self.judge.prompt, "json_schema", {})

    def request(self, record: Record) -> str | None:
        """Returns the part of a prompt about the case, with `TAG` for the random tag; None if nothing is left to ask,
        or the case cannot be studied."""
        studied = self._study_in_time(record)
        return None if studied is None else request_of(self.judge, studied, CodeLimit(self.seconds))

    def view(self, judgement: Record, record: Record) -> list[Block]:
        """Returns the blocks that show a case; empty if it cannot be read or studied. If showing it takes too long, no
        further case is shown."""
        if broke_unlabelled(judgement["status"], judgement.get("labeller")):
            return []
        if (studied := self._study_in_time(record)) is None:
            return []
        kept = {name: value for name, value in judgement.items() if name != "case"}
        started = time.monotonic()
        blocks = blocks_of(self.judge, studied, Judgement.model_validate(kept), CodeLimit(self.seconds))
        self._is_too_slow = 0 < self.seconds <= time.monotonic() - started
        return blocks

    def _study_in_time(self, record: Record) -> StudiedCase | None:
        """Reads and studies a case within the time limit; returns None on any error.

        After one time-out no further case is tried: a page of slow cases would take as many time limits.
        """
        if self._is_too_slow:
            return None
        try:
            with CodeLimit(self.seconds):
                return self._study(record)
        except Exception as fault:
            self._is_too_slow = isinstance(fault, TookTooLong)
            return None

    def _study(self, record: Record) -> StudiedCase:
        """Reads and studies a case, or returns the last one if it is the same record: view and prompt of a case are
        asked for in turn."""
        if self._studied_last is None or self._studied_last[0] is not record:
            case = self.judge.read(record)
            self._studied_last = record, StudiedCase(case, self.judge.study(case))
        return self._studied_last[1]


@dataclass(slots=True)
class RunOverview:
    """The judge's overview of all cases, made in one pass."""

    judge: AnyJudge | None
    _overview: Overview | None = None
    _problems: list[Block] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.judge is not None:
            try:
                with CodeLimit():
                    self._overview = self.judge.overview()
            except Exception as fault:
                self._give_up(fault)

    def add(self, judgement: Record) -> None:
        """Adds a judgement to the judge's own overview; a fault ends the overview, not the report."""
        if self._overview is not None:
            try:
                with CodeLimit():
                    self._overview.add(judgement)
            except Exception as fault:
                self._give_up(fault)

    def blocks(self) -> list[Block]:
        """Returns the blocks of the overview, or the problem with it."""
        if self._overview is None:
            return self._problems
        found: list[Block] = []
        try:
            with CodeLimit():
                found = from_data(as_data(self._overview.blocks()))
            to_html(found)  # blocks that cannot be drawn must not fail the report
        except Exception as fault:
            self._give_up(fault)
        return self._problems or found

    def _give_up(self, fault: Exception) -> None:
        """Ends the overview, and keeps what is shown in its place."""
        assert self.judge is not None
        self._overview, self._problems = None, [problem_with(self.judge, "overview", fault)]
