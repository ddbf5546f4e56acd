"""Checks a judge's class before it is used, and reports all faults at once, each with its line and what to write.

What only a case can show is left to `krino.engine.rehearsal`, which calls the judge's functions before anybody is paid.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from weakref import WeakSet

from pydantic import BaseModel, RootModel

from krino.contract import AnyJudge, AsksInParts, Judge, ReadsRecords
from krino.contract.return_checks import name_type
from krino.contract.source_lines import locate_attribute, locate_fault
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
    """A judge of this class, options and prompt; refused with everything that is wrong with it."""
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
    """Raise one `UsageProblem` that lists every fault. A class whose judges were in order is not checked again."""
    kind = judge if isinstance(judge, type) else type(judge)
    if kind in _checked:
        return
    if problems := [*dict.fromkeys(find_faults(judge, find_namesake))]:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise UsageProblem(f"{kind.__name__} cannot judge yet:\n{lines}")
    if not isinstance(judge, type):
        _checked.add(kind)


def find_faults(judge: AnyJudge | type[AnyJudge], find_namesake: FindNamesake) -> Iterator[str]:
    """Everything that is wrong with a judge, or with a class before a judge is made of it."""
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
            "or their results cannot be told apart"
        )
    if not isinstance(judge, type) and not (hasattr(judge, "options") and isinstance(_attribute(judge, "prompt"), str)):
        yield f"{locate_attribute(kind, '__init__')}__init__ must call `super().__init__(options, prompt)`"
    yield from _method_faults(kind)


def _attribute(judge: Any, name: str) -> Any:
    value = getattr(judge, name, _MISSING)
    return _MISSING if isinstance(judge, type) and isinstance(value, property) else value


# --- attributes --------------------------------------------------------------------------------------


def _attribute_fault(kind: type, name: str, value: Any) -> str | None:
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
    if not isinstance(value, Mapping):
        return f"`rules` must be a mapping of rule ids to what they say, not {name_type(value)}; write `{RULES}`"
    odd = [key for key, text in value.items() if not (_is_text(key) and _is_text(text))]
    if odd:
        return f"`rules` must say in words what {', '.join(map(repr, odd))} means; write `{RULES}`"
    return None


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _model_fault(kind: type, name: str, value: Any) -> str | None:
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
    """Figures and fields of the verdict are shown in the same tables, and a case need not have every figure."""
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


def _list_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _schema_fault(name: str, model: type[BaseModel]) -> str | None:
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
    for owner in (owner for described in _DESCRIBED_BY if issubclass(kind, described) for owner in described.__mro__):
        for name, value in vars(owner).items():
            if inspect.isfunction(value) and not name.startswith("_") and owner.__module__.startswith("krino.contract"):
                problem = _method_fault(kind, owner, name)
                if problem is not None:
                    yield f"{locate_attribute(kind, name)}{problem}"


def _method_fault(kind: type, owner: type, name: str) -> str | None:
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
