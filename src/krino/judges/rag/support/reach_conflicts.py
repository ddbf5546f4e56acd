"""Finds what a claim says of more, of all, for certain or as allowed, where its evidence says less than that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krino.judges.rag.reading.amounts import other_amount
from krino.judges.rag.reading.claims import clauses
from krino.judges.rag.reading.exchanges import both_for_either
from krino.judges.rag.reading.grammar import root_of
from krino.judges.rag.reading.leave import other_leave
from krino.judges.rag.reading.lists import added_item
from krino.judges.rag.reading.narrowing import told_of_all, told_of_whole, told_without
from krino.judges.rag.reading.plans import told_as_certain, told_as_done
from krino.judges.rag.reading.scope import is_taken_out, other_scope, read_scope
from krino.judges.rag.reading.words import read_sentence
from krino.judges.rag.support.claim_and_evidence import ClaimAndEvidence, Conflict, is_english
from krino.judges.rag.support.closeness import is_close, share_without
from krino.judges.rag.support.evidence import coverage


def amount_conflict(pair: ClaimAndEvidence, topical: float) -> Conflict | None:
    """All for some, at least for at most, a month for a year, where no other sentence has it as the claim does."""
    told = other_amount(pair.claim, pair.evidence[0]) if is_english(pair) else None
    if told is None:
        return None
    said = {root_of(word) for word in told[0].split()}
    rest = {root: weight for root, weight in pair.weights.items() if root not in said}
    others = zip(pair.evidence[1:], pair.found[1:], strict=True)
    if coverage(rest, pair.found[:1]) < topical:
        return None
    if any(other_amount(pair.claim, text) is None and is_close(pair, reading) for text, reading in others):
        return None
    return Conflict(f"it says '{told[0]}', the passage '{told[1]}'", plain=True)


def scope_conflict(pair: ClaimAndEvidence, topical: float) -> Conflict | None:
    """It holds for all or always what the sentence holds only for some, for both what it holds for one of two, or of
    what the sentence takes out."""
    found, best = pair.evidence[0], pair.found[0]
    told = other_scope(pair.claim, found, pair.language) or both_for_either(pair.claim, found, pair.language)
    if told is None and pair.claimed.denials == 0 and best.denials in (0, -1):
        told = is_taken_out(pair.claim, found, pair.language)
    if told is None or share_without(pair, told[0]) < topical:
        return None
    if told[1] == read_scope(found, pair.language).condition and not is_close(pair, best):
        return None
    for text, reading in zip(pair.evidence[1:], pair.found[1:], strict=True):
        if other_scope(pair.claim, text, pair.language) is None and is_close(pair, reading):
            return None
    return Conflict(f"it says '{told[0]}', the passage '{told[1]}'", plain=True)


def narrowing_conflict(pair: ClaimAndEvidence, topical: float) -> Conflict | None:
    """It says of all what every sentence about it says of some only, or does without what is a condition there."""
    for look in (told_of_all, told_without, told_of_whole):
        told = look(pair.claim, pair.evidence[0], pair.language)
        if told is None or share_without(pair, told[0]) < topical:
            continue
        others = zip(pair.evidence[1:], pair.found[1:], strict=True)
        if not any(look(pair.claim, text, pair.language) is None and is_close(pair, item) for text, item in others):
            return Conflict(f"it says '{told[0]}', the passage '{told[1]}'", plain=True)
    return None


def leave_conflict(pair: ClaimAndEvidence, topical: float) -> Conflict | None:
    """It gives leave where the sentence refuses it, makes a duty of what is free, or the other way round."""
    halves = clauses(pair.evidence[0]) if is_english(pair) else pair.evidence[:1]
    for half in halves:
        told = other_leave(pair.claim, half, pair.language)
        if told and share_without(pair, told[0], (read_sentence(half, pair.language),)) >= topical:
            return Conflict(f"it says '{told[0]}', the passage '{told[1]}'", plain=True)
    return None


def plan_conflict(pair: ClaimAndEvidence, limits: Mapping[str, Any]) -> Conflict | None:
    """It tells as done what the passage only expects, or as certain what the passage only holds possible."""
    if not is_english(pair):
        return None
    share = coverage(pair.weights, pair.found[:1])
    if share >= limits["topical"] and (told := told_as_done(pair.claim, pair.evidence)):
        return Conflict(f"it tells '{told}' as done, the passage as planned", plain=True, label="unsupported")
    if share >= limits["rests"] and (told := told_as_certain(pair.claim, pair.evidence[0])):
        return Conflict(f"it says '{told}', the passage leaves it open", plain=True, label="unsupported")
    return None


def longer_list(pair: ClaimAndEvidence) -> Conflict | None:
    """It lists all that the passage lists, and a thing more that no evidence speaks of."""
    if not is_english(pair):
        return None
    for text in pair.evidence:
        added = added_item(pair.claim, text)
        if added and all(reading.stems.isdisjoint(added) for reading in (*pair.found, pair.asked)):
            told = ", ".join(pair.claimed.surface.get(root, root) for root in added)
            return Conflict(f"it adds to what the passage lists: {told}", plain=True, label="unsupported")
    return None
