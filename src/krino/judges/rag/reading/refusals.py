"""Reads from its wording whether an answer declines, and if so with which reason, category and validity."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from krino.judges.rag.reading.sentences import Sentence
from krino.judges.rag.tables import table
from krino.text.forms import straighten
from krino.text.words import table as text_table

RefusalCategory = Literal["insufficient_context", "safety", "ambiguous", "out_of_scope"]

_WORD = re.compile(r"[^\W\d_]{2,}")
_LONGEST = 1_000
"""Characters of a sentence that are looked at."""
_BARE_WORDS = 16
"""A declining answer of at most this many words, with no word of a reason, is plainly without one."""


@dataclass(frozen=True, slots=True)
class RefusalReading:
    """What the wording shows. `whole`: no sentence of the answer does anything but decline."""

    sentences: tuple[int, ...]
    mixed: tuple[int, ...]
    """Those of the sentences that go on to state something."""
    whole: bool
    reason: str | None
    category: RefusalCategory | None
    validity: str | None
    bare: bool

    @property
    def meets_all(self) -> bool:
        return self.reason is not None and self.category is not None and self.validity is not None


@dataclass(frozen=True, slots=True)
class _Patterns:
    trigger: tuple[str, ...]
    decline: re.Pattern[str]
    turn: re.Pattern[str]
    because: re.Pattern[str]
    named: dict[str, re.Pattern[str]]
    wording: dict[str, re.Pattern[str]]
    missing: tuple[re.Pattern[str], ...]
    plainly_missing: re.Pattern[str]
    validity: dict[str, re.Pattern[str]]
    generic: frozenset[str]
    harm: frozenset[str]


@cache
def _patterns() -> _Patterns:
    data = table("refusals")
    validity = data["validity"]
    stops = {word for words in text_table("words")["stop"].values() for word in words.split()}
    return _Patterns(
        trigger=tuple(data["trigger"]),
        decline=re.compile("|".join(f"(?:{pattern})" for pattern in data["decline"])),
        turn=re.compile(data["turn"]),
        because=re.compile(data["because"]),
        named={category: re.compile(pattern) for category, pattern in data["named"].items()},
        wording={category: re.compile(pattern) for category, pattern in data["wording"].items()},
        missing=tuple(re.compile(pattern) for pattern in validity["insufficient_context"]),
        plainly_missing=re.compile(validity["insufficient_context_plain"]),
        validity={name: re.compile(validity[name]) for name in ("safety", "ambiguous", "out_of_scope")},
        generic=frozenset(data["generic"]["words"].split()) | stops,
        harm=frozenset(data["harm"]["words"].split()),
    )


def read_refusal(sentences: Sequence[Sentence]) -> RefusalReading | None:
    """The reading of an answer, or None where no sentence of it declines."""
    patterns = _patterns()
    texts = [f" {straighten(sentence.text[:_LONGEST]).lower()}" for sentence in sentences]
    joined = "\n".join(texts)
    if not any(piece in joined for piece in patterns.trigger):  # most answers decline nothing
        return None
    declining: list[int] = []
    mixed: list[int] = []
    for number, text in enumerate(texts, 1):
        if any(piece in text for piece in patterns.trigger) and (match := patterns.decline.search(text)):
            declining.append(number)
            if patterns.turn.search(text, match.end()):
                mixed.append(number)
    if not declining:
        return None
    whole = not mixed and all(
        number in declining or _only_excuses(text, patterns) for number, text in enumerate(texts, 1)
    )
    said = " ".join(texts) if whole else " ".join(texts[number - 1] for number in declining)
    category = _category(said, patterns)
    reason = _reason(said, category, patterns)
    return RefusalReading(
        sentences=tuple(declining),
        mixed=tuple(mixed),
        whole=whole,
        reason=reason,
        category=category,
        validity=None if category is None else _validity(said, category, patterns),
        bare=whole and reason is None and category is None and len(_WORD.findall(said)) <= _BARE_WORDS,
    )


def asks_for_harm(question: str) -> bool:
    """Whether a question holds a word that makes declining it for safety plausible."""
    return not _patterns().harm.isdisjoint(_WORD.findall(question[:_LONGEST].lower()))


def _only_excuses(text: str, patterns: _Patterns) -> bool:
    """A sentence around a refusal that claims nothing: an apology, an offer, a category, a question."""
    if text.endswith("?") or any(pattern.search(text) for pattern in patterns.named.values()):
        return True
    words = _WORD.findall(text)
    return len(words) <= 4 and not any(character.isdecimal() for character in text)


def _category(text: str, patterns: _Patterns) -> RefusalCategory | None:
    for table_of in (patterns.named, patterns.wording):
        for category, pattern in table_of.items():
            if pattern.search(text):
                return cast(RefusalCategory, category)
    return None


def _reason(text: str, category: RefusalCategory | None, patterns: _Patterns) -> str | None:
    """The clause after "because", or the statement itself where it says what is wrong."""
    if match := patterns.because.search(text):
        return text[match.start() :].strip()
    return text.strip() if category is not None else None


def _validity(text: str, category: RefusalCategory, patterns: _Patterns) -> str | None:
    if category != "insufficient_context":
        match = patterns.validity[category].search(text)
        return match.group() if match else None
    if match := patterns.plainly_missing.search(text):
        return match.group()
    for pattern in patterns.missing:
        for match in pattern.finditer(text):
            named = [word for word in _WORD.findall(match.group(1)) if word not in patterns.generic]
            if named:
                return " ".join(named[:12])
    return None
