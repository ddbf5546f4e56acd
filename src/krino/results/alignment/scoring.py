"""How far the verdicts of one version of a judge agree with people, case by case, and which labels it confuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from krino.errors import UsageProblem
from krino.results.agreement.coding import NULL, NotComparable, encode_field
from krino.results.agreement.labels import LabelColumn, Pool
from krino.results.formatting import join_quoted, quote
from krino.results.verdict_schema import Schema, closed_labels, declared_scale
from krino.stats.arrays import Floats
from krino.text.guessing import did_you_mean

Values = Mapping[int, Any]
"""The value of the field in each verdict, by the number of the case; cases without a verdict are missing."""


@dataclass(frozen=True)
class Confusion:
    """Cases of which people said one label and the judge another."""

    people: str
    judge: str
    cases: tuple[int, ...]
    of: int
    """How many cases the judge gave that label."""


@dataclass(frozen=True)
class Scores:
    """`agreement`: of each labelled case from 0 to 1, 0 without a verdict; the rest is in words, by case."""

    agreement: dict[int, float]
    people: dict[int, str]
    judge: dict[int, str]
    has_few_values: bool
    """Whether one value can be confused with another: labels, and numbers that are steps of a scale."""

    def mean(self, cases: Sequence[int]) -> float:
        """The mean agreement of some cases."""
        return float(self.of(cases).mean())

    def of(self, cases: Sequence[int]) -> Floats:
        """The agreement of each of some cases."""
        return np.array([self.agreement[case] for case in cases])

    def confusions(self, cases: Sequence[int]) -> list[Confusion]:
        """The pairs of different labels that people and judge gave these cases, the most frequent first; none for plain
        numbers."""
        if not self.has_few_values:
            return []
        wrong: dict[tuple[str, str], list[int]] = {}
        for case in cases:
            if case in self.judge and self.judge[case] != self.people[case]:
                wrong.setdefault((self.people[case], self.judge[case]), []).append(case)
        said = Counter(self.judge[case] for case in cases if case in self.judge)
        found = [Confusion(people, judge, tuple(here), said[judge]) for (people, judge), here in wrong.items()]
        return sorted(found, key=lambda one: (-len(one.cases), one.people, one.judge))


def score(values: Values, given: LabelColumn, field: str, schema: Schema | None, only: Collection[int]) -> Scores:
    """Compares the verdicts with the labels of some cases; raises `UsageProblem` if they cannot be compared. Where
    raters differ, a case agrees with a share of them."""
    pool = Pool()
    codes = {case: pool.number(value) for case, value in values.items()}
    scale, closed = declared_scale(schema, field), closed_labels(schema, field)
    try:
        coding = encode_field(field, pool, given, scale, closed)
    except NotComparable as problem:
        raise UsageProblem(f"{field}: {problem}, so no judge can be aligned with it") from None
    if coding.notes and coding.positions is not None and coding.kind in ("scale", "number"):
        raise UsageProblem(f"{field}: {coding.notes[0]}; bring the labels to the judge's scale with --values")
    if coding.kind == "category" and not coding.is_list and closed:
        _refuse_unknown(field, coding.values, closed)
    is_class = coding.positions is None or coding.kind in ("category", "order")
    low, high = (0.0, 0.0) if is_class else scale or (float(coding.positions[0]), float(coding.positions[-1]))  # type: ignore[index]
    labelled: dict[int, list[int]] = {}
    wanted = set(only)
    for case, _, number in given.table().tolist():
        if case in wanted and (code := int(coding.people[number])) >= 0:
            labelled.setdefault(case, []).append(code)
    agreement, people, judge = {}, {}, {}
    for case, several in labelled.items():
        own = int(coding.judge[codes[case]]) if case in codes else -1
        people[case] = coding.values[Counter(several).most_common(1)[0][0]]
        if own >= 0:
            judge[case] = coding.values[own]
        if own < 0 or coding.values[own] == NULL:
            agreement[case] = float(own >= 0 and own in several)
        elif is_class:
            agreement[case] = several.count(own) / len(several)
        else:
            assert coding.positions is not None
            apart = np.abs(coding.positions[several] - coding.positions[own]) / max(high - low, 1e-12)
            agreement[case] = float(1 - np.minimum(apart, 1).mean())
    return Scores(agreement, people, judge, coding.kind != "number")


def _refuse_unknown(field: str, values: Sequence[str], closed: Set[str]) -> None:
    """Refuses a label that no verdict can have: it would be a confusion that no change mends."""
    for value in values:
        if value not in closed and value != NULL:
            there = join_quoted(sorted(closed))
            raise UsageProblem(
                f"{field}: no verdict can be {quote(value)}{did_you_mean(value, closed)}; there are {there}; correct "
                f"the label, or say what it stands for with --values {field}:{value}=..."
            )
