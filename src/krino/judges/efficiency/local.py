"""The embedded labeller: labels from facts alone. What no fact speaks against is taken as necessary."""

from __future__ import annotations

from collections.abc import Sequence

from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.finders.repeats import Ground, Repeat
from krino.judges.efficiency.finders.rephrasings import rephrased
from krino.judges.efficiency.labels import BY_FACTS, EfficiencyLabels, StepLabel, StepLabelName

_REPEATED = {
    "exact": "the same call with the same arguments",
    "normalised": "the same call but for case, spacing or order",
    "near": "nearly the same wording",
    "same_result": "another wording, the same result",
    "same_words": "the same output again",
    "known_result": "all of its result stood there already",
}
_GROUNDS: dict[Ground, str] = {
    "change": "after a step in between that changed something",
    "ordered": "and the task asks for repetition",
    "moving": "with a tool that goes on at each call",
    "waiting": "while a state was waited for",
}


def label_locally(batch: Sequence[EfficiencyFacts]) -> list[EfficiencyLabels]:
    return [
        EfficiencyLabels(
            shortest=BY_FACTS,
            steps=[_label(facts, place, asked.get(place)) for place in range(len(facts.steps))],
        )
        for facts, asked in zip(batch, rephrased(batch), strict=True)
    ]


def _label(facts: EfficiencyFacts, place: int, rephrases: int | None) -> StepLabel:
    label, why, of = _decide(facts, place)
    if label == "necessary" and rephrases is not None:
        label, why, of = "redundant", "asks the same in other words", rephrases
    if of is not None and of > place:  # a label rests on what came before; a later step is told in words
        why, of = f"{why} (step {facts.called(facts.steps[of].id)})", None
    return StepLabel(
        step=facts.steps[place].id,
        label=label,
        why=why,
        because_of=None if of is None else facts.steps[of].id,
    )


def _decide(facts: EfficiencyFacts, place: int) -> tuple[StepLabelName, str, int | None]:
    step = facts.steps[place]
    repeat = facts.repeats.get(place)
    if place in facts.unknown:
        return "necessary", "nothing was recorded of it", None
    if repeat is not None and repeat.waste:
        return "redundant", _repeat_why(facts, repeat), repeat.of
    if step.error is not None:
        return _failed(facts, place)
    if place in facts.echoes:
        return "indirect", "gives back its input unchanged", None
    if (extra := facts.extras.get(place)) is not None:
        return extra.label, extra.why, extra.of
    if place in facts.late:
        return "speculative", "fetches more after the answer was given, and nothing uses it", None
    if (spare := facts.spare.get(place)) is not None:
        if spare.how == "known" and spare.of is not None:
            return "redundant", "all that is used of its result was known", spare.of
        if spare.how == "beyond":
            return "enrichment", "the answer adds it to what was asked", None
        doubt = "; it may have been looked at for something, and in doubt it is unnecessary" if spare.doubt else ""
        return "speculative", f"nothing later uses its result{doubt}", None
    if repeat is not None and repeat.retry:
        return "necessary", "makes a failed call again", None
    return "necessary", "", None


def _failed(facts: EfficiencyFacts, place: int) -> tuple[StepLabelName, str, int | None]:
    if (retry := facts.recovered.get(place)) is not None:
        return (
            "failed",
            f"a passing fault: step {facts.called(facts.steps[retry].id)} made the call again with success",
            None,
        )
    if (use := facts.worked_on.get(place)) is not None:
        return "necessary", use, None
    return "failed", "an error, and the call was not made again with success", None


def _repeat_why(facts: EfficiencyFacts, repeat: Repeat) -> str:
    why = _REPEATED[repeat.level]
    if facts.empty_again(repeat.place):
        return f"{why}, after nothing was found"
    if repeat.same_result and facts.steps[repeat.place].error is not None:
        return f"{why} and the same error"
    if repeat.same_result and repeat.level in ("exact", "normalised", "near") and facts.calls[repeat.place].result:
        return f"{why} and the same result"
    return why


def describe_place(facts: EfficiencyFacts, place: int) -> str:
    """What facts say about one step, in the words that are shown beside it."""
    if place in facts.unknown:
        return "nothing was recorded of this step; it is not counted"
    told = []
    repeat = facts.repeats.get(place)
    if repeat is not None:
        told.append(_told_repeat(facts, repeat))
    if (retry := facts.recovered.get(place)) is not None:
        told.append(f"step {facts.steps[retry].id} made this call again with success")
    if facts.calls[place].is_empty:
        told.append("nothing was found")
    if place in facts.echoes:
        told.append("gives back its input unchanged")
    if place in facts.restyled:
        told.append(f"nearly the words of step {facts.steps[facts.restyled[place]].id}")
    if place in facts.late:
        told.append("comes after the last words of the model, which did not call for it")
    if (spare := facts.spare.get(place)) is not None:
        if spare.of is not None:
            told.append(f"what is used of its result was known before, some of it from step {facts.steps[spare.of].id}")
        elif place in facts.untouched:
            told.append("no later step or answer takes up a word of its result that the task and its input lack")
    return "; ".join(told)


def _told_repeat(facts: EfficiencyFacts, repeat: Repeat) -> str:
    of = facts.steps[repeat.of].id
    if repeat.retry:
        return f"makes the failed call of step {of} again" + (
            ", and fails" if facts.steps[repeat.place].error is not None else ""
        )
    ending = "" if repeat.waste or repeat.same_result else ", with a new result"
    if repeat.ground is not None:
        ending += f", {_GROUNDS[repeat.ground]}"
    again = "" if repeat.level == "known_result" else " again"
    return f"step {of}{again}: {_repeat_why(facts, repeat)}{ending}"
