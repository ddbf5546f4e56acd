"""Refuses meaningless rules: about fields or labels that do not exist, or with limits that nothing can break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from krino.contract import AnyJudge, Judge
from krino.contract.fingerprint import joined_schema
from krino.errors import UsageProblem
from krino.results.compact_columns import NO_CODE
from krino.results.field_kinds import ROLL_UP, ROLL_UPS
from krino.results.gates.rules import NULL, Beyond, Rule
from krino.results.table import Table, unknown_column
from krino.results.verdict_schema import Scale, Schema, closed_labels, declared_scale
from krino.text.clean import clean_line
from krino.text.guessing import did_you_mean


@dataclass(frozen=True)
class Validator:
    """Checks rules against the fields, labels and scales of a run and the run that it is compared with."""

    run: Table
    base: Table | None

    def refuse(self, rules: Sequence[Rule], by: Sequence[tuple[str, ...]]) -> None:
        """Refuses misspelt names, which would make rules that always hold. An unjudged run has no names to check."""
        for column in (column for columns in by for column in columns):
            if len(self.run) and column not in self.run.metadata:
                raise unknown_column("by", column, self.run.metadata)
        if not self.run.ok.any():
            return
        for rule in rules:
            field, label = rule.target.field, rule.target.label
            if field is None:
                continue
            self._refuse_field(rule, field)
            if rule.target.beyond is not None:
                refuse_number(rule, field, rule.target.beyond, declared_scale(self._schema, field))
            elif label is None:
                refuse_limit(rule, field, declared_scale(self._schema, field))
            elif self._is_unseen(field, label):
                refuse_label(rule, field, label, self._known_labels(field))
            if rule.target.to is not None and self._is_unseen(field, rule.target.to):
                refuse_label(rule, field, rule.target.to, self._known_labels(field))

    def explain_doubts(self, rule: Rule) -> Iterator[str]:
        """Yields reasons to doubt a rule that cannot be refused for certain."""
        field, label = rule.target.field, rule.target.label
        if field is None or field not in self.run.fields or rule.target.beyond is not None:
            return
        if label is None:
            open_scale = declared_scale(self._schema, field) is None
            if open_scale and self._looks_like_a_score(field) and _always_holds(rule, (0.0, 1.0)):
                yield "every value lies in 0 to 1, where no mean can break this limit"
        elif self._is_unseen(field, label) and self._known_labels(field) is None:
            yield f"no case has the label `{clean_line(label, 60)}`, and the judge does not say whether there is one"

    def _refuse_field(self, rule: Rule, field: str) -> None:
        """Refuses a rule whose field does not exist, or has another kind than the rule needs."""
        column, label = self.run.fields.get(field), rule.target.label
        if column is None:
            there = ", ".join(clean_line(name, 60) for name in self.run.field_names)
            if field == ROLL_UP:
                message = "this judge has no roll-up (pass, review or fail); name a field"
                raise UsageProblem(f"{rule}: {message}: {there}")
            guess = did_you_mean(field, self.run.field_names)
            raise UsageProblem(f"{rule}: the verdicts have no field `{field}`{guess}; they have {there}")
        if label is None and column.kind in ("codes", "other"):
            raise UsageProblem(f"{rule}: `{field}` is not a number; name a label of it, as {field}:LABEL=90%")
        if label not in (None, NULL):
            if column.kind == "number":
                raise UsageProblem(f"{rule}: `{field}` is a number and has no labels; write {field}=NUMBER")
            if (column.codes == NO_CODE).any():
                raise UsageProblem(f"{rule}: `{field}` is free text and has no labels")

    @cached_property
    def _schema(self) -> Schema:
        return self.run.manifest.about.fields_schema

    def _known_labels(self, field: str) -> set[str] | None:
        """All labels that the field can have; None if the judge does not declare them."""
        return set(ROLL_UPS) if field == ROLL_UP else closed_labels(self._schema, field)

    def _is_unseen(self, field: str, label: str) -> bool:
        """Does no case of either run have this label? Null never counts as unseen."""
        runs = [run for run in (self.run, self.base) if run is not None and field in run.fields]
        return label != NULL and not any(label in run.fields[field].labels() for run in runs)

    def _looks_like_a_score(self, field: str) -> bool:
        numbers = self.run.fields[field].numbers
        known = numbers[~np.isnan(numbers)]
        return bool(known.size and known.min() >= 0.0 and known.max() <= 1.0)


def refuse_label(rule: Rule, field: str, label: str, known: set[str] | None) -> None:
    """Raises `UsageProblem` for a label that the field cannot have. `known`: all that it can; None if the judge does
    not declare them."""
    if known is not None and label not in known:
        guess = did_you_mean(label, known)
        raise UsageProblem(f"{rule}: `{field}` has no label `{label}`{guess}; it has {', '.join(sorted(known))}")


def refuse_number(rule: Rule, field: str, beyond: Beyond, scale: Scale | None) -> None:
    """Raises `UsageProblem` for a number that no case can be beyond, on the declared scale."""
    if scale is not None and not (beyond.number > scale[0] if beyond.side == "below" else beyond.number < scale[1]):
        least, most = scale
        raise UsageProblem(f"{rule}: `{field}` lies in {least:g} to {most:g}, so no case is {beyond.side} that")


def refuse_limit(rule: Rule, field: str, scale: Scale | None) -> None:
    """Raises `UsageProblem` for a limit that nothing can break.

    Only for a scale that the judge declares: seconds that lie in 0 to 1 in this run may not in the next.
    """
    if scale is not None and _always_holds(rule, scale):
        least, most = scale
        raise UsageProblem(f"{rule}: `{field}` lies in {least:g} to {most:g}, so nothing can break this limit")


def _always_holds(rule: Rule, scale: Scale) -> bool:
    """Whether no mean on this scale, and no change of it, can break the rule."""
    least, most = scale
    worst = least if rule.is_minimum else most
    if rule.compares_runs:
        worst -= most if rule.is_minimum else least
    return rule.allows(worst)


def refuse_for_judge(judge: AnyJudge, rules: Iterable[Rule]) -> None:
    """Refuses rules that contradict the schema of the judge's verdict; what it leaves open is checked with the run."""
    models = (judge.verdict_model, judge.figures_model)
    schema = joined_schema(*(model.model_json_schema(mode="serialization") for model in models))
    rolls_up = type(judge).roll_up is not Judge.roll_up
    for rule in rules:
        if rule.target.field == ROLL_UP:
            _refuse_roll_up(rule, judge.name, rolls_up=rolls_up, fields=schema.get("properties", {}))
        elif rule.target.field is not None:
            _refuse_by_schema(rule, rule.target.field, judge.name, schema)


