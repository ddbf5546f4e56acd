"""Makes a validator from a JSON Schema, as far as pydantic writes such schemas for models of plain values.

It converts nothing and ignores keywords that it does not know. Regular expressions are among them on purpose: a schema
may come from a stranger's file, and a malicious expression could take for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import CoreSchema, core_schema

Schema = Mapping[str, Any]

_REFERENCE = "#/$defs/"
_LIMITS = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}
_LENGTHS = {"minLength": "min_length", "maxLength": "max_length"}
_SIZES = {"minItems": "min_length", "maxItems": "max_length"}


def compiled(schema: Schema) -> tuple[CoreSchema, list[CoreSchema]]:
    """Returns the validator as a core schema, and the definitions that it refers to.

    Raises some exception if the schema makes no sense; the caller knows the file that it comes from.
    """
    definitions = schema.get("$defs", {})
    for name in definitions:
        _refuse_circle(name, definitions)
    named: list[Any] = [{**_make_core_schema(part), "ref": _REFERENCE + name} for name, part in definitions.items()]
    return _make_core_schema(schema), named


def _make_core_schema(schema: Any) -> CoreSchema:
    """Returns the validator of any schema."""
    if schema is True or not schema:
        return core_schema.any_schema()
    if "$ref" in schema:
        return core_schema.definition_reference_schema(_REFERENCE + _find_target(schema))
    if "enum" in schema or "const" in schema:
        return _make_choice([schema["const"]] if "const" in schema else schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return _make_any_of(schema[several])
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return core_schema.union_schema([_make_typed(kind, schema) for kind in kinds], mode="left_to_right")
    return _make_typed(kinds, schema)


def _make_typed(kind: str | None, schema: Schema) -> CoreSchema:
    """Returns the validator of one JSON type."""
    if kind == "string":
        return core_schema.str_schema(strict=True, **_rename_keys(_LENGTHS, schema))
    if kind == "integer":
        return core_schema.int_schema(strict=True, **_rename_keys(_LIMITS, schema))
    if kind == "number":
        return core_schema.float_schema(strict=True, allow_inf_nan=False, **_rename_keys(_LIMITS, schema))
    if kind == "boolean":
        return core_schema.bool_schema(strict=True)
    if kind == "null":
        return core_schema.none_schema()
    if kind == "array":
        return _make_array(schema)
    return _make_object(schema) if kind == "object" else core_schema.any_schema()


def _make_array(schema: Schema) -> CoreSchema:
    """Returns the validator of a list, or of a tuple if every position has a schema of its own."""
    first = schema.get("prefixItems")
    if first is None or schema.get("minItems") != len(first) or schema.get("maxItems") != len(first):
        return core_schema.list_schema(
            _make_core_schema(schema.get("items")), strict=True, **_rename_keys(_SIZES, schema)
        )
    positions = core_schema.tuple_schema([_make_core_schema(part) for part in first])
    return core_schema.chain_schema([core_schema.is_instance_schema(list), positions])


def _make_object(schema: Schema) -> CoreSchema:
    """Returns the validator of an object: fixed properties, any keys, or both."""
    others = schema.get("additionalProperties", True)
    if "properties" not in schema:
        if others is False:
            return core_schema.dict_schema(max_length=0, strict=True)
        return core_schema.dict_schema(core_schema.str_schema(), _make_core_schema(others), strict=True)
    needed = frozenset(schema.get("required", ()))
    fields = {
        name: core_schema.typed_dict_field(_make_core_schema(part), required=name in needed)
        for name, part in schema["properties"].items()
    }
    if others is False:
        return core_schema.typed_dict_schema(fields, extra_behavior="forbid")
    return core_schema.typed_dict_schema(fields, extra_behavior="allow", extras_schema=_make_core_schema(others))


def _make_any_of(branches: list[Any]) -> CoreSchema:
    """Returns the validator of alternatives. Null is handled separately, so that messages about a value name only the
    type it should have."""
    others = [_make_core_schema(branch) for branch in branches if branch != {"type": "null"}]
    if len(others) == len(branches):
        return _make_union(others)
    return core_schema.nullable_schema(_make_union(others)) if others else core_schema.none_schema()


def _make_choice(values: list[Any]) -> CoreSchema:
    """Returns the validator of a choice of plain values; other values accept anything. A literal accepts True for 1, so
    the type of other values than text is checked too."""
    kinds = dict.fromkeys(map(type, values))
    if not kinds.keys() <= _KINDS.keys():
        return core_schema.any_schema()
    return _make_union([_make_literal(kind, [value for value in values if type(value) is kind]) for kind in kinds])


def _make_literal(kind: type, values: list[Any]) -> CoreSchema:
    literal = core_schema.literal_schema(values)
    return literal if kind is str else core_schema.chain_schema([_make_typed(_KINDS[kind], {}), literal])


_KINDS = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def _make_union(checks: list[CoreSchema]) -> CoreSchema:
    return checks[0] if len(checks) == 1 else core_schema.union_schema(list(checks), mode="left_to_right")


def _rename_keys(names: Mapping[str, str], schema: Schema) -> dict[str, Any]:
    return {ours: schema[theirs] for theirs, ours in names.items() if schema.get(theirs) is not None}


def _find_target(schema: Schema) -> str:
    """Returns the name of the definition that a reference points to; raises `ValueError` if it is outside the
    schema."""
    reference = schema["$ref"]
    if not reference.startswith(_REFERENCE):
        raise ValueError(f"{reference} points outside the schema")
    return str(reference[len(_REFERENCE) :])


def _refuse_circle(name: str, definitions: Mapping[str, Schema]) -> None:
    """Raises `ValueError` for a definition that only refers to itself, directly or through others: resolving it would
    never end."""
    seen = {name}
    while "$ref" in (schema := definitions[name]):
        name = _find_target(schema)
        if name in seen:
            raise ValueError(f"the definition of {name} is a reference to itself")
        seen.add(name)
