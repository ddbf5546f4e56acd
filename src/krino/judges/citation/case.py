"""A citation case: what was cited, the candidates, what the matcher answered and perhaps the ground truth."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, get_args

import orjson
from pydantic import BaseModel, ConfigDict, model_validator

from krino.judges.citation.case_numbers import is_absent

SnippetMatch = Literal["ECLI", "CASE_NUMBER", "COURT_DATE", "COURT_ONLY"]
MATCH_TYPES = frozenset(get_args(SnippetMatch))

_CITED = frozenset(
    {"cited_court_name", "cited_date", "cited_case_number", "cited_ecli", "citation_snippet", "no_match_reason"}
)
_COURT_NAMES = frozenset({"court_name", "court_name_fr", "court_name_nl", "court_ecli_code"})
_CANDIDATE_TEXTS = _COURT_NAMES | {"decision_id", "decision_date", "decision_type", "rol_number"}
_MATCH_TEXTS = frozenset({"decision_id", "court_name", "reasoning", "rol_number"})
_ID_NAMES = ("decision_id", "ecli", "id")
_NO_DECISION = frozenset({"no_match", "no match", "none of them", "no decision"})
_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")
_LONGEST_ABSENT = 40
_DIGIT = re.compile("[0-9]")
_FENCE = re.compile(r"\s*```[a-z]*\s*(.*?)\s*```\s*", re.DOTALL)


class _Record(BaseModel):
    """Extra keys are kept: systems write more than the rubric reads."""

    model_config = ConfigDict(extra="allow", frozen=True, coerce_numbers_to_str=True)


class Candidate(_Record):
    """A decision of the cited date. Any field may be missing."""

    decision_id: str | None = None
    court_name: str | None = None
    court_name_fr: str | None = None
    court_name_nl: str | None = None
    court_ecli_code: str | None = None
    decision_date: str | None = None
    decision_type: str | None = None
    rol_number: str | None = None
    teaching_texts: tuple[str, ...] = ()
    summaries: tuple[str, ...] = ()


class Match(_Record):
    """One match of the matcher. `score` and `confidence` are as written; the facts say what they mean."""

    decision_id: str | None = None
    court_name: str | None = None
    score: float | None = None
    confidence: float | None = None
    reasoning: str | None = None
    rol_number: str | None = None


class CitationCase(_Record):
    """The input record, whatever its spelling; what stands for "absent" is None."""

    cited_court_name: str | None = None
    cited_date: str | None = None
    cited_case_number: str | None = None
    cited_ecli: str | None = None
    citation_snippet: str | None = None
    snippet_match_type: SnippetMatch | None = None
    candidates: tuple[Candidate, ...] = ()
    candidate_count: int | None = None
    matches: tuple[Match, ...] = ()
    no_match_reason: str | None = None
    ground_truth: str | None = None
    ground_truth_known: bool = False
    aliases_used: tuple[str, ...] = ()
    """Filled by the judge, never by a record: the user's aliases that stood in it."""

    @model_validator(mode="before")
    @classmethod
    def _from_any_names(cls, record: Any) -> Any:
        if not isinstance(record, Mapping):
            return record
        fields = _snake_keys(record)
        fields.pop("aliases_used", None)
        _take_output(fields)
        _texts_cleaned(fields, _CITED)
        if "candidates" not in fields and "candidates_list" in fields:
            fields["candidates"] = fields.pop("candidates_list")
        fields["candidates"] = [_candidate(item) for item in _items(fields.get("candidates"), "candidates")]
        fields["matches"] = [_match(item) for item in _items(fields.get("matches"), "matches")]
        fields["snippet_match_type"] = _match_type(fields.get("snippet_match_type"))
        fields["candidate_count"] = _count(fields.get("candidate_count"))
        fields["ground_truth"], fields["ground_truth_known"] = _ground_truth(fields)
        return fields


@lru_cache(maxsize=4096)
def _snake(name: str) -> str:
    return _CAPITAL.sub(r"_\1", name).lower()


