"""Reads from its wording whether an answer declines, and if so with which reason, category and validity."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from krino.judges.rag.reading.sentences import Sentence
from krino.judges.rag.reading.triggers import Triggers
from krino.judges.rag.tables import table
from krino.text.forms import straighten
from krino.text.language import READ_LANGUAGES
from krino.text.words import stop_words

RefusalCategory = Literal["insufficient_context", "safety", "ambiguous", "out_of_scope"]

_WORD = re.compile(r"[^\W\d_]{2,}")
_QUOTED = re.compile(r'"[^"]{1,300}"')
"""Who says "I cannot" inside quotation marks is somebody else."""
_LONGEST = 1_000
"""Characters of a sentence that are looked at."""
_BARE_WORDS = 16
"""A declining answer of at most this many words, with no word of a reason, is plainly without one."""


@dataclass(frozen=True, slots=True)
class RefusalReading:
    """What the wording shows. `whole`: no sentence of the answer does anything but decline.

    `opens`: it declines before it states anything. Of such an answer what follows is background, unless it answers.
    """

    sentences: tuple[int, ...]
    mixed: tuple[int, ...]
    """Those of the sentences that go on to state something."""
    whole: bool
    opens: bool
    reason: str | None
    category: RefusalCategory | None
    validity: str | None
    bare: bool

    @property
    def meets_all(self) -> bool:
        return self.reason is not None and self.category is not None and self.validity is not None


@dataclass(frozen=True, slots=True)
class _Patterns:
    first: re.Pattern[str]
    source: re.Pattern[str]
    not_source: re.Pattern[str]
    reported: re.Pattern[str]
    following: re.Pattern[str]
    any_source: re.Pattern[str]
    turn: re.Pattern[str]
    before: re.Pattern[str]
    because: re.Pattern[str]
    aside: re.Pattern[str]
    named: dict[str, re.Pattern[str]]
    wording: dict[str, re.Pattern[str]]
    missing: tuple[re.Pattern[str], ...]
    plainly_missing: re.Pattern[str]
    validity: dict[str, re.Pattern[str]]
    generic: frozenset[str]
    harm: frozenset[str]
    warning: re.Pattern[str]


@cache
def _triggers() -> Triggers:
    """One of these stands in every answer that declines. They are apart from the patterns, which take long to make."""
    return Triggers(table("refusals")["trigger"])


@cache
def _patterns() -> _Patterns:
    data = table("refusals")
    validity = data["validity"]
    stops = frozenset[str]().union(*(stop_words(language) for language in READ_LANGUAGES))
    return _Patterns(
        first=_any_of(data["decline"]["first"]),
        source=_any_of(data["decline"]["source"]),
        not_source=re.compile(data["decline"]["not_source"]),
        reported=re.compile(data["decline"]["reported"]),
        following=_any_of([data["decline"]["following"]]),
        any_source=_any_of([data["decline"]["any_source"]]),
        turn=re.compile(data["turn"]["pattern"]),
        before=re.compile(data["turn"]["before"]),
        because=re.compile(data["because"]["pattern"]),
        aside=_any_of(data["aside"]["patterns"]),
        named={category: re.compile(pattern) for category, pattern in data["named"].items()},
        wording={category: re.compile(pattern) for category, pattern in data["wording"].items()},
        missing=tuple(re.compile(pattern) for pattern in validity["insufficient_context"]),
        plainly_missing=re.compile(validity["insufficient_context_plain"]),
        validity={name: re.compile(validity[name]) for name in ("safety", "ambiguous", "out_of_scope")},
        generic=frozenset(data["generic"]["words"].split()) | stops,
        harm=frozenset(data["harm"]["words"].split()),
        warning=re.compile(data["harm"]["warning"]),
    )


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    """One pattern of several, with the words of the table in the places that are named for them."""
    joined = "|".join(f"(?:{pattern})" for pattern in patterns)
    for name, words in table("refusals")["words"].items():
        joined = joined.replace(f"{{{name}}}", words)
    return re.compile(joined)


@dataclass(frozen=True, slots=True)
class _Declined:
    """How one sentence declines: `mixed` where it states something as well, `lacking` where it says that a source
    does not hold something."""

    mixed: bool
    lacking: bool


def read_refusal(sentences: Sequence[Sentence], question: str = "") -> RefusalReading | None:
    """The reading of an answer, or None where no sentence of it declines."""
    texts = [f" {straighten(sentence.text[:_LONGEST]).lower()}" for sentence in sentences]
    if not _triggers().stand_in("\n".join(texts)):  # most answers decline nothing
        return None
    patterns, asked = _patterns(), straighten(question[:_LONGEST]).lower()
    declined = {
        number: found
        for number, text in enumerate(texts, 1)
        if (found := _declines(text, texts[number - 2] if number > 1 else "", asked, patterns))
    }
    if not declined:
        return None
    mixed = tuple(number for number, found in declined.items() if found.mixed)
    asks_back = any(texts[number - 1].endswith("?") for number in declined)
    whole = not mixed and all(
        number in declined or _only_excuses(text, asks_back, patterns) for number, text in enumerate(texts, 1)
    )
    opens = _opens(texts, declined, patterns)
    said = " ".join(texts) if whole else " ".join(texts[number - 1] for number in declined)
    category = _category(said, asked, any(found.lacking for found in declined.values()), patterns)
    reason = _reason(said, category, patterns)
    return RefusalReading(
        sentences=tuple(declined),
        mixed=mixed,
        whole=whole,
        opens=opens,
        reason=reason,
        category=category,
        validity=None if category is None else _validity(said, category, asked, patterns),
        bare=whole and reason is None and category is None and len(_WORD.findall(said)) <= _BARE_WORDS,
    )


def asks_for_harm(question: str) -> bool:
    """Whether a question holds a word that makes declining it for safety plausible."""
    return not _patterns().harm.isdisjoint(_WORD.findall(question[:_LONGEST].lower()))


def is_warning(sentence: str) -> bool:
    """Whether a sentence of a passage forbids something or calls it dangerous."""
    return _patterns().warning.search(straighten(sentence[:_LONGEST]).lower()) is not None


def _declines(text: str, before: str, asked: str, patterns: _Patterns) -> _Declined | None:
    if not _triggers().stand_in(text) or patterns.reported.search(text):
        return None
    match = patterns.first.search(_QUOTED.sub(lambda found: " " * len(found.group()), text))
    if match is None:
        match = patterns.source.search(text)
        if match is None and patterns.any_source.search(before):  # "The context covers X. It gives no Y."
            match = patterns.following.search(text)
        if match is None or patterns.not_source.search(text) or _asked_about(match.group(), asked):
            return None
    stated = patterns.turn.search(text, match.end()) or patterns.before.search(text, 0, match.end())
    lacking = patterns.source.search(text) is not None and patterns.not_source.search(text) is None
    return _Declined(mixed=stated is not None, lacking=lacking)


def _asked_about(said: str, asked: str) -> bool:
    """ "The contract does not mention it" answers whether the contract mentions it: no question, no refusal."""
    stating: str = table("refusals")["asked"]["stating"]
    return any(word in asked for word in stating.split() if word in said) and bool(
        {word for word in _WORD.findall(said) if len(word) > 4} & set(_WORD.findall(asked))
    )


def _only_excuses(text: str, asks_back: bool, patterns: _Patterns) -> bool:
    """A sentence around a refusal that claims nothing: an apology, advice, an offer, a category, a question.

    Beside a question asked back, what the passages mention tells what there is to choose from.
    """
    if text.endswith("?") or any(pattern.search(text) for pattern in patterns.named.values()):
        return True
    if asks_back and patterns.any_source.search(text):
        return True
    if any(character.isdecimal() for character in text):
        return False
    return len(_WORD.findall(text)) <= 4 or patterns.aside.search(text) is not None


def _opens(texts: Sequence[str], declined: Mapping[int, _Declined], patterns: _Patterns) -> bool:
    """Whether the first sentence that is no mere courtesy declines, and states nothing else."""
    for number, text in enumerate(texts, 1):
        if number in declined:
            return not declined[number].mixed
        if not _only_excuses(text, False, patterns):
            return False
    return False


def _category(text: str, asked: str, lacking: bool, patterns: _Patterns) -> RefusalCategory | None:
    """The category that is named, else by the wording.

    A source that is said to lack something is no matter of safety, whatever "policy" it is, unless harm is asked for.
    """
    found = _first_match(text, patterns.named) or _first_match(text, patterns.wording)
    if lacking and found in (None, "safety") and patterns.harm.isdisjoint(_WORD.findall(asked)):
        return "insufficient_context"
    return found


def _first_match(text: str, patterns: Mapping[str, re.Pattern[str]]) -> RefusalCategory | None:
    return next((cast(RefusalCategory, name) for name, pattern in patterns.items() if pattern.search(text)), None)


def _reason(text: str, category: RefusalCategory | None, patterns: _Patterns) -> str | None:
    """The clause after "because", or the statement itself where it says what is wrong."""
    if match := patterns.because.search(text):
        return text[match.start() :].strip()
    return text.strip() if category is not None else None


def _validity(text: str, category: RefusalCategory, asked: str, patterns: _Patterns) -> str | None:
    """What the refusal names as missing, the policy, the possible meanings or the limits of its scope."""
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
    shared = set(_WORD.findall(asked)) - patterns.generic
    repeated = [word for word in dict.fromkeys(_WORD.findall(text)) if word in shared and len(word) > 3]
    return " ".join(repeated[:12]) or None
