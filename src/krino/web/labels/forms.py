"""Builds forms from JSON schemas, and reads answers from submitted forms.

The schema of a verdict is stored with the run, so no judge's code is loaded; the schema of labels comes from the judge,
and its bounds restrict the choices for one case. Whether an answer is correct is checked by the owner of the schema.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import orjson

from krino.contract.bounds import Bound, Choice
from krino.errors import UsageProblem

Schema = Mapping[str, Any]
MISSING: Final = object()
_MOST_STEPS = 11
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
_MOST_ROWS = 400
_LONGEST_TEXT = 20_000
_DEEPEST = 8
_TRUNCATED_CHOICES = 25  # a list of this length may be truncated
_ANY = Bound()
_NOTHING: Mapping[str, Any] = {}
_FEW_KEYS = 9


class SubmittedForm:
    """A submitted form: values by field name, without files."""

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            if isinstance(value, str):
                self._values.setdefault(name, []).append(value)

    def get(self, name: str) -> str:
        """Returns the last value of a field; empty if missing."""
        return self._values.get(name, [""])[-1]

    def all(self, name: str) -> list[str]:
        return self._values.get(name, [])


@dataclass(frozen=True, slots=True)
class Option:
    """One choice. `code` is the value as JSON, which the form sends."""

    code: str
    text: str
    chosen: bool = False
    key: str = ""
    """The digit key that selects it; empty beyond the ninth."""


@dataclass(frozen=True, slots=True)
class FormNode:
    """One node of the form: a field, a group of fields, or a list."""

    kind: Literal["fixed", "choice", "many", "number", "text", "group", "rows"]
    path: str
    """Name of the form field."""
    title: str
    help: str = ""
    options: tuple[Option, ...] = ()
    least: float | None = None
    most: float | None = None
    whole: bool = False
    nullable: bool = False
    value: Any = MISSING
    """The current value."""
    suggestions: tuple[str, ...] = ()
    children: tuple[FormNode, ...] = ()
    grows: bool = False
    """For lists: whether rows can be added and removed."""
    optional: bool = False
    """Whether an empty field is left out of the answer."""

    @property
    def shown(self) -> str:
        """The fixed value, or the initial text of an input."""
        return "" if self.value in (MISSING, None) else format_choice(self.value)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


def format_choice(value: Any) -> str:
    """Formats a value for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "does not apply"
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else str(value)


# --- the fields of a verdict ---------------------------------------------------------------------------


def build_verdict_form(
    schema: Schema, given: Mapping[str, Any] | None = None, roll_ups: Sequence[str] = ()
) -> FormNode:
    """Builds the form for a verdict: scores, codes and booleans, all optional. Texts are left to judges.

    The schema comes from a run folder, which may come from anyone, so fields with an invalid schema are skipped.
    """
    given, parts = given or {}, schema.get("properties") if isinstance(schema, Mapping) else None
    asked = {"roll_up": {"enum": list(roll_ups)}} if roll_ups else {}
    nodes = []
    for name, part in {**asked, **(parts if isinstance(parts, Mapping) else {})}.items():
        try:
            node = _build_node(part, _Position(f"f.{name}", schema, given.get(name, MISSING)))
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            continue
        if node.kind in ("choice", "many", "number") and (node.options or node.kind == "number"):
            nodes.append(replace(node, optional=True))
    return FormNode("group", "f", "", children=tuple(nodes))


# --- labels --------------------------------------------------------------------------------------------


def build_labels_form(
    schema: Schema, bound: Bound | None, exact: Bound | None, given: Any = None, *, start: Mapping[str, Any] = _NOTHING
) -> FormNode:
    """Builds the form for the labels of one case. `bound`: the possible choices; `exact`: values that are certain,
    which the form starts with, and texts to quote. `start`: initial labels instead of the certain ones."""
    bound, exact = bound or _ANY, exact or _ANY
    if given is None:
        certain = _certain_value(exact)
        given = {**(certain if isinstance(certain, dict) else {}), **start} if start else certain
    return _build_node(schema, _Position("l", schema, given, bound, exact))


def rebuild_form(schema: Schema, bound: Bound | None, exact: Bound | None, filled: SubmittedForm) -> FormNode:
    """Builds the form again as it was when submitted, with the same number of rows in each list; what was filled in is
    not in it."""
    certain = _certain_value(exact or _ANY)
    certain = dict(certain) if isinstance(certain, dict) else {}
    for name in schema["properties"]:
        if (count := filled.get(f"l.{name}#")).isascii() and count.isdecimal():
            most = min(int(count[:6]), _MOST_ROWS)
            certain[name] = [*certain.get(name, []), *[{}] * most][:most]
    return build_labels_form(schema, bound, exact, certain)


