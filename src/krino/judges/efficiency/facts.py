"""Every fact of a trace that needs no opinion, found in one pass over its steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from krino.errors import CannotJudge
from krino.judges.efficiency.case import EfficiencyCase
from krino.judges.efficiency.finders.calls import Call, call_of, is_redacted, marks_used
from krino.judges.efficiency.finders.effects import ordered_by
from krino.judges.efficiency.finders.extra import Extra
from krino.judges.efficiency.finders.extras import Extras
from krino.judges.efficiency.finders.good_measure import looks_for_good_measure
from krino.judges.efficiency.finders.in_vain import after_completion, echoes
from krino.judges.efficiency.finders.leaving_out import Spare, spare_readings
from krino.judges.efficiency.finders.nearness import Nearness, by_words
from krino.judges.efficiency.finders.patterns import Cycle, cycles, fan_outs, restarts
from krino.judges.efficiency.finders.repeats import Repeat, RepeatSearch, errors_of_use
from krino.judges.efficiency.finders.restyling import brings_nothing_new, restylings
from krino.judges.efficiency.finders.untouched import find_untouched
from krino.judges.efficiency.tables import words
from krino.judges.efficiency.traces.content import text_of
from krino.judges.efficiency.traces.detect import Format
from krino.judges.efficiency.traces.steps import Step, Trace, are_numbered

_REQUEST = re.compile(r"\?|(?:^|[.!:] )(?:please|kindly|gelieve|veuillez|bitte)\b", re.IGNORECASE)
"""Words that wait for an answer."""


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
    spare: dict[int, Spare]
    untouched: frozenset[int]
    """Spare steps of whose result nothing later takes up a word, figure or name: true to the letter."""
    late: frozenset[int]
    extras: dict[int, Extra]
    restyled: dict[int, int]
    """Model calls that gave back an earlier text in nearly the same words, whether or not that was asked for."""
    echoes: frozenset[int]
    unknown: frozenset[int]
    """Steps of which the trace records neither what they were given nor what they brought."""
    worked_on: dict[int, str]
    """Errors that were of use, and how."""
    certain: frozenset[int]
    """Repeats that no labeller can call necessary."""
    places: dict[str, int]
    numbered: bool = False
    """Whether the trace's own ids mean nothing to a reader, so that steps are called by their number."""

    def called(self, step: str) -> str:
        """What a reader knows a step by: the trace's own id, or its number where ids are a machine's."""
        return str(self.places[step] + 1) if self.numbered and step in self.places else step

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.trace.steps

    def empty_again(self, place: int) -> bool:
        """Nothing was found, and it was asked again."""
        repeat = self.repeats.get(place)
        return repeat is not None and self.calls[repeat.of].is_empty

    def is_duplicate(self, place: int) -> bool:
        repeat = self.repeats.get(place)
        return repeat is not None and not repeat.retry and repeat.level in ("exact", "normalised")

    def is_restyling(self, place: int) -> bool:
        """A small thing, if nobody asked for it; a model that adds something is not."""
        return brings_nothing_new(self.steps, place)

    def is_certain(self, place: int) -> bool:
        """The same call with the same result, and nothing that could have changed it: redundant, whoever labels."""
        return place in self.certain


def study(case: EfficiencyCase, wanted: Format, usual_task: str = "", nearness: Nearness = by_words) -> EfficiencyFacts:
    """`usual_task` is the task of traces that state none, in cases that name none."""
    trace = case.read_as(wanted)
    task = case.task.strip() or (trace.task or "").strip() or usual_task.strip()
    if not task:
        raise CannotJudge(
            f"no task: the case names none, and the trace (read as {trace.format}) does not state it; "
            "give it in the field `task`, or for all such traces with the option `task`"
        )
    unknown = _unrecorded(trace)
    used = marks_used(trace.steps)
    calls = tuple(call_of(step, used) for step in trace.steps)
    search = RepeatSearch(trace.steps, calls, nearness, ordered_by(task))
    search.run()
    return _gather(case, trace, task, calls, search, unknown)


def _unrecorded(trace: Trace) -> frozenset[int]:
    """The steps of which nothing is recorded; raises `CannotJudge` where that is true of all that the agent did."""
    acts = [place for place, step in enumerate(trace.steps) if step.kind != "message"]
    unknown = frozenset(place for place in acts if not _is_recorded(trace.steps[place]))
    if acts and len(unknown) == len(acts):
        raise CannotJudge(
            f"the trace (read as {trace.format}) records nothing of what its {len(acts)} steps were given and brought "
            "back, only that they ran, or the content was redacted: what is not known cannot be compared; record the "
            "content too (OpenTelemetry: OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true)"
        )
    return unknown


def _is_recorded(step: Step) -> bool:
    held = (step.input, step.output, step.observed, step.error)
    return any(value not in (None, "") and not (isinstance(value, str) and is_redacted(value)) for value in held)


def _gather(
    case: EfficiencyCase,
    trace: Trace,
    task: str,
    calls: tuple[Call, ...],
    search: RepeatSearch,
    unknown: frozenset[int],
) -> EfficiencyFacts:
    steps = trace.steps
    worked_on = errors_of_use(steps, calls, search)
    aside = {place for place, repeat in search.repeats.items() if repeat.waste} | unknown
    aside.update(place for place, step in enumerate(steps) if step.error is not None and place not in worked_on)
    echoed = frozenset(echoes(steps, aside))
    aside |= echoed
    restyled = restylings(steps)
    handed = _handed_to_users(trace)
    beside = (
        {}
        if trace.format == "multi_agent"
        else Extras(steps, calls, task, trace.opening or task, restyled, aside, handed).found()
    )
    aside.update(beside)
    late = frozenset(after_completion(steps, calls, aside, handed))
    aside |= late
    grounded = {place for repeat in search.repeats.values() if not repeat.waste for place in (repeat.place, repeat.of)}
    grounded -= looks_for_good_measure(steps, calls, task, handed)
    answer = case.answer or trace.answer
    spare = spare_readings(steps, calls, task, answer, aside, grounded, handed)
    return EfficiencyFacts(
        trace=trace,
        task=task,
        calls=calls,
        repeats=search.repeats,
        recovered=search.recovered,
        cycles=tuple(cycles(calls)),
        fan_outs=tuple(fan_outs(steps, calls)),
        restarts=tuple(restarts(steps, calls, search.repeats)),
        spare=spare,
        untouched=frozenset(find_untouched(steps, task, answer, spare)),
        late=late,
        extras=beside,
        restyled=restyled,
        echoes=echoed,
        unknown=unknown,
        worked_on=worked_on,
        certain=frozenset(search.certain()),
        places={step.id: place for place, step in enumerate(steps)},
        numbered=are_numbered(steps),
    )


def _handed_to_users(trace: Trace) -> frozenset[int]:
    """The messages after which a user spoke; where the trace does not show users, all of them may be such.

    What users said is often left out of a record, so that a question counts as answered.
    """
    messages = [place for place, step in enumerate(trace.steps) if step.kind == "message"]
    if trace.format not in words("fields", "users_shown"):
        return frozenset(messages)
    return frozenset(
        place
        for place in messages
        if trace.steps[place].observed or _REQUEST.search(text_of(trace.steps[place].output))
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
