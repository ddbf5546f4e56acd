"""Suggests the closest known name for a name that does not exist ("did you mean")."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from krino.text.clean import clean_line

_LONGEST = 100
_SHOWN = 60
_MOST = 10_000  # names that are compared with the given one: a second of work at the very most


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Returns " (did you mean X?)" to put after the name, or an empty text if none is similar. Case is ignored."""
    near = find_near(name, names)
    return f" (did you mean {clean_line(near, _SHOWN)}?)" if near is not None else ""


def find_near(name: str, names: Iterable[str]) -> str | None:
    """Returns the most similar name, or None if none is similar. Case is ignored."""
    there = {other.lower()[:_LONGEST]: other for other in sorted(islice(names, _MOST), reverse=True)}
    near = get_close_matches(name[:_LONGEST].lower(), there, n=1, cutoff=0.75)
    return there[near[0]] if near else None


def did_you_mean_file(path: Path, fits: Callable[[Path], bool]) -> str:
    """Returns " (did you mean X?)" for a path whose last part may be misspelt, by the other files of its folder that
    fit; else an empty text."""
    try:
        return did_you_mean(path.name, (other.name for other in path.parent.iterdir() if fits(other)))
    except (OSError, ValueError):  # no folder, or one that cannot be read
        return ""
