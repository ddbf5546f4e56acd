"""What a labeller says about one RAG case: one reply holds everything the four scores need."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import SkipJsonSchema

ClaimLabel = Literal["supported", "unsupported", "contradicted"]
Directness = Literal["full", "partly", "no"]
RefusalCategory = Literal["insufficient_context", "safety", "ambiguous", "out_of_scope"]
Similarity = Literal["same", "close", "partial", "little", "none"]


class _Strict(BaseModel):
    """No field may be left out and none added: what a reply does not say is never guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Claim(_Strict):
    text: str
    sentence: int
    label: ClaimLabel
    critical: bool
    passage: int | None
    quote: str | None
    why: str
    probability: SkipJsonSchema[float | None] = None
    """That people would call it supported, from labellers that measure; models are not asked for one."""


class Part(_Strict):
    part: str
    answered: bool


class PassageUse(_Strict):
    passage: int
    useful: bool


class Need(_Strict):
    need: str
    held: bool


class RefusalLabel(_Strict):
    is_refusal: bool
    reason_stated: bool
    category: RefusalCategory | None
    validity_shown: bool
    right_to_refuse: bool
    why: str


class RagLabels(_Strict):
    """Numbers of sentences and passages count from 1, as they are shown."""

    claims: list[Claim]
    empty_sentences: list[int]
    parts: list[Part]
    direct: Directness
    passages: list[PassageUse]
    needs: list[Need]
    refusal: RefusalLabel | None
    similarity: Similarity | None
    similarity_why: str | None
    uncertain: str | None
    similarity_score: SkipJsonSchema[float | None] = None
    """A finer measure within the step, from labellers that measure; models are not asked for one."""
