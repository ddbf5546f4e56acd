"""Tells whether a text supports a claim, says nothing of it, or speaks against it (English), with probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import NamedTuple

import numpy as np

from krino.models.token_model import TokenModel, thread_count, word_pieces

_TEXT_TOKENS, _CLAIM_TOKENS = 320, 96
"""What counts of a text and of a claim, as in the model's training."""
_BATCH_TOKENS = 192
_LOADING = Lock()


class Entailment(NamedTuple):
    """Probabilities of the three classes; they sum to one."""

    supported: float
    unsupported: float
    contradicted: float


def entail(pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
    """For each pair of a text and a claim; what a pair gives does not depend on the others."""
    if not pairs:
        return []
    with _LOADING:  # two threads that come first at once must not load it twice
        model = _model()
    logits = model.run([_encode(text, claim) for text, claim in dict.fromkeys(pairs)])
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    found = dict(zip(dict.fromkeys(pairs), (Entailment(*row) for row in shares.tolist()), strict=True))
    return [found[pair] for pair in pairs]


def _encode(text: str, claim: str) -> list[int]:
    """Both between the marks of the vocabulary; what is too long loses its end."""
    return word_pieces().encode(text, _TEXT_TOKENS) + word_pieces().encode(claim, _CLAIM_TOKENS)[1:]


@cache
def _model() -> TokenModel:
    return TokenModel("gte_entailment", len(Entailment._fields), thread_count(), _BATCH_TOKENS)
