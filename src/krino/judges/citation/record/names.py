"""Lists the fields of a record: those that are read, and the names and shapes by which `krino map` finds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel

from krino.contract.record_fields import Reads, Whole
from krino.judges.citation import table
from krino.judges.citation.belgium.case_numbers import parse_case_numbers
from krino.judges.citation.belgium.courts import Unknown, resolve_court
from krino.judges.citation.belgium.dates import parse_date
from krino.judges.citation.belgium.ecli import parse_ecli
from krino.judges.citation.case import Candidate, CitationCase, Match
from krino.judges.citation.record.reader import ecli_names, holds_citation, to_snake_case
from krino.judges.citation.record.values import ID_NAMES, parse_amount

_ERRORS = ("error", "errors", "exception")
_REASONS = ("reason", "reasoning", "explanation")
_KNOWN = ("ground_truth_known", "known", "no_match")


def reads_of_record(record: Mapping[str, Any]) -> Reads:
    """Returns the names that are read of a record: at the top, in candidates and matches, and in nested objects."""
    reads = dict(_reads_at_top())
    for name, value in record.items():
        if isinstance(name, str) and isinstance(value, Mapping) and holds_citation(value):
            reads[to_snake_case(name)] = {**(reads.get(to_snake_case(name)) or {}), **_reads_at_top()}
    return reads


def inner_names() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Returns for candidates and matches each field with the names that it may have, ours first."""
    return {"candidates": _names_of_fields(Candidate, "candidate"), "matches": _names_of_fields(Match, "match")}


@cache
def _reads_at_top() -> dict[str, Reads | None]:
    """Returns the names that are read at the top of a record, with those read inside their values."""
    output = table("record_names")["output"]
    names = inner_names()
    candidate = dict.fromkeys([*ID_NAMES, *(name for every in names["candidates"].values() for name in every)])
    match = dict.fromkeys([*ID_NAMES, *(name for every in names["matches"].values() for name in every)])
    truth = dict.fromkeys([*ID_NAMES, *table("record_names")["ground_truth"]["decision_id"], *_KNOWN])
    top: dict[str, Reads | None] = {
        **dict.fromkeys(CitationCase.names_read()),
        **dict.fromkeys(("candidates", "candidates_list"), Whole(candidate, in_objects=ecli_names())),
        **dict.fromkeys(("matches", *output["one_match"]), Whole(match)),
        "ground_truth": truth,
    }
    answer = {**match, **dict.fromkeys((*_ERRORS, *_REASONS)), **top}
    return {**top, **dict.fromkeys(output["names"], answer)}


def _names_of_fields(model: type[BaseModel], kind: str) -> dict[str, tuple[str, ...]]:
    """Returns the names that each field of a model may have in a record."""
    others: Mapping[str, list[str]] = table("record_names")[kind]
    # A field with `json_schema_extra` is filled by the reader, never by a record.
    own = [name for name, field in model.model_fields.items() if not field.json_schema_extra]
    return {field: (field, *others.get(field, ())) for field in dict.fromkeys([*own, *others])}


def _is_court(value: Any) -> bool:
    if not isinstance(value, str) or len(value) > 300 or _is_ecli(value):
        return False
    return not isinstance(resolve_court(value), Unknown)


def _is_date(value: Any) -> bool:
    return isinstance(value, str) and len(value) < 60 and parse_date(value) is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and len(value) < 100 and parse_ecli(value) is None and bool(parse_case_numbers(value))


def _is_ecli(value: Any) -> bool:
    return isinstance(value, str) and len(value) < 200 and parse_ecli(value) is not None


def _is_id(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and 0 < len(value) < 100)


def _is_amount(value: Any) -> bool:
    return parse_amount(value, 1.0) is not None


def _is_prose(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_is_prose, value[:5]))
    return isinstance(value, str) and value.count(" ") > 2


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)


def _is_match(value: Any) -> bool:
    return _are_objects(value) or isinstance(value, Mapping)


_SHAPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "court": ("a court", _is_court),
    "date": ("a date", _is_date),
    "number": ("a case number", _is_number),
    "ecli": ("an ECLI", _is_ecli),
    "identifier": ("an identifier", _is_id),
    "amount": ("a number", _is_amount),
    "prose": ("a text", _is_prose),
    "objects": ("a list of objects", _are_objects),
    "match": ("a list of objects, or one", _is_match),
}
_FIELDS = table("mapping_hints")
FIELD_WORDS: Mapping[str, Sequence[str]] = {field: row["words"] for field, row in _FIELDS.items()}
FIELD_SHAPES = {field: _SHAPES[row["shape"]] for field, row in _FIELDS.items()}
FIELD_LINKS: Mapping[str, str] = {
    "matches.*.decision_id": "candidates.*.decision_id",
    "ground_truth": "candidates.*.decision_id",
}