def _certain_value(bound: Bound) -> Any:
    """Returns the parts of a value that have only one possibility; `MISSING` if there are none."""
    if bound.any_of:
        return _common_value([_certain_value(one) for one in bound.any_of])
    if bound.choices is not None:
        return bound.choices[0] if len(bound.choices) == 1 else MISSING
    if bound.items is not None:
        return [_certain_value(item) for item in bound.items]
    found = {name: value for name, part in bound.fields if (value := _certain_value(part)) is not MISSING}
    return found or MISSING


def _common_value(several: Sequence[Any]) -> Any:
    """Returns what all values have in common: of objects the equal fields, else the value itself or `MISSING`."""
    first = several[0]
    if all(isinstance(one, dict) for one in several):
        return {name: value for name, value in first.items() if all(one.get(name, MISSING) == value for one in several)}
    return first if all(one == first for one in several) else MISSING


# --- one place -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Position:
    """Position while building the form: path, root schema for references, current value and bounds."""

    path: str
    schema: Schema
    value: Any
    bound: Bound = _ANY
    exact: Bound = _ANY
    depth: int = 0

    def inner(self, name: str | int, value: Any, bound: Bound | None, exact: Bound | None) -> _Position:
        """Returns the position of a part of the value here; `RecursionError` if that is too deep."""
        if self.depth > _DEEPEST:
            raise RecursionError("the schema is too deep")
        return _Position(f"{self.path}.{name}", self.schema, value, bound or _ANY, exact or _ANY, self.depth + 1)


def _build_node(part: Schema, position: _Position) -> FormNode:
    """Builds the form field for one part of the schema, narrowed by what the case allows; raises `ValueError` or
    `RecursionError` for a schema that no form can show."""
    plain, nullable = _resolve(part, position.schema)
    bound = position.bound
    description = str(part.get("description") or plain.get("description") or "")
    title = position.path.rpartition(".")[2].replace("_", " ")
    node = FormNode("text", position.path, title, description, nullable=nullable, value=position.value)
    if bound.choices is not None:
        if len(bound.choices) == 1:
            return replace(node, kind="fixed", value=bound.choices[0])
        return _build_choice(node, bound.choices)
    if (values := _enum_values(plain)) is not None:
        return _build_choice(node, [*values, *([None] if nullable else [])])
    kind = plain.get("type")
    if kind == "object" and "properties" in plain:
        return _build_group(node, plain, position)
    if kind == "array":
        return _build_list(node, plain, position)
    if kind in ("number", "integer"):
        return _build_number(node, plain, whole=kind == "integer")
    if kind != "string":
        raise ValueError(f"no form field for {kind}")
    quotes = dict.fromkeys(choice for choice in _all_choices(position.exact) if isinstance(choice, str))
    most = bound.most or plain.get("maxLength") or _LONGEST_TEXT
    return replace(node, most=most, suggestions=tuple(quotes)[:40])


def _resolve(part: Schema, schema: Schema) -> tuple[Schema, bool]:
    """Returns the schema with references and null resolved, and whether null is allowed. Raises `ValueError` for
    several types at once."""
    for _ in range(_DEEPEST):
        if "$ref" in part:
            part = schema["$defs"][str(part["$ref"]).rpartition("/")[2]]
        elif "anyOf" in part:
            kinds = [kind for kind in part["anyOf"] if kind.get("type") != "null"]
            if len(kinds) != 1:
                raise ValueError("no form field for several types at once")
            inner, _ = _resolve(kinds[0], schema)
            return inner, len(kinds) < len(part["anyOf"])
        else:
            return part, False
    raise RecursionError("the schema is too deep")


def _enum_values(part: Schema) -> list[Choice] | None:
    """Returns the values that a part of the schema lists, or None if it lists none."""
    if "enum" in part:
        return list(part["enum"])
    if "const" in part:
        return [part["const"]]
    return [True, False] if part.get("type") == "boolean" else None


def _build_choice(node: FormNode, values: Sequence[Choice]) -> FormNode:
    return replace(node, kind="choice", options=_build_options(values, [node.value]))


def _build_options(values: Sequence[Any], chosen: Sequence[Any]) -> tuple[Option, ...]:
    """Builds the options of a choice, each with a shortcut key."""
    known, codes = set(map(_option_code, chosen)), {_option_code(value): value for value in values}
    texts = {code: format_choice(value) for code, value in codes.items()}
    keys = _shortcut_keys(list(texts.values()))
    return tuple(Option(code, text, code in known, key) for (code, text), key in zip(texts.items(), keys, strict=True))


