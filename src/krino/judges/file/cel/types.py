"""The types of expressions, and which of them fit together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Kind = Literal["bool", "int", "double", "string", "null", "dyn", "list", "map"]
_WORDS: dict[Kind, str] = {
    "bool": "true or false",
    "int": "a whole number",
    "double": "a number",
    "string": "a text",
    "null": "null",
    "dyn": "any value",
    "list": "a list",
    "map": "an object",
}


@dataclass(frozen=True, slots=True)
class Type:
    """`choices`: the only texts that a value may be. `fields`: the only names that an object has."""

    kind: Kind
    item: Type | None = None
    nullable: bool = False
    choices: tuple[str, ...] = ()
    fields: Mapping[str, Type] = field(default_factory=dict, hash=False)

    def in_words(self) -> str:
        """Returns what messages call a value of this type."""
        return _WORDS[self.kind]

    @property
    def is_number(self) -> bool:
        """May a value of this type be a number? True for `any` as well."""
        return self.kind in ("int", "double", "dyn")

    def or_null(self) -> Type:
        """Returns the same type, which may also be null."""
        return replace(self, nullable=True)


BOOL = Type("bool")
INT = Type("int")
DOUBLE = Type("double")
STRING = Type("string")
NULL = Type("null")
DYN = Type("dyn")


def list_of(item: Type) -> Type:
    """Returns the type of a list with elements of one type."""
    return Type("list", item)


def map_of(item: Type) -> Type:
    """Returns the type of a mapping from texts to values of one type."""
    return Type("map", item)


def record(fields: Mapping[str, Type]) -> Type:
    """Returns the type of an object with exactly these names."""
    return Type("map", DYN, fields=fields)


def one_of(choices: tuple[str, ...]) -> Type:
    """Returns the type of a text that can only be one of these."""
    return Type("string", choices=choices)


def is_comparable(one: Type, other: Type) -> bool:
    """Can `==` ever be true of values of these types?"""
    if "dyn" in (one.kind, other.kind):
        return True
    if one.kind == "null" or other.kind == "null":
        return one.kind == other.kind or one.nullable or other.nullable
    if one.is_number and other.is_number:
        return True
    if one.kind != other.kind:
        return False
    return one.item is None or other.item is None or is_comparable(one.item, other.item)


def fits(given: Type, wanted: Type) -> bool:
    """May a value of one type be given where another is wanted?

    A whole number is a number, and `any` fits everything.
    """
    if "dyn" in (given.kind, wanted.kind) or (given.kind == "int" and wanted.kind == "double"):
        return True
    if given.kind == "null" and wanted.nullable:
        return True
    if given.kind != wanted.kind:
        return False
    return given.item is None or wanted.item is None or fits(given.item, wanted.item)


def join(one: Type, other: Type) -> Type:
    """Returns the type of a value that is one or the other."""
    if one.kind == "null" or other.kind == "null":
        known = other if one.kind == "null" else one
        return known if known.kind in ("null", "dyn") else known.or_null()
    nullable = one.nullable or other.nullable
    if one.kind == other.kind:
        choices = tuple(dict.fromkeys((*one.choices, *other.choices))) if one.choices and other.choices else ()
        item = join(one.item, other.item) if one.item is not None and other.item is not None else one.item or other.item
        fields = one.fields if one.fields == other.fields else {}
        return Type(one.kind, item, nullable, choices, fields)
    if one.is_number and other.is_number and "dyn" not in (one.kind, other.kind):
        return Type("double", nullable=nullable)
    return DYN
