"""The JSON Schema of a request: made from a label model, narrowed to the case, and used to check replies.

`strict_schema` is the same for every case of a judge, and replies are checked against it. `bind` narrows it to one
case, as far as an endpoint supports that (`Strength`). `reply_tokens` limits the length of a reply that fits it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, get_args

import orjson
from pydantic import BaseModel, ValidationError
from pydantic_core import SchemaValidator, core_schema

from krino.contract import Bound, describe_validation
from krino.contract.json_schema import Schema, compiled
from krino.labellers.llm.wire import Strength
from krino.text.clean import sound

STRENGTHS: tuple[Strength, ...] = get_args(Strength)
# Keywords that not every endpoint with strict structured output supports; the labels are checked for them afterwards.
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
NULL = {"type": "null"}
MOST_CHOICES = 200  # values in one enumeration, and
MOST_CHOICE_CHARS = 10_000  # characters of them together: OpenAI and llama.cpp refuse far larger ones
MOST_SINGLE_ITEMS = 40  # items of a list that are described one by one
LONGEST_TEXT = 2_000  # characters: grammars of llama.cpp repeat nothing more often than that


def walk(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yields every object inside a schema, itself first; references are not followed."""
    if isinstance(schema, Mapping):
        yield schema
    inner = schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ()
    for item in inner:
        yield from walk(item)


def _definition_name(reference: str) -> str:
    """Returns the name of the definition that a `$ref` points to."""
    return reference.rpartition("/")[2]


