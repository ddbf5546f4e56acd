"""Compares the values of a claim with those of its evidence, exactly: another value, bound or owner of a value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from krino.judges.rag.embedded.evidence import coverage
from krino.judges.rag.reading.words import Reading, may_deny
from krino.judges.rag.tables import table
from krino.judges.rag.values.bounds import find_other_bound
from krino.judges.rag.values.sums import cue_words, follows_from
from krino.judges.rag.values.value import Value, comparable, offered, stated
from krino.text.words import word_set

_SMALL_COUNT = 12
"""Spelled-out numbers up to here often count what the answer lists ("three reasons"), so they prove nothing."""
_NEAR = 20
"""Characters before a value in which what it is a part of is looked for."""
_MOST_DERIVED = 14
"""Content words up to which a claim is short enough to tell what it does with values."""
_MOST_NEARBY = 8
"""Values of a passage up to which an answer may have derived one from any of them."""


class Conflict(NamedTuple):
    """What the evidence says otherwise; `plain` where the value is in no passage at all."""

    text: str
    plain: bool


class Values(NamedTuple):
    """The values of a claim that its evidence lacks, those of them that follow from others, and a conflict."""

    absent: tuple[Value, ...]
    derived: tuple[Value, ...]
    conflict: Conflict | None


class ReadText(NamedTuple):
    """A text with its reading."""

    text: str
    reading: Reading


def compare_values(
    claim: ReadText, asked: Reading, evidence: Sequence[ReadText], absent: Sequence[Value], weights: Mapping[str, float]
) -> Values:
    """`evidence`: the deciding sentence first; `absent`: values of the claim that are in no passage."""
    if not claim.reading.values or not evidence:
        return Values((), (), None)
    found = [value for one in evidence for value in one.reading.values]
    known = asked.offered | offered(found)
    missing = [value for value in claim.reading.values if not stated(value, known)]
    derived = tuple(value for value in missing if _is_derived(value, claim, asked, evidence, found))
    left = [value for value in missing if value not in derived and not _is_small_count(value)]
    conflict = (
        _counted_otherwise(claim.reading, evidence)
        or _count_for_share(left, evidence)
        or _other_value(left, claim.reading, asked, evidence[0].reading, absent, weights)
        or _other_bound(claim, evidence[0])
        or _of_another_row(claim.reading, evidence, weights)
    )
    return Values(tuple(value for value in left if value.kind != "frequency"), derived, conflict)


def _is_derived(
    value: Value, claim: ReadText, asked: Reading, evidence: Sequence[ReadText], found: Sequence[Value]
) -> bool:
    """Whether it is a sum, difference, product, share or length of time of values of the evidence."""
    if len(claim.reading.content) > _MOST_DERIVED:
        return False
    best = evidence[0].reading.values
    near = found if len(found) <= _MOST_NEARBY else best
    words = cue_words(claim.text, claim.reading, [one.text for one in evidence])
    return follows_from(value, near, [*claim.reading.values, *asked.values], words)


def _is_small_count(value: Value) -> bool:
    """A number word that counts things, and may count what the answer lists."""
    return value.spelled and value.keys[0].isdecimal() and int(value.keys[0]) <= _SMALL_COUNT


def _other_value(
    missing: Sequence[Value],
    claimed: Reading,
    asked: Reading,
    best: Reading,
    absent: Sequence[Value],
    weights: Mapping[str, float],
) -> Conflict | None:
    """The deciding sentence is about the same thing but has another date, time or quantity of the same kind."""
    if not missing or _topic_share(claimed, asked, best, weights) < table("local")["values"]["topical"]:
        return None
    for value in missing:
        for other in best.values:
            if comparable(value, other) and not stated(other, claimed.offered):
                plain = any(value.keys == strange.keys for strange in absent)
                return Conflict(f"it says {value.text}, the passage {other.text}", plain)
    return None


def _counted_otherwise(claimed: Reading, evidence: Sequence[ReadText]) -> Conflict | None:
    """A number that the evidence has only of other things, where it has another of what the claim counts:
    "12 rooms and 48 suites" for "48 rooms and 12 suites"."""
    numbers = [value for one in evidence for value in one.reading.values if value.kind == "number"]
    for value in claimed.values if len(numbers) > 1 else ():
        alike = [other for other in numbers if other.keys == value.keys]
        instead = [other for other in evidence[0].reading.values if other.unit == value.unit and other.kind == "number"]
        if not value.unit or not instead or not alike or any(other.unit in ("", value.unit) for other in alike):
            continue
        if not any(map(_gives_a_whole, evidence)):
            return Conflict(f"it says {value.text} {value.unit}, the passage {instead[0].text}", True)
    return None


def _gives_a_whole(item: ReadText) -> bool:
    """ "Of the 800 residents, 60 sent it back" counts 60 residents, though it does not say so."""
    starts = (value.start for value in item.reading.values)
    return any(_pattern("of").search(item.text[max(0, start - _NEAR) : start]) for start in starts)


def _count_for_share(missing: Sequence[Value], evidence: Sequence[ReadText]) -> Conflict | None:
    """ "60 percent" for "60 of the 800", where no evidence has a percentage."""
    if any(_pattern("percent").search(one.text) for one in evidence):
        return None
    counts = [key for one in evidence for value in one.reading.values for key in value.keys]
    for value in missing:
        if value.unit == "percent" and value.keys[0].removeprefix("#percent ") in counts:
            return Conflict(f"it says {value.text}, where the passage counts and tells no share", True)
    return None


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(table("values")["shares"][name], re.I)


def _topic_share(claimed: Reading, asked: Reading, best: Reading, weights: Mapping[str, float]) -> float:
    """How well the deciding sentence matches, values aside; a bare value is matched by the question instead."""
    keys = claimed.value_keys
    rest = {root: weight for root, weight in weights.items() if root not in keys}
    return coverage(rest or dict.fromkeys(asked.content, 1.0), (best,))


def _other_bound(claim: ReadText, best: ReadText) -> Conflict | None:
    """ "At least 300" for "at most 300", "5 euros a month" for "5 euros a year"; a denial could turn either round."""
    if any(may_deny(one.text, word_set(one.text)) for one in (claim, best)):
        return None
    bound = find_other_bound(claim.text, best.text)
    return Conflict(f"it says '{bound[0]}', the passage '{bound[1]}'", True) if bound else None


def _of_another_row(claimed: Reading, evidence: Sequence[ReadText], weights: Mapping[str, float]) -> Conflict | None:
    """The value stands with other things, where the sentence about the claim's own has another of its kind."""
    keys = claimed.value_keys
    rest = {root: weight for root, weight in weights.items() if root not in keys}
    if not rest:
        return None
    shares = [coverage(rest, (one.reading,)) for one in evidence]
    own = max(range(len(evidence)), key=lambda place: (shares[place], -place))
    least = table("local")["values"]["nearer"]
    for value in claimed.values:
        holding = [share for share, one in zip(shares, evidence, strict=True) if stated(value, one.reading.offered)]
        if not holding or shares[own] - max(holding) < least:
            continue
        for other in evidence[own].reading.values:
            if comparable(value, other) and not stated(other, claimed.offered):
                return Conflict(f"it says {value.text}, the passage {other.text}", False)
    return None
