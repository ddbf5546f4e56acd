"""The operators and macros of CEL on Python values. What has no value raises `RuleFault`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from krino.judges.file.cel.faults import BudgetSpent, RuleFault
from krino.judges.file.cel.scope import StepBudget
from krino.judges.file.cel.types import Type

_LEAST, _MOST = -(2**63), 2**63 - 1
_DEEPEST = 60
"""Levels of nested lists and objects that are compared."""


def name_of(value: Any) -> str:
    """Returns what a value is, as messages name it: `a text`, `null`."""
    if value is None:
        return "null"
    names: dict[type, str] = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), "a value that rules do not know")


def is_number(value: Any) -> bool:
    return type(value) in (int, float)


def truth(value: Any) -> bool:
    """Returns a value that is true or false; raises `RuleFault` for any other."""
    if value is True or value is False:
        return bool(value)
    raise RuleFault(f"expected true or false, got {name_of(value)}")


def of_kind(value: Any, options: Sequence[Type], name: str) -> Any:
    """Returns the value if a function takes values of its kind, else raises `RuleFault`.

    The type of an `any` value is known only now.
    """
    for option in options:
        match option.kind:
            case "dyn":
                return value
            case "string" if type(value) is str:
                return value
            case "double" if is_number(value):
                return value
            case "int" if type(value) is int:
                return value
            case "bool" if type(value) is bool:
                return value
            case "list" if type(value) is list:
                return value
            case "map" if type(value) is dict:
                return value
            case "null" if value is None:
                return value
    raise RuleFault(f"{name}() takes {' or '.join(option.in_words() for option in options)}, got {name_of(value)}")


# --- numbers and texts -------------------------------------------------------------------------------


def _checked(value: Any) -> Any:
    if type(value) is int and not _LEAST <= value <= _MOST:
        raise RuleFault("a whole number is too large")
    return value


def _numbers(one: Any, other: Any, sign: str) -> None:
    if not (is_number(one) and is_number(other)):
        odd = other if is_number(one) else one
        raise RuleFault(f"`{sign}` takes numbers, got {name_of(odd)}")


def add(budget: StepBudget, one: Any, other: Any) -> Any:
    """Adds numbers, or joins texts or lists of the same type."""
    if type(one) is type(other) and type(one) in (str, list):
        if type(one) is list:
            budget.spend(len(one) + len(other))
        budget.build(len(one) + len(other))
        return one + other
    _numbers(one, other, "+")
    return _checked(one + other)


def subtract(budget: StepBudget, one: Any, other: Any) -> Any:
    _numbers(one, other, "-")
    return _checked(one - other)


def multiply(budget: StepBudget, one: Any, other: Any) -> Any:
    _numbers(one, other, "*")
    return _checked(one * other)


def divide(budget: StepBudget, one: Any, other: Any) -> Any:
    """Divides numbers; refuses a division by zero and one of two whole numbers, whose remainder would be lost."""
    _numbers(one, other, "/")
    if type(one) is int and type(other) is int:
        raise RuleFault("`/` between whole numbers drops what is left over; write double(a) / b")
    if other == 0:
        raise RuleFault("a division by zero")
    return one / other


def modulo(budget: StepBudget, one: Any, other: Any) -> Any:
    """Returns the remainder with the sign of the first number, as CEL defines it."""
    if type(one) is not int or type(other) is not int:
        raise RuleFault("`%` takes whole numbers")
    if other == 0:
        raise RuleFault("a division by zero")
    left = abs(one) % abs(other)
    return -left if one < 0 else left


def negate(value: Any) -> Any:
    """Returns the number with the other sign; raises `RuleFault` for any other value."""
    if not is_number(value):
        raise RuleFault(f"`-` takes a number, got {name_of(value)}")
    return _checked(-value)


ARITHMETIC: dict[str, Callable[[StepBudget, Any, Any], Any]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": modulo,
}


def _make_comparison(sign: str, compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Returns a comparison that takes two numbers or two texts, and raises `RuleFault` for others."""

    def decide(one: Any, other: Any) -> bool:
        if (is_number(one) and is_number(other)) or (type(one) is str and type(other) is str):
            return compare(one, other)
        raise RuleFault(f"`{sign}` cannot compare {name_of(one)} with {name_of(other)}")

    return decide


ORDER = {
    "<": _make_comparison("<", operator.lt),
    "<=": _make_comparison("<=", operator.le),
    ">": _make_comparison(">", operator.gt),
    ">=": _make_comparison(">=", operator.ge),
}


# --- equality and membership -------------------------------------------------------------------------