def _shortcut_keys(texts: Sequence[str]) -> list[str]:
    """Chooses shortcut keys: the digit itself on scales like 0 to 5, otherwise 1 to 9 in order, then none."""
    digits = [text for text in texts if len(text) == 1 and text.isascii() and text.isdecimal()]
    if digits and len(digits) >= len(texts) - 1:  # the other choice is "does not apply"
        return [text if text in digits else "" for text in texts]
    return [str(place) if place <= _FEW_KEYS else "" for place in range(1, len(texts) + 1)]


def _build_number(node: FormNode, part: Schema, *, whole: bool) -> FormNode:
    """Builds a choice for a few whole numbers, otherwise an input with suggestions."""
    least, most = (part.get(end) for end in ("minimum", "maximum"))
    node = replace(node, kind="number", least=least, most=most, whole=whole)
    steps: Sequence[Choice | float] = ()
    if least is not None and most is not None:
        if whole and most - least < _MOST_STEPS:
            return _build_choice(node, [*range(int(least), int(most) + 1), *([None] if node.nullable else [])])
        steps = () if whole else [least + share * (most - least) for share in _SHARES]
    return replace(node, options=_build_options([*steps, *([None] if node.nullable else [])], [node.value]))


def _build_group(node: FormNode, part: Schema, position: _Position) -> FormNode:
    """Builds a group with a field for each property."""
    given = position.value if isinstance(position.value, Mapping) else {}
    bounds, exacts = _bounds_by_field(position.bound), _bounds_by_field(position.exact)
    children = tuple(
        _build_node(inner, position.inner(name, given.get(name, MISSING), bounds.get(name), exacts.get(name)))
        for name, inner in part["properties"].items()
    )
    return replace(node, kind="group", children=children)


def _build_list(node: FormNode, part: Schema, position: _Position) -> FormNode:
    """Builds a list: options to tick if its items are chosen from a list, else rows of fields."""
    bound, exact = position.bound, position.exact
    given = list(position.value) if isinstance(position.value, list | tuple) else []
    items: Schema = part.get("items", {})
    inner, _ = _resolve(items, position.schema)
    if bound.most == 0:
        return replace(node, kind="fixed", value=[])
    own = bound.item or _ANY
    values = own.choices if own.choices is not None else _enum_values(inner)
    if values is not None:
        return replace(node, kind="many", options=_build_options(values, given), most=bound.most)
    each, exacts, alike = bound.items, exact.items or (), exact.item
    if each is None and exacts:  # a person adds and leaves out rows: no row is the one that code has put there
        exacts, alike = (), _find_common_bound(exacts)
    least, most = (int(bound.least or 0), int(bound.most or _MOST_ROWS)) if each is None else (len(each), len(each))
    children = []
    for place, value in enumerate([*given, *[{}] * (least - len(given))][: min(most, _MOST_ROWS)]):
        known = exacts[place] if place < len(exacts) else None
        row = _build_node(items, position.inner(place, value, own if each is None else each[place], known or alike))
        children.append(_fix_row(row, known) if known is not None and least == most else row)
    return replace(node, kind="rows", children=tuple(children), least=least, most=most, grows=least != most)


def _find_common_bound(items: Sequence[Bound]) -> Bound:
    """Returns the choices that every item of a list has; a single certain value only names its item, so it is left
    out."""
    first, *others = map(_bounds_by_field, items)
    same = {name: part for name, part in first.items() if all(one.get(name) == part for one in others)}
    return Bound.holding(**{name: part for name, part in same.items() if _certain_value(part) is MISSING})


def _fix_row(node: FormNode, exact: Bound) -> FormNode:
    """Returns a row about one thing of the case: what identifies the thing is fixed, and choices are limited to those
    valid here (such as earlier steps)."""
    certain, bounds = _certain_value(exact), _bounds_by_field(exact)
    known = certain if isinstance(certain, dict) else {}
    narrowed = (_narrow_choice(one, known, bounds.get(one.name, _ANY)) for one in node.children)
    return replace(node, children=tuple(narrowed))


def _narrow_choice(node: FormNode, certain: Mapping[str, Any], exact: Bound) -> FormNode:
    """Narrows a choice to what code found possible for this row; a certain value becomes fixed."""
    if node.kind != "choice":
        return node
    if node.name in certain and node.value == certain[node.name]:
        return replace(node, kind="fixed", value=certain[node.name])
    codes = {_option_code(choice) for choice in _all_choices(exact)}
    kept = tuple(option for option in node.options if option.code in codes)
    return replace(node, options=kept) if kept and len(kept) < _TRUNCATED_CHOICES else node


def _bounds_by_field(bound: Bound) -> dict[str, Bound]:
    """Returns the bounds by field; for several kinds of object, the union of their choices."""
    if not bound.any_of:
        return dict(bound.fields)
    found: dict[str, list[Bound]] = {}
    for kind in bound.any_of:
        for name, part in kind.fields:
            found.setdefault(name, []).append(part)
    return {name: Bound.either(*parts) for name, parts in found.items()}


