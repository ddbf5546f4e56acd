"""Finds the cases that speak against a rule, the worst first: in the columns of a run, so that nothing is read for it.

Against a mean speak the cases whose own value breaks the limit; against a share that must be high those without the
label (failed ones too), and against one that must be low those with it; against a change those that changed for the
worse. Nulls speak against a rule that does not allow them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from krino.results.comparison.compare import Pairs
from krino.results.gates.measures import has_value, paired
from krino.results.gates.result import Check
from krino.results.gates.rules import NEARLY, NULL, Rule
from krino.results.named_cases import NamedCase, named_case
from krino.results.table import Mask, Places, Table
from krino.results.wording import counted
from krino.runs.fields import ROLL_UP, ROLL_UPS, fields_of
from krino.stats.resample import Floats


def _none() -> Places:
    return np.empty(0, np.intp)


@dataclass(frozen=True)
class Against:
    """Places of cases, the worst first: in the run, or, where `in_base`, in the one that it is compared with."""

    are: str = ""
    """What they are, after "3 cases": below 0.9, without a verdict."""
    places: Places = field(default_factory=_none)
    nulls: Places = field(default_factory=_none)
    """Of cases that speak against it only because the field is null."""
    of_field: str | None = None
    before: dict[int, int] | None = None
    """Of a change: where the case at a place of the run stands in the other run."""
    in_base: bool = False
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
    against: Against = Against()


def without_verdict(run: Table, cases: Mask, *, in_base: bool = False) -> Against:
    return Against("without a verdict", np.flatnonzero(cases & ~run.ok), in_base=in_base)


def against(run: Table, rule: Rule, cases: Mask, *, nulls_allowed: bool) -> Against:
    """Of the cases of one run."""
    target, judged = rule.target, cases & run.ok
    if target.field is None:
        return without_verdict(run, cases)
    column = run.fields.get(target.field)
    if column is None:
        return Against(of_field=target.field)
    nulls = judged & ~has_value(column)
    if target.label == NULL:
        return Against(nulls=np.flatnonzero(nulls), of_field=target.field)
    unwanted = _none() if nulls_allowed else np.flatnonzero(nulls)
    if target.label is None:
        over = _over(column.numbers, rule)
        are = f"{'below' if rule.lower else 'above'} {rule.limit}"
        return Against(are, _ranked(judged & (over > NEARLY), over), unwanted, target.field)
    has = column.having(target.label)
    if not rule.lower:
        return Against(f"with {target}", np.flatnonzero(judged & has), unwanted, target.field)
    worst = column.having(ROLL_UPS[-1]) if target.field == ROLL_UP else has
    badness = np.where(worst, 2.0, np.where(judged, 1.0, 0.0))
    return Against(f"without {target}", _ranked(cases & ~has, badness), of_field=target.field)


def against_change(base: Table, run: Table, pairs: Pairs, rule: Rule, cases: Mask, *, nulls_allowed: bool) -> Against:
    """Of the cases that both runs have."""
    both = paired(base, run, pairs, rule, cases)
    if both is None:
        return Against(of_field=rule.target.field)
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
    return Against(are, both.in_run[places], both.in_run[nulls], rule.target.field, where)


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


def with_cases(found: Sequence[Found], run: Table, base: Table | None, most: int) -> tuple[Check, ...]:
    """The checks, each broken one with at most so many cases."""
    chosen = [item.against.worst(most) if item.check.outcome == "broken" else [] for item in found]
    here, there = _wanted(found, chosen)
    before: dict[_Slot, Any] = {}
    cases: dict[_Slot, NamedCase] = {}
    for slot, record, source in _read(base, there):
        if found[slot[0]].against.in_base:
            cases[slot] = _case(record, found[slot[0]], source)
        else:
            before[slot] = _value(record, found[slot[0]])
    for slot, record, source in _read(run, here):
        cases[slot] = _case(record, found[slot[0]], source, before.get(slot))
    return tuple(
        _with_worst(item, tuple(cases[number, place] for place in places))
        for number, (item, places) in enumerate(zip(found, chosen, strict=True))
    )


def _with_worst(item: Found, worst: tuple[NamedCase, ...]) -> Check:
    if item.check.outcome != "broken":
        return item.check
    told = {"against": item.against.count, "against_words": item.against.told(), "worst": worst}
    return item.check.model_copy(update=told)


def _wanted(found: Sequence[Found], chosen: Sequence[Sequence[int]]) -> tuple[_Wanted, _Wanted]:
    """What has to be read of the run, and of the one it is compared with."""
    here: _Wanted = {}
    there: _Wanted = {}
    for number, (item, places) in enumerate(zip(found, chosen, strict=True)):
        for place in places:
            (there if item.against.in_base else here).setdefault(place, []).append((number, place))
            if item.against.before is not None:
                there.setdefault(item.against.before[place], []).append((number, place))
    return here, there


def _read(run: Table | None, wanted: _Wanted) -> Iterator[tuple[_Slot, Mapping[str, Any], Table]]:
    if run is not None and wanted:
        for place, record in run.records(wanted):
            for slot in wanted[place]:
                yield slot, record, run


def _case(record: Mapping[str, Any], item: Found, run: Table, before: Any = None) -> NamedCase:
    case = named_case(record, item.against.of_field, run.manifest.about.rules)
    return case.model_copy(update={"before": before, "reason": item.against.why or case.reason})


def _value(record: Mapping[str, Any], item: Found) -> Any:
    return None if item.against.of_field is None else fields_of(record).get(item.against.of_field)
