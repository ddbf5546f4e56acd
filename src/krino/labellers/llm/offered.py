"""Holds an answer against the schema that was sent: what was not offered is no answer, and nothing is converted.

A label model may hold more than models are asked for (a measure that the embedded labeller fills in) and may be
lenient about types. What counts here is the schema alone, strictly: a number in quotes is a text, `true` is no
number, 1 is not yes, and 1.0 is no whole number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import SchemaValidator, core_schema
from pydantic_core.core_schema import CoreSchema

from krino.contract import describe_validation

Schema = Mapping[str, Any]
PLAIN: dict[str, CoreSchema] = {
    "string": core_schema.str_schema(),
    "integer": core_schema.int_schema(),
    "number": core_schema.float_schema(allow_inf_nan=False),
    "boolean": core_schema.bool_schema(),
    "null": core_schema.none_schema(),
}
KINDS: dict[type, str] = {int: "integer", float: "number", bool: "boolean", type(None): "null"}


class Offer:
    """What a model was asked for."""

    def __init__(self, schema: Schema) -> None:
        self.words = _words(schema)
        definitions = [{**_form(node), "ref": name} for name, node in schema.get("$defs", {}).items()]
        form = core_schema.definitions_schema(_form(schema), definitions)  # type: ignore[arg-type]
        self._validator = SchemaValidator(form)

    def fault(self, answer: Any) -> str | None:
        """What in an answer was not offered, each with its place; None if the answer fits."""
        try:
            self._validator.validate_python(answer, strict=True)
        except ValidationError as error:
            return describe_validation(error)
        return None


def _words(schema: Any) -> frozenset[str]:
    """Every word that a label can be chosen from."""
    if isinstance(schema, list):
        return frozenset().union(*map(_words, schema))
    if not isinstance(schema, dict):
        return frozenset()
    own = {word for word in (*schema.get("enum", ()), schema.get("const")) if isinstance(word, str)}
    return frozenset(own).union(*map(_words, schema.values()))


def _form(node: Schema) -> CoreSchema:
    """A JSON schema, as pydantic writes it for a model, in the form that pydantic checks; what is not known fits."""
    if "$ref" in node:
        return core_schema.definition_reference_schema(node["$ref"].rpartition("/")[2])
    if branches := node.get("anyOf") or node.get("oneOf"):
        return _one_of(branches)
    if "enum" in node or "const" in node:
        return _chosen(node.get("enum", [node.get("const")]))
    kind = node.get("type")
    if kind == "array":  # of a fixed length: the label model knows what stands where
        return core_schema.list_schema(None if "prefixItems" in node else _form(node.get("items", {})))
    if kind == "object":
        return _object(node)
    return PLAIN.get(str(kind), core_schema.any_schema())


def _chosen(words: list[Any]) -> CoreSchema:
    """Some closed values. To a literal alone `true` would be the number 1, so what is no text is of its kind first."""
    texts = [word for word in words if isinstance(word, str)]
    forms: list[CoreSchema] = [core_schema.literal_schema(texts)] if texts else []
    for kind in dict.fromkeys(type(word) for word in words if not isinstance(word, str)):
        same = core_schema.literal_schema([word for word in words if type(word) is kind])
        forms.append(core_schema.chain_schema([PLAIN[KINDS[kind]], same]))
    return forms[0] if len(forms) == 1 else core_schema.union_schema(list(forms))


def _one_of(branches: list[Schema]) -> CoreSchema:
    """Null apart, so that what is told about a value is what its own kind wants."""
    others = [_form(branch) for branch in branches if branch.get("type") != "null"]
    form = others[0] if len(others) == 1 else core_schema.union_schema(list(others))
    return form if len(others) == len(branches) else core_schema.nullable_schema(form)


def _object(node: Schema) -> CoreSchema:
    """Fields with names, all of them wanted and no others; or any names, all with values of one kind."""
    if "properties" not in node:
        others = node.get("additionalProperties", True)
        return core_schema.dict_schema(values_schema=_form(others) if isinstance(others, dict) else None)
    required = set(node.get("required", ()))
    fields = {
        name: core_schema.typed_dict_field(_form(item), required=name in required)
        for name, item in node["properties"].items()
    }
    return core_schema.typed_dict_schema(fields, extra_behavior="forbid")
