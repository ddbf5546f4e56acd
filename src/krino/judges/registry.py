"""Finds a judge by name: built in, ready (`shelf`), from a package, or a user's class, file or sentence."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from krino.contract import AnyJudge, Judge
from krino.contract.judge_checks import make_judge
from krino.contract.source_lines import locate_load_error
from krino.errors import UsageProblem
from krino.text.guessing import did_you_mean

OURS = {
    "citation": "krino.judges.citation.judge:CitationJudge",
    "efficiency": "krino.judges.efficiency.judge:EfficiencyJudge",
    "rag": "krino.judges.rag.judge:RagJudge",
}
GROUP = "krino.judges"
SHELF = Path(__file__).resolve().parent / "shelf"
"""The folder of ready judges that are files. A name of one of ours goes before."""
RUBRIC = "rubric:"
"""Begins the address of a judge that is one sentence: `rubric:Is {text} polite? polite=1 rude=0`."""


def judge_names() -> dict[str, str]:
    """Returns every judge that can be named, with where it lives."""
    offered = {point.name: point.value for point in entry_points(group=GROUP)}
    return {**offered, **{name: str(SHELF / f"{name}.md") for name in shelf_names()}, **OURS}


@cache
def shelf_names() -> tuple[str, ...]:
    """Returns the names of the ready judges, which are files in the package."""
    return tuple(sorted(path.stem for path in SHELF.glob("*.md")))


def is_ours(name: str) -> bool:
    """Is this a judge of Krino's own? To load it runs nobody else's code and opens no file of a stranger's."""
    return name in OURS or name in shelf_names()


def load_judge(name: str, options: Mapping[str, Any] | None = None, prompt: str | None = None) -> AnyJudge:
    """Returns a judge by name or address, with its options and prompt.

    An address is `package.module:Class`, `path/to/file.py:Class`, `path/to/file.md` or `rubric:SENTENCE`.
    """
    if not isinstance(name, str):
        raise UsageProblem(f"{name!r} is no judge; give a name, `file.py:Class`, `file.md`, or a krino.Judge class")
    return make_judge(_find_class(judge_names().get(name, name), name), options, prompt, find_namesake)


def our_judge(name: str) -> AnyJudge | None:
    """Returns a judge of Krino's own; None for any other, so that reading a run loads nobody else's code."""
    return load_judge(name) if is_ours(name) else None


def recorded_judge(name: str, options: Any) -> AnyJudge:
    """Returns a judge of Krino's own with options as a run records them; refuses any other.

    A run folder may come from anyone, and a table among the options may be given as the path of a file: what a run
    records never is, and no file is opened for it.
    """
    judge = load_judge(name if is_ours(name) else "")
    parts = type(judge.options).model_json_schema().get("properties", {})
    if not isinstance(options, Mapping):
        raise UsageProblem(f"options of judge `{name}`: they must be a mapping of names to values")
    for key, value in options.items():
        if parts.get(key, {}).get("type") == "object" and not isinstance(value, dict):
            raise UsageProblem(f"options of judge `{name}`: `{key}` must be a table, not the path of one")
    return load_judge(name, options)


def find_namesake(name: str, kind: type) -> str | None:
    """Returns another judge that has this name, in words for a message: its address, or ``the ready judge `x` ``.

    None if the name is free or belongs to `kind`, the class that asks for it. Broken packages are skipped.
    """
    if (ours := OURS.get(name)) is not None:
        return None if ours == f"{kind.__module__}:{kind.__qualname__}" else ours
    if name in shelf_names():
        return None if _is_ready(kind, name) else f"the ready judge `{name}`"
    for point in entry_points(group=GROUP, name=name):
        with suppress(Exception):  # a package that is broken takes no name from anybody
            if point.load() is not kind:
                return point.value
    return None


