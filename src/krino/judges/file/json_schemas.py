"""`schemas`: JSON Schemas that rules hold a text or a value against, with `fits(value, 'name')`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from pydantic_core import SchemaValidator, ValidationError, core_schema

from krino.contract.json_schema import compiled
from krino.judges.file.cel.faults import ExpressionProblem, RuleFault
from krino.judges.file.cel.functions import Function
from krino.judges.file.cel.parse import Node
from krino.judges.file.cel.scope import StepBudget
from krino.judges.file.cel.types import BOOL, DYN, STRING
from krino.judges.file.front_matter import Value
from krino.judges.file.values import Reader
from krino.text.guessing import did_you_mean

_KNOWN = frozenset(
    {
        *("type", "properties", "required", "additionalProperties", "items", "prefixItems", "enum", "const", "anyOf"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems"),
        *("maxItems", "title", "description", "$defs", "$ref", "$schema", "$id", "default", "examples"),
    }
)
_TYPES = frozenset({"string", "integer", "number", "boolean", "null", "array", "object"})
_NAMED = frozenset({"properties", "$defs"})
_LONGEST = 200_000


def schema_function(reader: Reader, values: Value) -> dict[str, Function]:
    """Returns the function `fits` by its name, if the file has schemas.

    Notes schemas that make no sense, or use what is not checked here.
    """
    found: dict[str, SchemaValidator] = {}
    for name, value in reader.mapping(values, "schemas", "schemas: {person: {type: object}}").items():
        schema = _read_schema(reader, value)
        unknown = list(_find_unknown(schema))
        for path in unknown:
            reader.problem(value.place, f"the schema `{name}` uses `{path}`, which is not checked here")
        if unknown:
            continue
        try:
            core, definitions = compiled(schema)
            found[name] = SchemaValidator(core_schema.definitions_schema(core, definitions))
        except Exception as error:
            reader.problem(value.place, f"the schema `{name}` makes no sense: {str(error).splitlines()[0]}")
    if not values.data.get("schemas"):
        return {}
    names = tuple(values.data["schemas"].data) if values.data["schemas"].is_mapping else ()

    def fits(budget: StepBudget, value: Any, name: str) -> bool:
        if name not in found:
            raise RuleFault(f"there is no schema `{name}`")
        return _fits(budget, found[name], value)

    def check(node: Node) -> None:
        """Checks when the file is read that `fits` names one of its schemas."""
        wanted = node.parts[1]
        if wanted.kind != "literal" or wanted.value not in names:
            raise ExpressionProblem(
                f"fits() names a schema of this file{did_you_mean(str(wanted.value), names)}: {', '.join(names)}",
                wanted.offset,
            )

    usage = "fits(value, 'schema')"
    return {
        "fits": Function(usage, ((STRING, DYN), (STRING,)), BOOL, fits, "whether JSON fits a schema", prepare=check)
    }


def _fits(budget: StepBudget, schema: SchemaValidator, value: Any) -> bool:
    """Does a value, or the JSON in a text, fit the schema?"""
    if isinstance(value, str):
        budget.spend(1 + len(value) // 8)
        if len(value) > _LONGEST:
            raise RuleFault(f"a JSON text of {len(value):,} characters; {_LONGEST:,} at most")
        try:
            value = orjson.loads(value.encode("utf-8", "replace"))
        except ValueError:
            return False
    budget.spend(100)
    try:
        schema.validate_python(value)
    except (ValidationError, RecursionError):
        return False
    return True


def _read_schema(reader: Reader, value: Value) -> Any:
    """Returns a schema, written as YAML or as JSON in a text; an empty one, and a problem, if it is no JSON."""
    if isinstance(value.data, str):
        try:
            return orjson.loads(value.data)
        except ValueError as error:
            reader.problem(value.place, f"the schema is no JSON: {error}")
            return {}
    return value.plain()


def _find_unknown(schema: Any, path: str = "") -> Iterator[str]:
    """Yields the paths of keywords that nothing here checks: to pass over one would let through what it forbids."""
    if isinstance(schema, list):
        for item in schema:
            yield from _find_unknown(item, path)
        return
    if not isinstance(schema, Mapping):
        if schema not in (True, False, None) or schema is None:
            yield f"{path}{schema!r:.40}"
        return
    for name, inner in schema.items():
        if name not in _KNOWN:
            yield f"{path}{name}"
        elif name == "type":
            kinds = inner if isinstance(inner, list) else [inner]
            yield from (f"{path}type: {kind!r:.40}" for kind in kinds if kind not in _TYPES)
        elif name in _NAMED:
            parts = inner.items() if isinstance(inner, Mapping) else [(name, inner)]
            for key, part in parts:
                yield from _find_unknown(part, f"{path}{key}.")
        elif name in ("items", "prefixItems", "anyOf", "additionalProperties"):
            yield from _find_unknown(inner, f"{path}{name}.")
