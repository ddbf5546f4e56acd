"""Tells whether a text supports a claim, says nothing of it, or speaks against it, with probabilities.

The same model was taught two more tasks, told apart by the form of what stands behind the text: whether it answers a
question, and whether it says the same as another text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import NamedTuple

import numpy as np

from krino.models.token_model import TokenModel, thread_count, word_pieces

_TEXT_TOKENS, _CLAIM_TOKENS = 320, 96
"""What counts of a text and of a claim, as in the model's training."""
_BATCH_TOKENS = 320
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


class Answered(NamedTuple):
    """How likely a text answers a question wholly, not at all, or in part; they sum to one."""

    whole: float
    none: float
    part: float


def answers(pairs: Sequence[tuple[str, str]]) -> list[Answered]:
    """For each pair of a text and a question."""
    return [Answered(*said) for said in entail([(text, _as_question(question)) for text, question in pairs])]


def same(question: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """For each pair of replies to a question, how likely both say the same, read either way."""
    asked = _as_question(question)
    told = entail(
        [(f"{asked} {a}", f"= {b}") for first, second in pairs for a, b in ((first, second), (second, first))]
    )
    return [(there.supported + back.supported) / 2 for there, back in zip(told[::2], told[1::2], strict=True)]


def _as_question(text: str) -> str:
    """A question mark at its end is what tells a question from a claim."""
    return text if text.rstrip().endswith("?") else f"{text.rstrip(' .')}?"


def _encode(text: str, claim: str) -> list[int]:
    """Both between the marks of the vocabulary; what is too long loses its end."""
    return word_pieces().encode(text, _TEXT_TOKENS) + word_pieces().encode(claim, _CLAIM_TOKENS)[1:]


@cache
def _model() -> TokenModel:
    return TokenModel("gte_entailment", len(Entailment._fields), thread_count(), _BATCH_TOKENS)
