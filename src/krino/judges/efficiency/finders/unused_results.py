"""Finds results that nothing later uses, word for word, and readings made after the last words of the model."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from krino.judges.efficiency.data_files import words
from krino.judges.efficiency.finders.calls import Call
from krino.judges.efficiency.finders.effects import only_reads
from krino.judges.efficiency.finders.tokens import (
    MAX_TEXT,
    collect_words,
    inflect,
    keys_in,
    name_parts,
    texts_in,
    tokens_in,
    words_in,
)
from krino.judges.efficiency.traces.content import extract_text
from krino.judges.efficiency.traces.steps import Step

_FIGURE = re.compile(r"\d[\d.,\u00a0\u202f']*")
_NO_DIGIT = re.compile(r"\D")
_LEADING = 2
"""Digits by which a rounded figure is recognised: 0.4567 in "46 %"."""


def find_untouched(steps: Sequence[Step], task: str, answer: str | None, places: Collection[int]) -> Iterator[int]:
    """Yields those of `places` of whose result no word appears in a later name, argument, model text, or the answer.

    An LLM is shown this as a fact, so it must be literally true. Words of the task and of the call itself do not
    count: they need not come from the result. Figures count even if they are rounded or written otherwise. Nothing
    is said of texts too long to be read in full.
    """
    if not places:
        return
    said = _text(answer or "")
    if len(said) > MAX_TEXT:
        return
    later, figures = words_in(said), set(_leading_digits(said))
    asked = words_in(task)
    for place in range(len(steps) - 1, min(places) - 1, -1):
        step = steps[place]
        if place in places:
            result = _text((step.output, step.observed))
            new = words_in(result) - asked - words_in(_text(step.input))
            numbers = set(_leading_digits(result)) - set(_leading_digits(f"{task} {_text(step.input)}"))
            if len(result) <= MAX_TEXT and inflect(new).isdisjoint(later) and numbers.isdisjoint(figures):
                yield place
        spoken = step.output if step.talks else None
        text = " ".join((*name_parts(step.name), step.name, _text((step.input, step.said, spoken))))
        if len(text) > MAX_TEXT:
            return
        later |= words_in(text)
        figures.update(_leading_digits(text))


def _text(value: Any) -> str:
    return " ".join((*texts_in(value), *keys_in(value)))


def _leading_digits(text: str) -> Iterator[str]:
    """Yields the first digits of each figure, cut and rounded, so that 12,483,000 is recognised in "12.5 million".

    Short figures are left out.
    """
    for figure in _FIGURE.findall(text[:MAX_TEXT]):
        digits = _NO_DIGIT.sub("", figure).lstrip("0")
        if len(digits) < _LEADING:
            continue
        yield digits[:_LEADING]
        if len(digits) > _LEADING:
            yield str(round(int(digits[: _LEADING + 1]) / 10))[:_LEADING]


def find_late_readings(
    steps: Sequence[Step], calls: Sequence[Call], set_aside: Collection[int], user_turns: Collection[int]
) -> list[int]:
    """Returns reading steps after the last words of a model that did not announce them.

    What follows a message to which a user replied answers the user and is not late.
    """
    spoken = [place for place, step in enumerate(steps) if step.talks and place not in set_aside]
    if not spoken:
        return []
    last = spoken[-1]
    said = extract_text(steps[last].output)
    if not said.strip() or last in user_turns or (steps[last].kind == "message" and "?" in said):
        return []
    return [
        place
        for place in range(last + 1, len(steps))
        if place not in set_aside
        and only_reads(steps[place], calls[place].effect)
        and not calls[place].is_watching
        and not _is_announced(steps[place], said)
    ]


def _is_announced(step: Step, said: str) -> bool:
    """Whether the words before a call name the tool, or announce it and hold most of its arguments."""
    lowered = said[:MAX_TEXT].lower()
    if step.name.lower() in lowered or "tool_calls" in lowered or '"name"' in lowered:
        return True
    if words("cues", "intention").isdisjoint(tokens_in(lowered)):
        return False
    asked = collect_words(step.input)
    return bool(asked) and len(asked & words_in(said)) * 2 > len(asked) + len(asked) // 2
