"""Makes up labels from the schema of a judge's labels, to try its `settle` before any call is paid for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import islice
from typing import Any

from pydantic import BaseModel

Schema = Mapping[str, Any]

_SHRINK_BELOW = 6  # from here on a recursive schema is closed off as early as it allows
_DEEPEST = 60
_WORDS = "The fake server made up this text so that the reply has the right shape. "
_FORMATS = {
    "date": "2024-01-01",
    "date-time": "2024-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "email": "someone@example.org",
    "uri": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def example_of(schema: Schema) -> Any:
    """Makes a small instance of a JSON schema: always the same one, with the first value of each enum and few items."""
    return _build(schema, schema, 0)


def resolve(schema: Schema, root: Schema) -> Schema:
    """Returns a schema with `$ref` followed and `allOf` merged; raises `ValueError` if it refers to itself without
    end."""
    for _ in range(_DEEPEST):
        if isinstance(reference := schema.get("$ref"), str):
            target: Any = root
            for part in reference.lstrip("#").strip("/").split("/"):
                if part:
                    target = target[part.replace("~1", "/").replace("~0", "~")]
            schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
        elif parts := schema.get("allOf"):
            merged: Schema = {key: value for key, value in schema.items() if key != "allOf"}
            for part in parts:
                merged = _merge(merged, resolve(part, root))
            schema = merged
        else:
            return schema
    raise ValueError("the schema refers to itself without end")


def _merge(one: Schema, other: Schema) -> Schema:
    """Returns a schema that holds what both schemas ask for."""
    merged = {**one, **other}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        merged["required"] = [*one["required"], *other["required"]]
    return merged


def list_alternatives(schema: Schema) -> list[Schema]:
    """Returns the branches of `anyOf` or `oneOf`, those that are not null first; empty if there are none."""
    branches = schema.get("anyOf") or schema.get("oneOf") or []
    return sorted(branches, key=lambda branch: branch.get("type") == "null")


def type_of(schema: Schema) -> str | None:
    """Returns the JSON type of a schema, not counting null; None if it states none."""
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if kind is None and schema.get("properties"):
        return "object"
    return kind


def _build(schema: Schema, root: Schema, depth: int) -> Any:
    """Makes a value that fits a schema; deep inside a recursive one, the shortest."""
    if depth > _DEEPEST:
        raise ValueError("no finite instance of this schema was found")
    schema = resolve(schema, root)
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    if branches := list_alternatives(schema):
        return _build(branches[-1 if depth > _SHRINK_BELOW else 0], root, depth + 1)
    builder = _BUILDERS.get(type_of(schema) or "any")
    return builder(schema, root, depth) if builder else {}


def _make_object(schema: Schema, root: Schema, depth: int) -> dict[str, Any]:
    """Makes an object; deep inside a recursive schema it has only the required properties."""
    properties = schema.get("properties") or {}
    if depth > _SHRINK_BELOW:
        properties = {name: properties[name] for name in schema.get("required", ()) if name in properties}
    return {name: _build(part, root, depth + 1) for name, part in properties.items()}


def _make_array(schema: Schema, root: Schema, depth: int) -> list[Any]:
    """Makes an array with as few items as the schema allows, but one if it may have one."""
    leading = [_build(part, root, depth + 1) for part in schema.get("prefixItems", ())]
    fewest = schema.get("minItems", 0)
    wanted = fewest if depth > _SHRINK_BELOW else max(fewest, min(1, schema.get("maxItems", 1)))
    items = schema.get("items")
    if not isinstance(items, dict):
        items = {"type": "string"} if items is None and not leading else None
    missing = max(0, wanted - len(leading)) if items is not None else 0
    return leading + ([_build(items, root, depth + 1)] * missing if missing and items is not None else [])


def _make_string(schema: Schema, root: Schema, depth: int) -> str:
    """Makes a text of an allowed length, or an example of the schema's format."""
    if ready := _FORMATS.get(schema.get("format", "")):
        return ready
    shortest: int = schema.get("minLength", 0)
    longest: int = schema.get("maxLength", len(_WORDS))
    length = max(shortest, min(longest, len(_WORDS) - 1))
    return (_WORDS * (1 + length // len(_WORDS)))[:length]


def _make_number(schema: Schema, root: Schema, depth: int) -> float:
    """Makes a number within the limits."""
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    value: float = 0 if low is None else low
    if low is None and high is not None and high <= 0:
        value = high - ("exclusiveMaximum" in schema)
    elif "exclusiveMinimum" in schema:
        value = value + 1 if high is None else (value + high) / 2
    if step := schema.get("multipleOf"):
        value = math.ceil(value / step) * step
    return value


def _make_integer(schema: Schema, root: Schema, depth: int) -> int:
    """Makes a whole number within the limits."""
    if "exclusiveMinimum" in schema:
        above = {"minimum": math.floor(schema["exclusiveMinimum"]) + 1}
        schema = {key: value for key, value in schema.items() if key != "exclusiveMinimum"} | above
    return math.ceil(_make_number(schema, root, depth))


_BUILDERS: dict[str, Callable[[Schema, Schema, int], Any]] = {
    "object": _make_object,
    "array": _make_array,
    "string": _make_string,
    "number": _make_number,
    "integer": _make_integer,
    "boolean": lambda schema, root, depth: True,
    "null": lambda schema, root, depth: None,
}


VARIANTS = 6
_LONGEST = 60


def make_labels(model: type[BaseModel], texts: Sequence[str]) -> Iterator[BaseModel]:
    """Yields a few instances that differ in every choice the schema leaves; `texts` are words that occur in the case.

    What cannot be made in this way (a pattern, a validator of the model) is left out, so there may be none.
    """
    schema = model.model_json_schema()
    words = [text.strip()[:_LONGEST].strip() for text in texts if text.strip()] or ["text"]
    for number in range(VARIANTS):
        try:
            yield model.model_validate(example_of(_narrow(schema, number, words)))
        except (ValueError, LookupError, TypeError, RecursionError):
            continue


MOST_VARIED = 2_000


def vary_choices(labels: BaseModel) -> Iterator[tuple[str, Any, BaseModel]]:
    """Yields the labels with one choice changed, for every value of every enum: which choice, the value, and the
    labels. Labels that the model refuses are left out."""
    model = type(labels)
    schema, data = model.model_json_schema(), labels.model_dump(mode="json", by_alias=True)
    for path, value in islice(_list_choices(schema, schema, data, ()), MOST_VARIED):
        changed: Any = deepcopy(data)
        inner = changed
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        try:
            yield ".".join(map(str, path)), value, model.model_validate(changed)
        except (ValueError, TypeError):
            continue


def _list_choices(
    schema: Schema, root: Schema, value: Any, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yields the path and every other value of each enum in a value. Of a list only the first item is looked at."""
    if len(path) > _SHRINK_BELOW:
        return
    schema = resolve(schema, root)
    if path and isinstance(schema.get("enum"), list):
        yield from ((path, choice) for choice in schema["enum"] if choice != value)
    for branch in list_alternatives(schema):
        yield from _list_choices(branch, root, value, path)
    if isinstance(value, dict):
        for name, part in (schema.get("properties") or {}).items():
            if name in value:
                yield from _list_choices(part, root, value[name], (*path, name))
    elif isinstance(value, list) and value and isinstance(schema.get("items"), dict):
        yield from _list_choices(schema["items"], root, value[0], (*path, 0))


def _narrow(schema: Any, number: int, words: Sequence[str]) -> Any:
    """Returns the schema with every open choice decided, by the number of the variant."""
    if isinstance(schema, list):
        return [_narrow(part, number, words) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: _narrow(value, number, words) for key, value in schema.items()}
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
