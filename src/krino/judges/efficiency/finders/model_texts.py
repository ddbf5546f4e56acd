"""Compares what models say with what was said before: echoes and rewordings; and finds thinking aloud."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from krino.judges.efficiency.data_files import table, words
from krino.judges.efficiency.finders.similarity import measure_similarity, read_wording
from krino.judges.efficiency.finders.tokens import (
    MAX_TEXT,
    collect_words,
    has_name_part,
    inflect,
    name_parts,
    tokens_in,
    tokens_of,
)
from krino.judges.efficiency.traces.content import extract_text, to_text
from krino.judges.efficiency.traces.steps import Step

_INSTRUCTION = 300
_LEAST_WORDS = 8
_NEARBY = 20


def find_echoes(steps: Sequence[Step], set_aside: Collection[int]) -> list[int]:
    """Returns the places of model calls that returned their input unchanged."""
    return [
        place
        for place, step in enumerate(steps)
        if step.kind == "llm"
        and place not in set_aside
        and step.input not in (None, "")
        and to_text(step.output).strip() == to_text(step.input).strip()
    ]


def find_rewordings(steps: Sequence[Step]) -> dict[int, int]:
    """Returns the places of model calls that only reword an earlier model's text, each with the place of that."""
    found: dict[int, int] = {}
    previous: int | None = None
    for place, step in enumerate(steps):
        if step.kind != "llm":
            continue
        if previous is not None and _is_reworded(steps[previous], step):
            found[place] = previous
        else:
            previous = place
    return found


def _is_reworded(earlier: Step, step: Step) -> bool:
    """Does a step reword a text of its input, without other work?"""
    before, said = extract_text(earlier.output)[:MAX_TEXT].strip(), extract_text(step.output)
    if not before or before == said or not isinstance(step.input, str) or before not in step.input:
        return False
    one, other = read_wording(before), read_wording(said)
    return one.count >= _LEAST_WORDS and measure_similarity(one, other) >= table("limits")["restyle"]


def adds_nothing_new(steps: Sequence[Step], place: int) -> bool:
    """Whether nearly all words of a model's text were in its input or in earlier models' texts: a restyling."""
    step = steps[place]
    if not step.talks:
        return False
    said = collect_words(step.output)
    if step.kind == "message":
        said -= words("cues", "courtesy") | words("cues", "talk")
    new = said - collect_words(step.input)
    for earlier in steps[max(0, place - _NEARBY) : place]:
        if earlier.talks and new:
            new -= collect_words(earlier.output)
    instruction = step.input[:_INSTRUCTION].lower() if isinstance(step.input, str) else ""
    if not words("cues", "adding").isdisjoint({*name_parts(step.name), *tokens_in(instruction)}):
        return not new
    most: float = table("limits")["new_share"] * len(said)
    return len(new) <= most


def find_thinking(steps: Sequence[Step], task: str, set_aside: Collection[int]) -> Iterator[int]:
    """Yields the places of tools that only think aloud ("plan").

    None if the task mentions thinking; a tool is left out if the answer reports figures of its result.
    """
    asked = inflect(tokens_in(task))
    if not asked.isdisjoint(words("cues", "thinking")):
        return
    spoken = [place for place, step in enumerate(steps) if step.talks and place not in set_aside]
    last = tokens_of(steps[spoken[-1]].output) if spoken else set()
    for place, step in enumerate(steps):
        if step.kind not in ("tool", "other") or place in set_aside or not has_name_part(step.name, "thinking"):
            continue
        before = (tokens_of(earlier.output) for earlier in steps[max(0, place - _NEARBY) : place])
        new = tokens_of(step.output).difference(asked, tokens_of(step.input), *before)
        if not any(word[0].isdigit() and word in last for word in new):
            yield place
