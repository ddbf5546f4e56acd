"""The scale of a number in a verdict, where the schema of the judge's verdict declares both of its ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from krino.results.closed_labels import Schema

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
