"""The labels that a judge can give at all, so that a misspelt one in a rule is not a rule that always holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krino.comparison.columns import ROLL_UP
from krino.gates.rules import ROLL_UPS
from krino.reports.codes import codes_of
from krino.runs.manifest import Manifest


def known_labels(manifest: Manifest, field: str) -> set[str] | None:
    """Of a field, by the schema of the judge's verdict; None where that does not close the list, or is not to be had.

    A run can be gated without its judge: one that can no longer be loaded is no problem.
    """
    if field == ROLL_UP:
        return set(ROLL_UPS)
    schema = _schema(manifest)
    part = schema.get("properties", {}).get(field)
    labels = set(_labels(part, schema)) if isinstance(part, Mapping) else {None}
    return None if None in labels else {label for label in labels if label is not None}


def _schema(manifest: Manifest) -> dict[str, Any]:
    from krino.judges.registry import load_judge

    try:
        return load_judge(str(manifest.plan.judge.get("address", ""))).verdict_model.model_json_schema()
    except Exception:  # a judge of the user's own may raise anything when it is loaded
        return {}


def _labels(part: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str | None]:
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
