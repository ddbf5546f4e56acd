"""Finds the cases that speak against a rule, the worst first: in the columns of a run, so that nothing is read for it.

Against a mean speak the cases whose own value breaks the limit; against a share that must be high those without the
label (failed ones too), and against one that must be low those with it; against a change those that changed for the
worse. Nulls speak against a rule that does not allow them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from krino.results.gates.measures import Paired, has_value
from krino.results.gates.result import Check
from krino.results.gates.rules import NEARLY, NULL, Rule
from krino.results.named_cases import named_case
from krino.results.table import Mask, Places, Table
from krino.results.wording import counted
from krino.runs.fields import ROLL_UP, ROLL_UPS, fields_of
from krino.stats.resample import Floats


def _none() -> Places:
    return np.empty(0, np.intp)


@dataclass(frozen=True)
class Against:
    """Places of cases in a run, the worst first."""

    home: Table
    """The run itself, or the one that it is compared with."""
    are: str = ""
    """What they are, after "3 cases": below 0.9, without a verdict."""
    places: Places = field(default_factory=_none)
    nulls: Places = field(default_factory=_none)
    """Of cases that speak against it only because the field is null."""
    of_field: str | None = None
    before: Table | None = None
    """Of a change: the other run."""
    places_before: Mapping[int, int] = field(default_factory=dict)
    """For each place of this run, where the case stands in the other one."""
    why: str | None = None
    """What all of them have in common, where that is the reason and no verdict has one."""

    @property
    def count(self) -> int:
        return len(self.places) + len(self.nulls)

    def told(self) -> str:
        """What speaks against the rule, in a few words."""
        parts = [f"{counted(len(self.places))} {self.are}"] if len(self.places) else []
        if len(self.nulls):
            parts.append(f"{counted(len(self.nulls))} with null")
        return ", ".join(parts)

    def worst(self, most: int) -> list[int]:
        """As many as are wanted. Nulls come last, and have half of the room if they need it."""
        kept = min(len(self.nulls), max(most - len(self.places), most // 2))
        return [*self.places[: most - kept].tolist(), *self.nulls[:kept].tolist()]


@dataclass(frozen=True)
class Found:
    """A check, and the cases that speak against it."""

    check: Check
    against: Against | None = None


def without_verdict(run: Table, cases: Mask) -> Against:
    return Against(run, "without a verdict", np.flatnonzero(cases & ~run.ok))


def against(run: Table, rule: Rule, cases: Mask, *, nulls_allowed: bool) -> Against:
    """Of the cases of one run."""
    target, judged = rule.target, cases & run.ok
    if target.field is None:
        return without_verdict(run, cases)
    column = run.fields.get(target.field)
    if column is None:
        return Against(run, of_field=target.field)
    nulls = judged & ~has_value(column)
    if target.label == NULL:
        return Against(run, nulls=np.flatnonzero(nulls), of_field=target.field)
    unwanted = _none() if nulls_allowed else np.flatnonzero(nulls)
    if target.label is None:
        over = _over(column.numbers, rule)
        are = f"{'below' if rule.lower else 'above'} {rule.limit}"
        return Against(run, are, _ranked(judged & (over > NEARLY), over), unwanted, target.field)
    has = column.having(target.label)
    if not rule.lower:
        return Against(run, f"with {target}", np.flatnonzero(judged & has), unwanted, target.field)
    worst = column.having(ROLL_UPS[-1]) if target.field == ROLL_UP else has
    badness = np.where(worst, 2.0, np.where(judged, 1.0, 0.0))
    return Against(run, f"without {target}", _ranked(cases & ~has, badness), of_field=target.field)


def against_change(both: Paired | None, rule: Rule, *, nulls_allowed: bool) -> Against | None:
    """Of the cases that both runs have."""
    if both is None:
        return None
    had, has = both.had, both.has
    if rule.target.label is None:
        worse = -both.change() if rule.lower else both.change()
        are, places = "that fell" if rule.lower else "that rose", _ranked(had & has & (worse > NEARLY), worse)
    else:
        before, after = both.having(rule.target.label)
        are = f"that {'lost' if rule.lower else 'got'} {rule.target}"
        places = np.flatnonzero(had & (before & ~after if rule.lower else has & after & ~before))
    nulls = _none() if nulls_allowed else np.flatnonzero(had & both.judged & ~has)
    nulls = nulls[~np.isin(nulls, places)]
    chosen = np.concatenate([places, nulls])
    where = dict(zip(both.in_run[chosen].tolist(), both.in_base[chosen].tolist(), strict=True))
    return Against(both.run, are, both.in_run[places], both.in_run[nulls], rule.target.field, both.base, where)


def _over(numbers: Floats, rule: Rule) -> Floats:
    """How far each value lies beyond the limit."""
    return rule.edge - numbers if rule.lower else numbers - rule.edge


def _ranked(which: Mask, badness: Floats) -> Places:
    """The places of some cases, the worst first, equals in their order."""
    places = np.flatnonzero(which)
    return places[np.argsort(-badness[places], kind="stable")]


_Slot = tuple[int, int]
"""The number of a check, and the place of a case."""
_Wanted = dict[int, list[_Slot]]
"""By where a case stands in a run: what it is wanted for."""


def with_cases(found: Found, most: int) -> Check:
    """The check, if it is broken with at most so many cases."""
    check, against = found.check, found.against
    if check.outcome != "broken" or against is None or not against.count:
        return check
    places = against.worst(most)
    rules = against.home.manifest.about.rules
    cases = {place: named_case(record, against.of_field, rules) for place, record in against.home.records(places)}
    before = _values_before(against, places)
    worst = [
        cases[place].model_copy(update={"before": before.get(place), "reason": against.why or cases[place].reason})
        for place in places
    ]
    return check.model_copy(update={"against": against.count, "against_words": against.told(), "worst": tuple(worst)})


def _values_before(against: Against, places: Sequence[int]) -> dict[int, Any]:
    """Of a change: what the field was in the other run."""
    if against.before is None:
        return {}
    there = {against.places_before[place]: place for place in places}
    return {there[at]: fields_of(record).get(against.of_field or "") for at, record in against.before.records(there)}
