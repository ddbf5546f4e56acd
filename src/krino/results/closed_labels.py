"""The labels that a field of a verdict can have at all, by the schema of the judge's verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krino.results.codes import codes_of

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
