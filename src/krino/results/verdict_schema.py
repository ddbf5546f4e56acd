"""What the schema of a judge's verdict declares of its fields: labels, scales, and which end of a scale is good.

A higher number is better, unless the field says otherwise:
`seconds: float = Field(ge=0, le=60, json_schema_extra={"better": "lower"})`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from krino.contract import Judge
from krino.results.kinds import as_number, codes_of

Schema = Mapping[str, Any]


def closed_labels(schema: Schema, field: str) -> set[str] | None:
    """None where the schema does not close the list, or knows no such field; also where it is no schema at all: it
    comes from a run folder, and that from anyone."""
    try:
        part = schema.get("properties", {}).get(field)
        labels = set(_labels(part, schema)) if isinstance(part, Mapping) else {None}
    except (AttributeError, KeyError, TypeError, RecursionError):
        return None
    return None if None in labels else {label for label in labels if label is not None}


def _labels(part: Schema, schema: Schema) -> Iterator[str | None]:
    """Every label that a part of the schema allows; None where it allows any."""
    if "$ref" in part:
        yield from _labels(schema["$defs"][str(part["$ref"]).rpartition("/")[2]], schema)
    elif "anyOf" in part:
        for choice in part["anyOf"]:
            yield from _labels(choice, schema)
    elif "enum" in part:
        for value in part["enum"]:
            yield from codes_of(value) or ()
    elif "const" in part:
        yield from codes_of(part["const"]) or ()
    elif part.get("type") == "array" and isinstance(part.get("items"), Mapping):
        yield from _labels(part["items"], schema)
    elif part.get("type") == "boolean":
        yield from ("true", "false")
    elif part.get("type") != "null":
        yield None


Scale: TypeAlias = tuple[float, float]


def declared_scale(schema: Schema | None, field: str) -> Scale | None:
    """None where an end is open, or there is no such field."""
    properties = schema.get("properties") if schema is not None else None
    part = properties.get(field) if isinstance(properties, Mapping) else None
    if schema is None or not isinstance(part, Mapping):
        return None
    try:
        scales = list(_scales(part, schema))
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):  # a run folder may hold any nonsense
        return None
    if not scales or None in scales:
        return None
    ends = [end for scale in scales if scale is not None for end in scale]
    return min(ends), max(ends)


def _scales(part: Schema, schema: Schema) -> Iterator[Scale | None]:
    """Of every number that a part of the schema allows; None where it has no end."""
    if "$ref" in part:
        yield from _scales(schema["$defs"][str(part["$ref"]).rpartition("/")[2]], schema)
    elif "anyOf" in part:
        for choice in part["anyOf"]:
            yield from _scales(choice, schema)
    elif "enum" in part or "const" in part:
        for value in part.get("enum", [part.get("const")]):
            if isinstance(value, int | float) and not isinstance(value, bool):
                yield float(value), float(value)
    elif part.get("type") in ("number", "integer"):
        least, most = (part.get(end, part.get(f"exclusive{end.title()}")) for end in ("minimum", "maximum"))
        yield None if least is None or most is None else (float(least), float(most))


Grade = Literal["low", "middle", "high"]
Scales: TypeAlias = Mapping[str, tuple[float, float]]
"""Of verdict fields: the worst value and the best one."""
_MIDDLE, _HIGH = 0.5, 0.75  # of the way from the worst to the best


def scales_of(schema: Schema | None) -> Scales:
    """Every field whose scale the judge declares."""
    found = {name: declared_scale(schema, name) for name in (schema or {}).get("properties", {})}
    lower = lower_is_better(schema)
    return {
        name: (scale[1], scale[0]) if name in lower else scale
        for name, scale in found.items()
        if scale is not None and scale[0] < scale[1]
    }


def judge_scales(judge: Judge[Any, Any, Any]) -> Scales:
    """Of a judge at hand; none where its verdict has no schema: colours are not worth a finished run."""
    try:
        return scales_of(judge.verdict_model.model_json_schema())
    except Exception:  # a verdict of the user's own may hold types that have no schema
        return {}


def lower_is_better(schema: Schema | None) -> frozenset[str]:
    parts = (schema or {}).get("properties", {})
    return frozenset(
        name for name, part in parts.items() if isinstance(part, Mapping) and part.get("better") == "lower"
    )


def standing(scales: Scales, field: str, value: Any) -> float | None:
    """0 at the worst end of the scale, 1 at the best; None without a scale or a number."""
    number, scale = as_number(value), scales.get(field)
    if number is None or scale is None:
        return None
    worst, best = scale
    return min(max((number - worst) / (best - worst), 0.0), 1.0)


def grade(scales: Scales, field: str, value: Any) -> Grade | None:
    place = standing(scales, field, value)
    if place is None:
        return None
    return "low" if place < _MIDDLE else "middle" if place < _HIGH else "high"
