"""Finds values of a claim for which its evidence has others, or that stand there with other things."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from krino.judges.rag.reading.claims import clauses, parted_values
from krino.judges.rag.reading.grammar import verb_form
from krino.judges.rag.reading.values import Value, comparable, stated
from krino.judges.rag.reading.words import Reading, read_sentence
from krino.judges.rag.support.claim_and_evidence import ClaimAndEvidence, Conflict, is_english, known_keys
from krino.judges.rag.support.closeness import topic_share
from krino.judges.rag.support.evidence import coverage
from krino.judges.rag.tables import table

_FEWEST_ELSE = 2
"""Words beside a value that a statement must share with the claim to be the one that it is about."""
_NEAR = 20
"""Characters before a value in which what it is a part of is looked for."""
_MOST_OF = 0.6
"""Share of the claim's words that must stand with a value for it to be the one that belongs there."""


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(table("values")["shares"][name], re.I)


def value_conflict(pair: ClaimAndEvidence, topical: float) -> Conflict | None:
    """The deciding sentence is about the same thing but has another date, time or quantity of the same kind."""
    known, best = known_keys(pair), pair.found[0]
    if counted := _counted_otherwise(pair):
        return Conflict(f"it says {counted[0].text} {counted[0].unit}, the passage {counted[1].text}", plain=True)
    missing = [value for value in pair.claimed.values if not stated(value, known) and value not in pair.reckoned]
    if share := next((value for value in missing if _is_count_for_share(value, pair)), None):
        return Conflict(f"it says {share.text}, where the passage counts and tells no share", plain=True)
    if not missing or topic_share(pair) < topical:
        return None
    claimed = pair.claimed.offered
    for value in missing:
        for other in best.values:
            if comparable(value, other) and not stated(other, claimed):
                plain = any(value.keys == absent.keys for absent in pair.absent)
                return Conflict(f"it says {value.text}, the passage {other.text}", plain)
    return None


def _counted_otherwise(pair: ClaimAndEvidence) -> tuple[Value, Value] | None:
    """A number that the sentence has only of other things, where it has another of what the claim counts:
    "12 rooms and 48 suites" for "48 rooms and 12 suites"."""
    told = [value for reading in pair.found for value in reading.values if value.kind == "number"]
    for value in pair.claimed.values if len(told) > 1 else ():
        alike = [other for other in told if other.keys == value.keys]
        instead = [other for other in pair.found[0].values if other.unit == value.unit and other.kind == "number"]
        if not (value.unit and instead and alike and all(other.unit not in ("", value.unit) for other in alike)):
            continue
        if not _is_whole_of(instead[0], value, pair):
            return value, instead[0]
    return None


def _is_whole_of(whole: Value, part: Value, pair: ClaimAndEvidence) -> bool:
    """ "Of the 800 residents, 60 sent it back" counts 60 residents, though it does not say so."""
    for text, reading in zip(pair.evidence, pair.found, strict=True):
        wholes = (value for value in reading.values if value.keys == whole.keys)
        first = next(
            (value for value in wholes if _pattern("of").search(text[max(0, value.start - _NEAR) : value.start])), None
        )
        parts = [value for value in reading.values if first is not None and value.keys == part.keys]
        if first is not None and any(_follows(first, value, text) for value in parts):
            return True
    return False


def _follows(whole: Value, part: Value, text: str) -> bool:
    return (
        part.start > whole.end and _pattern("and").search(text[max(whole.end, part.start - _NEAR) : part.start]) is None
    )


def _is_count_for_share(value: Value, pair: ClaimAndEvidence) -> bool:
    """ "60 percent" for "60 of the 800", where nothing is told in percent."""
    if value.unit != "percent" or any(_pattern("percent").search(text) for text in pair.evidence):
        return False
    number = value.keys[0].removeprefix("#percent ")
    return any(number in other.keys for reading in pair.found for other in reading.values)


def borrowed_value(pair: ClaimAndEvidence, topical: float) -> Conflict | None:
    """A value that only sentences about other names have, where the one about the claim's own has another.

    That one must be about what is claimed, or tell of its name what the others tell of theirs, as rows of a table do.
    """
    names = _named(pair.claimed) | (_named(pair.asked) & pair.claimed.stems)
    own = [reading for reading in pair.found if names and names <= reading.stems]
    foreign = [reading for reading in pair.found if _named(reading) and names.isdisjoint(reading.stems)]
    if not own or not foreign:
        return None
    known = pair.asked.offered.union(*(reading.offered for reading in pair.found if reading not in foreign))
    rest = {root: weight for root, weight in pair.weights.items() if root not in pair.claimed.value_keys}
    if coverage(rest, own[:1]) < topical and _matter(own[0]) not in map(_matter, foreign):
        return None
    for value in pair.claimed.values:
        for other in own[0].values:
            if not stated(value, known) and comparable(value, other) and not stated(other, pair.claimed.offered):
                return Conflict(f"it says {value.text}, the passage {other.text}", plain=True)
    return None


