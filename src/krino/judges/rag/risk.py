"""The figure beside the verdict: how likely the answer holds a claim that people would call unsupported."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from krino.contract import Ruling
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import Claim
from krino.judges.rag.tables import table
from krino.judges.rag.wording import cut

_SUREST = 0.001
"""Probabilities count up to so near 0 or 1."""
_MOST_ABSENT = 2
"""Absent values from which on another one says no more."""


def hallucination_risk(facts: RagFacts, claims: Sequence[Claim], faithfulness_rule: str) -> Ruling | None:
    """None where nobody measured: a model that only labels gives no probabilities, and none are made up for it."""
    if faithfulness_rule in ("RAG-F1", "RAG-F5"):
        return Ruling(0.0, "RAG-H2")
    if faithfulness_rule == "RAG-F2":
        return Ruling(1.0, "RAG-H3")
    measured = [(claim.probability, claim) for claim in claims if claim.probability is not None]
    if not measured or len(measured) < len(claims):
        return None
    least, worst = min(measured, key=lambda item: item[0])
    told = f'answer sentence {worst.sentence}: "{cut(worst.text)}" is supported with probability {least:.2f}'
    value = max(_whole_risk(facts, claims), 1 - least)
    return Ruling(round(value, 3), "RAG-H1", (told,), from_labels=True)


def at_level_of_answer(facts: RagFacts, claims: Sequence[Claim], decided: Sequence[bool]) -> list[Claim]:
    """The claims with the probability that each has in this answer: none can be less likely supported than all of them.

    A claim is measured by itself, on other data than the risk of a whole answer. Where the two disagree, all claims but
    those that code decided are moved by the same odds, as far as it takes; `hallucination_risk` then finds the same
    risk again. A claim that is not supported is moved no further than `_most_support`, whatever stands beside it.
    """
    measured = [claim.probability for claim in claims if claim.probability is not None]
    if len(measured) < len(claims) or len(_own_words(facts, claims)) < 2 or all(decided):
        return list(claims)
    risk = _whole_risk(facts, claims)
    risk = max([risk, *(1 - value for value, settled in zip(measured, decided, strict=True) if settled)])
    least = min(value for value, settled in zip(measured, decided, strict=True) if not settled)
    move = worst_odds(least) - worst_odds(1 - risk)
    if move <= 0:
        return list(claims)
    return [
        claim if settled else claim.model_copy(update={"probability": round(_moved(claim, value, move), 3)})
        for claim, value, settled in zip(claims, measured, decided, strict=True)
    ]


def _moved(claim: Claim, probability: float, move: float) -> float:
    if claim.label == "contradicted":
        return probability
    moved = 1 / (1 + math.exp(worst_odds(probability) - move))
    return moved if claim.label == "supported" else min(moved, max(_most_support(probability), probability))


def _most_support(probability: float) -> float:
    """What a claim that is not supported can have at most, by its own measure alone.

    Without this bound, true sentences around a false one make it look likely.
    """
    fit = table("local")["risk_bound"]
    return float(1 / (1 + math.exp(-fit["start"] + fit["odds"] * worst_odds(probability))))


def _own_words(facts: RagFacts, claims: Sequence[Claim]) -> list[Claim]:
    """The claims that are not copied from a passage to the letter: copies say nothing about the others."""
    copied = {copy.sentence for copy in facts.copies if copy.exact}
    return [claim for claim in claims if claim.sentence not in copied] or list(claims)


def _whole_risk(facts: RagFacts, claims: Sequence[Claim]) -> float:
    """Of the answer by what is found of all of it; talk between its claims adds nothing, nor do copies."""
    own = _own_words(facts, claims)
    probabilities = [claim.probability for claim in own if claim.probability is not None]
    unsupported, claiming = sum(claim.label != "supported" for claim in own), {claim.sentence for claim in own}
    return weigh(min(probabilities), len(probabilities), signs(facts, probabilities, unsupported, claiming))


def signs(
    facts: RagFacts, probabilities: Sequence[float], unsupported: int, claiming: Collection[int] | None = None
) -> dict[str, float]:
    """What is weighed of an answer as a whole, by the names of the weights.

    `claiming`: numbers of the sentences that claim something; None: all of them do.
    """
    readings = enumerate(facts.readings, 1)
    said = {root for number, item in readings if claiming is None or number in claiming for root in item.content}
    new = said.difference(*(item.reading.stems for item in facts.passage_sentences))
    return {
        "expected": sum(1 - probability for probability in probabilities),
        "unsupported": math.log1p(unsupported),
        "new_words": math.log1p(len(new)),
        "absent_values": float(min(len(facts.absent_values), _MOST_ABSENT)),
    }


def weigh(least: float, claims: int, found: Mapping[str, float]) -> float:
    """An answer of one claim has the risk of that claim; the more there are, the more the whole counts."""
    fit = table("local")["risk"]
    whole = fit["start"] + sum(fit[name] * value for name, value in found.items())
    balance = worst_odds(least) / claims + (1 - 1 / claims) * whole
    return 1 / (1 + math.exp(-balance))


def worst_odds(least: float) -> float:
    """Log odds that the claim which is least likely supported is not."""
    held = min(max(least, _SUREST), 1 - _SUREST)
    return math.log((1 - held) / held)
