"""Reads the JSON Schema of a verdict: the labels and scales of fields, and which end of a scale is good.

A higher number is better, unless the field says otherwise:
`seconds: float = Field(ge=0, le=60, json_schema_extra={"better": "lower"})`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias, TypeVar

from krino.results.field_kinds import as_codes, as_number, names_explanation
from krino.stats.confidence_intervals import UNBOUNDED, Bounds

Schema = Mapping[str, Any]
Scale: TypeAlias = tuple[float, float]
Scales: TypeAlias = Mapping[str, Scale]
"""The worst and the best value of verdict fields."""
Grade = Literal["low", "middle", "high"]

_MIDDLE, _HIGH = 0.5, 0.75  # of the way from the worst to the best
_T = TypeVar("_T")


def closed_labels(schema: Schema | None, field: str) -> set[str] | None:
    """All labels that a field can have; None if the schema does not list them, or has no such field."""
    labels = _read_parts(schema, field, _labels, inside_lists=True)
    return None if labels is None or None in labels else {label for label in labels if label is not None}


def is_text_explanation(schema: Schema | None, field: str) -> bool:
    """Whether a field explains the verdict, by its name; fields of numbers and of listed labels do not."""
    if not names_explanation(field) or closed_labels(schema, field):
        return False
    return any(
        _read_parts(schema, field, lambda part: [part.get("type", "string") == "string"], inside_lists=True) or ()
    )


def declares_number(schema: Schema | None, field: str) -> bool:
    """Whether a field holds a number, or null."""
    found = _read_parts(schema, field, lambda part: [part.get("type")]) or []
    return not {"number", "integer"}.isdisjoint(found) and {"number", "integer", "null"}.issuperset(found)


def declared_scale(schema: Schema | None, field: str) -> Scale | None:
    """The bounds of a numeric field; None if one is infinite, or there is no such field."""
    ends = declared_bounds(schema, field)
    return None if math.inf in map(abs, ends) else ends


def declared_bounds(schema: Schema | None, field: str) -> Bounds:
    """The smallest and the largest value of a numeric field; infinite if not declared."""
    found = _read_parts(schema, field, _bounds)
    return (min(end[0] for end in found), max(end[1] for end in found)) if found else UNBOUNDED


def _read_parts(
    schema: Schema | None, field: str, read: Callable[[Schema], Iterable[_T]], *, inside_lists: bool = False
) -> list[_T] | None:
    """Apply `read` to each plain part of a field's schema; None if the schema is malformed.

    A run folder may come from anyone, so a malformed schema must not raise.
    """
    try:
        whole: Schema = schema or {}
        parts = _plain_parts(whole["properties"][field], whole, inside_lists)
        return [found for part in parts for found in read(part)]
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def _plain_parts(part: Schema, schema: Schema, inside_lists: bool) -> Iterator[Schema]:
    """Resolves references, choices and, with `inside_lists`, list items; yields the parts that are left."""
    if "$ref" in part:
        yield from _plain_parts(schema["$defs"][str(part["$ref"]).rpartition("/")[2]], schema, inside_lists)
    elif "anyOf" in part:
        for choice in part["anyOf"]:
            yield from _plain_parts(choice, schema, inside_lists)
    elif inside_lists and part.get("type") == "array" and isinstance(part.get("items"), Mapping):
        yield from _plain_parts(part["items"], schema, inside_lists)
    else:
        yield part


def _labels(part: Schema) -> Iterator[str | None]:
    """Yields every label that a part allows; yields None if it allows any text."""
    if "enum" in part or "const" in part:
        for value in part.get("enum", [part.get("const")]):
            yield from as_codes(value) or ()
    elif part.get("type") == "boolean":
        yield from ("true", "false")
    elif part.get("type") != "null":
        yield None


def _bounds(part: Schema) -> Iterator[Bounds]:
    """Yields the bounds of each number that a part allows."""
    if "enum" in part or "const" in part:
        for number in map(as_number, part.get("enum", [part.get("const")])):
            if number is not None:
                yield number, number
    elif part.get("type") in ("number", "integer"):
        least, most = (part.get(end, part.get(f"exclusive{end.title()}")) for end in ("minimum", "maximum"))
        yield -math.inf if least is None else float(least), math.inf if most is None else float(most)


def declared_scales(schema: Schema | None) -> Scales:
    """The worst and the best value of every field with a declared scale."""
    found = {name: declared_scale(schema, name) for name in (schema or {}).get("properties", {})}
    lower = lower_is_better(schema)
    return {
        name: (scale[1], scale[0]) if name in lower else scale
        for name, scale in found.items()
        if scale is not None and scale[0] < scale[1]
    }


def lower_is_better(schema: Schema | None) -> frozenset[str]:
    """Returns the fields that declare that a lower value is better."""
    parts = (schema or {}).get("properties", {})
    return frozenset(
        name for name, part in parts.items() if isinstance(part, Mapping) and part.get("better") == "lower"
    )


def scale_position(scales: Scales, field: str, value: Any) -> float | None:
    """The position of a value on its scale, from 0 (worst) to 1 (best); None without a scale or number."""
    number, scale = as_number(value), scales.get(field)
    if number is None or scale is None:
        return None
    worst, best = scale
    return min(max((number - worst) / (best - worst), 0.0), 1.0)


def grade_value(scales: Scales, field: str, value: Any) -> Grade | None:
    """Grades a value by its place on the declared scale; None without a scale or number."""
    place = scale_position(scales, field, value)
    if place is None:
        return None
    return "low" if place < _MIDDLE else "middle" if place < _HIGH else "high"