def misjoined_value(pair: ClaimAndEvidence) -> Conflict | None:
    """A value that stands with other things than the claim's, where another stands with those: "a child ticket costs
    12 euros" beside "an adult ticket costs 12 euros and a child ticket 6 euros".
    """
    if not pair.claimed.values:
        return None
    told = [read_sentence(part, pair.language) for text in pair.evidence for part in _statements(text, pair)]
    if len(told) == 1:
        return None
    gapped = [tuple(read_sentence(part, pair.language) for part in parted_values(text)) for text in pair.evidence]
    parts = parted_values(pair.claim)
    for claimed in (read_sentence(part, pair.language) for part in parts if " than " not in part or len(parts) == 1):
        for value in claimed.values:
            other = _bound_to(claimed, value, told) or _paired_with(claimed, value, told)
            other = other or next(filter(None, (_in_later_part(claimed, value, row) for row in gapped)), None)
            if other is not None and not _is_whole_of(other, value, pair):
                return Conflict(f"it says {value.text}, the passage {other.text}", plain=True)
    return None


def _in_later_part(claimed: Reading, value: Value, parts: Sequence[Reading]) -> Value | None:
    """The value of the later part of a sentence that the claim is about, where it has that of the first: "le menu du
    jour coûte 16 euros, le menu gourmand 34". What is done stands in the first part only, in whatever language."""
    first, said = parts[0], frozenset(claimed.content)
    for part in parts[1:]:
        own = frozenset(part.content) - first.stems - part.value_keys
        others = frozenset(first.content) - part.stems - first.value_keys
        if not own or not own <= said or others <= said or stated(value, part.offered):
            continue
        if stated(value, first.offered) and said - claimed.value_keys <= first.stems | part.stems:
            return _instead(value, part, claimed)
    return None


def _may_stand_for(value: Value, other: Value) -> bool:
    return comparable(value, other) and value.keys != other.keys


def _statements(text: str, pair: ClaimAndEvidence) -> tuple[str, ...]:
    """The parts of a sentence that each tell one thing: its clauses, cut further at commas where each has a value."""
    parts = clauses(text) if is_english(pair) else (text,)
    return tuple(piece for part in parts for piece in parted_values(part))


def _bound_to(claimed: Reading, value: Value, told: Sequence[Reading]) -> Value | None:
    """The value that stands with all else that is claimed, where none of the parts that have the claim's own does so.

    What is done is left aside: a later part of a sentence leaves it out ("and a child ticket 6 euros").
    """
    rest = frozenset(claimed.content) - frozenset(value.keys)
    things = frozenset(root for root in rest if verb_form(claimed.surface.get(root, "")) is None)
    parts = [reading for reading in told if stated(value, reading.offered)]
    own = [things & reading.stems for reading in parts]
    deeds = (rest - things).intersection(*(reading.stems for reading in parts))
    if len(rest) < _FEWEST_ELSE or not own or any(_may_stand_for(value, other) for other in claimed.values):
        return None
    if not any(rest <= reading.stems for reading in parts):
        whole = (_instead(value, reading, claimed) for reading in told if rest <= reading.stems)
        if (other := next(filter(None, whole), None)) is not None:
            return other
    for reading in told:
        held = things & reading.stems
        if len(held) < _MOST_OF * len(things) or not all(ours < held for ours in own):
            continue
        other = _instead(value, reading, claimed)
        if other is not None and (deeds <= reading.stems or not _tells_a_deed(reading)):
            return other
    return None


def _tells_a_deed(reading: Reading) -> bool:
    forms = map(verb_form, reading.surface.values())
    return any(form is not None and form[1] not in ("base", "gerund") for form in forms)


def _paired_with(claimed: Reading, value: Value, told: Sequence[Reading]) -> Value | None:
    """The value beside another of the claim's, which has this one nowhere beside it: Friday with Thursday's hour."""
    own = [reading for reading in told if stated(value, reading.offered)]
    for beside in claimed.values:
        parts = [reading for reading in told if stated(beside, reading.offered)]
        if comparable(value, beside) or not own or not parts or any(reading in own for reading in parts):
            continue
        if all(_instead(beside, reading, claimed) is not None for reading in own):
            found = [_instead(value, reading, claimed) for reading in parts]
            if found[0] is not None and None not in found:
                return found[0]
    return None


def _instead(value: Value, reading: Reading, claimed: Reading) -> Value | None:
    """What stands in a part for a value of the claim."""
    others = (other for other in reading.values if _may_stand_for(value, other))
    return next((other for other in others if not stated(other, claimed.offered)), None)


def _matter(reading: Reading) -> frozenset[str] | None:
    """What is told of a name, values aside: rows of one table tell the same; None where there is nothing else."""
    return frozenset(reading.content) - reading.names - reading.value_keys or None


def _named(reading: Reading) -> frozenset[str]:
    """Its names, less those of units and months that belong to a value."""
    return reading.names.intersection(reading.content)
