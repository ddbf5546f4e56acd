"""Adds to the cases that disagree most why the judge said what it said: one more look at the judgements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from krino.contract import Judgement
from krino.results.agreement.result import FieldAgreement
from krino.results.named_cases import reason_of

Read = Callable[[], Iterable[Judgement | Mapping[str, Any]]]


def with_reasons(fields: Sequence[FieldAgreement], read: Read, rules: Mapping[str, str]) -> tuple[FieldAgreement, ...]:
    """`read` gives the judgements again; `rules` says what the rules say."""
    wanted: dict[str, list[str]] = {}
    for field in fields:
        for case in field.worst:
            wanted.setdefault(case.id, []).append(field.field)
    reasons: dict[tuple[str, str], str] = {}
    for judgement in read() if wanted else ():
        own_id = judgement.id if isinstance(judgement, Judgement) else judgement["id"]
        if own_id in wanted:
            plain = judgement.model_dump(mode="json") if isinstance(judgement, Judgement) else judgement
            reasons.update({(name, own_id): reason_of(plain, name, rules) for name in wanted[own_id]})
    return tuple(_with_reasons(field, reasons) for field in fields)


def _with_reasons(field: FieldAgreement, reasons: Mapping[tuple[str, str], str]) -> FieldAgreement:
    worst = tuple(case.model_copy(update={"reason": reasons[field.field, case.id]}) for case in field.worst)
    return field.model_copy(update={"worst": worst})
