"""Finds the file and line of a judge's code, for messages to its author."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
import traceback
from pathlib import Path
from types import CodeType
from typing import Any


def locate_class(kind: type) -> str:
    """Returns `judge.py:12: ` to put before a message; empty if there is no source file (in a console)."""
    try:
        return _format_place(inspect.getsourcefile(kind), inspect.getsourcelines(_reread(kind))[1])
    except (OSError, TypeError):
        return ""


def locate_attribute(kind: type, name: str) -> str:
    """Returns file and line of what sets this attribute, to put before a message; those of the class where nothing but
    Krino sets it."""
    for base in kind.__mro__:
        if name in vars(base) and not base.__module__.startswith("krino.contract"):
            if callable(value := inspect.unwrap(_unbind(vars(base)[name]))) and hasattr(value, "__code__"):
                return locate_code(value.__code__)
            return _locate_assignment(base, name) or locate_class(base)
    return locate_class(kind)


def locate_code(code: CodeType) -> str:
    return _format_place(code.co_filename, code.co_firstlineno) if Path(code.co_filename).is_file() else ""


def locate_fault(kind: type, fault: BaseException) -> str:
    """Returns ` (judge.py:12, in study)`: the innermost line in the judge's own folder at which it broke, else the
    innermost of all; empty without a traceback."""
    frames = traceback.extract_tb(fault.__traceback__)
    if not frames:
        return ""
    folder = _folder_of(kind)
    own = [frame for frame in frames if folder is not None and Path(frame.filename).parent == folder]
    frame = (own or frames)[-1]
    return f" ({Path(frame.filename).name}:{frame.lineno}, in {frame.name})"


def locate_load_error(file: Path, fault: BaseException) -> str:
    """Returns ` (line 12)`, the line at which loading a file broke; empty for a syntax error, which names its line
    itself."""
    own = file.resolve()
    frames = [frame for frame in traceback.extract_tb(fault.__traceback__) if Path(frame.filename).resolve() == own]
    return f" (line {frames[-1].lineno})" if frames else ""


def _folder_of(kind: type) -> Path | None:
    """Returns the folder of a class's source, or None if it has none."""
    try:
        return Path(inspect.getfile(kind)).parent
    except (OSError, TypeError):
        return None


def _locate_assignment(kind: type, name: str) -> str:
    """Returns file and line where a class sets an attribute, or an empty text."""
    try:
        lines, first = inspect.getsourcelines(_reread(kind))
        (top, *_) = ast.parse(textwrap.dedent("".join(lines))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return ""
    for node in getattr(top, "body", ()):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names = {part.id for target in targets if target for part in ast.walk(target) if isinstance(part, ast.Name)}
        if name in names:
            return _format_place(inspect.getsourcefile(kind), node.lineno + first - 1)
    return ""


def _reread(what: Any) -> Any:
    """Returns the same object, after dropping cached lines of a file that was edited since it was read."""
    linecache.checkcache(inspect.getsourcefile(what) or "")
    return what


def _unbind(value: Any) -> Any:
    return getattr(value, "__func__", value)


def _format_place(file: str | None, line: int) -> str:
    """Formats a file and line, relative to the working folder where possible."""
    if file is None:
        return ""
    path = Path(file)
    try:
        shown = path.resolve().relative_to(Path.cwd())
    except (ValueError, OSError):
        shown = Path(path.name)
    return f"{shown}:{line}: "