def equal(budget: StepBudget, one: Any, other: Any, depth: int = 0) -> bool:
    """Are two values equal? 1 equals 1.0, and nothing equals true but true."""
    if type(one) is str or type(other) is str:
        return bool(one == other)
    if is_number(one) and is_number(other):
        return bool(one == other)
    if type(one) is not type(other):
        return False
    if depth > _DEEPEST:
        raise RuleFault("lists are nested too deeply to be compared")
    if type(one) is list:
        budget.spend(1 + min(len(one), len(other)))
        return len(one) == len(other) and all(
            equal(budget, left, right, depth + 1) for left, right in zip(one, other, strict=True)
        )
    if type(one) is dict:
        budget.spend(1 + min(len(one), len(other)))
        return one.keys() == other.keys() and all(equal(budget, one[name], other[name], depth + 1) for name in one)
    return bool(one == other)


def contains(budget: StepBudget, many: Any, wanted: Any) -> bool:
    """Is a value in a list, or a key in an object?"""
    if type(many) is dict:
        return type(wanted) is str and wanted in many
    if type(many) is not list:
        raise RuleFault(f"`in` looks in a list, got {name_of(many)}")
    budget.spend(1 + len(many))
    return any(equal(budget, item, wanted) for item in many)


def select(value: Any, name: str) -> Any:
    """Returns a field of an object; raises `RuleFault` if there is none."""
    if type(value) is not dict:
        raise RuleFault(f"{name_of(value)} has no `.{name}`")
    if name not in value:
        raise RuleFault(f"an object has no `.{name}`")
    return value[name]


def has(value: Any, name: str) -> bool:
    """Does an object have this field? Raises `RuleFault` for a value that is no object."""
    if type(value) is not dict:
        raise RuleFault(f"{name_of(value)} has no `.{name}`")
    return name in value


def index(value: Any, place: Any) -> Any:
    """Returns an element of a list by its number, or of an object by its key; raises `RuleFault` if there is none."""
    if type(value) is dict:
        if type(place) is str and place in value:
            return value[place]
        raise RuleFault(f"an object has no {place!r:.80}")
    if type(value) is not list:
        raise RuleFault(f"{name_of(value)} has no elements")
    if type(place) is float and place.is_integer():
        place = int(place)
    if type(place) is not int:
        raise RuleFault(f"an element of a list is named by a whole number, got {name_of(place)}")
    if not 0 <= place < len(value):
        raise RuleFault(f"a list of {len(value)} has no element {place}; the first is 0")
    return value[place]


# --- macros ------------------------------------------------------------------------------------------

Run = Callable[[StepBudget], Any]


def items_of(value: Any, macro: str) -> Sequence[Any]:
    """Returns the elements of a list, or the keys of an object; raises `RuleFault` for any other value."""
    if type(value) is list:
        return value
    if type(value) is dict:
        return list(value)
    raise RuleFault(f".{macro}() takes a list, got {name_of(value)}")


def _is_ever(budget: StepBudget, items: Iterable[Any], name: str, steps: int, body: Run, decides: bool) -> bool:
    """Is the body `decides` for any item? A fault of the body counts only where no item decides."""
    fault: RuleFault | None = None
    for item in items:
        budget.spend(steps)
        budget.values[name] = item
        try:
            if truth(body(budget)) is decides:
                return True
        except BudgetSpent:
            raise
        except RuleFault as found:
            fault = fault or found
    if fault is not None:
        raise fault
    return False


def exists(budget: StepBudget, items: Iterable[Any], name: str, steps: int, body: Run) -> bool:
    """Is the body true for any item? A fault of the body counts only where it is true for none."""
    return _is_ever(budget, items, name, steps, body, True)


def every(budget: StepBudget, items: Iterable[Any], name: str, steps: int, body: Run) -> bool:
    """Is the body true for every item? A fault of the body counts only where it is false for none."""
    return not _is_ever(budget, items, name, steps, body, False)


def select_items(budget: StepBudget, items: Iterable[Any], name: str, steps: int, body: Run) -> list[Any]:
    """Returns the elements for which the body is true."""
    found = []
    for item in items:
        budget.spend(steps)
        budget.values[name] = item
        if truth(body(budget)):
            found.append(item)
    return found


def exists_one(budget: StepBudget, items: Iterable[Any], name: str, steps: int, body: Run) -> bool:
    """Is the body true for exactly one item? Any fault of the body counts."""
    return len(select_items(budget, items, name, steps, body)) == 1


def map_items(budget: StepBudget, items: Iterable[Any], name: str, steps: int, *bodies: Run) -> list[Any]:
    """Returns what the body gives for each element. With two bodies, the first says which elements count."""
    *conditions, body = bodies
    made = []
    for item in items:
        budget.spend(steps)
        budget.values[name] = item
        if all(truth(condition(budget)) for condition in conditions):
            made.append(body(budget))
    return made


MACROS: dict[str, Callable[..., Any]] = {
    "all": every,
    "exists": exists,
    "exists_one": exists_one,
    "filter": select_items,
    "map": map_items,
}
