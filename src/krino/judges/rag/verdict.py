"""The verdict of the RAG rubric: exactly eleven keys, in the rubric's order."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from krino.contract import Status

Score = Annotated[float, Field(ge=0.0, le=1.0)] | None


class RagVerdict(BaseModel):
    """Four scores with their explanations, and how the evaluation went."""

    model_config = ConfigDict(extra="forbid")

    faithfulness: Score
    faithfulness_explanation: str | None
    context_relevance: Score
    context_relevance_explanation: str | None
    answer_relevance: Score
    answer_relevance_explanation: str | None
    semantic_similarity: Score
    semantic_similarity_explanation: str | None
    evaluation_status: Literal["success", "failed"]
    reason: str | None
    error: str | None


class RagFigures(BaseModel):
    """Figures reported next to the verdict; they are not keys of the rubric."""

    hallucination_risk: Score = Field(
        default=None,
        description="the probability that the answer holds a claim that people would call unsupported",
        json_schema_extra={"better": "lower"},
    )


def failed_verdict(status: Status, message: str) -> dict[str, Any]:
    """Returns the rubric's failed form. A case that cannot be judged has a reason, a broken judging an error."""
    verdict: dict[str, Any] = dict.fromkeys(RagVerdict.model_fields)
    verdict["evaluation_status"] = "failed"
    verdict["error" if status == "error" else "reason"] = message
    return verdict
