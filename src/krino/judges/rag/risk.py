"""The figure beside the verdict: how likely the answer holds a claim that people would call unsupported."""

from __future__ import annotations

import math
from collections.abc import Sequence

from krino.contract import Ruling
from krino.judges.rag.labels import Claim
from krino.judges.rag.tables import table
from krino.judges.rag.wording import cut

_SUREST = 0.001
"""Probabilities count up to so near 0 or 1."""


def hallucination_risk(claims: Sequence[Claim], faithfulness_rule: str) -> Ruling | None:
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
    return Ruling(round(_risk(least, len(measured)), 3), "RAG-H1", (told,), from_labels=True)


def _risk(least: float, claims: int) -> float:
    """The more claims there are, the less the worst of them says."""
    fit = table("local")["risk"]
    held = min(max(least, _SUREST), 1 - _SUREST)
    balance = fit["start"] + fit["worst"] * math.log((1 - held) / held) + fit["claims"] * math.log(claims)
    return 1 / (1 + math.exp(-balance))
