"""The JSON Schema that goes with a request: of a label model, bound to the case, and what a reply is held against.

`strict_schema` is the same for every case of a judge, and replies are checked against it. `bind` narrows it to one
case, as far as an endpoint takes that (`Strength`). `reply_tokens` says how long the longest useful reply can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
Letters = dict[tuple[int, int], tuple[Schema, int]]
"""How long the longest value of a node is that stands so deep, by the node and its depth."""

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
NULL = {"type": "null"}
MOST_CHOICES = 200  # values in one enumeration, and
MOST_CHOICE_CHARS = 10_000  # characters of them together: OpenAI and llama.cpp refuse far larger ones
MOST_SINGLE_ITEMS = 40  # items of a list that are described one by one
LONGEST_TEXT = 2_000  # characters: a grammar of llama.cpp repeats nothing more often


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


# --- bound to a case -------------------------------------------------------------------------------


MOST_REMEMBERED = 10_000


def bind(schema: Schema, bound: Bound, strength: Strength) -> dict[str, Any]:
    """The schema narrowed to the bounds of one case; `ValueError` where a bound names a field that there is not."""
    return Binder(schema, strength).bind(bound)


class Binder:
    """Writes what is bound in place of references; what is not bound stays as it is.

    Hardly any two cases have the same bounds, but most parts of them come back (a passage of eight sentences, a claim
    about one of four). Judges give the same part as the same object: what was made of it is remembered by that.
    """

    def __init__(self, schema: Schema, strength: Strength) -> None:
        self._schema, self._strength = schema, strength
        self._root = {key: node for key, node in schema.items() if key != "$defs"}
        self._definitions: Mapping[str, Schema] = schema.get("$defs", {})
        self._exact = strength == "exact"
        self._texts = STRENGTHS.index(strength) >= STRENGTHS.index("sized")
        self._lengths = STRENGTHS.index(strength) >= STRENGTHS.index("bounded")
        self._nodes: dict[tuple[int, int], tuple[Schema, Bound, dict[str, Any]]] = {}
        self._names: dict[int, tuple[Any, frozenset[str]]] = {}
        self._letters: Letters = {}

    def bind(self, bound: Bound) -> dict[str, Any]:
        """The schema narrowed to these bounds. Parts of it are shared with others: it is not to be changed."""
        if self._strength == "plain":
            return dict(self._schema)
        if len(self._nodes) + len(self._names) + len(self._letters) > MOST_REMEMBERED:
            self._nodes.clear()
            self._names.clear()
            self._letters.clear()
        narrowed = dict(self.node(self._root, bound))
        used = set(self._references(narrowed))
        while more := {name for known in used for name in self._references(self._definitions[known])} - used:
            used |= more
        if used:
            narrowed["$defs"] = {name: node for name, node in self._definitions.items() if name in used}
        return narrowed

    def reply_tokens(self, bound: Bound) -> int:
        """A limit for a reply within these bounds."""
        return reply_tokens(self.bind(bound), self._letters)

    def node(self, node: Schema, bound: Bound) -> dict[str, Any]:
        """Remembered with what it was made of, so that another object in the same place is not taken for it."""
        known = self._nodes.get((id(node), id(bound)))
        if known is None or known[0] is not node or known[1] is not bound:
            known = self._nodes[id(node), id(bound)] = node, bound, self._node(node, bound)
        return known[2]

    def _references(self, node: Mapping[str, Any] | list[Any]) -> frozenset[str]:
        """The names of the definitions that stand anywhere in a node."""
        known = self._names.get(id(node))
        if known is not None and known[0] is node:
            return known[1]
        inner = node.values() if isinstance(node, dict) else node
        names = frozenset[str]().union(*(self._references(one) for one in inner if isinstance(one, dict | list)))
        if isinstance(node, dict) and isinstance(node.get("$ref"), str):
            names |= {node["$ref"].rpartition("/")[2]}
        self._names[id(node)] = node, names
        return names

    def _node(self, node: Schema, bound: Bound) -> dict[str, Any]:
        if bound.any_of and self._exact:
            return {"anyOf": [self.node(node, one) for one in bound.any_of]}
        if bound.any_of:
            bound = _widest(bound.any_of)
        node = _resolved(node, self._definitions)
        if "anyOf" in node:
            return self._perhaps_null(node, bound)
        if "enum" in node or "const" in node:
            known = node.get("enum", [node.get("const")])
            wanted = known if bound.choices is None else [value for value in known if value in bound.choices]
            return {**{key: value for key, value in node.items() if key != "const"}, "enum": wanted}
        match node.get("type"):
            case "object":
                return self._object(node, bound)
            case "array":
                return self._array(node, bound)
            case "integer" | "number":
                return {**node, **self._number(bound)}
            case "boolean":
                return {**node, "enum": list(bound.choices)} if bound.choices else dict(node)
            case "string":
                return {**node, **self._text(bound)}
        return dict(node)

    def _perhaps_null(self, node: Schema, bound: Bound) -> dict[str, Any]:
        """Of `X or null`: only what the choices leave of it."""
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
        inner = self.node(others[0], bound)
        return {**about, "anyOf": [inner, NULL]} if nullable else {**about, **inner}

    def _object(self, node: Schema, bound: Bound) -> dict[str, Any]:
        fields, properties = dict(bound.fields), node.get("properties", {})
        if unknown := sorted(fields.keys() - properties.keys()):
            raise ValueError(f"bounds: the labels have no field `{unknown[0]}` there, but {', '.join(properties)}")
        narrowed = {
            name: self.node(item, fields[name]) if name in fields else item for name, item in properties.items()
        }
        return {**node, "properties": narrowed}

    def _array(self, node: Schema, bound: Bound) -> dict[str, Any]:
        out, inner = dict(node), node.get("items", {})
        least, most = bound.least, bound.most
        if bound.items is not None:
            least = most = len(bound.items)
            if self._exact and 0 < most <= MOST_SINGLE_ITEMS:
                del out["items"]
                out["prefixItems"] = [self.node(inner, one) for one in bound.items]
            elif bound.items:
                out["items"] = self.node(inner, _widest(bound.items))
        elif bound.item is not None:
            out["items"] = self.node(inner, bound.item)
        if self._lengths and least is not None:
            out["minItems"] = least
        if self._lengths and most is not None:
            out["maxItems"] = most
        return out

    def _number(self, bound: Bound) -> dict[str, Any]:
        """A run of whole numbers is said by its ends where ranges are taken: that is short whatever its length."""
        least, most, choices = bound.least, bound.most, bound.choices
        if choices:
            numbers = sorted(choice for choice in choices if isinstance(choice, int))
            if not self._lengths or numbers[-1] - numbers[0] != len(numbers) - 1:
                return {"enum": numbers} if len(numbers) <= MOST_CHOICES else {}
            least, most = numbers[0], numbers[-1]
        limits = {"minimum": least, "maximum": most}
        return {key: value for key, value in limits.items() if value is not None} if self._lengths else {}

    def _text(self, bound: Bound) -> dict[str, Any]:
        if bound.choices:
            texts = list(dict.fromkeys(sound(choice) for choice in bound.choices if isinstance(choice, str)))
            few = len(texts) <= MOST_CHOICES and sum(map(len, texts)) <= MOST_CHOICE_CHARS
            return {"enum": texts} if few else {}
        if not self._texts or bound.most is None or bound.most > LONGEST_TEXT:
            return {}
        return {"minLength": bound.least, "maxLength": bound.most} if bound.least else {"maxLength": bound.most}


def _resolved(node: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """What a reference stands for, with the description that stands beside the reference."""
    branches = node.get("anyOf", ())
    inner = branches[0] if len(branches) == 1 else node
    if "$ref" not in inner:
        return node
    found = definitions[inner["$ref"].rpartition("/")[2]]
    return {**found, "description": node["description"]} if "description" in node else found


def _widest(bounds: Sequence[Bound]) -> Bound:
    """One bound that leaves room for everything that any of these allows."""
    return reduce(_wider, bounds)


def _wider(one: Bound, other: Bound) -> Bound:
    if one.any_of or other.any_of:
        one = _widest(one.any_of) if one.any_of else one
        return _wider(one, _widest(other.any_of) if other.any_of else other)
    choices = None
    if one.choices is not None and other.choices is not None:
        choices = tuple(dict.fromkeys((*one.choices, *other.choices)))
    mine, theirs = dict(one.fields), dict(other.fields)
    return Bound(
        choices=choices,
        least=None if one.least is None or other.least is None else min(one.least, other.least),
        most=None if one.most is None or other.most is None else max(one.most, other.most),
        fields=tuple((name, _wider(mine[name], theirs[name])) for name in mine if name in theirs),
        item=None if one.item is None or other.item is None else _wider(one.item, other.item),
    )


# --- how long a reply can be -----------------------------------------------------------------------

CHARS_PER_TOKEN = 2  # on the safe side: JSON and prose have three to four, text in other scripts as few as one
UNBOUND_TEXT = 400  # characters taken for a text without a bound
UNBOUND_ITEMS = 20
SLACK = 200  # tokens for blanks, fences and markers
FEWEST_TOKENS, MOST_TOKENS = 512, 16_384
DEEPEST = 12


def reply_tokens(schema: Schema, known: Letters | None = None) -> int:
    """A limit for a reply that fits this schema: no useful answer needs more tokens."""
    letters = _letters(schema, schema.get("$defs", {}), 0, {} if known is None else known)
    return min(MOST_TOKENS, max(FEWEST_TOKENS, letters // CHARS_PER_TOKEN + SLACK))


def _letters(node: Schema, definitions: Mapping[str, Schema], depth: int, known: Letters) -> int:
    """About how many characters the longest value takes; what goes in circles is followed a few times only."""
    if depth > DEEPEST:
        return 0
    found = known.get((id(node), depth))
    if found is None or found[0] is not node:
        found = known[id(node), depth] = node, _count_letters(node, definitions, depth + 1, known)
    return found[1]


def _count_letters(node: Schema, definitions: Mapping[str, Schema], inner: int, known: Letters) -> int:
    if "$ref" in node:
        return _letters(definitions[node["$ref"].rpartition("/")[2]], definitions, inner, known)
    if "anyOf" in node:
        return max(_letters(branch, definitions, inner, known) for branch in node["anyOf"])
    if "enum" in node or "const" in node:
        return max((len(orjson.dumps(value)) for value in node.get("enum", [node.get("const")])), default=2)
    match node.get("type"):
        case "object":
            properties: Mapping[str, Schema] = node.get("properties", {})
            held = sum(len(name) + 6 + _letters(item, definitions, inner, known) for name, item in properties.items())
            return 4 + (held if properties else UNBOUND_TEXT)
        case "array":
            if "prefixItems" in node:
                return 2 + sum(2 + _letters(item, definitions, inner, known) for item in node["prefixItems"])
            items = int(node.get("maxItems", UNBOUND_ITEMS))
            return 2 + items * (2 + _letters(node.get("items", {}), definitions, inner, known))
        case "integer" | "number":
            return len(str(node["maximum"])) if "maximum" in node else 15
        case "boolean" | "null":
            return 5
    return 2 + int(node.get("maxLength", UNBOUND_TEXT))


# --- what a reply is held against ------------------------------------------------------------------


class AnswerCheck:
    """Holds an answer against the schema of the labels: what was not asked for is no answer, nothing is converted.

    A label model may hold more than models are asked for (a measure that the embedded labeller fills in) and may be
    lenient about types. What counts here is the schema alone, strictly: a number in quotes is a text, `true` is no
    number, 1 is not yes, and 1.0 is no whole number.
    """

    def __init__(self, schema: Schema) -> None:
        self.words = _words(schema)
        self._validator = SchemaValidator(core_schema.definitions_schema(*compiled(schema)))

    def fault(self, answer: Any) -> str | None:
        """What in an answer does not fit, each with its place; None if the answer fits."""
        try:
            self._validator.validate_python(answer)
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
