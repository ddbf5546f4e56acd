"""Lists the text of a trace that no labeller saw: what its reader skipped, what did not fit a prompt, and media.

Skipped text is found by comparison, whatever the format: every text of the record is looked up among the texts of the
steps that were read from it. So a reader cannot drop a message, a span or a field silently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krino.contract import Unread
from krino.judges.efficiency.ask import find_folded, list_stretches, task_limit
from krino.judges.efficiency.case import EfficiencyCase
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.finders.tokens import MAX_TEXT, WORD
from krino.judges.efficiency.labels import BY_FACTS, EfficiencyLabels
from krino.judges.efficiency.traces.content import from_json, to_text
from krino.judges.efficiency.traces.steps import Step

_LEAST_WORDS = 3
"""Shorter texts are mostly names, kinds and states of the format itself."""
_RUN = 4
"""Consecutive words by which a passage is recognised after it was joined, cut or reformatted."""
_NOT_OF_THE_RUN = frozenset({"tools", "functions", "tool_definitions", "available_tools", "response_format"})
"""Definitions of tools and of the reply format: no part of what the agent did."""


def list_unread(
    case: EfficiencyCase, facts: EfficiencyFacts, labels: EfficiencyLabels, window: int
) -> Iterator[Unread]:
    """Yields what the labeller that gave `labels` did not see; `window` is the prompt size of a model."""
    yield from _list_skipped(case, facts, labels.shortest != BY_FACTS)
    if labels.shortest == BY_FACTS:
        yield from _list_unseen_by_embedded(facts)
    else:
        yield from _list_folded(facts, window)


# --- left out while the trace was read ---------------------------------------------------------------


def _list_skipped(case: EfficiencyCase, facts: EfficiencyFacts, beside: bool) -> Iterator[Unread]:
    """Yields the text of the record that the reader of its format skipped. `beside`: whether the labeller saw what the
    model said beside its calls."""
    shown = [text for text in _list_read_texts(facts, beside) if text]
    whole = {text.strip() for text in shown}
    missing = [(where, text) for where, text in _list_texts(from_json(case.trace)) if text.strip() not in whole]
    if not missing:
        return
    runs = {run for text in shown for run in _runs(text)}
    why = (
        f"no labeller is shown it: what is read as {facts.trace.format} has no step for it"
        if beside
        else f"the embedded labeller does not read it: in what is read as {facts.trace.format} it is no step"
    )
    for where, text in missing:
        own = list(_runs(text))
        if sum(run in runs for run in own) * 2 < len(own):
            yield Unread(f"trace{where}", text, why)


def _list_read_texts(facts: EfficiencyFacts, beside: bool) -> Iterator[str]:
    """Yields every text that the labeller was shown."""
    yield from (facts.task, facts.trace.task or "", facts.trace.opening, facts.trace.answer or "")
    for step in facts.steps:
        yield from (step.name, step.observed, step.error or "", step.said if beside else "")
        for value in (step.input, step.output):
            yield to_text(value)
            yield from (text for _, text in _list_texts(value))


def _list_texts(value: Any) -> Iterator[tuple[str, str]]:
    """Yields every text of a few words in a value, with its path, in order; iterative, so that any depth works."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        where, item = waiting.pop()
        item = from_json(item)
        if isinstance(item, str):
            if len(item.split(None, _LEAST_WORDS)) >= _LEAST_WORDS:
                yield where, item
        elif isinstance(item, Mapping):
            kept = [(f"{where}.{key}", held) for key, held in item.items() if key not in _NOT_OF_THE_RUN]
            waiting += reversed(kept)
        elif isinstance(item, list | tuple):
            waiting += reversed([(f"{where}[{number}]", held) for number, held in enumerate(item)])


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    """Every run of consecutive words; a shorter text is one run."""
    found = WORD.findall(text.lower())
    for start in range(max(1, len(found) - _RUN + 1)):
        yield tuple(found[start : start + _RUN])


# --- left out of what a labeller was shown -----------------------------------------------------------


def _list_folded(facts: EfficiencyFacts, window: int) -> Iterator[Unread]:
    """Yields what no prompt showed. A text that one window folds and another shows in full was read."""
    task, stretches, media = list_stretches(facts, window)
    if task != facts.task:
        yield Unread("task", find_folded(facts.task, task_limit(window)), "it is too long for the prompt")
    least: dict[tuple[str, str], str] = {}
    whole: set[str] = set()
    for stretch in stretches:
        cut = {(step, field): text for step, field, text in stretch.cuts}
        for place in stretch.places:
            step = facts.steps[place].id
            fields = {key: text for key, text in cut.items() if key[0] == step}
            if not fields:
                whole.add(step)
            for key, text in fields.items():
                least[key] = min(least.get(key, text), text, key=len)
    for (step, field), text in least.items():
        if step not in whole:
            yield Unread(
                f"step {facts.display_id(step)}",
                text,
                f"{len(text)} characters of its {field} are folded, so that the trace fits the prompt",
            )
    for medium in media:
        yield Unread("media", medium.placeholder(), "a prompt holds no more media")


def _list_unseen_by_embedded(facts: EfficiencyFacts) -> Iterator[Unread]:
    """Yields what the embedded labeller does not read: ends of very long texts, and media."""
    if len(facts.task) > MAX_TEXT:
        yield Unread("task", facts.task[MAX_TEXT:], _first_words("it"))
    for step in facts.steps:
        for field, value in _fields(step):
            text = to_text(value)
            if len(text) > MAX_TEXT:
                yield Unread(f"step {facts.display_id(step.id)}", text[MAX_TEXT:], _first_words(f"its {field}"))
        for medium in step.media:
            yield Unread(
                f"step {facts.display_id(step.id)}", medium.placeholder(), "the embedded labeller sees no media"
            )
    for medium in facts.trace.media:
        yield Unread("task", medium.placeholder(), "the embedded labeller sees no media")


def _first_words(of: str) -> str:
    return f"the embedded labeller reads the first {MAX_TEXT:,} characters of {of}"


def _fields(step: Step) -> tuple[tuple[str, Any], ...]:
    return (("input", step.input), ("output", step.output), ("reply", step.observed))
