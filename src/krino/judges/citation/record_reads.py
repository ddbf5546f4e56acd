"""Which names of a record are read, at any depth: the same tables that rename the fields of other systems."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from krino.contract.reads import Reads, Whole
from krino.judges.citation import table
from krino.judges.citation.case import Candidate, CitationCase, Match
from krino.judges.citation.record import ecli_names, holds_citation, snake
from krino.judges.citation.record_values import ID_NAMES

_ERRORS = ("error", "errors", "exception")
_REASONS = ("reason", "reasoning", "explanation")
_KNOWN = ("ground_truth_known", "known", "no_match")


def reads_of_record(record: Mapping[str, Any]) -> Reads:
    """The names at the top, inside candidates and matches, and inside objects that hold the citation or the output."""
    reads = dict(_top())
    for name, value in record.items():
        if isinstance(name, str) and isinstance(value, Mapping) and holds_citation(value):
            reads[snake(name)] = {**(reads.get(snake(name)) or {}), **_top()}
    return reads


def inner_names() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Of the lists of objects: each field with the names that it may have, the best first."""
    return {"candidates": _names(Candidate, "candidate"), "matches": _names(Match, "match")}


@cache
def _top() -> dict[str, Reads | None]:
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


def _names(model: type[BaseModel], kind: str) -> dict[str, tuple[str, ...]]:
    others: Mapping[str, list[str]] = table("record_names")[kind]
    own = [name for name, field in model.model_fields.items() if not field.json_schema_extra]  # others are ours to fill
    return {field: (field, *others.get(field, ())) for field in dict.fromkeys([*own, *others])}
