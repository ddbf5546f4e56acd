"""A citation case: what was cited, the candidates, the matcher's answer and, if known, the right decision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from krino.judges.citation.record.reader import names_taken, read_ground_truth, read_record, to_snake_case
from krino.judges.citation.record.values import parse_number

SnippetMatch = Literal["ECLI", "CASE_NUMBER", "COURT_DATE", "COURT_ONLY"]
MATCH_TYPES = frozenset(get_args(SnippetMatch))


class _Record(BaseModel):
    """Extra keys are kept, because systems write more than the rubric reads."""

    model_config = ConfigDict(extra="allow", frozen=True, coerce_numbers_to_str=True)


class Named(_Record):
    """A decision by its identifiers: `decision_id`, and an ECLI where that is a database's own id."""

    decision_id: str | None = None
    ecli: str | None = None
    other_ids: tuple[str, ...] = Field((), json_schema_extra={"readOnly": True})
    """Filled by the reader, never by a record: further identifiers of the same entry."""
    contradictions: tuple[str, ...] = Field((), json_schema_extra={"readOnly": True})
    """Filled by the reader, never by a record: keys that give one field different values."""


class Candidate(Named):
    """A decision of the cited date. Any field may be missing."""

    court_name: str | None = None
    court_name_fr: str | None = None
    court_name_nl: str | None = None
    court_ecli_code: str | None = None
    decision_date: str | None = None
    decision_type: str | None = None
    rol_number: str | None = None
    teaching_texts: tuple[str, ...] = ()
    summaries: tuple[str, ...] = ()


class Match(Named):
    """One match of the matcher, with `score` and `confidence` as written: `read_percent` interprets them."""

    court_name: str | None = None
    score: float | None = None
    confidence: float | None = None
    reasoning: str | None = None
    rol_number: str | None = None


class CitationCase(_Record):
    """The input record with one set of names; whatever means "absent" is None."""

    cited_court_name: str | None = Field(None, description="the court as cited")
    cited_date: str | None = Field(None, description="the date as cited")
    cited_case_number: str | None = Field(None, description="the case number as cited")
    cited_ecli: str | None = Field(None, description="the ECLI as cited")
    citation_snippet: str | None = Field(None, description="the text around the citation")
    snippet_match_type: SnippetMatch | None = Field(
        None, description=f"how the snippet was found: {', '.join(get_args(SnippetMatch))}"
    )
    candidates: tuple[Candidate, ...] = Field((), description="the decisions of that date, from which was chosen")
    candidate_count: int | None = Field(None, description="how many there were, where not all are listed")
    matches: tuple[Match, ...] = Field(
        (), description="what the matcher chose, with confidence and reasoning; [] for none (or no_match_reason)"
    )
    no_match_reason: str | None = Field(None, description="why the matcher chose none")
    ground_truth: str | None = Field(None, description="the right decision, where it is known")
    ground_truth_known: bool = Field(False, description="true, without a ground_truth: none of them is right")
    aliases_used: tuple[str, ...] = Field((), json_schema_extra={"readOnly": True})
    """Filled by the judge, never by a record: the user's aliases that it contained."""

    @classmethod
    def names_read(cls) -> frozenset[str]:
        """The keys that are read, in snake case; other keys are kept but not read."""
        return frozenset({*cls.model_fields, *names_taken(), "reasoning"})

    @staticmethod
    def spelled(name: str) -> str:
        """Normalises a key: `citedDate` becomes `cited_date`."""
        return to_snake_case(name)

    @model_validator(mode="before")
    @classmethod
    def _from_any_names(cls, record: Any) -> Any:
        """Reads the fields of a record under any of their known names."""
        if not isinstance(record, Mapping):
            return record
        fields = read_record(record)
        fields.pop("aliases_used", None)
        fields["snippet_match_type"] = _read_match_type(fields.get("snippet_match_type"))
        fields["candidate_count"] = _read_count(fields.get("candidate_count"))
        fields["ground_truth"], fields["ground_truth_known"] = read_ground_truth(fields)
        return fields


def _read_match_type(value: Any) -> str | None:
    name = value.strip().upper().replace(" ", "_").replace("-", "_") if isinstance(value, str) else ""
    return name if name in MATCH_TYPES else None


def _read_count(value: Any) -> int | None:
    number = parse_number(value)
    return int(number) if number is not None and 0 <= number < 1e9 else None
