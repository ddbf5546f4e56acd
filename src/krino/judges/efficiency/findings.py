"""Lists the findings: each unnecessary step, the minimal sequence, patterns, and what the waste cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krino.contract import Finding
from krino.judges.efficiency.facts import EfficiencyFacts, sum_resources
from krino.judges.efficiency.labels import StepLabel

_LABEL_RULES = {
    "redundant": "EFF-L1",
    "speculative": "EFF-L2",
    "enrichment": "EFF-L3",
    "indirect": "EFF-L4",
    "failed": "EFF-L5",
}
_NOT_LOOKED_FOR = (
    "the embedded labeller looked for repeats, results that were known or that nothing needs, thinking aloud, "
    "rewritten texts and sums computed again, and found none; it does not look for detours, checks or changes that "
    "nobody needed, the same question in other words or reasoning that leads nowhere, so that there may be some"
)
_UNITS = {"tokens": "tokens", "seconds": "seconds", "cost": "of the cost"}


def gather_findings(
    facts: EfficiencyFacts, settled: Sequence[StepLabel], wasted: Sequence[StepLabel], by_facts: bool
) -> Iterator[Finding]:
    """Yields all findings of a trace.

    `by_facts`: the embedded labeller found nothing, which is weak evidence: it knows few kinds of waste.
    """
    trace = facts.trace
    if by_facts:
        yield Finding("EFF-N9", _NOT_LOOKED_FOR, "score")
    steps = "1 step" if len(trace.steps) == 1 else f"{len(trace.steps)} steps"
    yield Finding("EFF-N1", f"read as {trace.format} ({trace.seen}): {steps}")
    if trace.orphans:
        yield Finding("EFF-N7", f"{trace.orphans} of its spans name a parent that is not in the record")
    if trace.moved:
        acted = "1 action is" if trace.moved == 1 else f"{trace.moved} actions are"
        yield Finding("EFF-N10", f"{acted} recorded under another role; only an agent can take them: read as its own")
    for place in sorted(facts.unknown):
        yield Finding("EFF-N8", "nothing was recorded of this step: it is not counted", facts.steps[place].id)
    unnecessary = {item.step for item in wasted}
    for item in settled:
        if item.step in unnecessary:
            of = f", because of step {facts.display_id(item.because_of)}" if item.because_of else ""
            why = f": {item.why}" if item.why else ""
            yield Finding(_LABEL_RULES[item.label], f"{item.label}{of}{why}", item.step)
        elif item.label == "failed":
            yield Finding("EFF-F1", item.why or "a passing fault", item.step)
    yield _describe_minimal(facts, settled, unnecessary)
    yield from _find_costs(facts, unnecessary)
    yield from _find_patterns(facts)


def _describe_minimal(facts: EfficiencyFacts, settled: Sequence[StepLabel], unnecessary: set[str]) -> Finding:
    """Returns a finding that lists the necessary steps."""
    necessary = (item for item in settled if item.step not in unnecessary and item.label == "necessary")
    kept = [facts.display_id(item.step) for item in necessary]
    listed = ", ".join(kept) if kept else "none"
    return Finding("EFF-N2", f"minimal sequence, {len(kept)} of {len(settled)} steps: {listed}")


def _find_costs(facts: EfficiencyFacts, unnecessary: set[str]) -> Iterator[Finding]:
    """Yields findings on the share of tokens, time and money that unnecessary steps took."""
    places = [facts.places[step] for step in unnecessary]
    for share in sum_resources(facts.steps, places):
        percent = 100 * share.wasted / share.total
        amounts = f"{share.wasted:g} of {share.total:g} {_UNITS[share.resource]}"
        yield Finding("EFF-N3", f"{percent:.0f}% ({amounts}) went into unnecessary steps")


def _find_patterns(facts: EfficiencyFacts) -> Iterator[Finding]:
    """Yields findings on the patterns of a run: cycles, fan-outs and restarts."""
    steps = facts.steps
    for cycle in facts.cycles:
        last = facts.display_id(steps[cycle.start + cycle.length - 1].id)
        opening = steps[cycle.start].id
        what = f"step {last} was" if cycle.length == 1 else f"steps {facts.display_id(opening)} to {last} were"
        yield Finding("EFF-N4", f"{what} run {cycle.times} times in a row", opening)
    for first, end in facts.fan_outs:
        text = f"{end - first + 1} calls of {steps[first].name} in a row, to step {facts.display_id(steps[end].id)}"
        yield Finding("EFF-N5", text, steps[first].id)
    for place in facts.restarts:
        yield Finding("EFF-N6", f"the run starts over, as at step {facts.display_id(steps[0].id)}", steps[place].id)
