"""Makes labels that nobody gave, from the schema of a judge's labels, to try its `settle` before anybody is paid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel

VARIANTS = 6
_LONGEST = 60


def made_labels(model: type[BaseModel], texts: Sequence[str]) -> Iterator[BaseModel]:
    """A few instances that differ in every choice the schema leaves; `texts` are words that occur in the case.

    What cannot be made this way (a pattern, a check of the model's own) is left out, so there may be none.
    """
    from krino.contract.schema_instances import example_of

    schema = model.model_json_schema()
    words = [text.strip()[:_LONGEST].strip() for text in texts if text.strip()] or ["text"]
    for number in range(VARIANTS):
        try:
            yield model.model_validate(example_of(_narrowed(schema, number, words)))
        except (ValueError, LookupError, TypeError, RecursionError):
            continue


def _narrowed(schema: Any, number: int, words: Sequence[str]) -> Any:
    """The schema with every open choice decided, by the number of the variant."""
    if isinstance(schema, list):
        return [_narrowed(part, number, words) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: _narrowed(value, number, words) for key, value in schema.items()}
    for several in ("enum", "anyOf", "oneOf"):
        if isinstance(choices := schema.get(several), list) and choices:
            schema[several] = [choices[number % len(choices)]]
    match schema.get("type"):
        case "boolean":
            return {"enum": [number % 2 == 0]}
        case "array" if "maxItems" not in schema and number % 3 == 2:
            return {**schema, "maxItems": schema.get("minItems", 0)}
        case "number" | "integer" if number % 2 and isinstance(schema.get("maximum"), int | float):
            return {"enum": [schema["maximum"]]}
        case "string" if not schema.keys() & {"enum", "const", "pattern", "format", "minLength", "maxLength"}:
            return {"enum": [words[number % len(words)]]}
    return schema
