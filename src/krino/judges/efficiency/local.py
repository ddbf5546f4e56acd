"""The embedded labeller: labels from facts and word lists alone. A step is necessary unless a fact says otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from krino.judges.efficiency.facts import EfficiencyFacts, find_justified
from krino.judges.efficiency.finders.model_texts import find_thinking
from krino.judges.efficiency.finders.repeats import Ground, Repeat
from krino.judges.efficiency.finders.rework import find_recomputed, find_rewrites
from krino.judges.efficiency.finders.unneeded import Unneeded, find_unneeded_readings
from krino.judges.efficiency.labels import BY_FACTS, EfficiencyLabels, StepLabel, StepLabelName

_REPEATED = {
    "exact": "the same call with the same arguments",
    "normalised": "the same call but for case, spacing or order",
    "near": "nearly the same wording",
}
_GROUNDS: dict[Ground, str] = {
    "change": "after a step in between that changed something",
    "ordered": "and the task asks for repetition",
    "moving": "with a tool that goes on at each call",
    "waiting": "while a state was waited for",
}
Decision = tuple[StepLabelName, str, int | None]
"""Label, why, and the place of the step that makes this one unnecessary."""


@dataclass(frozen=True, slots=True)
class Opinions:
    """What only this labeller computes: steps of no use by their wording, and which readings are then unneeded."""

    thinking: frozenset[int]
    rewritten: dict[int, int]
    recomputed: dict[int, int]
    unneeded: dict[int, Unneeded]


def label_locally(batch: Sequence[EfficiencyFacts]) -> list[EfficiencyLabels]:
    """Labels every step of each trace from its facts alone, without a model."""
    return [_label_trace(facts) for facts in batch]


def _label_trace(facts: EfficiencyFacts) -> EfficiencyLabels:
    """Labels every step from the facts."""
    opinions = _form_opinions(facts)
    return EfficiencyLabels(
        shortest=BY_FACTS, steps=[_label_step(facts, opinions, place) for place in range(len(facts.steps))]
    )


def _form_opinions(facts: EfficiencyFacts) -> Opinions:
    """Returns what only this labeller computes: thinking aloud, rewriting and recomputing.

    None of it in chats of several agents, who repeat each other on purpose.
    """
    if facts.trace.format == "multi_agent":  # every step is a message there, and agents repeat each other on purpose
        return Opinions(frozenset(), {}, {}, facts.unneeded)
    thinking = frozenset(find_thinking(facts.steps, facts.task, facts.set_aside))
    aside = facts.set_aside | thinking
    rewritten = dict(find_rewrites(facts.steps, facts.task, aside, facts.user_turns))
    recomputed = dict(find_recomputed(facts.steps, facts.task, aside))
    if not thinking and not rewritten and not recomputed:
        return Opinions(thinking, rewritten, recomputed, facts.unneeded)
    useless = {*aside, *recomputed, *facts.late}
    kept = find_justified(facts.repeats)
    unneeded = find_unneeded_readings(
        facts.steps, facts.calls, facts.task, facts.answer, useless, kept, facts.user_turns
    )
    return Opinions(thinking, rewritten, recomputed, unneeded)


def _label_step(facts: EfficiencyFacts, opinions: Opinions, place: int) -> StepLabel:
    """Labels one step."""
    label, why, of = _decide(facts, opinions, place)
    return StepLabel(
        step=facts.steps[place].id,
        label=label,
        why=why,
        because_of=None if of is None else facts.steps[of].id,
    )


def _decide(facts: EfficiencyFacts, opinions: Opinions, place: int) -> Decision:
    """Returns the label of a step, why, and the step it refers to."""
    step = facts.steps[place]
    repeat = facts.repeats.get(place)
    if place in facts.unknown:
        return "necessary", "nothing was recorded of it", None
    if repeat is not None and repeat.waste:
        return "redundant", _explain_repeat(facts, repeat), repeat.of
    if step.error is not None:
        return _decide_failed(facts, place)
    if place in facts.echoes:
        return "indirect", "gives back its input unchanged", None
    if place in opinions.thinking:
        return "speculative", "thinks about the work instead of doing it", None
    if (draft := opinions.rewritten.get(place)) is not None:
        return "enrichment", "works on a text that was there, which nobody asked for", draft
    if (earlier := opinions.recomputed.get(place)) is not None:
        return "redundant", "computes again what was computed", earlier
    if place in facts.late:
        return "speculative", "fetches more after the answer was given, and nothing uses it", None
    if (unneeded := opinions.unneeded.get(place)) is not None:
        return _decide_unneeded(unneeded)
    if repeat is not None and repeat.retry:
        return "necessary", "makes a failed call again", None
    return "necessary", "", None


def _decide_unneeded(unneeded: Unneeded) -> Decision:
    """Returns the label of a reading that was not needed."""
    if unneeded.how == "known" and unneeded.of is not None:
        return "redundant", "all that is used of its result was known", unneeded.of
    if unneeded.how == "beyond":
        return "enrichment", "the answer adds it to what was asked", None
    doubt = "; it may have been looked at for something, and in doubt it is unnecessary" if unneeded.doubt else ""
    return "speculative", f"nothing later uses its result{doubt}", None


def _decide_failed(facts: EfficiencyFacts, place: int) -> Decision:
    """Returns the label of a failed step."""
    if (retry := facts.recovered.get(place)) is not None:
        again = facts.display_id(facts.steps[retry].id)
        return "failed", f"a passing fault: step {again} made the call again with success", None
    if (use := facts.useful_errors.get(place)) is not None:
        return "necessary", use, None
    return "failed", "an error, and the call was not made again with success", None


def _explain_repeat(facts: EfficiencyFacts, repeat: Repeat) -> str:
    """Says how a call repeats another."""
    why = _REPEATED[repeat.level]
    if facts.repeats_empty_search(repeat.place):
        return f"{why}, after nothing was found"
    if repeat.same_result and facts.steps[repeat.place].error is not None:
        return f"{why} and the same error"
    if repeat.same_result and facts.calls[repeat.place].result:
        return f"{why} and the same result"
    return why


def describe_place(facts: EfficiencyFacts, place: int) -> str:
    """Returns what the facts say about one step, as it is shown to a labelling model; empty if nothing."""
    if place in facts.unknown:
        return "nothing was recorded of this step; it is not counted"
    said = []
    repeat = facts.repeats.get(place)
    if repeat is not None:
        said.append(_describe_repeat(facts, repeat))
    if (retry := facts.recovered.get(place)) is not None:
        said.append(f"step {facts.steps[retry].id} made this call again with success")
    if facts.calls[place].is_empty:
        said.append("nothing was found")
    if place in facts.echoes:
        said.append("gives back its input unchanged")
    if place in facts.reworded:
        said.append(f"nearly the words of step {facts.steps[facts.reworded[place]].id}")
    if place in facts.late:
        said.append("comes after the last words of the model, which did not call for it")
    if (unneeded := facts.unneeded.get(place)) is not None:
        if unneeded.of is not None:
            said.append(
                f"what is used of its result was known before, some of it from step {facts.steps[unneeded.of].id}"
            )
        elif place in facts.untouched:
            said.append("no later step or answer takes up a word of its result that the task and its input lack")
    return "; ".join(said)


def _describe_repeat(facts: EfficiencyFacts, repeat: Repeat) -> str:
    """Says which call a step repeats, and what became of it."""
    of = facts.steps[repeat.of].id
    if repeat.retry:
        return f"makes the failed call of step {of} again" + (
            ", and fails" if facts.steps[repeat.place].error is not None else ""
        )
    ending = "" if repeat.waste or repeat.same_result else ", with a new result"
    if repeat.ground is not None:
        ending += f", {_GROUNDS[repeat.ground]}"
    return f"step {of} again: {_explain_repeat(facts, repeat)}{ending}"
