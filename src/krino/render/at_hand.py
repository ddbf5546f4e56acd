"""What only a judge at hand can say: how it shows a case, what a labeller was asked, and its overview of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from krino.blocks import Block, Paragraph, as_data, from_data
from krino.contract import AnyJudge, Judgement, Overview, Questions
from krino.contract.code_limit import CASE_SECONDS, CodeLimit, TookTooLong
from krino.labellers.llm.prompt import TAG_SLOT, shown_texts, system_text, user_text
from krino.render.html import to_html
from krino.results.table import Record


@dataclass(slots=True)
class AtHand:
    """A judge, for those who show its judgements. What it does wrong costs its own blocks, never the report."""

    judge: AnyJudge
    seconds: float = CASE_SECONDS
    """What the judge's code may take to show a case; one that took longer is not asked to show any other."""
    _is_too_slow: bool = False
    _studied_last: tuple[Record, Any, Any] | None = None
    """A record with its case and facts: whoever shows a case asks for its request next."""

    def prompt(self) -> str:
        """The part that is the same for every case, in the form that goes with a JSON schema."""
        return system_text(self.judge.prompt, "json_schema", {})

    def request(self, record: Record) -> str | None:
        """The case's own part, `TAG` in the place of the random word; None where the facts leave nothing to ask."""
        if self._is_too_slow:
            return None
        try:
            with CodeLimit(self.seconds):
                questions = self.judge.ask(*self._studied(record))
        except Exception as fault:  # a case that cannot be judged was never asked about
            self._is_too_slow = isinstance(fault, TookTooLong)
            return None
        if questions is None:
            return None
        if not questions.parts:
            return _shown(questions)
        calls = len(questions.parts)
        return "\n\n".join(
            f"[call {number} of {calls}]\n\n{_shown(part)}" for number, part in enumerate(questions.parts, 1)
        )

    def view(self, judgement: Record, record: Record) -> list[Block]:
        """How the judge shows a case; nothing for one that it could not read or study."""
        if self._is_too_slow or broke_unlabelled(judgement):
            return []
        try:
            with CodeLimit(self.seconds):
                case, facts = self._studied(record)
        except Exception as fault:
            self._is_too_slow = isinstance(fault, TookTooLong)
            return []
        kept = {name: value for name, value in judgement.items() if name != "case"}
        try:
            with CodeLimit(self.seconds):
                return list(self.judge.view(case, facts, Judgement.model_validate(kept)))
        except Exception as fault:
            self._is_too_slow = isinstance(fault, TookTooLong)
            return [_problem(self.judge, "view", fault)]

    def _studied(self, record: Record) -> tuple[Any, Any]:
        if self._studied_last is None or self._studied_last[0] is not record:
            case = self.judge.read(record)
            self._studied_last = record, case, self.judge.study(case)
        return self._studied_last[1:]


def broke_unlabelled(judgement: Record) -> bool:
    """Whether the judge broke on a case before anybody was asked about it: it may have taken its whole process with it,
    or hung, and would do so again to whoever studies the case for a page."""
    return judgement["status"] == "error" and judgement.get("labeller") is None


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
        self._overview, self._problems = None, [_problem(self.judge, "overview", fault)]


def _problem(judge: AnyJudge, name: str, fault: Exception) -> Block:
    told = f"`{name}` of judge `{judge.name}` failed: {type(fault).__name__}: {fault}"
    return Paragraph(told, tone="warn")


def _shown(questions: Questions) -> str:
    return user_text(questions, shown_texts(questions)).replace(TAG_SLOT, "TAG")