def strict_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Makes the schema of a label model as strict structured output wants it: closed objects with every property
    required, and only keywords that all endpoints support."""
    schema = _strict(model.model_json_schema())
    if not isinstance(schema, dict):
        raise TypeError("a label model must have an object schema")
    return schema


def _strict(node: Any, named: bool = False) -> Any:
    """Returns a node in which every property is required and no other is allowed, without the keywords in `DROPPED`.
    `named`: the keys of this node are names of properties or definitions, not keywords."""
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


# --- bound to a case -------------------------------------------------------------------------------


def bind(schema: Schema, bound: Bound, strength: Strength) -> dict[str, Any]:
    """Returns the schema narrowed to the bounds of one case. Unbound parts are shared with `schema`: do not change the
    result.

    Raises `ValueError` if a bound names a field that does not exist.
    """
    if strength == "plain":
        return dict(schema)
    definitions: Mapping[str, Schema] = schema.get("$defs", {})
    root = {key: node for key, node in schema.items() if key != "$defs"}
    narrowed = _Binder(definitions, strength).narrow(root, bound)
    used = _references(narrowed)
    while more := {name for known in used for name in _references(definitions[known])} - used:
        used |= more
    if used:
        narrowed["$defs"] = {name: node for name, node in definitions.items() if name in used}
    return narrowed


def _references(schema: Any) -> set[str]:
    """Returns the names of the definitions that are referred to anywhere in a schema."""
    return {_definition_name(node["$ref"]) for node in walk(schema) if isinstance(node.get("$ref"), str)}


class _Binder:
    """Narrows the bound parts of a schema, resolving references to them; the other parts stay as they are."""

    def __init__(self, definitions: Mapping[str, Schema], strength: Strength) -> None:
        self._definitions = definitions
        self._exact = strength == "exact"
        self._bounds_texts = STRENGTHS.index(strength) >= STRENGTHS.index("sized")
        self._bounds_lengths = STRENGTHS.index(strength) >= STRENGTHS.index("bounded")

    def narrow(self, node: Schema, bound: Bound) -> dict[str, Any]:
        """Returns a node of the schema, narrowed by what the case allows."""
        if bound.any_of and self._exact:
            return {"anyOf": [self.narrow(node, one) for one in bound.any_of]}
        if bound.any_of:
            bound = _merge_bounds(bound.any_of)
        node = _resolve(node, self._definitions)
        if "anyOf" in node:
            return self._narrow_nullable(node, bound)
        if "enum" in node or "const" in node:
            known = node.get("enum", [node.get("const")])
            wanted = known if bound.choices is None else [value for value in known if value in bound.choices]
            return {**{key: value for key, value in node.items() if key != "const"}, "enum": wanted}
        match node.get("type"):
            case "object":
                return self._narrow_object(node, bound)
            case "array":
                return self._narrow_array(node, bound)
            case "integer" | "number":
                return {**node, **self._limit_number(bound)}
            case "boolean":
                return {**node, "enum": list(bound.choices)} if bound.choices else dict(node)
            case "string":
                return {**node, **self._limit_text(bound)}
        return dict(node)

    def _narrow_nullable(self, node: Schema, bound: Bound) -> dict[str, Any]:
        """Narrows `X or null` to what the choices leave of it; a union of several types stays as it is."""
        others = [branch for branch in node["anyOf"] if branch.get("type") != "null"]
        nullable = len(others) < len(node["anyOf"])
        about = {"description": node["description"]} if "description" in node else {}
        if bound.choices is not None:
            if set(bound.choices) <= {None} and nullable:
                return {**about, **NULL}
            nullable = nullable and None in bound.choices
            bound = replace(bound, choices=tuple(choice for choice in bound.choices if choice is not None))
        if len(others) != 1:
            return dict(node)
        inner = self.narrow(others[0], bound)
        return {**about, "anyOf": [inner, NULL]} if nullable else {**about, **inner}

    def _narrow_object(self, node: Schema, bound: Bound) -> dict[str, Any]:
        """Narrows the properties of an object; raises `ValueError` for a bound of an unknown property."""
        fields, properties = dict(bound.fields), node.get("properties", {})
        if unknown := sorted(fields.keys() - properties.keys()):
            raise ValueError(f"bounds: the labels have no field `{unknown[0]}` there, but {', '.join(properties)}")
        narrowed = {
            name: self.narrow(item, fields[name]) if name in fields else item for name, item in properties.items()
        }
        return {**node, "properties": narrowed}

    def _narrow_array(self, node: Schema, bound: Bound) -> dict[str, Any]:
        """Narrows the items of an array, and its length where the endpoint understands that."""
        out, inner = dict(node), node.get("items", {})
        least, most = bound.least, bound.most
        if bound.items is not None:
            least = most = len(bound.items)
            if self._exact and 0 < most <= MOST_SINGLE_ITEMS:
                del out["items"]
                out["prefixItems"] = [self.narrow(inner, one) for one in bound.items]
            elif bound.items:
                out["items"] = self.narrow(inner, _merge_bounds(bound.items))
        elif bound.item is not None:
            out["items"] = self.narrow(inner, bound.item)
        if self._bounds_lengths and least is not None:
            out["minItems"] = least
        if self._bounds_lengths and most is not None:
            out["maxItems"] = most
        return out

    def _limit_number(self, bound: Bound) -> dict[str, Any]:
        """Returns the keywords that limit a number: a range, or its choices. A run of whole numbers becomes a range if
        the endpoint supports ranges: that is short whatever its length."""
        least, most, choices = bound.least, bound.most, bound.choices
        if choices:
            numbers = sorted(choice for choice in choices if isinstance(choice, int))
            if not self._bounds_lengths or numbers[-1] - numbers[0] != len(numbers) - 1:
                return {"enum": numbers} if len(numbers) <= MOST_CHOICES else {}
            least, most = numbers[0], numbers[-1]
        limits = {"minimum": least, "maximum": most}
        return {key: value for key, value in limits.items() if value is not None} if self._bounds_lengths else {}

    def _limit_text(self, bound: Bound) -> dict[str, Any]:
        """Returns the keywords that limit a text: its choices, or its length; none if they are too many or it is too
        long."""
        if bound.choices:
            texts = list(dict.fromkeys(sound(choice) for choice in bound.choices if isinstance(choice, str)))
            few = len(texts) <= MOST_CHOICES and sum(map(len, texts)) <= MOST_CHOICE_CHARS
            return {"enum": texts} if few else {}
        if not self._bounds_texts or bound.most is None or bound.most > LONGEST_TEXT:
            return {}
        return {"minLength": bound.least, "maxLength": bound.most} if bound.least else {"maxLength": bound.most}


def _resolve(node: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Returns the definition that a node refers to, with the description beside the reference; any other node as it
    is."""
    branches = node.get("anyOf", ())
    inner = branches[0] if len(branches) == 1 else node
    if "$ref" not in inner:
        return node
    found = definitions[_definition_name(inner["$ref"])]
    return {**found, "description": node["description"]} if "description" in node else found


def _merge_bounds(bounds: Sequence[Bound]) -> Bound:
    """Merges bounds into one that allows everything any of them allows."""
    return reduce(_merge_two_bounds, bounds)


