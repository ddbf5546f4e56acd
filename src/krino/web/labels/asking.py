"""A case as a person is asked about it: what is shown, which form is filled in, and what the answer comes to.

People and models answer the same questions: `Task.accept` checks the labels of both, and the judge's own rules score
both. But people see the case as it was given (`Judge.exhibits`), never the hints that code writes for models, and
nothing of the verdict on record is looked at here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from krino.contract import AnyJudge, Passage, Questions, Task
from krino.contract.bounds import Bound
from krino.contract.fingerprint import schema_of
from krino.contract.hooks import Exhibit, Exhibits
from krino.contract.return_checks import check_questions, settle_case, verdict_of
from krino.errors import CannotJudge, UsageProblem
from krino.judges.registry import OURS, recorded_judge
from krino.people.store import DEPTHS, Depth
from krino.runs.fields import ROLL_UPS
from krino.runs.manifest import Manifest
from krino.web.labels.forms import (
    Filled,
    Node,
    answer_of,
    check_fields,
    labels_form,
    more_rows,
    sent_form,
    verdict_form,
)

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """An accepted answer; of labels also the verdict that the judge's rules make of them (None: there is none)."""

    answer: dict[str, Any]
    verdict: dict[str, Any] | None = None


class FieldsAsked:
    """The fields of the verdict, by the schema that came with the run: also for judges whose code is not here."""

    def __init__(self, manifest: Manifest, rolls_up: bool) -> None:
        self._schema = manifest.about.verdict_schema
        self._roll_ups: Sequence[str] = ROLL_UPS if rolls_up else ()

    def form(self, given: Mapping[str, Any] | None = None) -> Node:
        return verdict_form(self._schema, given, self._roll_ups)

    def read(self, filled: Filled) -> dict[str, Any]:
        answer: dict[str, Any] = answer_of(self.form(), filled)
        return answer

    def accept(self, answer: Mapping[str, Any]) -> Said:
        return Said(check_fields(self.form(), answer))


class LabelsAsked:
    """The labels themselves: one case on the desk of a person."""

    def __init__(self, task: Task[Any, Any, Any], start: Mapping[str, Any]) -> None:
        self._task, self._start = task, start
        self._schema = schema_of(task.judge.labels_model)

    @cached_property
    def _bounds(self) -> tuple[Bound | None, Bound | None]:
        task = self._task
        loose, exact = (task.judge.bounds(task.case, task.facts, task.questions, exact) for exact in (False, True))
        return loose, exact

    def form(self, given: Mapping[str, Any] | None = None) -> Node:
        return labels_form(self._schema, *self._bounds, given, start=self._start)

    def read(self, filled: Filled) -> dict[str, Any]:
        answer = answer_of(sent_form(self._schema, *self._bounds, filled), filled)
        return more_rows(answer, filled)

    def accept(self, answer: Mapping[str, Any]) -> Said:
        judge, case, facts = self._task.judge, self._task.case, self._task.facts
        try:
            labels = self._task.accept(answer)
        except ValueError as problem:
            raise UsageProblem(str(problem)) from None
        try:
            settlement = settle_case(judge, case, facts, labels)
        except CannotJudge:
            return Said(labels.model_dump(mode="json"))
        verdict = verdict_of(judge, settlement)
        roll_up = judge.roll_up(verdict, {field: ruling.rule for field, ruling in settlement.rulings.items()})
        return Said(labels.model_dump(mode="json"), {"roll_up": roll_up, **verdict} if roll_up else verdict)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person is shown of a case, and the form of each depth; `without` says why a depth cannot be had."""

    exhibits: Exhibits
    instructions: str
    forms: Mapping[Depth, FieldsAsked | LabelsAsked]
    without: Mapping[Depth, str]
    for_models: tuple[Passage, ...] = ()
    """What a model is shown, hints included: only for people who have asked to see the verdict."""

    def at(self, depth: Depth) -> FieldsAsked | LabelsAsked:
        if depth not in self.forms:
            raise UsageProblem(f"this case cannot be labelled at the depth `{depth}`: {self.without[depth]}")
        return self.forms[depth]


def ask(manifest: Manifest, record: Record | None, *, rolls_up: bool, digest: str, missing: str = "") -> Asked:
    """`record`: the case itself, None where it is not at hand, which `missing` explains: nobody can judge it then."""
    prompt = manifest.about.prompt
    if record is None:
        return Asked(Exhibits((), ()), prompt, {}, dict.fromkeys(DEPTHS, missing))
    fields, name = FieldsAsked(manifest, rolls_up), manifest.plan.judge["name"]
    exhibits = _as_given(record)
    if name not in OURS:
        without = f"`{name}` is a judge of your own; its code is not loaded here, so only its verdict can be judged"
        return Asked(exhibits, prompt, {"fields": fields}, {"labels": without})
    try:
        judge = recorded_judge(name, manifest.plan.judge.get("options") or {})
        case = judge.read(record)
        facts = judge.study(case)
        exhibits = judge.exhibits(case, facts) or exhibits
        task = _task(judge, case, facts, digest)
    except (CannotJudge, UsageProblem) as problem:
        return Asked(exhibits, prompt, {"fields": fields}, {"labels": str(problem)})
    labels = LabelsAsked(task, exhibits.start)
    return Asked(exhibits, prompt, {"fields": fields, "labels": labels}, {}, _for_models(task.questions))


def _task(judge: AnyJudge, case: Any, facts: Any, digest: str) -> Task[Any, Any, Any]:
    questions = check_questions(judge, judge.ask(case, facts))
    if questions is None:
        raise CannotJudge("the facts settle this case; no labeller is asked anything")
    return Task(judge, case, facts, questions, input_hash=digest)


def _for_models(questions: Questions) -> tuple[Passage, ...]:
    """Of a long case that models are asked about in parts, all parts."""
    passages = [passage for part in questions.parts or (questions,) for passage in part.passages]
    return tuple(dict.fromkeys(passages))


def _as_given(record: Record) -> Exhibits:
    return Exhibits(tuple(Exhibit(str(name), _as_text(value)) for name, value in record.items()), ())


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()
