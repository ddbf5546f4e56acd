"""The JSON Schema of a label model in the form that strict endpoints take."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

# Keywords that strict structured output does not take everywhere; code checks them after the reply anyway.
DROPPED = frozenset(
    {
        "title",
        "default",
        "examples",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
        "format",
        "pattern",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    }
)


def strict_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Closed objects with every property required, and only keywords that all endpoints know."""
    schema = _strict(model.model_json_schema())
    if not isinstance(schema, dict):
        raise TypeError("a label model must have an object schema")
    return schema


def _strict(node: Any, named: bool = False) -> Any:
    """`named`: the keys of this node are names of properties or definitions, not keywords."""
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    if named:
        return {key: _strict(value) for key, value in node.items()}
    out = {
        key: _strict(value, named=key in {"properties", "$defs"}) for key, value in node.items() if key not in DROPPED
    }
    if "$ref" in out and len(out) > 1:  # OpenAI takes no keyword beside a reference
        out["anyOf"] = [{"$ref": out.pop("$ref")}]
    if isinstance(out.get("properties"), dict):
        out["required"] = list(out["properties"])
        out["additionalProperties"] = False
    return out
