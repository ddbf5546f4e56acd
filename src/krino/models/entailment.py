"""Scores whether a text supports a claim, says nothing about it, or contradicts it.

The same model was taught two more tasks, marked by the form of the second text: whether it answers a
question, and whether it says the same as another text. A second output classifies the sentences of an answer by role.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from krino.models.token_model import TokenModel, thread_count, word_pieces

_TEXT_TOKENS, _CLAIM_TOKENS = 320, 96
"""What counts of a text and of a claim, as in the model's training."""
_BEFORE_TOKENS, _SENTENCE_TOKENS, _AFTER_TOKENS = 48, 128, 48
"""What counts of a sentence and its neighbours where its role is asked."""
_BEFORE_CHARACTERS = 1_000
_BATCH_TOKENS = 320
_LOADING = Lock()


class Entailment(NamedTuple):
    """Probabilities of the three classes; they sum to one."""

    supported: float
    unsupported: float
    contradicted: float


def entail(pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
    """Returns for each pair of text and claim how far the text supports or contradicts the claim."""
    if not pairs:
        return []
    with _LOADING:  # two threads that come first at once must not load it twice
        model = _model()
    shares = _softmax(model.run([_encode(text, claim) for text, claim in dict.fromkeys(pairs)], "logits"))
    found = dict(zip(dict.fromkeys(pairs), (Entailment(*row) for row in shares.tolist()), strict=True))
    return [found[pair] for pair in pairs]


class Answered(NamedTuple):
    """How likely a text answers a question wholly, not at all, or in part; they sum to one."""

    whole: float
    none: float
    part: float


def answers(pairs: Sequence[tuple[str, str]]) -> list[Answered]:
    """Returns for each pair of a text and a question how likely the text answers the question."""
    return [Answered(*said) for said in entail([(text, _as_question(question)) for text, question in pairs])]


def same(question: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Returns for each pair of replies to a question how likely both say the same, read in both directions."""
    asked = _as_question(question)
    scores = entail(
        [(f"{asked} {a}", f"= {b}") for first, second in pairs for a, b in ((first, second), (second, first))]
    )
    return [(there.supported + back.supported) / 2 for there, back in zip(scores[::2], scores[1::2], strict=True)]


ROLES = (
    "claim",
    "refusal",
    "lead_in",
    "heading",
    "courtesy",
    "offer",
    "pointer",
    "hedge",
    "about_passages",
    "question",
)
"""The roles that a sentence of an answer can have; the columns of `roles`."""


class RoleInput(NamedTuple):
    """A sentence of an answer with its neighbours, or "" where there is none. Markdown before a sentence may stay."""

    before: str
    sentence: str
    after: str


def roles(sentences: Sequence[RoleInput]) -> NDArray[np.float32]:
    """Probabilities of the `ROLES`, one row for each sentence; a row does not depend on the other rows."""
    if not sentences:
        return np.empty((0, len(ROLES)), np.float32)
    with _LOADING:
        model = _model()
    places = {sentence: place for place, sentence in enumerate(dict.fromkeys(sentences))}
    shares = _softmax(model.run([_encode_role(sentence) for sentence in places], "roles"))
    return shares[[places[sentence] for sentence in sentences]]


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    shares: NDArray[np.float32] = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def _encode_role(asked: RoleInput) -> list[int]:
    """The token numbers of the three texts, between marks. Of the one before, the end counts: that is what the sentence
    follows."""
    pieces, most = word_pieces(), _BEFORE_TOKENS
    near = pieces.encode(asked.before[-_BEFORE_CHARACTERS:], _BEFORE_CHARACTERS)
    before = near if len(near) <= most else near[:1] + near[1 - most :]
    return [
        *before,
        *pieces.encode(asked.sentence, _SENTENCE_TOKENS)[1:],
        *pieces.encode(asked.after, _AFTER_TOKENS)[1:],
    ]


def _as_question(text: str) -> str:
    """The text with a question mark at its end, which is how the model tells a question from a claim."""
    return text if text.rstrip().endswith("?") else f"{text.rstrip(' .')}?"


def _encode(text: str, claim: str) -> list[int]:
    """The token numbers of both, between the marks of the vocabulary; what is too long loses its end."""
    return word_pieces().encode(text, _TEXT_TOKENS) + word_pieces().encode(claim, _CLAIM_TOKENS)[1:]


@cache
def _model() -> TokenModel:
    return TokenModel("gte_entailment", thread_count(), _BATCH_TOKENS)
