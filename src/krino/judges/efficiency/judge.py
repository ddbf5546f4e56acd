"""The efficiency judge: reads any trace, asks for one label a step, and settles score and reason by a table."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from krino.blocks import Block
from krino.contract import Finding, Joined, Judge, Judgement, Questions, Settlement
from krino.errors import CannotJudge
from krino.judges.efficiency.ask import ask, shown_ids
from krino.judges.efficiency.case import TASK_NAMES, EfficiencyCase
from krino.judges.efficiency.facts import EfficiencyFacts, study
from krino.judges.efficiency.labels import EfficiencyLabels, check_labels
from krino.judges.efficiency.local import label_locally
from krino.judges.efficiency.rubric import Mode, settle
from krino.judges.efficiency.tables import package_text
from krino.judges.efficiency.traces.detect import Format
from krino.judges.efficiency.traces.shapes import is_piece, is_trace, traces_in
from krino.judges.efficiency.verdict import EfficiencyVerdict
from krino.judges.efficiency.view import efficiency_blocks
from krino.judges.efficiency.votes import join_votes, join_windows


class EfficiencyOptions(BaseModel):
    """`mode` chooses the score table, `format` overrides detection, `task` is for traces that state none.

    `window_tokens` is what one prompt may take for a trace.
    """

    model_config = ConfigDict(extra="forbid")

    mode: Mode = "strict"
    format: Format = "auto"
    task: str = ""
    window_tokens: Annotated[int, Field(ge=500)] = 100_000


class EfficiencyJudge(Judge[EfficiencyCase, EfficiencyFacts, EfficiencyLabels]):
    """How economically an agent carried out a task, step by step."""

    name = "efficiency"
    version = "0.2.0"
    summary = "Execution traces of agents: every step labelled, unnecessary work scored by one table."
    default_prompt: ClassVar[str] = package_text("prompt.md")
    rules: ClassVar[Mapping[str, str]] = tomllib.loads(package_text("rules.toml"))["rules"]
    data_files = ("../../models",)
    options_model = EfficiencyOptions
    main_fields = ("task",)
    record_names: ClassVar[Mapping[str, Sequence[str]]] = {"task": TASK_NAMES}
    case_model = EfficiencyCase
    labels_model = EfficiencyLabels
    verdict_model = EfficiencyVerdict

    @property
    def _set(self) -> EfficiencyOptions:
        assert isinstance(self.options, EfficiencyOptions)
        return self.options

    def list_field(self, first: Any) -> str | None:
        return "trace" if is_piece(first) else None

    def is_case(self, record: Mapping[str, Any]) -> bool:
        return is_trace(record)

    def split(self, record: Mapping[str, Any]) -> Iterable[tuple[str | None, Mapping[str, Any]]]:
        return traces_in(record)

    def study(self, case: EfficiencyCase) -> EfficiencyFacts:
        return study(case, self._set.format, self._set.task)

    def ask(self, case: EfficiencyCase, facts: EfficiencyFacts) -> Questions | None:
        return ask(facts, self._set.window_tokens)

    def leaves_open(self, case: EfficiencyCase, facts: EfficiencyFacts) -> bool:
        return True

    def check(self, case: EfficiencyCase, facts: EfficiencyFacts, labels: EfficiencyLabels) -> list[str]:
        return check_labels(facts, labels, facts.places, facts.places)

    def check_part(
        self, case: EfficiencyCase, facts: EfficiencyFacts, part: Questions, labels: EfficiencyLabels
    ) -> list[str]:
        return check_labels(facts, labels, dict.fromkeys(part.covers), shown_ids(facts, part.covers))

    def join_parts(
        self,
        case: EfficiencyCase,
        facts: EfficiencyFacts,
        labelled: Sequence[tuple[Questions, EfficiencyLabels]],
    ) -> tuple[EfficiencyLabels, tuple[Finding, ...]]:
        return join_windows(facts, [(part.covers, labels) for part, labels in labelled])

    def settle(self, case: EfficiencyCase, facts: EfficiencyFacts, labels: EfficiencyLabels | None) -> Settlement:
        return settle(facts, labels, self._set.mode)

    def join_votes(
        self, case: EfficiencyCase, facts: EfficiencyFacts, ballots: Sequence[EfficiencyLabels]
    ) -> Joined[EfficiencyLabels]:
        return join_votes(facts, ballots)

    def label_locally(self, batch: Sequence[tuple[EfficiencyCase, EfficiencyFacts]]) -> list[EfficiencyLabels]:
        return label_locally([facts for _, facts in batch])

    def main_inputs(self, case: EfficiencyCase) -> dict[str, str]:
        """The task as `study` finds it: of the case, else of the trace, else the usual one."""
        task = case.task.strip() or _stated_task(case, self._set.format) or self._set.task.strip()
        return {"task": task} if task else {}

    def view(self, case: EfficiencyCase, facts: EfficiencyFacts, judgement: Judgement) -> Sequence[Block]:
        return efficiency_blocks(facts, judgement)

    def metadata(self, case: EfficiencyCase) -> dict[str, Any]:
        return {"mode": self._set.mode}


def _stated_task(case: EfficiencyCase, wanted: Format) -> str:
    """Of a trace that no reader takes there is nothing to say here: `study` says what is wrong with it."""
    try:
        return (case.read_as(wanted).task or "").strip()
    except CannotJudge:
        return ""