def address_of(judge: type[AnyJudge]) -> str:
    """Returns how a judge's class is named so that it can be loaded again: a name or an address."""
    if (stated := getattr(judge, "definition", None)) is not None:  # a judge from a file
        in_shelf = stated.name in shelf_names() and _is_on_shelf(stated.address)
        return str(stated.name if in_shelf else stated.address)
    place = f"{judge.__module__}:{judge.__qualname__}"
    for name, known in judge_names().items():
        if known == place:
            return name
    module = sys.modules.get(judge.__module__)
    file = getattr(module, "__file__", None)
    is_file = judge.__module__ == "__main__" or judge.__module__.startswith("krino_user_")
    return f"{Path(file).resolve()}:{judge.__qualname__}" if file and is_file else place


def _find_class(address: str, name: str) -> type[AnyJudge]:
    """Returns the class of a judge by its address; raises `UsageProblem` with the known names if there is none."""
    if (found_file := _find_class_of_file(address)) is not None:
        return found_file
    where, colon, attribute = address.rpartition(":")
    if not colon or not where:
        known = sorted(judge_names())
        raise UsageProblem(
            f"no judge `{name}`{did_you_mean(name, known)}; there are {', '.join(known)}, "
            "or name yours as `file.md`, `module:Class` or `file.py:Class`"
        )
    module = _import_file(Path(where)) if where.endswith(".py") else _import_module(where, name)
    found: Any = getattr(module, attribute, None)
    if not _is_judge(found):
        there = [key for key, value in vars(module).items() if _is_judge(value) and value.__module__ == module.__name__]
        hint = f"; it has {', '.join(there)}" if there else "; write `class MyJudge(krino.Judge): ...`"
        raise UsageProblem(f"judge `{name}`: {where} has no class `{attribute}` that is a krino.Judge{hint}")
    return cast("type[AnyJudge]", found)


def _find_class_of_file(address: str) -> type[AnyJudge] | None:
    """Returns the class of a judge that is a file, a sentence or a text; None for any other address.

    Refuses a file with the name of a ready judge.
    """
    from krino.judges.file.judge import TEXT_ADDRESS, class_of_file, class_of_text
    from krino.judges.file.one_line import class_of_rubric

    if address.startswith(RUBRIC):
        return class_of_rubric(address.removeprefix(RUBRIC))
    if address.startswith(TEXT_ADDRESS):
        name, _, text = address.removeprefix(TEXT_ADDRESS).partition("\n")
        return class_of_text(text, name, address)
    if not address.endswith(".md"):
        return None
    found = class_of_file(Path(address))
    if found.name in shelf_names() and not _is_on_shelf(address):
        raise UsageProblem(
            f"{address}:1:1: a ready judge is called `{found.name}`, and results are kept by name; write "
            f"`name: my-{found.name}` in the front matter"
        )
    return found


def _is_ready(kind: type, name: str) -> bool:
    """Whether a class is the ready judge of this name: the file, or its text where it was sent to another process."""
    definition = getattr(kind, "definition", None)
    return definition is not None and definition.text == (SHELF / f"{name}.md").read_text("utf-8")


def _is_on_shelf(address: str) -> bool:
    return address.endswith(".md") and Path(address).resolve().parent == SHELF


def _is_judge(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Judge) and value is not Judge


def _import_module(where: str, name: str) -> ModuleType:
    """Imports a module, also from the working folder."""
    try:
        sys.path.insert(0, "")  # modules of the folder one works in, as `python -m` finds them
        return importlib.import_module(where)
    except UsageProblem:
        raise
    except Exception as error:
        raise UsageProblem(f"judge `{name}`: cannot import {where}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove("")


def _import_file(path: Path) -> ModuleType:
    """Imports a file as a module."""
    if not path.is_file():
        raise UsageProblem(f"judge file {path} does not exist")
    from krino.contract.fingerprint import module_of_file

    spec = importlib.util.spec_from_file_location(module_of_file(path), path)
    if spec is None or spec.loader is None:
        raise UsageProblem(f"judge file {path} cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # pydantic resolves annotations through it
    sys.path.insert(0, str(path.parent.resolve()))  # a judge may import its neighbours, as a script may
    try:
        spec.loader.exec_module(module)
    except UsageProblem:  # a judge in it says what it lacks
        raise
    except Exception as error:
        raise UsageProblem(
            f"judge file {path}: {type(error).__name__}: {error}{locate_load_error(path, error)}"
        ) from error
    return module
