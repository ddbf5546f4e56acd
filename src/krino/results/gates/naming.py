"""Names the worst cases of every broken check, with their reasons: one more look at the journal, keeping only those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krino.errors import UsageProblem
from krino.results.comparison.columns import RunColumns
from krino.results.gates.against import Found
from krino.results.gates.result import Check
from krino.results.named_cases import NamedCase, named_case
from krino.runs.fields import fields_of
from krino.runs.reading import load_run

_Slot = tuple[int, int]
"""The number of a check, and the place of a case."""
_Wanted = dict[int, list[_Slot]]
"""By where a case stands in a run: what it is wanted for."""


def with_cases(found: Sequence[Found], run: RunColumns, base: RunColumns | None, most: int) -> tuple[Check, ...]:
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


def _read(run: RunColumns | None, wanted: _Wanted) -> Iterator[tuple[_Slot, Mapping[str, Any], RunColumns]]:
    if run is None or not wanted:
        return
    last = max(wanted)
    for place, record in enumerate(load_run(run.folder).records()):
        if str(record["id"]) != run.ids[place]:
            break
        for slot in wanted.get(place, ()):
            yield slot, record, run
        if place == last:
            return
    raise UsageProblem(f"{run.folder} changed while it was read: gate it again when nobody writes to it")


def _case(record: Mapping[str, Any], item: Found, run: RunColumns, before: Any = None) -> NamedCase:
    case = named_case(record, item.against.of_field, run.manifest.about.rules)
    return case.model_copy(update={"before": before, "reason": item.against.why or case.reason})


def _value(record: Mapping[str, Any], item: Found) -> Any:
    return None if item.against.of_field is None else fields_of(record).get(item.against.of_field)
