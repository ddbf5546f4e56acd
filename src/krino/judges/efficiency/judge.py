"""The efficiency judge: reads a trace in any known format, asks for a label per step, and scores by a table."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, get_args

from pydantic import BaseModel, ConfigDict, Field

from krino.blocks import Block
from krino.contract import AsksInParts, Bound, Finding, Joined, Judge, Judgement, Questions, ReadsRecords, Settlement
from krino.contract.hooks import Exhibits, RecordFields
from krino.contract.record_fields import Reads
from krino.errors import CannotJudge
from krino.judges.efficiency.ask import ask, shown_ids
from krino.judges.efficiency.bounds import limit_labels
from krino.judges.efficiency.case import ANSWER_NAMES, EfficiencyCase, list_read_fields
from krino.judges.efficiency.data_files import package_text
from krino.judges.efficiency.exhibits import build_exhibits
from krino.judges.efficiency.facts import EfficiencyFacts, study
from krino.judges.efficiency.labels import EfficiencyLabels, check_labels
from krino.judges.efficiency.local import label_locally
from krino.judges.efficiency.mapping_hints import FIELD_SHAPES, FIELD_WORDS
from krino.judges.efficiency.rubric import Mode, settle
from krino.judges.efficiency.traces.detect import Format, is_piece, is_trace, list_traces
from krino.judges.efficiency.traces.steps import TASK_NAMES, TRACE_NAMES
from krino.judges.efficiency.unread import list_unread
from krino.judges.efficiency.verdict import EfficiencyVerdict
from krino.judges.efficiency.view import build_blocks
from krino.judges.efficiency.votes import join_votes, join_windows


class EfficiencyOptions(BaseModel):
    """The options of the efficiency judge."""

    model_config = ConfigDict(extra="forbid")

    mode: Mode = Field(
        "strict",
        description="the table of scores: strict gives 0.25 for more than one small slip, scaled goes by their share",
    )
    format: Format = Field("auto", description=f"how traces are read: {', '.join(get_args(Format))}")
    task: str = Field("", description="what the agent was to do, for traces that do not state it")
    window_tokens: int = Field(
        100_000, ge=500, description="most tokens of a trace in one call; a longer one is labelled in windows"
    )


class EfficiencyJudge(
    Judge[EfficiencyCase, EfficiencyFacts, EfficiencyLabels, EfficiencyVerdict, EfficiencyOptions],
    ReadsRecords,
    AsksInParts[EfficiencyCase, EfficiencyFacts, EfficiencyLabels],
):
    """How economically an agent carried out a task, step by step."""

    name = "efficiency"
    version = "0.10.0"
    summary = "Execution traces of agents: every step labelled, unnecessary work scored by one table."
    default_prompt: ClassVar[str] = package_text("prompt.md")
    rules: ClassVar[Mapping[str, str]] = tomllib.loads(package_text("rules.toml"))["rules"]
    fields = RecordFields(
        main=("task",),
        names={"task": TASK_NAMES, "trace": TRACE_NAMES, "answer": ANSWER_NAMES},
        ambiguous_names={"task": TASK_NAMES[2:]},
        needed={"trace": ()},
        words=FIELD_WORDS,
        shapes=FIELD_SHAPES,
    )

    def list_field(self, first: Any) -> str | None:
        """Returns "trace" if a JSON list that begins with `first` is one trace; None if it is a list of cases."""
        return "trace" if is_piece(first) else None

    def is_case(self, record: Mapping[str, Any]) -> bool:
        """Is an object a case: does it name a trace, or is it one?"""
        return is_trace(record)

    def split(self, record: Mapping[str, Any]) -> Iterable[tuple[str | None, Mapping[str, Any]]]:
        """Returns the record, or one for each trace if it is an export of several, with the trace's id."""
        return list_traces(record)

    def reads(self, record: Mapping[str, Any]) -> Reads | None:
        """Returns the names that are read of a record; None (any) if it is the trace itself."""
        return list_read_fields(record)

    def study(self, case: EfficiencyCase) -> EfficiencyFacts:
        """Reads the trace and computes its facts.

        The options give the format, and the task of traces that state none.
        """
        return study(case, self.options.format, self.options.task)

    def ask(self, case: EfficiencyCase, facts: EfficiencyFacts) -> Questions | None:
        """Returns the questions on every step, in windows if the trace does not fit the prompt."""
        return ask(facts, self.options.window_tokens)

    def leaves_open(self, case: EfficiencyCase, facts: EfficiencyFacts) -> bool:
        """Always true: every step needs a label."""
        return True

    def bounds(self, case: EfficiencyCase, facts: EfficiencyFacts, asked: Questions, exact: bool) -> Bound:
        """Limits the labels to the steps of the trace or window, and references to steps that were shown."""
        if not asked.covers:
            return limit_labels(tuple(facts.places), tuple(facts.places), exact)
        shown = shown_ids(facts, asked.covers)
        return limit_labels(asked.covers, tuple(step for step in facts.places if step in shown), exact)

    def check(self, case: EfficiencyCase, facts: EfficiencyFacts, labels: EfficiencyLabels) -> list[str]:
        """Returns what is wrong with the labels of the whole trace; empty if nothing."""
        return check_labels(facts, labels, facts.places, facts.places)

    def check_part(
        self, case: EfficiencyCase, facts: EfficiencyFacts, part: Questions, labels: EfficiencyLabels
    ) -> list[str]:
        """Returns what is wrong with the labels of one window, which labels only its own steps."""
        return check_labels(facts, labels, dict.fromkeys(part.covers), shown_ids(facts, part.covers))

    def join_parts(
        self,
        case: EfficiencyCase,
        facts: EfficiencyFacts,
        labelled: Sequence[tuple[Questions, EfficiencyLabels]],
    ) -> tuple[EfficiencyLabels, tuple[Finding, ...]]:
        """Joins the labels of overlapping windows, and returns findings on how they differ."""
        return join_windows(facts, [(part.covers, labels) for part, labels in labelled])

    def settle(self, case: EfficiencyCase, facts: EfficiencyFacts, labels: EfficiencyLabels | None) -> Settlement:
        """Scores the trace, and lists the text that no labeller saw."""
        settlement = settle(facts, labels, self.options.mode)
        if labels is None:
            return settlement
        return replace(settlement, unread=tuple(list_unread(case, facts, labels, self.options.window_tokens)))

    def join_votes(
        self, case: EfficiencyCase, facts: EfficiencyFacts, ballots: Sequence[EfficiencyLabels]
    ) -> Joined[EfficiencyLabels]:
        """Joins the labels of several seats step by step."""
        return join_votes(facts, ballots)

    def label_locally(self, batch: Sequence[tuple[EfficiencyCase, EfficiencyFacts]]) -> list[EfficiencyLabels]:
        """Labels every step of each trace from its facts alone, without a model."""
        return label_locally([facts for _, facts in batch])

    def main_inputs(self, case: EfficiencyCase) -> dict[str, str]:
        """Returns the task as `study` finds it: from the case, else the trace, else the option; or nothing."""
        task = case.task.strip() or _find_stated_task(case, self.options.format) or self.options.task.strip()
        return {"task": task} if task else {}

    def exhibits(self, case: EfficiencyCase, facts: EfficiencyFacts) -> Exhibits:
        """Returns what a person sees who labels the trace: the task and every step, without facts found by code."""
        return build_exhibits(case, facts)

    def view(self, case: EfficiencyCase, facts: EfficiencyFacts, judgement: Judgement) -> Sequence[Block]:
        """Returns a judgement as blocks: task, timeline, minimal sequence and table of the steps."""
        return build_blocks(facts, judgement)

    def metadata(self, case: EfficiencyCase) -> dict[str, Any]:
        """Returns the option `mode`, by which results can be sliced."""
        return {"mode": self.options.mode}


def _find_stated_task(case: EfficiencyCase, wanted: Format) -> str:
    """Returns the task that the trace states.

    Empty if no reader recognises the trace: `study` reports what is wrong with it.
    """
    try:
        return (case.read_as(wanted).task or "").strip()
    except CannotJudge:
        return ""
