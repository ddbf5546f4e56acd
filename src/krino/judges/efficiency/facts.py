"""Every fact of a trace that needs no opinion, found in one pass over its steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from krino.errors import CannotJudge
from krino.judges.efficiency.case import EfficiencyCase
from krino.judges.efficiency.finders.calls import Call, call_of
from krino.judges.efficiency.finders.nearness import Nearness, by_words
from krino.judges.efficiency.finders.patterns import Cycle, cycles, fan_outs, restarts
from krino.judges.efficiency.finders.repeats import Repeat, RepeatSearch
from krino.judges.efficiency.finders.unused_results import after_completion, echoes, restylings, unused_results
from krino.judges.efficiency.traces.detect import Format
from krino.judges.efficiency.traces.steps import Step, Trace, are_numbered


@dataclass(frozen=True, slots=True)
class Share:
    """What unnecessary steps took of one resource, and what the steps that record it took together."""

    resource: str
    wasted: float
    total: float


@dataclass(frozen=True, slots=True)
class EfficiencyFacts:
    """Places count from 0 in the order of the steps; ids are the trace's own."""

    trace: Trace
    task: str
    calls: tuple[Call, ...]
    repeats: dict[int, Repeat]
    recovered: dict[int, int]
    cycles: tuple[Cycle, ...]
    fan_outs: tuple[tuple[int, int], ...]
    restarts: tuple[int, ...]
    unused: frozenset[int]
    late: frozenset[int]
    restyled: dict[int, int]
    echoes: frozenset[int]
    places: dict[str, int]
    numbered: bool = False
    """Whether the trace's own ids mean nothing to a reader, so that steps are called by their number."""

    def called(self, step: str) -> str:
        """What a reader knows a step by: the trace's own id, or its number where ids are a machine's."""
        return str(self.places[step] + 1) if self.numbered and step in self.places else step

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.trace.steps

    def exact_repeats(self) -> list[Repeat]:
        return [repeat for repeat in self.repeats.values() if repeat.level == "exact"]

    def empty_again(self, place: int) -> bool:
        """Nothing was found, and it was asked again."""
        repeat = self.repeats.get(place)
        return repeat is not None and self.calls[repeat.of].is_empty

    def is_duplicate(self, place: int) -> bool:
        repeat = self.repeats.get(place)
        return repeat is not None and not repeat.retry and repeat.level in ("exact", "normalised")

    def is_certain(self, place: int) -> bool:
        """The same call that brought the same recorded result: redundant by the rubric's own words."""
        repeat = self.repeats.get(place)
        if repeat is None or not repeat.waste or not self.is_duplicate(place):
            return False
        return repeat.same_result and self.calls[place].result is not None


def study(case: EfficiencyCase, wanted: Format, usual_task: str = "", nearness: Nearness = by_words) -> EfficiencyFacts:
    """`usual_task` is the task of traces that state none, in cases that name none."""
    trace = case.read_as(wanted)
    task = case.task.strip() or (trace.task or "").strip() or usual_task.strip()
    if not task:
        raise CannotJudge(
            f"no task: the case names none, and the trace (read as {trace.format}) does not state it; "
            "give it in the field `task`, or for all such traces with the option `task`"
        )
    calls = tuple(call_of(step) for step in trace.steps)
    search = RepeatSearch(trace.steps, calls, nearness)
    search.run()
    return _gather(case, trace, task, calls, search)


def _gather(
    case: EfficiencyCase, trace: Trace, task: str, calls: tuple[Call, ...], search: RepeatSearch
) -> EfficiencyFacts:
    steps = trace.steps
    aside = {place for place, repeat in search.repeats.items() if repeat.waste}
    aside.update(place for place, step in enumerate(steps) if step.error is not None)
    restyled = restylings(steps, task, aside)
    echoed = frozenset(echoes(steps, aside))
    aside.update(restyled, echoed)
    late = frozenset(after_completion(steps, calls, aside))
    aside |= late
    answer = case.answer or trace.answer
    return EfficiencyFacts(
        trace=trace,
        task=task,
        calls=calls,
        repeats=search.repeats,
        recovered=search.recovered,
        cycles=tuple(cycles(calls)),
        fan_outs=tuple(fan_outs(steps, calls)),
        restarts=tuple(restarts(steps, calls, search.repeats)),
        unused=frozenset(unused_results(steps, calls, task, answer, aside)),
        late=late,
        restyled=restyled,
        echoes=echoed,
        places={step.id: place for place, step in enumerate(steps)},
        numbered=are_numbered(steps),
    )


def shares(steps: Sequence[Step], wasted: Iterable[int]) -> list[Share]:
    """Tokens, time and cost of unnecessary steps, for each resource that the trace records at all."""
    places = set(wasted)
    found = []
    for resource in ("tokens", "seconds", "cost"):
        amounts = [(place, getattr(step, resource)) for place, step in enumerate(steps)]
        known = [(place, float(amount)) for place, amount in amounts if amount is not None]
        total = sum(amount for _, amount in known)
        if total > 0:
            found.append(Share(resource, sum(amount for place, amount in known if place in places), total))
    return found