def _merge_two_bounds(one: Bound, other: Bound) -> Bound:
    """Returns a bound that allows whatever either of the two allows. A list with a bound for each item becomes one with
    the same bound for all of them."""
    if one.any_of or other.any_of:
        one = _merge_bounds(one.any_of) if one.any_of else one
        return _merge_two_bounds(one, _merge_bounds(other.any_of) if other.any_of else other)
    one, other = _merge_items(one), _merge_items(other)
    choices = None
    if one.choices is not None and other.choices is not None:
        choices = tuple(dict.fromkeys((*one.choices, *other.choices)))
    mine, theirs = dict(one.fields), dict(other.fields)
    return Bound(
        choices=choices,
        least=None if one.least is None or other.least is None else min(one.least, other.least),
        most=None if one.most is None or other.most is None else max(one.most, other.most),
        fields=tuple((name, _merge_two_bounds(mine[name], theirs[name])) for name in mine if name in theirs),
        item=None if one.item is None or other.item is None else _merge_two_bounds(one.item, other.item),
    )


def _merge_items(bound: Bound) -> Bound:
    """Returns a bound of a list with one bound for all items in place of one for each; any other as it is."""
    if bound.items is None:
        return bound
    count = len(bound.items)
    return replace(bound, items=None, item=_merge_bounds(bound.items) if count else None, least=count, most=count)


# --- how long a reply can be -----------------------------------------------------------------------

CHARS_PER_TOKEN = 2  # on the safe side: JSON and prose have three to four, text in other scripts as few as one
UNBOUND_TEXT = 400  # characters assumed for a text without a bound
UNBOUND_ITEMS = 20
SLACK = 200  # tokens for blanks, fences and markers
FEWEST_TOKENS, MOST_TOKENS = 512, 16_384
DEEPEST = 12


def reply_tokens(schema: Schema) -> int:
    """Estimates a token limit for a reply that fits this schema: no useful answer needs more."""
    length = _Longest(schema.get("$defs", {})).value(schema)
    return min(MOST_TOKENS, max(FEWEST_TOKENS, length // CHARS_PER_TOKEN + SLACK))


class _Longest:
    """Estimates how many characters the longest value of a schema takes."""

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self._definitions = definitions
        self._known: dict[tuple[int, int], int] = {}
        """By node and depth: without it, a schema that refers to itself would take exponential time."""

    def value(self, node: Schema, depth: int = 0) -> int:
        """Returns the number of characters of the longest JSON that fits the schema; known results are reused."""
        if depth > DEEPEST:  # recursive schemas are followed a few times only
            return 0
        key = (id(node), depth)
        if key not in self._known:
            self._known[key] = self._value(node, depth + 1)
        return self._known[key]

    def _value(self, node: Schema, inner: int) -> int:
        """Returns the length of the longest JSON for one node, without the memory of `value`."""
        if "$ref" in node:
            return self.value(self._definitions[_definition_name(node["$ref"])], inner)
        if "anyOf" in node:
            return max(self.value(branch, inner) for branch in node["anyOf"])
        if "enum" in node or "const" in node:
            return max((len(orjson.dumps(value)) for value in node.get("enum", [node.get("const")])), default=2)
        match node.get("type"):
            case "object":
                properties: Mapping[str, Schema] = node.get("properties", {})
                held = sum(len(name) + 6 + self.value(item, inner) for name, item in properties.items())
                return 4 + (held if properties else UNBOUND_TEXT)
            case "array":
                if "prefixItems" in node:
                    return 2 + sum(2 + self.value(item, inner) for item in node["prefixItems"])
                items = int(node.get("maxItems", UNBOUND_ITEMS))
                return 2 + items * (2 + self.value(node.get("items", {}), inner))
            case "integer" | "number":
                return len(str(node["maximum"])) if "maximum" in node else 15
            case "boolean" | "null":
                return 5
        return 2 + int(node.get("maxLength", UNBOUND_TEXT))


# --- checking a reply ------------------------------------------------------------------------------


class AnswerCheck:
    """Checks an answer against the schema of the labels, strictly: nothing is converted.

    The label model itself may hold more than models are asked for (a measure that the embedded labeller fills in) and
    may be lenient about types. Here a number in quotes is a text, `true` is no number, 1 is not yes, and 1.0 is no
    integer.
    """

    def __init__(self, schema: Schema) -> None:
        values = (value for node in walk(schema) for value in (*node.get("enum", ()), node.get("const")))
        self.words = frozenset(value for value in values if isinstance(value, str))
        """Every word that a label can be chosen from."""
        self._validator = SchemaValidator(core_schema.definitions_schema(*compiled(schema)))

    def fault(self, answer: Any) -> str | None:
        """Describes every misfit of an answer with its place; None if it fits."""
        try:
            self._validator.validate_python(answer)
        except ValidationError as error:
            return describe_validation(error)
        return None
