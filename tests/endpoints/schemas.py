"""Reads JSON schemas as endpoints check them: node by node, with the place of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_MAPS = ("properties", "$defs", "definitions")
_SUBSCHEMAS = ("items", "anyOf", "oneOf", "allOf", "prefixItems", "not", "if", "then", "else", "additionalProperties")

Node = tuple[tuple[str, ...], dict[str, Any]]


def schema_nodes(schema: Any, path: tuple[str, ...] = ()) -> Iterator[Node]:
    """Every schema within a schema, with the keys that lead to it; the names of properties are no keywords."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for key in _MAPS:
        for name, part in (schema.get(key) or {}).items():
            yield from schema_nodes(part, (*path, key, name))
    for key in _SUBSCHEMAS:
        part = schema.get(key)
        if isinstance(part, list):
            for number, one in enumerate(part):
                yield from schema_nodes(one, (*path, key, str(number)))
        else:
            yield from schema_nodes(part, (*path, key))


def count_enum_values(schema: Any) -> int:
    return sum(len(node.get("enum", ())) for _, node in schema_nodes(schema))


def find_keyword(schema: Any, keywords: frozenset[str]) -> tuple[tuple[str, ...], str] | None:
    """The first of these keywords in a schema, and where it is."""
    for path, node in schema_nodes(schema):
        for key in node:
            if key in keywords:
                return path, key
    return None
