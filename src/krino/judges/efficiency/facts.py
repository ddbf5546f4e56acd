"""The facts of a trace that need no opinion: the basis of every labeller, the questions and the rubric."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from krino.errors import CannotJudge
from krino.judges.efficiency.case import EfficiencyCase
from krino.judges.efficiency.data_files import words
from krino.judges.efficiency.finders.calls import Call, find_used_marks, is_redacted, read_call
from krino.judges.efficiency.finders.model_texts import adds_nothing_new, find_echoes, find_rewordings
from krino.judges.efficiency.finders.repeats import (
    Cycle,
    Repeat,
    RepeatSearch,
    find_cycles,
    find_fan_outs,
    find_restarts,
)
from krino.judges.efficiency.finders.task import read_repetition
from krino.judges.efficiency.finders.tokens import has_name_part, tokens_of
from krino.judges.efficiency.finders.unneeded import Unneeded, find_unneeded_readings
from krino.judges.efficiency.finders.unused_results import find_late_readings, find_untouched
from krino.judges.efficiency.traces.content import extract_text
from krino.judges.efficiency.traces.detect import Format
from krino.judges.efficiency.traces.steps import Step, Trace, are_numbered

_REQUEST = re.compile(r"\?|(?:^|[.!:] )(?:please|kindly|gelieve|veuillez|bitte)\b", re.IGNORECASE)
"""Text that asks for a reply."""
_LONG_WORD = 4
"""Letters of a word by which a step is seen to follow up an error."""


@dataclass(frozen=True, slots=True)
class Share:
    """How much of one resource unnecessary steps took, and how much all steps that record it took."""

    resource: str
    wasted: float
    total: float


@dataclass(frozen=True)
class EfficiencyFacts:
    """Places count from 0 in the order of the steps; ids are the trace's own."""

    trace: Trace
    task: str
    answer: str | None
    calls: tuple[Call, ...]
    repeats: dict[int, Repeat]
    recovered: dict[int, int]
    """From a failed step to the later step that made the same call with success."""
    cycles: tuple[Cycle, ...]
    fan_outs: tuple[tuple[int, int], ...]
    restarts: tuple[int, ...]
    useful_errors: dict[int, str]
    """Errors that were of use, and how."""
    reworded: dict[int, int]
    """Model calls that returned an earlier text in nearly the same words, whether or not that was asked for."""
    echoes: frozenset[int]
    late: frozenset[int]
    """Readings after the last words of the model."""
    user_turns: frozenset[int]
    """Messages after which a user spoke, or may have spoken."""
    set_aside: frozenset[int]
    """Steps that use nothing, because they are useless themselves: repeats, failures, echoes."""
    unneeded: dict[int, Unneeded]
    unknown: frozenset[int]
    """Steps for which the trace records neither input nor result."""
    certain: frozenset[int]
    """Repeats that no labeller can call necessary."""
    places: dict[str, int]
    numbered: bool
    """Whether the trace's own ids mean nothing to a reader, so that steps are referred to by their number."""

    @cached_property
    def untouched(self) -> frozenset[int]:
        """Returns the places of unneeded readings of whose result nothing later uses a word, figure or name.

        Computed when first asked for: only the questions for a model state it, and it takes half as long as the
        rest.
        """
        return frozenset(find_untouched(self.steps, self.task, self.answer, self.unneeded))

    def display_id(self, step: str) -> str:
        """Returns how a reader refers to a step: by the trace's own id, or by number where the ids are machine-made."""
        return str(self.places[step] + 1) if self.numbered and step in self.places else step

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.trace.steps

    def repeats_empty_search(self, place: int) -> bool:
        """Does the step repeat a call that had found nothing?"""
        repeat = self.repeats.get(place)
        return repeat is not None and self.calls[repeat.of].is_empty

    def is_duplicate(self, place: int) -> bool:
        """Does the step repeat an equal call (not only a similar one), and is it no retry?"""
        repeat = self.repeats.get(place)
        return repeat is not None and not repeat.retry and repeat.level in ("exact", "normalised")

    def is_restyling(self, place: int) -> bool:
        """Does a model's text add nothing new? That is a small slip if nobody asked for it."""
        return adds_nothing_new(self.steps, place)

    def is_certain(self, place: int) -> bool:
        """Is it the same call with the same result, which nothing could have changed: redundant for every labeller?"""
        return place in self.certain


def study(case: EfficiencyCase, wanted: Format, usual_task: str = "") -> EfficiencyFacts:
    """Computes the facts of a trace. `usual_task` is the task of traces that state none, in cases that name none."""
    trace = case.read_as(wanted)
    task = case.task.strip() or (trace.task or "").strip() or usual_task.strip()
    if not task:
        raise CannotJudge(
            f"no task: the case names none, and the trace (read as {trace.format}) does not state it; "
            "give it in the field `task`, or for all such traces with the option `task`"
        )
    unknown = _find_unrecorded(trace)
    used = find_used_marks(trace.steps)
    calls = tuple(read_call(step, used) for step in trace.steps)
    search = RepeatSearch(trace.steps, calls, read_repetition(task))
    search.run()
    return _gather(trace, task, case.answer or trace.answer, calls, search, unknown)


