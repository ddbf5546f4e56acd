"""Finds work done over: a text that is criticised and rewritten unasked, and a sum that is computed a second time."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise

from krino.judges.efficiency.data_files import table, words
from krino.judges.efficiency.finders.tokens import MAX_TEXT, inflect, texts_in, tokens_in, words_in
from krino.judges.efficiency.traces.content import extract_text
from krino.judges.efficiency.traces.steps import Step

_FIGURE = re.compile(r"(?<![\w.])\d{1,15}(?:\.\d{1,12})?(?!\w)")
_LEAST_WORDS = 5
_LEAST_FIGURES = 2
_MOST_WORDS = 8
"""A result with more words than these is a text with figures in it, not the result of a sum."""
_NEARBY = 20


def find_rewrites(
    steps: Sequence[Step], task: str, set_aside: Collection[int], user_turns: Collection[int]
) -> Iterator[tuple[int, int]]:
    """Yields the texts after a first draft, up to its last rewriting, with the place of the draft.

    Only where the texts follow each other, no user spoke in between, and the task does not ask for a revision.
    """
    if not inflect(tokens_in(task)).isdisjoint(words("cues", "revising")):
        return
    for run in _split_into_runs(steps, set_aside, user_turns):
        texts = [words_in(extract_text(steps[place].output)) for place in run]
        draft = 0
        while draft < len(run) - 1:
            last = max((n for n in range(draft + 1, len(run)) if _is_rewritten(texts[draft], texts[n])), default=draft)
            for before, place in pairwise(run[draft : last + 1]):
                if not _delivers(steps[before], steps[place]):
                    yield place, run[draft]
            draft = max(last, draft + 1)


def _split_into_runs(
    steps: Sequence[Step], set_aside: Collection[int], user_turns: Collection[int]
) -> Iterator[list[int]]:
    """Yields runs of texts (their places) with no call and no user between them; long runs are cut."""
    run: list[int] = []
    for place, step in enumerate(steps):
        if place in set_aside:
            continue
        if step.talks:
            run.append(place)
        if run and (not step.talks or place in user_turns or len(run) == _NEARBY):
            yield run
            run = []
    yield run


def _delivers(model_call: Step, message: Step) -> bool:
    """Whether a message hands over what the model call before it wrote."""
    if model_call.kind != "llm" or message.kind != "message":
        return False
    return extract_text(model_call.output).strip() == extract_text(message.output).strip()


def _is_rewritten(draft: set[str], text: set[str]) -> bool:
    """Whether a text says again most of what the draft says, with the same figures, and little else.

    The next step of a reasoning has many words of the one before, but another figure or one more.
    """
    if len(draft) < _LEAST_WORDS or len(text) < _LEAST_WORDS or _numbers_in(draft) != _numbers_in(text):
        return False
    shared = len(draft & inflect(text))
    return shared * 2 >= len(draft) and len(text - inflect(draft)) <= table("limits")["rewrite_new_share"] * len(text)


def _numbers_in(found: set[str]) -> set[str]:
    return {word for word in found if word[0].isdigit()}


# --- sums -------------------------------------------------------------------------------------------


def find_recomputed(steps: Sequence[Step], task: str, set_aside: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yields calls that compute from the same figures what an earlier call computed, with the place of that one.

    None if the task asks to verify.
    """
    if not inflect(tokens_in(task)).isdisjoint(words("cues", "verifying")):
        return
    sums: list[tuple[int, set[Decimal], list[Decimal]]] = []
    for place, step in enumerate(steps):
        if step.kind != "tool" or place in set_aside:
            continue
        given, result = set(_figures_in(step.input)), _figures_of_result(step.output)
        if len(given) < _LEAST_FIGURES or not result:
            continue
        of = next((other for other, from_, to in sums[-_NEARBY:] if from_ <= given and _are_same(result, to)), None)
        if of is None:
            sums.append((place, given, result))
        else:
            yield place, of


def _figures_in(value: object) -> list[Decimal]:
    text = " ".join(texts_in(value))[:MAX_TEXT]
    return [Decimal(figure).normalize() for figure in _FIGURE.findall(text)]


def _figures_of_result(output: object) -> list[Decimal]:
    found = [word for word in tokens_in(" ".join(texts_in(output))) if not word[0].isdigit()]
    return _figures_in(output) if len(found) <= _MOST_WORDS else []


def _are_same(figures: Sequence[Decimal], others: Sequence[Decimal]) -> bool:
    """Whether the figures are the same in the same order, perhaps rounded."""
    return len(figures) == len(others) and all(map(_is_same, figures, others))


def _is_same(one: Decimal, other: Decimal) -> bool:
    places = min(_decimals(one), _decimals(other))
    return abs(one - other) * 2 <= Decimal(10) ** -places


def _decimals(figure: Decimal) -> int:
    exponent = figure.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
