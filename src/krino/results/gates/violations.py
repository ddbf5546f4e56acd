"""Finds the cases that break a rule, the worst first, from the columns of a run without reading its journal.

Which cases those are depends on the rule. For a limit on a mean: cases whose own value is beyond the limit. For a share
that must be high: cases without the label, failed ones included; for one that must be low: cases with it. For a change:
cases that changed for the worse. Null values count too, unless another rule allows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from krino.results.explanations import make_named_case
from krino.results.field_kinds import ROLL_UP, ROLL_UPS, fields_of
from krino.results.formatting import format_count
from krino.results.gates.measures import PairedField, has_value
from krino.results.gates.result import Check
from krino.results.gates.rules import NULL, TOLERANCE, Rule
from krino.results.table import Mask, Places, Table
from krino.stats.arrays import Floats


def _no_places() -> Places:
    return np.empty(0, np.intp)


@dataclass(frozen=True)
class Violations:
    """The places of cases in a run, the worst first."""

    run: Table
    """The gated run, or the one that it is compared with."""
    description: str = ""
    """What the cases are, to be read after "3 cases": "below 0.9", "without a verdict"."""
    places: Places = field(default_factory=_no_places)
    nulls: Places = field(default_factory=_no_places)
    """Cases that break the rule only because the field is null."""
    field_name: str | None = None
    base: Table | None = None
    """The run that a change is measured against."""
    base_places: Mapping[int, int] = field(default_factory=dict)
    """Place in this run to place in the base run."""
    shared_reason: str | None = None
    """The reason of all these cases, where it is not in their verdicts."""

    @property
    def count(self) -> int:
        return len(self.places) + len(self.nulls)

    def describe(self) -> str:
        """Counts in words, such as "3 cases below 0.9, 1 case with null"."""
        parts = [f"{format_count(len(self.places))} {self.description}"] if len(self.places) else []
        if len(self.nulls):
            parts.append(f"{format_count(len(self.nulls))} with null")
        return ", ".join(parts)

    def select_worst(self, most: int) -> list[int]:
        """At most `most` places. Nulls come last, but may take half of the room."""
        kept = min(len(self.nulls), max(most - len(self.places), most // 2))
        return [*self.places[: most - kept].tolist(), *self.nulls[:kept].tolist()]


@dataclass(frozen=True)
class CheckedRule:
    """A check, and the cases that break its rule."""

    check: Check
    violations: Violations | None = None


def find_unjudged(run: Table, cases: Mask) -> Violations:
    """Those of the cases that have no verdict."""
    return Violations(run, "without a verdict", np.flatnonzero(cases & ~run.ok))


def find_violations(run: Table, rule: Rule, cases: Mask, *, nulls_allowed: bool) -> Violations:
    """The cases that break a rule about one run, the worst first."""
    target, judged = rule.target, cases & run.ok
    if target.field is None:
        return find_unjudged(run, cases)
    column = run.fields.get(target.field)
    if column is None:
        return Violations(run, field_name=target.field)
    nulls = judged & ~has_value(column)
    if target.label == NULL:
        return Violations(run, nulls=np.flatnonzero(nulls), field_name=target.field)
    unwanted = _no_places() if nulls_allowed else np.flatnonzero(nulls)
    if target.beyond is not None:
        excess = target.beyond.excess(column.numbers)
        sought = target.beyond.includes(column.numbers) != rule.is_minimum
        description = f"{'not ' * rule.is_minimum}{target.beyond.side} {target.beyond.number:.10g}"
        badness = -excess if rule.is_minimum else excess
        return Violations(run, description, _rank(judged & has_value(column) & sought, badness), unwanted, target.field)
    if target.label is None:
        excess = rule.threshold - column.numbers if rule.is_minimum else column.numbers - rule.threshold
        description = f"{'below' if rule.is_minimum else 'above'} {rule.limit}"
        return Violations(run, description, _rank(judged & (excess > TOLERANCE), excess), unwanted, target.field)
    has_label = column.having(target.label)
    if not rule.is_minimum:
        return Violations(run, f"with {target}", np.flatnonzero(judged & has_label), unwanted, target.field)
    # Among cases without the label, the worst roll-up comes first and cases without a verdict last.
    worst = column.having(ROLL_UPS[-1]) if target.field == ROLL_UP else has_label
    badness = np.where(worst, 2.0, np.where(judged, 1.0, 0.0))
    return Violations(run, f"without {target}", _rank(cases & ~has_label, badness), field_name=target.field)


def find_changes_for_worse(both: PairedField | None, rule: Rule, *, nulls_allowed: bool) -> Violations | None:
    """Finds all cases that changed for the worse in what a rule limits, however little, the largest change first.

    Values that became null count too, unless nulls are allowed. Returns None if the field is not in both runs.
    """
    if both is None:
        return None
    known_before, known_now = both.known_before, both.known_now
    if rule.target.to is not None and rule.target.label is not None:
        description = f"that went from {rule.target.label} to {rule.target.to}"
        places = np.flatnonzero(both.changed(rule.target.label, rule.target.to))
    elif rule.target.label is None:
        loss = -both.change() if rule.is_minimum else both.change()
        description = "that fell" if rule.is_minimum else "that rose"
        places = _rank(known_before & known_now & (loss > TOLERANCE), loss)
    else:
        before, after = both.having(rule.target.label)
        description = f"that {'lost' if rule.is_minimum else 'got'} {rule.target}"
        lost, gained = before & ~after, known_now & after & ~before
        places = np.flatnonzero(known_before & (lost if rule.is_minimum else gained))
    nulls = _no_places() if nulls_allowed else np.flatnonzero(known_before & both.judged & ~known_now)
    nulls = nulls[~np.isin(nulls, places)]
    chosen = np.concatenate([places, nulls])
    base_places = dict(zip(both.in_run[chosen].tolist(), both.in_base[chosen].tolist(), strict=True))
    return Violations(
        both.run, description, both.in_run[places], both.in_run[nulls], rule.target.field, both.base, base_places
    )


def _rank(which: Mask, badness: Floats) -> Places:
    """The places of some cases, the worst first, ties in the order of the run."""
    places = np.flatnonzero(which)
    return places[np.argsort(-badness[places], kind="stable")]


def add_worst_cases(found: CheckedRule, most: int) -> Check:
    """The check; if it is broken, with at most `most` of the cases that break it."""
    check, violations = found.check, found.violations
    if check.outcome not in ("broken", "warns") or violations is None or not violations.count:
        return check
    places = violations.select_worst(most)
    rules = violations.run.manifest.about.rules
    cases = {p: make_named_case(record, violations.field_name, rules) for p, record in violations.run.records(places)}
    before = _values_before(violations, places)
    worst = tuple(
        cases[place].model_copy(
            update={"before": before.get(place), "reason": violations.shared_reason or cases[place].reason}
        )
        for place in places
    )
    update = {"against": violations.count, "against_words": violations.describe(), "worst": worst}
    return check.model_copy(update=update)


def _values_before(violations: Violations, places: Sequence[int]) -> dict[int, Any]:
    """The value that the field had in the base run, by place in this run."""
    if violations.base is None:
        return {}
    by_base_place = {violations.base_places[place]: place for place in places}
    records = violations.base.records(by_base_place)
    return {by_base_place[at]: fields_of(record).get(violations.field_name or "") for at, record in records}
