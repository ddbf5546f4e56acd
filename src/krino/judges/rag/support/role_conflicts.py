"""Finds what a claim says of another than its evidence: sides, causes, names or things exchanged."""

from __future__ import annotations

from krino.judges.rag.reading.claims import clauses
from krino.judges.rag.reading.exchanges import is_change_turned
from krino.judges.rag.reading.frames import compare_roles, of_another, other_subject
from krino.judges.rag.reading.grammar import root_of
from krino.judges.rag.reading.name_parts import other_part
from krino.judges.rag.reading.question import question_parts
from krino.judges.rag.reading.relations import are_turned, has_another_cause
from krino.judges.rag.reading.sides import are_exchanged
from krino.judges.rag.reading.slots import in_place_of
from krino.judges.rag.reading.words import Reading
from krino.judges.rag.support.claim_and_evidence import ClaimAndEvidence, Conflict, is_english
from krino.judges.rag.support.closeness import is_close, share_without
from krino.judges.rag.support.evidence import coverage
from krino.judges.rag.tables import table

_EXCHANGED = "it has the same words as the passage, with who and whom or first and last exchanged"
_MOST_LACKED = 3


def told_of_another(pair: ClaimAndEvidence) -> str | None:
    most = table("local")["decided"]["words"]
    told = zip(pair.evidence, pair.found, strict=True)
    return of_another(pair.claim, [clauses(text) for text, reading in told if len(reading.content) <= most])


def role_conflict(pair: ClaimAndEvidence) -> Conflict | None:
    """The same words with the sides exchanged, or said of another name, where no sentence has them as the claim has."""
    most = table("local")["decided"]["words"]
    if len(pair.claimed.content) > most:
        return None
    if _are_sides_exchanged(pair):
        return Conflict(_EXCHANGED, plain=True)
    if any(is_change_turned(pair.claim, text, pair.language) for text in pair.evidence):
        return Conflict("it has the old and the new the other way round", plain=True)
    if not is_english(pair):
        return None
    short = [
        (text, reading) for text, reading in zip(pair.evidence, pair.found, strict=True) if len(reading.content) <= most
    ]
    told = {text: compare_roles(pair.claim, text) for text, reading in short if is_close(pair, reading)}
    if "turned" in told.values() and "same" not in told.values():
        return Conflict(_EXCHANGED, plain=True)
    another = "same" not in told.values() and any(other_subject(pair.claim, text) for text, _ in short)
    if another or told_of_another(pair) == "surely":
        return Conflict("the passage says this of another", plain=True, label="unsupported")
    return None


def relation_conflict(pair: ClaimAndEvidence) -> Conflict | None:
    """Cause and effect, or first and then, exchanged; or another cause than the passage tells for the same effect."""
    turned = [are_turned(pair.claim, text, pair.language) for text in pair.evidence]
    if any(turned) and all(way or not is_close(pair, item) for way, item in zip(turned, pair.found, strict=True)):
        return Conflict("it has cause and effect, or first and then, the other way round", plain=True)
    if has_another_cause(pair.claim, pair.evidence, pair.language):
        return Conflict("the passage tells another cause of it", plain=True, label="unsupported")
    return None


def _are_sides_exchanged(pair: ClaimAndEvidence) -> bool:
    """A sentence has who and whom the other way round, and none that holds all of the claim has them as it has."""
    turned = [are_exchanged(pair.claim, text, pair.language) for text in pair.evidence]
    told = zip(turned, pair.found, strict=True)
    return any(turned) and not any(not way and item.stems.issuperset(pair.claimed.content) for way, item in told)


def slot_conflict(pair: ClaimAndEvidence) -> Conflict | None:
    """One thing in the place of another that the passage has there, where no sentence has all of the claim."""
    if not is_english(pair):
        return None
    told = [
        in_place_of(pair.claim, text) if _lacks_little(pair.claimed, reading) else None
        for text, reading in zip(pair.evidence, pair.found, strict=True)
    ]
    for found, reading in zip(told, pair.found, strict=True):
        if found is None and reading.stems.issuperset(pair.claimed.content):
            return None
    first = next((found for found in told if found is not None), None)
    if first is None:
        return None
    return Conflict(f"it says '{first[0]}', the passage '{first[1]}' in its place", plain=True, label="unsupported")


def _lacks_little(claimed: Reading, found: Reading) -> bool:
    """A first, cheap look: whether a sentence has all of the claim but one thing."""
    return sum(root not in found.stems for root in claimed.content) <= _MOST_LACKED


def name_conflict(pair: ClaimAndEvidence, topical: float) -> Conflict | None:
    """A name is asked for, the rest matches closely, and the sentence has another name in its place."""
    parts = other_part(pair.claim, pair.evidence[0]) if pair.language == "de" else None
    if parts and share_without(pair, parts[0]) >= topical:
        return Conflict(f"it names {parts[0]}, the passage {parts[1]}", plain=True, label="unsupported")
    if not pair.strangers or not any(part.kind in ("person", "place") for part in question_parts(pair.question)):
        return None
    best = pair.found[0]
    others = sorted(best.names - pair.claimed.stems - pair.asked.stems)
    missing = {root_of(name.lower(), pair.language) for name in pair.strangers}
    rest = {root: weight for root, weight in pair.weights.items() if root not in missing}
    if not others or not rest or coverage(rest, pair.found[:1]) < topical:
        return None
    instead = ", ".join(best.surface.get(name, name) for name in others[:3])
    return Conflict(f"it names {', '.join(pair.strangers[:3])}, the passage {instead}")
