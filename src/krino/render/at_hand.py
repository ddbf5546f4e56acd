"""What only a judge at hand can say: its prompt, its overview of a run, and how it shows a case that has no view yet.

A case gets its view when it is judged (`krino.engine.views`). Here views are made of cases that were judged before
there were any, or that nobody keeps a run of: they are read and studied again for it.
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
class AtHand:
    """A judge, for those who show its judgements. What it does wrong costs its own blocks, never the report."""

    judge: AnyJudge
    seconds: float = CASE_SECONDS
    """What the judge's code may take to show a case; one that took longer is not asked to show any other."""
    _is_too_slow: bool = False
    _studied_last: tuple[Record, StudiedCase] | None = None
    """A record with its case and facts: whoever shows a case asks for its request next."""

    def prompt(self) -> str:
        """The part that is the same for every case, in the form that goes with a JSON schema."""
        return system_text(self.judge.prompt, "json_schema", {})

    def request(self, record: Record) -> str | None:
        """The case's own part, `TAG` in the place of the random word; None where the facts leave nothing to ask."""
        studied = self._study_in_time(record)
        return None if studied is None else request_of(self.judge, studied, CodeLimit(self.seconds))

    def view(self, judgement: Record, record: Record) -> list[Block]:
        """How the judge shows a case; nothing for one that it could not read or study."""
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
        """None for a case that cannot be judged: it was never asked about."""
        if self._is_too_slow:
            return None
        try:
            with CodeLimit(self.seconds):
                return self._studied(record)
        except Exception as fault:
            self._is_too_slow = isinstance(fault, TookTooLong)
            return None

    def _studied(self, record: Record) -> StudiedCase:
        if self._studied_last is None or self._studied_last[0] is not record:
            case = self.judge.read(record)
            self._studied_last = record, StudiedCase(case, self.judge.study(case))
        return self._studied_last[1]


@dataclass(slots=True)
class RunOverview:
    """What a judge says of all cases together, in one pass over them."""

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
        if self._overview is not None:
            try:
                with CodeLimit():
                    self._overview.add(judgement)
            except Exception as fault:
                self._give_up(fault)

    def blocks(self) -> list[Block]:
        if self._overview is None:
            return self._problems
        found: list[Block] = []
        try:
            with CodeLimit():
                found = from_data(as_data(self._overview.blocks()))
            to_html(found)  # what cannot be drawn must not cost the report
        except Exception as fault:
            self._give_up(fault)
        return self._problems or found

    def _give_up(self, fault: Exception) -> None:
        assert self.judge is not None
        self._overview, self._problems = None, [problem_with(self.judge, "overview", fault)]
