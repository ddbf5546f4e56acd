"""Examines a judge before it is used: every fault that shows without a case, each with its place and what to write."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from weakref import WeakSet

from pydantic import BaseModel, RootModel

from krino.contract import AnyJudge, AsksInParts, Judge, ReadsRecords
from krino.contract.conduct import in_words, written_faults
from krino.contract.places import fault_in, place_of_attribute, place_of_class
from krino.errors import UsageProblem

TEXTS = {
    "name": 'name = "my-judge"',
    "version": 'version = "1"',
    "summary": 'summary = "What is judged?"',
    "default_prompt": 'default_prompt = "What a labeller is told."',
}
MODELS = {
    "case_model": "with a field for everything that a case holds",
    "labels_model": "with a field for everything that is labelled",
    "verdict_model": "with a field for everything that is judged",
    "options_model": "with a field for everything that can be set",
    "figures_model": "with a field for every number beside the verdict",
}
RULES = 'rules = {"RULE-1": "What the rule says."}'
_NAME = re.compile(r"\w[\w.-]{0,63}")
_OWNERS: tuple[type, ...] = (Judge, ReadsRecords, AsksInParts)
"""Where the methods of a judge are described."""
_MISSING = object()
_sound: WeakSet[type] = WeakSet()

Rival = Callable[[str, type], str | None]
"""Where another judge lives that has this name already; None where there is none."""


def made(
    kind: type[AnyJudge], options: Mapping[str, Any] | BaseModel | None, prompt: str | None, rival: Rival
) -> AnyJudge:
    """The judge that this class makes of options and prompt; refused with everything that is wrong with it."""
    refuse_unsound(kind, rival)
    try:
        judge = kind(options=options, prompt=prompt)
    except UsageProblem:
        raise
    except Exception as fault:
        raise UsageProblem(
            f"{place_of_attribute(kind, '__init__')}{kind.__name__} cannot be made: {type(fault).__name__}: "
            f"{fault}{fault_in(kind, fault)}; its __init__ must take `options=None, prompt=None` and hand them on: "
            "`super().__init__(options, prompt)`"
        ) from fault
    refuse_unsound(judge, rival)
    return judge


def refuse_unsound(judge: AnyJudge | type[AnyJudge], rival: Rival) -> None:
    """Nothing, or one `UsageProblem` that tells of every fault. What was found sound is not examined again."""
    kind = judge if isinstance(judge, type) else type(judge)
    if kind in _sound:
        return
    if problems := [*dict.fromkeys(faults_of(judge, rival))]:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise UsageProblem(f"{kind.__name__} cannot judge yet:\n{lines}")
    if not isinstance(judge, type):
        _sound.add(kind)


def refuse_missing(kind: type[AnyJudge]) -> None:
    """Told when the class is made: what every judge must state and this one does not."""
    if _makes_its_own(kind):
        return  # __init__ may set it
    missing = [name for name in (*TEXTS, "rules", *MODELS) if getattr(kind, name, _MISSING) is _MISSING]
    if missing:
        place = place_of_class(kind)
        lines = "\n".join(f"  {place}{_fault_of_attribute(kind, name, _MISSING)}" for name in missing)
        raise UsageProblem(f"{kind.__name__} cannot judge yet:\n{lines}")


def faults_of(judge: AnyJudge | type[AnyJudge], rival: Rival) -> Iterator[str]:
    """Everything that is wrong with a judge, or with a class before a judge is made of it."""
    kind = judge if isinstance(judge, type) else type(judge)
    for name in (*TEXTS, "rules", *MODELS):
        value = _attribute(judge, name)
        if value is _MISSING and isinstance(judge, type) and _makes_its_own(judge):
            continue  # __init__ may set it: the judge that comes out is examined again
        if problem := _fault_of_attribute(kind, name, value):
            yield f"{place_of_attribute(kind, name)}{problem}"
    name = _attribute(judge, "name")
    if isinstance(name, str) and (other := rival(name, kind)):
        yield (
            f"{place_of_attribute(kind, 'name')}`name` is {name!r}, and so is that of {other}; write another, "
            "or their results cannot be told apart"
        )
    if not isinstance(judge, type) and not (hasattr(judge, "options") and isinstance(_attribute(judge, "prompt"), str)):
        yield f"{place_of_attribute(kind, '__init__')}__init__ must call `super().__init__(options, prompt)`"
    methods = list(_faults_of_methods(kind))
    yield from methods
    if not methods:
        yield from written_faults(kind, _attribute(judge, "rules"), _attribute(judge, "verdict_model"))


def _makes_its_own(kind: type) -> bool:
    return kind.__init__ is not Judge.__init__  # type: ignore[misc]


def _attribute(judge: Any, name: str) -> Any:
    value = getattr(judge, name, _MISSING)
    return _MISSING if isinstance(judge, type) and isinstance(value, property) else value


# --- what is stated --------------------------------------------------------------------------------


def _fault_of_attribute(kind: type, name: str, value: Any) -> str | None:
    if name in MODELS:
        return _fault_of_model(kind, name, value)
    example = RULES if name == "rules" else TEXTS[name]
    if value is _MISSING:
        return f"{kind.__name__} has no `{name}`; write `{example}`"
    if name == "rules":
        return _fault_of_rules(value)
    if not isinstance(value, str):
        return f"`{name}` must be a text, not {in_words(value)}; write `{example}`"
    if not value.strip():
        return f"`{name}` is empty; write `{example}`"
    if name == "name" and (not _NAME.fullmatch(value) or value.endswith(".")):
        fit = re.sub(r"[^\w.-]+", "-", value).strip("-.")[:64] or "my-judge"
        return (
            f"`name` is {value!r}, and folders are named after it: letters, digits, `-`, `_` and `.` only, "
            f'64 at most; write `name = "{fit}"`'
        )
    return None


def _fault_of_rules(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return f"`rules` must be a mapping of rule ids to what they say, not {in_words(value)}; write `{RULES}`"
    if not value:
        return f"`rules` is empty, and every ruling names one; write `{RULES}`"
    odd = [key for key, text in value.items() if not (_is_text(key) and _is_text(text))]
    if odd:
        return f"`rules` must say in words what {', '.join(map(repr, odd))} means; write `{RULES}`"
    return None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _fault_of_model(kind: type, name: str, value: Any) -> str | None:
    if value is _MISSING:
        return f"{kind.__name__} has no `{name}`; write `{name} = X`, X being a pydantic model {MODELS[name]}"
    if isinstance(value, BaseModel):
        return f"`{name}` is made already; write the class itself: `{name} = {type(value).__name__}`"
    if not (isinstance(value, type) and issubclass(value, BaseModel)):
        shown = f"the class `{value.__name__}`" if isinstance(value, type) else in_words(value)
        return f"`{name}` is {shown}, no pydantic model; write `class X(BaseModel): ...`, {MODELS[name]}"
    if name == "verdict_model":
        if issubclass(value, RootModel) or not value.model_fields:
            return f"`verdict_model` {value.__name__} has no fields; write one for everything that is judged"
        if computed := ", ".join(f"`{field}`" for field in value.model_computed_fields):
            return f"{computed} of {value.__name__} is computed, so no rule decides it; make it a field"
    if name == "figures_model" and (fault := _fault_of_figures(kind, value)):
        return fault
    if name in ("labels_model", "verdict_model", "figures_model"):
        return _fault_of_schema(name, value)
    return None


def _fault_of_figures(kind: type, model: type[BaseModel]) -> str | None:
    """Figures and fields of the verdict stand in the same tables, and a case need not have every figure."""
    verdict = getattr(kind, "verdict_model", None)
    known = verdict.model_fields if isinstance(verdict, type) and issubclass(verdict, BaseModel) else {}
    if both := ", ".join(f"`{name}`" for name in model.model_fields if name in known):
        return f"{both} of {model.__name__} is a field of the verdict too; give the figure another name"
    if computed := ", ".join(f"`{name}`" for name in model.model_computed_fields):
        return f"{computed} of {model.__name__} is computed, so no rule gives it; make it a field"
    for name, field in model.model_fields.items():
        if not field.is_required() and field.get_default(call_default_factory=True) is not None:
            return f"`{name}` of {model.__name__} has a value where no rule gave one; write `float | None = None`"
    if model.model_json_schema().get("$defs"):
        return f"a figure is a number or null, and {model.__name__} holds more; write `float | None = None`"
    if required := ", ".join(f"`{name}`" for name, field in model.model_fields.items() if field.is_required()):
        return f"{required} of {model.__name__} must have a default: not every case has it; write `float | None = None`"
    return None


def _fault_of_schema(name: str, model: type[BaseModel]) -> str | None:
    try:
        model.model_json_schema()
    except Exception as fault:
        return (
            f"`{name}` {model.__name__} has no JSON Schema: {str(fault).splitlines()[0]}; "
            "use fields of types that JSON has, defined above the class"
        )
    return None


# --- what is done ----------------------------------------------------------------------------------


def _faults_of_methods(kind: type) -> Iterator[str]:
    for owner in (owner for owner in _OWNERS if issubclass(kind, owner)):
        for name, value in vars(owner).items():
            if (
                inspect.isfunction(value)
                and not name.startswith("_")
                and (problem := _fault_of_method(kind, owner, name))
            ):
                yield f"{place_of_attribute(kind, name)}{problem}"


def _fault_of_method(kind: type, owner: type, name: str) -> str | None:
    wanted = [item.name for item in inspect.signature(getattr(owner, name)).parameters.values()]
    example = f"def {name}({', '.join(wanted)}): ..."
    if name in getattr(kind, "__abstractmethods__", ()):
        return f"{kind.__name__} does not define `{name}`; write `{example}`"
    value = getattr(kind, name)
    if value is getattr(owner, name):
        return None
    if not callable(value):
        return f"`{name}` is {in_words(value)} and cannot be called; write `{example}`"
    if inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value):
        return f"`{name}` is asynchronous, and judges do not wait; write `{example}`"
    if inspect.isgeneratorfunction(value) and name != "split":
        return f"`{name}` has a `yield` in it, so it returns nothing; use `return`"
    return (
        None if _takes(kind, name, value, len(wanted)) else f"`{name}` must take {_counted(wanted)}; write `{example}`"
    )


def _takes(kind: type, name: str, value: Callable[..., Any], count: int) -> bool:
    bound = isinstance(inspect.getattr_static(kind, name), staticmethod | classmethod)
    try:
        inspect.signature(value).bind(*[None] * (count - bound))
    except TypeError:
        return False
    except ValueError:  # a function without a signature, from C: it shows when it is called
        return True
    return True


def _counted(wanted: list[str]) -> str:
    return f"{', '.join(wanted[:-1])} and {wanted[-1]}" if len(wanted) > 1 else f"{wanted[0]} alone"