def _find_unrecorded(trace: Trace) -> frozenset[int]:
    """Returns the steps without a recorded input and result.

    Raises `CannotJudge` if all the agent did is unrecorded.
    """
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
    trace: Trace,
    task: str,
    answer: str | None,
    calls: tuple[Call, ...],
    search: RepeatSearch,
    unknown: frozenset[int],
) -> EfficiencyFacts:
    """Gathers the facts of a trace in the order in which they depend on each other."""
    steps, user_turns = trace.steps, _find_user_turns(trace)
    useful_errors = _find_useful_errors(steps, calls, search)
    aside = {place for place, repeat in search.repeats.items() if repeat.waste} | unknown
    aside.update(place for place, step in enumerate(steps) if step.error is not None and place not in useful_errors)
    echoes = frozenset(find_echoes(steps, aside))
    aside |= echoes
    late = frozenset(find_late_readings(steps, calls, aside, user_turns))
    kept = find_justified(search.repeats)
    unneeded = find_unneeded_readings(steps, calls, task, answer, aside | late, kept, user_turns)
    return EfficiencyFacts(
        trace=trace,
        task=task,
        answer=answer,
        calls=calls,
        repeats=search.repeats,
        recovered=search.recovered,
        cycles=tuple(find_cycles(calls)),
        fan_outs=tuple(find_fan_outs(steps, calls)),
        restarts=tuple(find_restarts(steps, calls, search.repeats)),
        useful_errors=useful_errors,
        reworded=find_rewordings(steps),
        echoes=echoes,
        late=late,
        user_turns=user_turns,
        set_aside=frozenset(aside),
        unneeded=unneeded,
        unknown=unknown,
        certain=frozenset(search.find_certain()),
        places={step.id: place for place, step in enumerate(steps)},
        numbered=are_numbered(steps),
    )


def find_justified(repeats: Mapping[int, Repeat]) -> set[int]:
    """Returns the repeats that had a ground, and the steps that they repeat: all of them are needed."""
    return {place for repeat in repeats.values() if not repeat.waste for place in (repeat.place, repeat.of)}


def _find_user_turns(trace: Trace) -> frozenset[int]:
    """Returns the messages after which a user spoke. A trace often leaves out what users said.

    So a question counts as answered, and in formats that never show users every message does.
    """
    messages = [place for place, step in enumerate(trace.steps) if step.kind == "message"]
    if trace.format not in words("fields", "users_shown"):
        return frozenset(messages)
    return frozenset(
        place
        for place in messages
        if trace.steps[place].observed or _REQUEST.search(extract_text(trace.steps[place].output))
    )


def _find_useful_errors(steps: Sequence[Step], calls: Sequence[Call], search: RepeatSearch) -> dict[int, str]:
    """Returns the failed steps whose error was of use, each with the reason.

    The next step worked on the error of a run, or it is that of the last attempt, which the agent then reports.
    """
    found: dict[int, str] = {}
    following: int | None = None
    reported = False
    for place in range(len(steps) - 1, -1, -1):
        step = steps[place]
        repeat = search.repeats.get(place)
        if step.talks:
            useless = step.error is not None or not step.output or (repeat is not None and repeat.waste)
            reported = reported or not useless
            continue
        if step.error is not None and place not in search.recovered:
            runs = calls[place].effect == "unclear" or has_name_part(step.name, "runs")
            if following is None and reported:
                found[place] = "the last attempt, and its error is the result"
            elif following is not None and runs and _works_on(step, steps[following], calls[following]):
                found[place] = "its error was worked on"
        if repeat is None or not repeat.waste:  # the same error again is no further attempt
            following = place
    return found


def _works_on(failed: Step, following: Step, call: Call) -> bool:
    """Whether the next step, of another tool, wrote something with success or used what only the error had shown."""
    if following.error is not None or following.name == failed.name:
        return False
    new = tokens_of(failed.error or "") - tokens_of(failed.input)
    shown = {word for word in new if len(word) >= _LONG_WORD}
    return call.is_write or not shown.isdisjoint(tokens_of(following.input))


def sum_resources(steps: Sequence[Step], wasted: Iterable[int]) -> list[Share]:
    """Returns the tokens, time and cost of unnecessary steps, for each resource that the trace records at all."""
    places = set(wasted)
    found = []
    for resource in ("tokens", "seconds", "cost"):
        amounts = [(place, getattr(step, resource)) for place, step in enumerate(steps)]
        known = [(place, float(amount)) for place, amount in amounts if amount is not None]
        total = sum(amount for _, amount in known)
        if total > 0:
            found.append(Share(resource, sum(amount for place, amount in known if place in places), total))
    return found
