"""Tells where the code of a judge stands, so that a message can name file and line."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any


def place_of_class(owner: type) -> str:
    """`judge.py:12: `, ready to stand before a message; empty where the source cannot be had (a console)."""
    try:
        return _told(inspect.getsourcefile(owner), inspect.getsourcelines(_fresh(owner))[1])
    except (OSError, TypeError):
        return ""


def place_of_attribute(owner: type, name: str) -> str:
    """The line that gives a class this attribute; the line of the class where it has none of its own."""
    for base in owner.__mro__:
        if name in vars(base) and not base.__module__.startswith("krino.contract"):
            if callable(value := inspect.unwrap(_function(vars(base)[name]))) and hasattr(value, "__code__"):
                return place_of_code(value.__code__)
            return _place_of_assignment(base, name) or place_of_class(base)
    return place_of_class(owner)


def place_of_code(code: CodeType, line: int | None = None) -> str:
    return _told(code.co_filename, line or code.co_firstlineno) if Path(code.co_filename).is_file() else ""


def syntax_of(function: Callable[..., Any]) -> Iterator[tuple[ast.AST, int]]:
    """Every node of a function's source with its line in the file; none where the source cannot be had."""
    try:
        lines, first = inspect.getsourcelines(_fresh(function))
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return
    (top, *_) = tree.body
    inner = {
        child
        for node in ast.walk(top)
        if node is not top and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef)
        for child in ast.walk(node)
    }
    for node in ast.walk(top):
        if node not in inner:  # what a function inside returns is its own affair
            yield node, getattr(node, "lineno", 1) + first - 1


def fault_in(owner: type, fault: BaseException) -> str:
    """Where the code of a judge broke: the innermost line of its own folder, else the innermost of all."""
    frames = traceback.extract_tb(fault.__traceback__)
    if not frames:
        return ""
    home = _home(owner)
    own = [frame for frame in frames if home is not None and Path(frame.filename).parent == home]
    frame = (own or frames)[-1]
    return f" ({Path(frame.filename).name}:{frame.lineno}, in {frame.name})"


def broken_at(file: Path, fault: BaseException) -> str:
    """The line of a file at which its loading broke; a syntax error says it itself."""
    own = file.resolve()
    frames = [frame for frame in traceback.extract_tb(fault.__traceback__) if Path(frame.filename).resolve() == own]
    return f" (line {frames[-1].lineno})" if frames else ""


def _home(owner: type) -> Path | None:
    try:
        return Path(inspect.getfile(owner)).parent
    except (OSError, TypeError):
        return None


def _place_of_assignment(owner: type, name: str) -> str:
    try:
        lines, first = inspect.getsourcelines(_fresh(owner))
        (top, *_) = ast.parse(textwrap.dedent("".join(lines))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return ""
    for node in getattr(top, "body", ()):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        named = {part.id for target in targets if target for part in ast.walk(target) if isinstance(part, ast.Name)}
        if name in named:
            return _told(inspect.getsourcefile(owner), node.lineno + first - 1)
    return ""


def _fresh(what: Any) -> Any:
    """The same, with lines of a file that was edited since read anew."""
    linecache.checkcache(inspect.getsourcefile(what) or "")
    return what


def _function(value: Any) -> Any:
    return getattr(value, "__func__", value)


def _told(file: str | None, line: int) -> str:
    if file is None:
        return ""
    path = Path(file)
    try:
        shown = path.resolve().relative_to(Path.cwd())
    except (ValueError, OSError):
        shown = Path(path.name)
    return f"{shown}:{line}: "
