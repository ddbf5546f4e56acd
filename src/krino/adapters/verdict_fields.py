"""Reads a judgement as fields that a framework can record: a value with its reason and rule, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from krino.contract import AnyJudge, Judgement
from krino.results.explanations import find_explanation
from krino.results.field_kinds import ROLL_UP, as_codes, as_number, fields_of, names_explanation
from krino.results.verdict_schema import closed_labels, declares_number


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a verdict. Either `value` is set, or `problem` says why there is none."""

    name: str
    """`judge.field`, as in Krino's OpenTelemetry events."""
    value: float | str | None = None
    """A score, or a label; several labels are joined by commas."""
    reason: str | None = None
    rule: str | None = None
    problem: str | None = None

    @property
    def score(self) -> float | None:
        return self.value if isinstance(self.value, float) else None

    @property
    def label(self) -> str | None:
        return self.value if isinstance(self.value, str) else None


def fields(judgement: Judgement[Any], names: Sequence[str] | None = None) -> list[Field]:
    """The scores and labels of a judgement.

    Each of `names` is there, with a problem where the case has no value for it: it was not judged, or the field is
    null. Without `names` they are those that have a value, or for a case that was not judged one field named like the
    judge.
    """
    judge = judgement.judge
    if judgement.status != "ok":
        problem = describe_problem(judgement)
        return [Field(f"{judge}.{name}", problem=problem) for name in names or ()] or [Field(judge, problem=problem)]
    record = judgement.__dict__
    held = fields_of(record)
    if names is None:
        names = [name for name, value in held.items() if not names_explanation(name) and _as_value(value) is not None]
    return [_field(judgement, record, name, held.get(name)) for name in names]


def _field(judgement: Judgement[Any], record: dict[str, Any], name: str, held: Any) -> Field:
    """One field with its reason and rule; with a problem if what is held is null or no score or label."""
    value, reason, rule = _as_value(held), find_explanation(record, name), judgement.rules.get(name)
    problem = None if value is not None else f"{name} has no value{f' ({rule})' if rule else ''}: {reason or 'null'}"
    return Field(f"{judgement.judge}.{name}", value, reason, rule, problem)


def _as_value(held: Any) -> float | str | None:
    """A number, or labels joined by commas; None for null, free text and anything larger."""
    number = as_number(held)
    if number is not None:
        return number
    codes = as_codes(held)
    return None if codes is None else ",".join(codes)


def status(judgement: Judgement[Any]) -> Field:
    """Whether the case was judged: `judge.status` is `ok`, `failed` or `error`, with the reason."""
    reason = None if judgement.status == "ok" else describe_problem(judgement)
    return Field(f"{judgement.judge}.status", judgement.status, reason)


def describe_problem(judgement: Judgement[Any]) -> str:
    """Why a case has no verdict, in one line."""
    return f"not judged ({judgement.status}): {judgement.reason or judgement.error}"


def score_names(judge: AnyJudge) -> list[str]:
    """The fields of a judge's verdicts that hold numbers."""
    schema = judge.verdict_model.model_json_schema()
    return [name for name in judge.verdict_model.model_fields if declares_number(schema, name)]


def value_names(judge: AnyJudge) -> list[str]:
    """The fields that hold numbers or labels of a closed list, in the judge's order; its roll-up and figures last."""
    schema = judge.verdict_model.model_json_schema()
    own = judge.verdict_model.model_fields
    named = [name for name in own if declares_number(schema, name) or closed_labels(schema, name)]
    return [*named, ROLL_UP, *(name for name in judge.figures_model.model_fields if name not in own)]