def _all_choices(bound: Bound) -> Iterator[Choice]:
    yield from bound.choices or ()
    for one in bound.any_of:
        yield from _all_choices(one)


# --- reading answers -----------------------------------------------------------------------------------


def read_form_answer(node: FormNode, filled: SubmittedForm) -> Any:
    """Reads the answer to a node from a submitted form: a JSON value, without empty fields and rows that were removed,
    or `MISSING`. Raises `UsageProblem` for values that the form does not offer."""
    match node.kind:
        case "fixed":
            return node.value
        case "choice":
            return _parse_choice(node, filled.get(node.path))
        case "many":
            codes = [code for code in filled.all(node.path) if code]
            return MISSING if node.optional and not codes else [_parse_choice(node, code) for code in codes]
        case "number":
            return _parse_number(node, filled)
        case "text":
            text = filled.get(node.path).replace("\r\n", "\n")
            if len(text) > _LONGEST_TEXT:
                raise UsageProblem(f"{node.title}: the text has more than {_LONGEST_TEXT:,} characters")
            return None if node.nullable and not text.strip() else text
        case "group":
            if node.nullable and filled.get(f"{node.path}?") != "1":
                return None
            found = {child.name: read_form_answer(child, filled) for child in node.children}
            return {name: value for name, value in found.items() if value is not MISSING}
        case "rows":
            kept = [row for row in node.children if filled.get(f"{row.path}!") != "1"]
            return [read_form_answer(row, filled) for row in kept]


def _parse_choice(node: FormNode, code: str) -> Any:
    """Returns the value of the chosen option; refuses one that was not offered.

    Nothing chosen is None for a field that must be there and may be null, else `MISSING`.
    """
    if not code:
        return None if node.nullable and not node.optional else MISSING
    if code not in {option.code for option in node.options}:
        raise UsageProblem(f"{node.title}: {code[:60]!r} is not one of the choices")
    return orjson.loads(code)


def _parse_number(node: FormNode, filled: SubmittedForm) -> Any:
    """Reads a typed number (also with a decimal comma) within its limits; if none was typed, the choice beside it."""
    text = filled.get(f"{node.path}=").strip().replace(",", ".")
    if not text:
        return _parse_choice(node, filled.get(node.path))
    try:
        number = int(text) if node.whole else float(text)
    except ValueError:
        raise UsageProblem(f"{node.title}: {text[:60]!r} is not a {'whole ' if node.whole else ''}number") from None
    low, high = node.least if node.least is not None else -math.inf, node.most if node.most is not None else math.inf
    if not math.isfinite(number) or not low <= number <= high:
        raise UsageProblem(f"{node.title}: {text[:60]} is not between {low:g} and {high:g}")
    return number


def add_row(answer: dict[str, Any], filled: SubmittedForm) -> dict[str, Any]:
    """Returns the answer with one more row in the list whose button was pressed; unchanged if none was."""
    name = filled.get("more").removeprefix("l.")
    rows = answer.get(name)
    return {**answer, name: [*rows, {}]} if isinstance(rows, list) else answer


def check_fields(node: FormNode, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Checks an answer that came as JSON against what the form would have offered, and returns it; `UsageProblem` for
    unknown fields, other values and an empty answer."""
    known = {child.name: child for child in node.children}
    if unknown := sorted(set(answer) - known.keys()):
        raise UsageProblem(
            f"{unknown[0][:60]!r} is not a field that can be labelled; the fields are {', '.join(known)}"
        )
    if not answer:
        raise UsageProblem(f"the answer is empty; give at least one of {', '.join(known)}")
    return {name: _check_value(known[name], value) for name, value in answer.items()}


def _check_value(node: FormNode, value: Any) -> Any:
    """Checks a value that was sent as JSON against the form field, and returns it."""
    codes = {option.code for option in node.options}
    wanted = value if node.kind == "many" and isinstance(value, list) else [value]
    if node.kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
        return _parse_number(node, SubmittedForm([(f"{node.path}=", repr(value))]))
    if node.kind == "many" and not isinstance(value, list):
        raise UsageProblem(f"{node.title}: give a list")
    for one in wanted:
        if _option_code(one) not in codes:
            raise UsageProblem(f"{node.title}: {str(one)[:60]!r} is not one of the choices")
    return value


def _option_code(value: Any) -> str:
    """Returns the JSON by which a form tells a choice from others, or an empty text if it cannot be written."""
    try:
        return orjson.dumps(value).decode()
    except (orjson.JSONEncodeError, TypeError):
        return ""
