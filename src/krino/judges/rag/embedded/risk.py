"""The figure beside the verdict: how likely the answer holds a claim that people would call unsupported."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from krino.contract import Ruling
from krino.judges.rag.labels import Claim, RagLabels
from krino.judges.rag.tables import table
from krino.judges.rag.wording import shorten

_SUREST = 0.001
"""Probabilities count up to so near 0 or 1."""
_UNMEASURED = 0.5
"""The probability of support of a claim that has none: what the answer itself calls false."""


def hallucination_risk(labels: RagLabels | None, faithfulness_rule: str) -> Ruling | None:
    """None where nobody measured: a model that only labels gives no probabilities, and none are made up for it."""
    if labels is None or not labels.measured:
        return None
    if faithfulness_rule in ("RAG-F1", "RAG-F5"):
        return Ruling(0.0, "RAG-H2")
    if faithfulness_rule == "RAG-F2":
        return Ruling(1.0, "RAG-H3")
    probabilities = [_support(claim) for claim in labels.claims]
    worst = min(labels.claims, key=_support)
    explanation = (
        f'answer sentence {worst.sentence}: "{shorten(worst.text)}" is supported with probability {_support(worst):.2f}'
    )
    value = weigh(signs(probabilities))
    return Ruling(round(max(value, 1 - min(probabilities)), 3), "RAG-H1", (explanation,), from_labels=True)


def _support(claim: Claim) -> float:
    return _UNMEASURED if claim.probability is None else claim.probability


def signs(probabilities: Sequence[float]) -> dict[str, float]:
    """What is weighed of an answer as a whole, by the names of the weights in `[risk]`."""
    return {
        "worst": worst_odds(min(probabilities)),
        "expected": sum(1 - probability for probability in probabilities),
    }


def weigh(found: Mapping[str, float]) -> float:
    fit = table("local")["risk"]
    balance = fit["start"] + sum(fit[name] * value for name, value in found.items())
    return float(1 / (1 + math.exp(-balance)))


def worst_odds(least: float) -> float:
    """Log odds that the claim which is least likely supported is not."""
    held = min(max(least, _SUREST), 1 - _SUREST)
    return math.log((1 - held) / held)
