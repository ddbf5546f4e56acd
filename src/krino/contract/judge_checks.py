"""Checks the code of a judge's author: its class before it is used, and what its functions return.

The class is checked once, and all faults are reported together, each with its line and what to write instead. What the
functions return is checked for every case. Before the first call to a model is paid for, `krino.engine.rehearsal` calls
them with labels it made up, so that most faults show without costing anything.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from weakref import WeakSet

from pydantic import BaseModel, RootModel, ValidationError

from krino.contract import (
    AnyJudge,
    AsksInParts,
    Finding,
    Judge,
    Questions,
    ReadsRecords,
    Ruling,
    Settlement,
    Unread,
    describe_validation,
)
from krino.contract.judgement import UNNAMED_RULE
from krino.contract.source_lines import locate_attribute, locate_fault
from krino.errors import UsageProblem


class BrokenContract(TypeError):
    """A function of a judge returned what it must not; the message says where and what to write."""


def check_questions(judge: AnyJudge, given: Any) -> Questions | None:
    """Returns what `ask` returned; raises `BrokenContract` if it may not return that, or asks in parts and cannot join
    them."""
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
    """Calls `settle` and returns a settlement that says of every field whether labels decided it. A verdict without
    rulings gets the rule `judge` for each field; anything else raises `BrokenContract`."""
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
    """Marks all fields as decided by labels, unless the judge set `from_labels` for at least one of them.

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
    """Returns the verdict of a settlement as it is recorded; raises `BrokenContract` with everything that is wrong with
    it."""
    if problems := find_problems(judge, settlement):
        raise BrokenContract(f"{locate_attribute(type(judge), 'settle')}settle: {'; '.join(problems)}")
    return _validate(judge, judge.verdict_model, settlement.rulings)


def figures_of(judge: AnyJudge, settlement: Settlement) -> dict[str, Any]:
    """Returns the figures of a settlement as they are recorded; those that the case does not have are null."""
    return _validate(judge, judge.figures_model, settlement.figures)


def _validate(judge: AnyJudge, model: type[BaseModel], rulings: Mapping[str, Ruling]) -> dict[str, Any]:
    """Returns the values as the model writes them; raises `BrokenContract` with the model's own messages if it refuses
    them."""
    try:
        return model.model_validate({name: ruling.value for name, ruling in rulings.items()}).model_dump(mode="json")
    except ValidationError as error:
        raise refuse_values(judge, model, describe_validation(error)) from None


def refuse_values(judge: AnyJudge, model: type[BaseModel], why: str) -> BrokenContract:
    """Returns the error about a value that a model does not take; the caller raises it."""
    return BrokenContract(
        f"{locate_attribute(type(judge), 'settle')}settle: a value that `{model.__name__}` does not take: {why}"
    )


def find_problems(judge: AnyJudge, settlement: Settlement) -> list[str]:
    """Returns what is wrong with the form of a settlement: fields, rulings, rules, evidence. Values are not checked."""
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
    """Returns a problem for fields that are ruled on and unknown, or known and not ruled on; also for unknown
    figures."""
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
    """Returns what a value is, as `a dict`, `an int` or `None`."""
    return "None" if value is None else _name_class(type(value).__name__)


def _name_class(name: str) -> str:
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


# --- the class ---------------------------------------------------------------------------------------

TEXTS = {
    "name": 'name = "my-judge"',
    "version": 'version = "1"',
    "summary": 'summary = "What is judged?"',
    "default_prompt": 'default_prompt = "Instructions for the labeller."',
}
MODELS = {
    "case_model": "with a field for everything that a case holds",
    "labels_model": "with a field for everything that is labelled",
    "verdict_model": "with a field for everything that is judged",
    "options_model": "with a field for everything that can be set",
    "figures_model": "with a field for every number beside the verdict",
}
RULES = 'rules = {"RULE-1": "What the rule says."}'
_VALID_NAME = re.compile(r"\w[\w.-]{0,63}")
_DESCRIBED_BY: tuple[type, ...] = (Judge, ReadsRecords, AsksInParts)
"""The classes whose methods a judge may define; their signatures are what its methods are compared with."""
_MISSING = object()
_checked: WeakSet[type] = WeakSet()

FindNamesake = Callable[[str, type], str | None]
"""Returns the address of another judge that has this name already; None where there is none."""


