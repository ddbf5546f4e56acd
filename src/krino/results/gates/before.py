"""Refuses rules that a judge's verdict can never answer, before a case is judged: afterwards it would cost money."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from krino.contract import Judge
from krino.errors import UsageProblem
from krino.results.closed_labels import Schema, closed_labels
from krino.results.gates.rules import NULL, Rule
from krino.results.gates.validate import refuse_label, refuse_limit
from krino.results.scale import declared_scale
from krino.runs.fields import ROLL_UP, ROLL_UPS


def refuse_for(judge: Judge[Any, Any, Any], rules: Iterable[Rule]) -> None:
    """By what the schema of its verdict says; where that leaves it open, the run will tell."""
    schema = judge.verdict_model.model_json_schema(mode="serialization")
    rolls_up = type(judge).roll_up is not Judge.roll_up
    for rule in rules:
        if rule.target.field == ROLL_UP:
            _refuse_roll_up(rule, judge.name, rolls_up=rolls_up, fields=schema.get("properties", {}))
        elif rule.target.field is not None:
            _refuse(rule, rule.target.field, judge.name, schema)


def _refuse_roll_up(rule: Rule, judge: str, *, rolls_up: bool, fields: Iterable[str]) -> None:
    if not rolls_up:
        told = f"judge `{judge}` rolls nothing up to pass, review or fail; name a field"
        raise UsageProblem(f"{rule}: {told}: {', '.join(fields)}")
    if rule.target.label is None:
        raise UsageProblem(f"{rule}: `{ROLL_UP}` is no number; name a label of it, as {ROLL_UPS[0]}=90%")
    if rule.target.label != NULL:
        refuse_label(rule, ROLL_UP, rule.target.label, set(ROLL_UPS))


def _refuse(rule: Rule, field: str, judge: str, schema: Schema) -> None:
    fields, label = schema.get("properties", {}), rule.target.label
    if field not in fields:
        if schema.get("additionalProperties"):
            return
        raise UsageProblem(
            f"{rule}: the verdicts of judge `{judge}` have no field `{field}`; they have {', '.join(fields)}"
        )
    scale, labels = declared_scale(schema, field), closed_labels(schema, field)
    if label is None:
        if labels:
            raise UsageProblem(f"{rule}: `{field}` is no number; name a label of it, as {field}:LABEL=90%")
        refuse_limit(rule, field, scale)
    elif label != NULL:
        if scale is not None:
            raise UsageProblem(f"{rule}: `{field}` is a number and has no labels; write {field}=NUMBER")
        refuse_label(rule, field, label, labels)
