"""Checks what the functions of a judge return, and says where the fault is and what to write instead.

The engine calls these for every case. Before the first call to a model is paid for, `krino.engine.rehearsal` calls them
with labels it made up, so that most faults show without costing anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from krino.contract import AnyJudge, AsksInParts, Finding, Questions, Ruling, Settlement, Unread, describe_validation
from krino.contract.judgement import UNNAMED_RULE
from krino.contract.source_lines import locate_attribute


class BrokenContract(TypeError):
    """A function of a judge returned what it must not; the message says where and what to write."""


def check_questions(judge: AnyJudge, given: Any) -> Questions | None:
    """What `ask` returned, if it may return that."""
    if isinstance(given, Questions) and given.parts and not isinstance(judge, AsksInParts):
        raise BrokenContract(
            f"{locate_attribute(type(judge), 'ask')}ask gives questions in parts, and {type(judge).__name__} does "
            "not say how their labels are joined; derive it from krino.contract.AsksInParts too"
        )
    if given is None or isinstance(given, Questions):
        return given
    raise BrokenContract(
        f"{locate_attribute(type(judge), 'ask')}ask must return krino.Questions or None, not {name_type(given)}; "
        'write `return Questions((Passage("name", text),), "what is asked")`'
    )


def settle_case(judge: AnyJudge, case: Any, facts: Any, labels: BaseModel | None) -> Settlement:
    """What `settle` returns, as a settlement that says of every field whether labels decided it."""
    given: Any = judge.settle(case, facts, labels)
    if isinstance(given, Settlement):
        return given if labels is None else _credit_labels(given)
    if isinstance(given, judge.verdict_model):
        return Settlement({name: Ruling(value, UNNAMED_RULE, (), labels is not None) for name, value in given})
    model = judge.verdict_model.__name__
    raise BrokenContract(
        f"{locate_attribute(type(judge), 'settle')}settle must return {_name_class(model)} or a krino.Settlement, not "
        f"{name_type(given)}; write `return {model}(...)`"
    )


def _credit_labels(settlement: Settlement) -> Settlement:
    """A judge that says of no field whether labels decided it is taken to have used them for all fields.

    To call a field labelled that code alone decided costs a reader a second look; the other way round, an opinion of a
    model would pass for a fact.
    """
    rulings: Any = settlement.rulings
    if not isinstance(rulings, dict | Mapping):
        return settlement
    if any(getattr(ruling, "from_labels", False) is not None for ruling in rulings.values()):
        return settlement
    credited = {name: ruling._replace(from_labels=True) for name, ruling in rulings.items()}
    return Settlement(credited, settlement.findings, settlement.figures, settlement.unread)


def verdict_of(judge: AnyJudge, settlement: Settlement) -> dict[str, Any]:
    """The verdict of a settlement as it is recorded; everything that is wrong with it is reported at once."""
    if problems := find_problems(judge, settlement):
        raise BrokenContract(f"{locate_attribute(type(judge), 'settle')}settle: {'; '.join(problems)}")
    return _validate(judge, judge.verdict_model, settlement.rulings)


def figures_of(judge: AnyJudge, settlement: Settlement) -> dict[str, Any]:
    """The figures of a settlement as they are recorded; those that the case does not have are null."""
    return _validate(judge, judge.figures_model, settlement.figures)


def _validate(judge: AnyJudge, model: type[BaseModel], rulings: Mapping[str, Ruling]) -> dict[str, Any]:
    try:
        return model.model_validate({name: ruling.value for name, ruling in rulings.items()}).model_dump(mode="json")
    except ValidationError as error:
        raise refuse_values(judge, model, describe_validation(error)) from None


def refuse_values(judge: AnyJudge, model: type[BaseModel], why: str) -> BrokenContract:
    return BrokenContract(
        f"{locate_attribute(type(judge), 'settle')}settle: a value that `{model.__name__}` does not take: {why}"
    )


def find_problems(judge: AnyJudge, settlement: Settlement) -> list[str]:
    """What is wrong with a settlement, whatever its values are."""
    rulings: Any = settlement.rulings
    figures: Any = settlement.figures
    for given in (rulings, figures):
        if not isinstance(given, dict | Mapping):
            return [
                f"Settlement takes a mapping of fields to rulings, not {name_type(given)}; write `Settlement({{...}})`"
            ]
    problems = _field_problems(judge, rulings, figures)
    for name, ruling in (*rulings.items(), *figures.items()):
        if not isinstance(ruling, Ruling):
            problems.append(f'`{name}` is {name_type(ruling)}, not a krino.Ruling; write `Ruling(value, "RULE")`')
            continue
        if not isinstance(ruling.rule, str) or (ruling.rule not in judge.rules and ruling.rule != UNNAMED_RULE):
            known = ", ".join(judge.rules) or "none"
            problems.append(f"it rules by {ruling.rule!r}, which `rules` does not list (it has {known}); add it there")
        if ruling.evidence and not _are(ruling.evidence, str):
            problems.append(f"the evidence of `{name}` must be a tuple of texts; write `Ruling(value, rule, (text,))`")
    if not _are(settlement.findings, Finding):
        problems.append("findings must be a tuple of krino.Finding")
    if not _are(settlement.unread, Unread):
        problems.append("unread must be a tuple of krino.Unread")
    return list(dict.fromkeys(problems))


def _field_problems(judge: AnyJudge, rulings: Mapping[str, Any], figures: Mapping[str, Any]) -> list[str]:
    """Fields that are ruled on and unknown, or known and not ruled on."""
    fields, model = judge.verdict_model.model_fields, judge.verdict_model.__name__
    takes_more = judge.verdict_model.model_config.get("extra") == "allow"
    problems = []
    if rulings.keys() != fields.keys():
        if not takes_more and (unknown := _list_names(rulings.keys() - fields.keys())):
            problems.append(f"a ruling for {unknown}, which `{model}` has no field for; add it there")
        if missing := _list_names(name for name in fields if name not in rulings):
            problems.append(f"no ruling for {missing} of `{model}`; every field needs one")
    if unknown := _list_names(name for name in figures if name not in judge.figures_model.model_fields):
        problems.append(f"a figure {unknown}, which `figures_model` has no field for; add it there")
    return problems


def _list_names(names: Iterable[Any]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _are(given: Any, kind: type) -> bool:
    return isinstance(given, tuple | list) and all(isinstance(item, kind) for item in given)


def name_type(value: Any) -> str:
    """`a dict`, `an int`: what a value is."""
    return "None" if value is None else _name_class(type(value).__name__)


def _name_class(name: str) -> str:
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"