def _refuse_roll_up(rule: Rule, judge: str, *, rolls_up: bool, fields: Iterable[str]) -> None:
    """Refuses a roll-up rule if the judge has no roll-up or not this label."""
    if not rolls_up:
        message = f"judge `{judge}` has no roll-up (pass, review or fail); name a field"
        raise UsageProblem(f"{rule}: {message}: {', '.join(fields)}")
    if rule.target.label is None:
        raise UsageProblem(f"{rule}: `{ROLL_UP}` is not a number; name a label of it, as {ROLL_UPS[0]}=90%")
    if rule.target.label != NULL:
        refuse_label(rule, ROLL_UP, rule.target.label, set(ROLL_UPS))
        if rule.target.to is not None:
            refuse_label(rule, ROLL_UP, rule.target.to, set(ROLL_UPS))


def _refuse_by_schema(rule: Rule, field: str, judge: str, schema: Schema) -> None:
    """Refuses a rule that the declared schema of the verdict makes meaningless."""
    fields, label = schema.get("properties", {}), rule.target.label
    if field not in fields:
        if schema.get("additionalProperties"):
            return
        raise UsageProblem(
            f"{rule}: the verdicts of judge `{judge}` have no field `{field}`{did_you_mean(field, fields)}; "
            f"they have {', '.join(fields)}"
        )
    scale, labels = declared_scale(schema, field), closed_labels(schema, field)
    if rule.target.beyond is not None:
        if labels:
            raise UsageProblem(f"{rule}: `{field}` is not a number; name a label of it, as {field}:LABEL=90%")
        refuse_number(rule, field, rule.target.beyond, scale)
    elif label is None:
        if labels:
            raise UsageProblem(f"{rule}: `{field}` is not a number; name a label of it, as {field}:LABEL=90%")
        refuse_limit(rule, field, scale)
    elif label != NULL:
        if scale is not None:
            raise UsageProblem(f"{rule}: `{field}` is a number and has no labels; write {field}=NUMBER")
        refuse_label(rule, field, label, labels)
        if rule.target.to is not None:
            refuse_label(rule, field, rule.target.to, labels)
