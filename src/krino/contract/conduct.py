"""What a judge's functions must give back, and what to write where they give something else.

Faults that are written out (a dict returned, a rule that does not exist) are found in the source of `ask` and `settle`;
only what is certain is told. What the source leaves open is tried in the rehearsal (see `krino.engine.rehearsal`).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError

from krino.contract import AnyJudge, AsksInParts, Finding, Questions, Ruling, Settlement, Unread, describe_validation
from krino.contract.places import place_of_attribute, place_of_code, syntax_of


class BrokenContract(TypeError):
    """A function of a judge gave back what it must not; the message says where and what to write."""


def questions_of(judge: AnyJudge, given: Any) -> Questions | None:
    """What `ask` gave, if it is what it may be."""
    if isinstance(given, Questions) and given.parts and not isinstance(judge, AsksInParts):
        raise BrokenContract(
            f"{place_of_attribute(type(judge), 'ask')}ask gives questions in parts, and {type(judge).__name__} does "
            "not say how their labels are joined; derive it from krino.contract.AsksInParts too"
        )
    if given is None or isinstance(given, Questions):
        return given
    raise BrokenContract(
        f"{place_of_return(judge, 'ask', given)}ask must return krino.Questions or None, not {in_words(given)}; "
        'write `return Questions((Passage("name", text),), "what is asked")`'
    )


def verdict_of(judge: AnyJudge, given: Any) -> dict[str, Any]:
    """The verdict of what `settle` gave; all that is wrong with it is said at once."""
    if not isinstance(given, Settlement):
        raise BrokenContract(
            f"{place_of_return(judge, 'settle', given)}settle must return a krino.Settlement, not {in_words(given)}; "
            "write `return Settlement({...})`"
        )
    if problems := settlement_problems(judge, given):
        raise BrokenContract(f"{place_of_attribute(type(judge), 'settle')}settle: {'; '.join(problems)}")
    return _taken(judge, judge.verdict_model, judge.verdict_of, given)


def figures_of(judge: AnyJudge, settlement: Settlement) -> dict[str, Any]:
    """The figures of a settlement whose verdict was taken."""
    return _taken(judge, judge.figures_model, judge.figures_of, settlement)


def _taken(
    judge: AnyJudge, model: type[BaseModel], read: Callable[[Settlement], dict[str, Any]], given: Settlement
) -> dict[str, Any]:
    try:
        return read(given)
    except ValidationError as error:
        raise BrokenContract(
            f"{place_of_attribute(type(judge), 'settle')}settle: a value that `{model.__name__}` "
            f"does not take: {describe_validation(error)}"
        ) from None


def settlement_problems(judge: AnyJudge, settlement: Settlement) -> list[str]:
    """What is wrong with a settlement whatever its values are."""
    return [] if _is_sound(judge, settlement) else _problems(judge, settlement)


def _is_sound(judge: AnyJudge, settlement: Settlement) -> bool:
    """A quick look that most settlements pass; it calls nothing sound that is not."""
    rulings, figures = settlement.rulings, settlement.figures
    if rulings.__class__ is not dict or figures.__class__ is not dict:
        return False
    if rulings.keys() != _fields_of(judge.verdict_model) or not figures.keys() <= _fields_of(judge.figures_model):
        return False
    rules = judge.rules
    for ruling in (*rulings.values(), *figures.values()):
        if ruling.__class__ is not Ruling or ruling.rule.__class__ is not str or ruling.rule not in rules:
            return False
        if ruling.evidence != () and not _are(ruling.evidence, str):
            return False
    if settlement.unread != () and not _are(settlement.unread, Unread):
        return False
    return settlement.findings == () or _are(settlement.findings, Finding)


def _are(given: Any, kind: type) -> bool:
    return given.__class__ is tuple and all(item.__class__ is kind for item in given)


@lru_cache(maxsize=64)
def _fields_of(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(model.model_fields)


def _problems(judge: AnyJudge, settlement: Settlement) -> list[str]:
    rulings: Any = settlement.rulings
    figures: Any = settlement.figures
    for given in (rulings, figures):
        if given.__class__ is not dict and not isinstance(given, Mapping):
            return [
                f"Settlement takes a mapping of fields to rulings, not {in_words(given)}; write `Settlement({{...}})`"
            ]
    problems = field_problems(judge.verdict_model, rulings)
    if unknown := [f"`{name}`" for name in figures if name not in judge.figures_model.model_fields]:
        problems.append(f"a figure {', '.join(unknown)}, which `figures_model` has no field for; add it there")
    for name, ruling in (*rulings.items(), *figures.items()):
        if not isinstance(ruling, Ruling):
            problems.append(f'`{name}` is {in_words(ruling)}, not a krino.Ruling; write `Ruling(value, "RULE")`')
            continue
        if not isinstance(ruling.rule, str) or ruling.rule not in judge.rules:
            problems.append(unknown_rule(ruling.rule, judge.rules))
        if not (isinstance(ruling.evidence, tuple | list) and all(isinstance(item, str) for item in ruling.evidence)):
            problems.append(f"the evidence of `{name}` must be a tuple of texts; write `Ruling(value, rule, (text,))`")
    findings: Any = settlement.findings
    if not (isinstance(findings, tuple | list) and all(isinstance(item, Finding) for item in findings)):
        problems.append("findings must be a tuple of krino.Finding")
    unread: Any = settlement.unread
    if not (isinstance(unread, tuple | list) and all(isinstance(item, Unread) for item in unread)):
        problems.append("unread must be a tuple of krino.Unread")
    return list(dict.fromkeys(problems))


def field_problems(verdict_model: type[BaseModel], ruled: Any) -> list[str]:
    """Fields that are ruled on and unknown, or known and not ruled on."""
    model, known = verdict_model.__name__, verdict_model.model_fields
    open_ended = verdict_model.model_config.get("extra") == "allow"
    unknown = [] if open_ended else [f"`{name}`" for name in ruled if name not in known]
    missing = [f"`{name}`" for name in known if name not in ruled]
    problems = []
    if unknown:
        problems.append(f"a ruling for {', '.join(unknown)}, which `{model}` has no field for; add it there")
    if missing:
        problems.append(f"no ruling for {', '.join(missing)} of `{model}`; every field needs one")
    return problems


def unknown_rule(rule: Any, rules: Mapping[str, str]) -> str:
    return f"it rules by {rule!r}, which `rules` does not list (it has {', '.join(rules) or 'none'}); add it there"


def place_of_return(judge: AnyJudge, name: str, given: Any) -> str:
    """The line of a `return` that is written as such a value, else that of the function."""
    function: Any = inspect.unwrap(getattr(type(judge), name))
    for node, line in syntax_of(function):
        if literal_type(node) is type(given):
            return place_of_code(function.__code__, line)
    return place_of_attribute(type(judge), name)


def literal_type(node: Any) -> type | None:
    """The type of what a `return` statement gives back, where it is written out."""
    if not isinstance(node, ast.Return):
        return None
    if node.value is None:
        return type(None)
    if isinstance(node.value, ast.Constant):
        return type(node.value.value)
    kinds: dict[type, type] = {ast.Dict: dict, ast.JoinedStr: str, ast.List: list, ast.Set: set, ast.Tuple: tuple}
    return kinds.get(type(node.value))


def in_words(value: Any) -> str:
    """`a dict`, `an int`: what a value is."""
    return of_type(type(value))


def of_type(kind: type) -> str:
    name = "None" if kind is type(None) else kind.__name__
    if name == "None":
        return name
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


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
