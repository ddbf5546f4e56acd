"""Finds results that nothing later takes up, to the letter: what a labeller is told of them must be true."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from krino.judges.efficiency.finders.calls import keys_in, texts_in
from krino.judges.efficiency.finders.content_words import MAX_TEXT, forms, words_in
from krino.judges.efficiency.finders.effects import name_parts
from krino.judges.efficiency.traces.steps import Step

_FIGURE = re.compile(r"\d[\d.,\u00a0\u202f']*")
_LEADING = 2
"""Digits by which a rounded figure is known again: 0.4567 in "46 %"."""


def find_untouched(steps: Sequence[Step], task: str, answer: str | None, places: Collection[int]) -> Iterator[int]:
    """The places of whose result no word stands in a later name, argument, reply of a model, or the answer.

    Words of the task and of the call itself do not count: they need not come from the result. Figures count even if
    they are rounded or written otherwise. Of texts too long to be read whole nothing is said.
    """
    if not places:
        return
    said = _text(answer or "")
    if len(said) > MAX_TEXT:
        return
    later, figures = _words(said), set(_leading(said))
    asked = _words(task)
    for place in range(len(steps) - 1, min(places) - 1, -1):
        step = steps[place]
        if place in places:
            brought = _text((step.output, step.observed))
            own = asked | _words(_text(step.input))
            new = _words(brought) - own
            numbers = set(_leading(brought)) - set(_leading(f"{task} {_text(step.input)}"))
            whole = len(brought) <= MAX_TEXT
            if whole and forms(new).isdisjoint(later) and numbers.isdisjoint(figures):
                yield place
        spoken = step.output if step.kind in ("llm", "message") else None
        text = " ".join((*name_parts(step.name), step.name, _text((step.input, step.said, spoken))))
        if len(text) > MAX_TEXT:
            return
        later |= _words(text)
        figures.update(_leading(text))


def _text(value: Any) -> str:
    return " ".join((*texts_in(value), *keys_in(value)))


def _words(text: str) -> set[str]:
    return words_in(text)


def _leading(text: str) -> Iterator[str]:
    """The first digits of each figure, cut and rounded, so that 12,483,000 is known again in "12.5 million"."""
    for figure in _FIGURE.findall(text[:MAX_TEXT]):
        digits = re.sub(r"\D", "", figure).lstrip("0")
        if len(digits) < _LEADING:
            continue
        yield digits[:_LEADING]
        if len(digits) > _LEADING:
            yield str(round(int(digits[: _LEADING + 1]) / 10))[:_LEADING]
