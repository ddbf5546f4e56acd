"""A check made of a JSON Schema takes what the schema allows, converts nothing, and refuses a schema without sense."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from pydantic_core import SchemaError, SchemaValidator, core_schema

from krino.contract.json_schema import Schema, compiled


def check(schema: Schema) -> SchemaValidator:
    return SchemaValidator(core_schema.definitions_schema(*compiled(schema)))


@pytest.mark.parametrize(
    ("schema", "taken", "refused"),
    [
        ({"enum": [1, "a", None]}, [1, "a", None], [True, 1.0, "1", 0]),
        ({"const": True}, [True], [1, "true", None]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, [3, None], [3.0, True, "3"]),
        ({"oneOf": [{"type": "null"}]}, [None], [0, False]),
        ({"type": ["string", "null"]}, ["", None], [0]),
        ({"type": "array", "items": {"type": "number", "maximum": 1}, "maxItems": 1}, [[], [1]], [[2], [1, 1], (1,)]),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": False}, [{}, {"a": 1}], [{"b": 1}]),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, [{}, {"a": True}], [{"a": 1}, []]),
        ({"const": [1]}, [[1], "what is not known fits"], []),
    ],
)
def test_what_a_schema_allows_is_taken_and_nothing_else(schema: Schema, taken: list[Any], refused: list[Any]) -> None:
    for value in taken:
        check(schema).validate_python(value)
    for value in refused:
        with pytest.raises(ValidationError):
            check(schema).validate_python(value)


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": []},
        {"enum": []},
        {"$ref": "#/elsewhere"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    ],
)
def test_a_schema_that_allows_nothing_or_never_ends_is_refused(schema: Schema) -> None:
    with pytest.raises((ValueError, SchemaError)):
        check(schema)
