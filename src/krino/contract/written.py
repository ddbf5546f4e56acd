"""Reads the source of `ask` and `settle` for faults that are written out: a dict returned, a rule that does not exist.

Only what is certain is told. What the source leaves open is tried in the rehearsal (see `krino.engine.rehearsal`).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from krino.contract import Ruling, Settlement
from krino.contract.conduct import field_problems, literal_type, of_type, unknown_rule
from krino.contract.places import place_of_code, syntax_of

SETTLE = "settle must return a krino.Settlement, not {kind}; write `return Settlement({{...}})`"
ASK = 'ask must return krino.Questions or None, not {kind}; write `return Questions((Passage(...),), "...")`'


def written_faults(kind: type, rules: Any, verdict_model: Any) -> Iterator[str]:
    """Faults of the functions that a judge's class defines itself."""
    for name, message in (("ask", ASK), ("settle", SETTLE)):
        function = inspect.unwrap(getattr(inspect.getattr_static(kind, name), "__func__", getattr(kind, name)))
        if inspect.isfunction(function):
            for line, problem in _faults(function, message, rules, verdict_model):
                yield f"{place_of_code(function.__code__, line)}{problem}"


def _faults(function: Callable[..., Any], message: str, rules: Any, verdict_model: Any) -> Iterator[tuple[int, str]]:
    for node, line in syntax_of(function):
        literal = literal_type(node)
        if literal is not None and not (literal is type(None) and message is ASK):
            yield line, message.format(kind=of_type(literal))
        if not isinstance(node, ast.Call):
            continue
        called = _named(node.func, function)
        if called is Ruling and isinstance(rules, Mapping):
            rule = _argument(node, 1, "rule")
            if isinstance(rule, ast.Constant) and rule.value not in rules:
                yield line, f"settle: {unknown_rule(rule.value, rules)}"
        if called is Settlement and isinstance(verdict_model, type) and issubclass(verdict_model, BaseModel):
            fields = _written_keys(_argument(node, 0, "rulings"))
            for problem in field_problems(verdict_model, fields) if fields is not None else ():
                yield line, f"settle: {problem}"


def _named(expression: ast.expr, function: Callable[..., Any]) -> Any:
    """What a name such as `Ruling` or `krino.Ruling` stands for in a function; None where that is not certain."""
    if isinstance(expression, ast.Attribute):
        return getattr(_named(expression.value, function), expression.attr, None)
    if isinstance(expression, ast.Name) and expression.id not in function.__code__.co_varnames:
        return function.__globals__.get(expression.id)
    return None


def _argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    before = call.args[: place + 1]
    if any(isinstance(item, ast.Starred) for item in before):
        return None
    if len(before) > place:
        return before[place]
    return next((item.value for item in call.keywords if item.arg == name), None)


def _written_keys(rulings: ast.expr | None) -> list[Any] | None:
    """The keys of a dict that is written out in full, and nothing else."""
    if not isinstance(rulings, ast.Dict):
        return None
    keys = [key.value for key in rulings.keys if isinstance(key, ast.Constant)]
    return keys if len(keys) == len(rulings.keys) else None
