"""Studies a case: its values as rules see them, and what facts decide before anybody is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson
from pydantic import BaseModel

from krino.errors import CannotJudge
from krino.judges.file.cel import RuleFault, StepBudget
from krino.judges.file.cel.operators import truth
from krino.judges.file.definition import Definition, FileRule, Input
from krino.judges.file.read_outputs import QUOTE, REASON
from krino.judges.messages import read_messages
from krino.text.clean import cut
from krino.text.forms import is_blank


@dataclass(frozen=True, slots=True)
class Fact:
    """What a rule said of a label or an output."""

    value: Any
    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class FileFacts:
    """`values`: the inputs as rules see them. `is_closed`: nothing is left to ask."""

    values: dict[str, Any]
    sets: dict[str, Fact] = field(default_factory=dict)
    is_closed: bool = False


def study(definition: Definition, case: BaseModel) -> FileFacts:
    """Returns the values of a case and what facts decide.

    Raises `CannotJudge` if a rule refuses it, or an input is blank although something is asked.
    """
    values = {item.name: _convert_input(item, getattr(case, item.name)) for item in definition.inputs}
    budget = StepBudget(dict(values))
    sets: dict[str, Fact] = {}
    for rule in definition.rules:
        if rule.kind == "refuse" and evaluate(rule, budget):
            raise CannotJudge(f"{rule.message} ({rule.id})")
        if rule.kind == "fact" and evaluate(rule, budget):
            for name, value in rule.sets.items():
                sets.setdefault(name, Fact(value, rule.id, rule.message))
            if _is_closed(definition, sets):
                return FileFacts(values, sets, is_closed=True)
    if not definition.labels:
        return FileFacts(values, sets, is_closed=True)
    _refuse_blank(definition, values)
    return FileFacts(values, sets)


def evaluate(rule: FileRule, budget: StepBudget) -> Any:
    """Returns the value of a rule's expression; raises `CannotJudge` for a case for which it has none.

    What decides must be true or false: a text or number of the case in its place is neither, and a cap that took it
    for false would let a score through.
    """
    try:
        value = rule.expression.value(budget)
        return value if rule.kind == "score" else truth(value)
    except RuleFault as fault:
        raise CannotJudge(f"the rule {rule.id} has no value for this case: {cut(str(fault), 300)}") from None


def applies(rule: FileRule, budget: StepBudget) -> bool:
    """Does the `when` of a rule hold? True if it has none."""
    if rule.when is None:
        return True
    try:
        return truth(rule.when.value(budget))
    except RuleFault as fault:
        raise CannotJudge(f"`when` of the rule {rule.id} has no value: {cut(str(fault), 300)}") from None


def _is_closed(definition: Definition, sets: dict[str, Fact]) -> bool:
    """Whether facts decided every label, or every output that is more than a label: then nobody is asked."""
    labels = {label.name for label in definition.labels}
    computed = {output.name for output in definition.outputs} - labels - {REASON, QUOTE}
    return bool(labels and labels <= sets.keys()) or bool(computed and computed <= sets.keys())


def _refuse_blank(definition: Definition, values: dict[str, Any]) -> None:
    """Raises `CannotJudge` if a required input that is shown is blank.

    A rule may say otherwise, and then this is not reached.
    """
    for item in definition.inputs:
        value = values[item.name]
        if not item.required or not item.is_shown:
            continue
        if (item.kind == "text" and is_blank(value)) or (item.kind == "list" and not value):
            raise CannotJudge(f"`{item.name}` is empty")
        if item.kind == "messages" and not count_items(value):
            raise CannotJudge(f"`{item.name}` has no turn of the assistant")


def _convert_input(item: Input, value: Any) -> Any:
    """Returns an input as rules see it."""
    if value is None or item.kind in ("text", "boolean"):
        return value
    if item.kind == "number":
        return float(value)
    if item.kind == "list":
        return [as_text(piece) for piece in value]
    if item.kind == "messages":
        return read_messages(item.name, value)
    return _plain(value)


def count_items(value: Any) -> int:
    """Counts what a label with `each` goes over: the elements of a list, or the turns of the assistant."""
    if not value:
        return 0
    return max((piece["turn"] for piece in value), default=0) if isinstance(value[0], dict) else len(value)


def as_text(value: Any) -> str:
    """Returns a piece of a case as it is shown and quoted: a text unchanged, the rest as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value, option=_OPTIONS, default=repr).decode()


def _plain(value: Any) -> Any:
    """As JSON has it: rules know dicts, lists, texts, numbers, booleans and null."""
    return orjson.loads(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=repr))


_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS
