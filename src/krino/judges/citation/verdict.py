"""The verdict of the citation rubric: exactly eleven keys, and the rules that bind them to each other."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from krino.judges.citation.belgium.courts import Classification

MatchCorrectness = Literal[
    "CORRECT", "PARTIALLY_CORRECT", "INCORRECT", "FALSE_POSITIVE", "FALSE_NEGATIVE", "CORRECT_NO_MATCH"
]
AlignmentHandling = Literal[
    "CORRECT_ALIGNMENT",
    "MISSED_COURT_MATCH",
    "WRONG_COURT_ACCEPTED",
    "WRONG_JURISDICTION_OVERPUNISHED",
    "WRONG_JURISDICTION_UNDERPUNISHED",
    "SKIPPED_COURT_CHECK",
]
Calibration = Literal["WELL_CALIBRATED", "OVERCONFIDENT", "UNDERCONFIDENT"]
ErrorType = Literal[
    "COURT_CHECK_SKIPPED",
    "FR_NL_CONFUSION",
    "ABBREVIATION_MISSED",
    "GENERIC_OVERPUNISHED",
    "JURISDICTION_MISMATCH_IGNORED",
    "COURT_TYPE_MISMATCH_IGNORED",
    "CASE_NUMBER_IGNORED",
    "CASE_NUMBER_FALSE_MATCH",
    "MISSING_CASE_NUMBER_PENALIZED",
    "CONTEXT_MISREAD",
    "OVERFIT_TO_KEYWORDS",
    "CEILING_VIOLATED",
    "ECLI_MISMATCH_IGNORED",
    "NONE",
]
RIGHT: frozenset[MatchCorrectness] = frozenset({"CORRECT", "CORRECT_NO_MATCH"})
GOOD_REASONING = 4
Percent = Annotated[int, Field(ge=0, le=100)]


def is_faultless(correctness: str, calibration: str, alignment: str, quality: int) -> bool:
    """Is there nothing to improve? Exactly then the suggestions are null."""
    return (
        correctness in RIGHT
        and calibration == "WELL_CALIBRATED"
        and alignment == "CORRECT_ALIGNMENT"
        and quality >= GOOD_REASONING
    )


class CitationVerdict(BaseModel):
    """The eleven fields of the rubric's output, checked against its own rules."""

    model_config = ConfigDict(extra="forbid")

    match_correctness: MatchCorrectness
    correct_decision_id: str | None
    court_alignment_handling: AlignmentHandling
    cited_court_classification: Classification
    confidence_calibration: Calibration
    expected_confidence_range: tuple[Percent, Percent]
    applicable_ceiling: str | None
    reasoning_quality: Annotated[int, Field(ge=1, le=5)]
    errors: Annotated[list[ErrorType], Field(min_length=1)]
    evaluation_notes: Annotated[str, Field(min_length=1)]
    improvement_suggestions: Annotated[str, Field(min_length=1)] | None

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        """Refuses a verdict whose fields contradict each other."""
        if "NONE" in self.errors and len(self.errors) > 1:
            raise ValueError("errors: NONE excludes all others")
        if len(set(self.errors)) != len(self.errors):
            raise ValueError("errors: each type at most once")
        if self.expected_confidence_range[0] > self.expected_confidence_range[1]:
            raise ValueError("expected_confidence_range: the minimum is above the maximum")
        faultless = is_faultless(
            self.match_correctness,
            self.confidence_calibration,
            self.court_alignment_handling,
            self.reasoning_quality,
        )
        if faultless != (self.improvement_suggestions is None):
            raise ValueError("improvement_suggestions is null exactly when there is nothing to improve")
        return self
