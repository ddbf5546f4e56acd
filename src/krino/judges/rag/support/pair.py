"""A claim and its evidence with their conflict: the first of all that the deciding sentence could say otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from krino.judges.lazy import lazy
from krino.judges.rag.reading.scope import may_be_wider
from krino.judges.rag.support.claim_and_evidence import ClaimAndEvidence, Conflict, is_english
from krino.judges.rag.support.closeness import matter_share, share_without
from krino.judges.rag.support.denial_conflicts import negation_conflict, opposite_conflict
from krino.judges.rag.support.reach_conflicts import (
    amount_conflict,
    leave_conflict,
    longer_list,
    narrowing_conflict,
    plan_conflict,
    scope_conflict,
)
from krino.judges.rag.support.role_conflicts import (
    name_conflict,
    relation_conflict,
    role_conflict,
    slot_conflict,
    told_of_another,
)
from krino.judges.rag.support.value_conflicts import borrowed_value, misjoined_value, value_conflict
from krino.judges.rag.tables import table


def find_conflict(pair: ClaimAndEvidence) -> Conflict | None:
    """What the deciding sentence says otherwise: a value, a denial, an opposite, an order, or the name asked for."""
    limits: Mapping[str, Any] = table("local")["thresholds"]
    if conflict := value_conflict(pair, limits["topical"]) or borrowed_value(pair, limits["negation"]):
        return conflict
    if conflict := misjoined_value(pair):
        return conflict
    if conflict := amount_conflict(pair, limits["negation"]) or scope_conflict(pair, limits["negation"]):
        return conflict
    if conflict := narrowing_conflict(pair, limits["negation"]):
        return conflict
    if (pair.share >= limits["negation"] or matter_share(pair) >= limits["negation"]) and (
        conflict := negation_conflict(pair)
    ):
        return conflict
    return (
        leave_conflict(pair, limits["negation"])
        or opposite_conflict(pair, limits["negation"])
        or role_conflict(pair)
        or relation_conflict(pair)
        or name_conflict(pair, limits["negation"])
        or slot_conflict(pair)
        or plan_conflict(pair, limits)
        or longer_list(pair)
        or _hint(pair, limits["negation"])
    )


def _hint(pair: ClaimAndEvidence, topical: float) -> Conflict | None:
    """What counts only where the entailment model speaks against the claim too: it could be told in other words."""
    if not is_english(pair):
        return None
    wider = may_be_wider(pair.claim, pair.evidence[0])
    if wider is not None and share_without(pair, wider[0]) >= topical:
        return Conflict(f"it says '{wider[0]}', the passage knows {wider[1]}", hint=True)
    if len(pair.claimed.content) <= table("local")["decided"]["words"] and told_of_another(pair) == "perhaps":
        return Conflict("the passage says this of another", label="unsupported", hint=True)
    return None


@dataclass(frozen=True)
class Pair(ClaimAndEvidence):
    """A claim and its evidence, with what the evidence says otherwise: looked for once, however often it is asked."""

    @lazy
    def conflict(self) -> Conflict | None:
        return find_conflict(self)