def make_judge(
    kind: type[AnyJudge],
    options: Mapping[str, Any] | BaseModel | None,
    prompt: str | None,
    find_namesake: FindNamesake,
) -> AnyJudge:
    """Makes a judge of this class, options and prompt; raises `UsageProblem` with everything that is wrong with it."""
    refuse_faulty(kind, find_namesake)
    try:
        judge = kind(options=options, prompt=prompt)
    except UsageProblem:
        raise
    except Exception as fault:
        raise UsageProblem(
            f"{locate_attribute(kind, '__init__')}{kind.__name__} cannot be made: {type(fault).__name__}: "
            f"{fault}{locate_fault(kind, fault)}; its __init__ must take `options=None, prompt=None` and pass them on: "
            "`super().__init__(options, prompt)`"
        ) from fault
    refuse_faulty(judge, find_namesake)
    return judge


def refuse_faulty(judge: AnyJudge | type[AnyJudge], find_namesake: FindNamesake) -> None:
    """Raises one `UsageProblem` that lists every fault. A class whose judges were in order is not checked again."""
    kind = judge if isinstance(judge, type) else type(judge)
    if kind in _checked:
        return
    if problems := [*dict.fromkeys(find_faults(judge, find_namesake))]:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise UsageProblem(f"{kind.__name__} cannot judge yet:\n{lines}")
    if not isinstance(judge, type):
        _checked.add(kind)


def find_faults(judge: AnyJudge | type[AnyJudge], find_namesake: FindNamesake) -> Iterator[str]:
    """Yields everything that is wrong with a judge, or with a class before a judge is made of it, each with its
    place."""
    kind = judge if isinstance(judge, type) else type(judge)
    for name in (*TEXTS, "rules", *MODELS):
        value = _attribute(judge, name)
        if value is _MISSING and isinstance(judge, type) and judge.__init__ is not Judge.__init__:
            continue  # __init__ may set it: the judge that comes out is checked again
        if problem := _attribute_fault(kind, name, value):
            yield f"{locate_attribute(kind, name)}{problem}"
    name = _attribute(judge, "name")
    if isinstance(name, str) and (other := find_namesake(name, kind)):
        yield (
            f"{locate_attribute(kind, 'name')}`name` is {name!r}, and so is that of {other}; write another, "
            "or their results would be mixed up"
        )
    if not isinstance(judge, type) and not (hasattr(judge, "options") and isinstance(_attribute(judge, "prompt"), str)):
        yield f"{locate_attribute(kind, '__init__')}__init__ must call `super().__init__(options, prompt)`"
    yield from _method_faults(kind)


def _attribute(judge: Any, name: str) -> Any:
    value = getattr(judge, name, _MISSING)
    return _MISSING if isinstance(judge, type) and isinstance(value, property) else value


# --- attributes --------------------------------------------------------------------------------------


def _attribute_fault(kind: type, name: str, value: Any) -> str | None:
    """Returns what is wrong with an attribute of a judge, or None."""
    if name in MODELS:
        return _model_fault(kind, name, value)
    example = RULES if name == "rules" else TEXTS[name]
    if value is _MISSING:
        return f"{kind.__name__} has no `{name}`; write `{example}`"
    if name == "rules":
        return _rules_fault(value)
    if not isinstance(value, str):
        return f"`{name}` must be a text, not {name_type(value)}; write `{example}`"
    if not value.strip() and name != "summary":
        return f"`{name}` is empty; write `{example}`"
    if name == "name" and (not _VALID_NAME.fullmatch(value) or value.endswith(".")):
        fit = re.sub(r"[^\w.-]+", "-", value).strip("-.")[:64] or "my-judge"
        return (
            f"`name` is {value!r}, and folders are named after it: letters, digits, `-`, `_` and `.` only, "
            f'64 at most; write `name = "{fit}"`'
        )
    return None