def _snake_keys(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record with snake_case keys; a key that is already so written wins over its camelCase twin."""
    fields = {_snake(key): value for key, value in record.items() if isinstance(key, str)}
    if len(fields) < len(record):
        fields.update((key, value) for key, value in record.items() if isinstance(key, str) and key.islower())
    return fields


def _take_output(fields: dict[str, Any]) -> None:
    """Lift what a nested `model_output` says to the top, where the record has nothing of its own."""
    if "model_output" not in fields:
        return
    output = _parsed(fields["model_output"], "model_output")
    if isinstance(output, list):
        output = {"matches": output}
    if not isinstance(output, Mapping):
        if _text(output) is None:
            return
        raise ValueError("model_output is neither an object nor JSON text of one")
    for key, value in _snake_keys(output).items():
        if fields.get(key) is None:
            fields[key] = value


def _parsed(value: Any, name: str) -> Any:
    """JSON text as what it says; other values as they are."""
    if not isinstance(value, str) or is_absent(value):
        return None if isinstance(value, str) else value
    fenced = _FENCE.fullmatch(value[:2_000_000])
    try:
        return orjson.loads(fenced.group(1) if fenced else value)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{name} is text but not JSON: {error}") from None


def _items(value: Any, name: str) -> list[Any]:
    value = _parsed(value, name)
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [value]
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name} is not a list")  # noqa: TRY004 (pydantic reports ValueErrors only)
    return [item for item in value if item is not None]


def _candidate(item: Any) -> Any:
    if not isinstance(item, Mapping):
        return item
    fields = _texts_cleaned(_snake_keys(item), _CANDIDATE_TEXTS)
    _name_id(fields)
    for name in ("teaching_texts", "summaries"):
        if fields.get(name) is not None:
            fields[name] = _texts(fields[name])
        else:
            fields[name] = ()
    return fields


def _match(item: Any) -> Any:
    if isinstance(item, str):
        return {"decision_id": item}
    if not isinstance(item, Mapping):
        return item
    fields = _texts_cleaned(_snake_keys(item), _MATCH_TEXTS)
    _name_id(fields)
    for name in ("score", "confidence"):
        if name in fields:
            fields[name] = _number(fields[name])
    return fields


def _texts_cleaned(fields: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    for name, value in fields.items():
        if value is not None and name in names:
            fields[name] = _text(value)
    return fields


def _name_id(fields: dict[str, Any]) -> None:
    if fields.get("decision_id") is None:
        fields["decision_id"] = next((fields[name] for name in _ID_NAMES if fields.get(name) is not None), None)


def _text(value: Any) -> Any:
    """A text field, or None where it says in any way that there is nothing."""
    if isinstance(value, str):
        return None if _says_nothing(value) else value
    return None if isinstance(value, float) and math.isnan(value) else value


def _says_nothing(text: str) -> bool:
    if len(text) > _LONGEST_ABSENT:
        return not text.strip()
    # No word for "absent" holds a digit; what holds none (court names) comes again and again.
    return _DIGIT.search(text) is None and _is_absent_word(text)


@lru_cache(maxsize=4_096)
def _is_absent_word(text: str) -> bool:
    return is_absent(text)


def _texts(value: Any) -> list[str]:
    """Texts of a list, of one string, or of objects that carry a text."""
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            value = [value]
    if value is None or isinstance(value, str | Mapping):
        value = [value]
    if not isinstance(value, list | tuple):
        return []
    texts = (item.get("text") or item.get("content") if isinstance(item, Mapping) else item for item in value)
    return [text for text in texts if isinstance(text, str) and not _says_nothing(text)]


def _number(value: Any) -> float | None:
    """A finite number, also written as text with a percent sign; None for anything else."""
    if isinstance(value, str):
        try:
            value = float(value.strip().rstrip("% ").replace(",", "."))
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _match_type(value: Any) -> str | None:
    name = value.strip().upper().replace(" ", "_").replace("-", "_") if isinstance(value, str) else ""
    return name if name in MATCH_TYPES else None


def _count(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None and 0 <= number < 1e9 else None


def _ground_truth(fields: Mapping[str, Any]) -> tuple[Any, bool]:
    """The decision known to be right and whether anything is known; (None, True) is "none of them"."""
    value = fields.get("ground_truth")
    known = fields.get("ground_truth_known")
    if isinstance(value, Mapping):
        nested = _snake_keys(value)
        known = nested.get("ground_truth_known", nested.get("known", known))
        value = next((nested[name] for name in _ID_NAMES if nested.get(name) is not None), None)
    if isinstance(value, str) and value.strip().lower() in _NO_DECISION:
        return None, True
    decision = _text(value)
    says_known = known is True or (isinstance(known, str) and known.strip().lower() in {"true", "yes", "1"})
    return decision, decision is not None or says_known
