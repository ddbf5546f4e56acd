"""What of an answer was set aside by the labeller, and when that is too much for a full score."""

from __future__ import annotations

import re
from collections.abc import Iterator

from krino.contract import Unread
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import RagLabels

_TAG_CHARACTERS = re.compile("(?<![\U0001f3f4\U000e0020-\U000e007e])[\U000e0020-\U000e007e]{4,}")
"""Invisible copies of ASCII, in which text can be hidden. After a black flag they name a region (England, Wales)."""


def list_unread(facts: RagFacts, labels: RagLabels | None) -> tuple[Unread, ...]:
    """Returns hidden text, and the sentences that the labeller declared empty, as written; not those that decline."""
    hidden = tuple(_find_hidden(facts))
    if labels is None or not facts.open.claims:
        return hidden
    return hidden + tuple(
        Unread(f"answer sentence {number}", facts.units[number - 1].sentence.text, _why(facts, number))
        for number in _set_aside(facts, labels)
        if number not in _declining(labels)
    )


def _find_hidden(facts: RagFacts) -> Iterator[Unread]:
    """Yields text in invisible characters, which are taken out before any labeller sees the case."""
    texts = [("answer", facts.case.answer)]
    texts += [(f"passage {item.number}", item.passage.text) for item in facts.passages]
    for where, text in texts:
        if text.isascii():
            continue
        for match in _TAG_CHARACTERS.finditer(text):
            shown = "".join(chr(ord(character) - 0xE0000) for character in match.group())
            yield Unread(where, shown, "written in invisible characters, which no labeller is shown")


def _why(facts: RagFacts, number: int) -> str:
    unit = facts.units[number - 1]
    kind = unit.hint or ("question" if unit.sentence.text.endswith("?") else None)
    return "set aside by the labeller as stating nothing" + (f" (it looks like a {kind})" if kind else "")


def find_passed_over(facts: RagFacts, labels: RagLabels) -> list[int]:
    """Returns the sentences that state something and were set aside, if those set aside are most of the answer.

    Of an answer that declines as a whole nothing is passed over: it is judged as a refusal.
    """
    if labels.refusal is not None and labels.refusal.is_refusal:
        return []
    declining = _declining(labels)
    aside = [number for number in _set_aside(facts, labels) if facts.may_state(number) and number not in declining]
    passed = [number for number in aside if number in facts.statements]
    lengths = [len(unit.sentence.text.split()) for unit in facts.units]
    return passed if 2 * sum(lengths[number - 1] for number in aside) > sum(lengths) else []


def _declining(labels: RagLabels) -> frozenset[int]:
    """The sentences by which a part of the question is declined."""
    return frozenset(part.sentence for part in labels.parts if not part.answered and part.sentence is not None)


def _set_aside(facts: RagFacts, labels: RagLabels) -> list[int]:
    return [number for number in sorted(set(labels.empty_sentences)) if 1 <= number <= len(facts.units)]