def _rules_fault(value: Any) -> str | None:
    """Returns what is wrong with a judge's `rules`, or None."""
    if not isinstance(value, Mapping):
        return f"`rules` must be a mapping of rule ids to what they say, not {name_type(value)}; write `{RULES}`"
    odd = [key for key, text in value.items() if not (_is_text(key) and _is_text(text))]
    if odd:
        return f"`rules` must say in words what {', '.join(map(repr, odd))} means; write `{RULES}`"
    return None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _model_fault(kind: type, name: str, value: Any) -> str | None:
    """Returns what is wrong with one of a judge's models, or None."""
    if value is _MISSING:
        return f"{kind.__name__} has no `{name}`; write `{name} = X`, X being a pydantic model {MODELS[name]}"
    if isinstance(value, BaseModel):
        return f"`{name}` is an object; write its class: `{name} = {type(value).__name__}`"
    if not (isinstance(value, type) and issubclass(value, BaseModel)):
        shown = f"the class `{value.__name__}`" if isinstance(value, type) else name_type(value)
        return f"`{name}` is {shown}, no pydantic model; write `class X(BaseModel): ...`, {MODELS[name]}"
    if name in ("verdict_model", "figures_model") and (computed := _list_names(value.model_computed_fields)):
        return f"{computed} of {value.__name__} is computed, so no rule decides it; make it a field"
    if name == "verdict_model" and (issubclass(value, RootModel) or not value.model_fields):
        return f"`verdict_model` {value.__name__} has no fields; write one for everything that is judged"
    if name == "figures_model" and (fault := _figures_fault(kind, value)):
        return fault
    if name in ("labels_model", "verdict_model", "figures_model"):
        return _schema_fault(name, value)
    return None


def _figures_fault(kind: type, model: type[BaseModel]) -> str | None:
    """Returns what is wrong with the model of a judge's figures, or None. Figures and fields of the verdict are shown
    in the same tables, and a case need not have every figure."""
    verdict = getattr(kind, "verdict_model", None)
    known = verdict.model_fields if isinstance(verdict, type) and issubclass(verdict, BaseModel) else {}
    if both := _list_names(name for name in model.model_fields if name in known):
        return f"{both} of {model.__name__} is a field of the verdict too; give the figure another name"
    for name, field in model.model_fields.items():
        if not field.is_required() and field.get_default(call_default_factory=True) is not None:
            return f"`{name}` of {model.__name__} has a value where no rule gave one; write `float | None = None`"
    if model.model_json_schema().get("$defs"):
        return f"a figure is a number or null, and {model.__name__} holds more; write `float | None = None`"
    if required := _list_names(name for name, field in model.model_fields.items() if field.is_required()):
        return f"{required} of {model.__name__} must have a default: not every case has it; write `float | None = None`"
    return None


def _schema_fault(name: str, model: type[BaseModel]) -> str | None:
    """Returns why a model has no JSON Schema, or None if it has one."""
    try:
        model.model_json_schema()
    except Exception as fault:
        return (
            f"`{name}` {model.__name__} has no JSON Schema: {str(fault).splitlines()[0]}; "
            "use fields of types that JSON has, defined above the class"
        )
    return None


# --- methods -----------------------------------------------------------------------------------------


def _method_faults(kind: type) -> Iterator[str]:
    """Yields what is wrong with the methods of a judge, each with its file and line."""
    for owner in (owner for described in _DESCRIBED_BY if issubclass(kind, described) for owner in described.__mro__):
        for name, value in vars(owner).items():
            if inspect.isfunction(value) and not name.startswith("_") and owner.__module__.startswith("krino.contract"):
                problem = _method_fault(kind, owner, name)
                if problem is not None:
                    yield f"{locate_attribute(kind, name)}{problem}"


def _method_fault(kind: type, owner: type, name: str) -> str | None:
    """Returns what is wrong with one method of a judge, or None."""
    wanted = [item.name for item in inspect.signature(getattr(owner, name)).parameters.values()]
    example = f"def {name}({', '.join(wanted)}): ..."
    if name in getattr(kind, "__abstractmethods__", ()):
        return f"{kind.__name__} does not define `{name}`; write `{example}`"
    value = getattr(kind, name)
    if value is getattr(owner, name):
        return None
    if not callable(value):
        return f"`{name}` is {name_type(value)} and cannot be called; write `{example}`"
    if inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value):
        return f"`{name}` is asynchronous, and judges do not wait; write `{example}`"
    if inspect.isgeneratorfunction(value) and name != "split":
        return f"`{name}` has a `yield` in it, so it returns nothing; use `return`"
    if _takes(kind, name, value, len(wanted)):
        return None
    return f"`{name}` must take {_list_parameters(wanted)}; write `{example}`"


def _takes(kind: type, name: str, value: Callable[..., Any], count: int) -> bool:
    """Can a method be called with this many arguments?"""
    bound = isinstance(inspect.getattr_static(kind, name), staticmethod | classmethod)
    try:
        inspect.signature(value).bind(*[None] * (count - bound))
    except TypeError:
        return False
    except ValueError:  # a C function may have no signature; then a fault shows when it is called
        return True
    return True


def _list_parameters(wanted: list[str]) -> str:
    return f"{', '.join(wanted[:-1])} and {wanted[-1]}" if len(wanted) > 1 else f"{wanted[0]} alone"
