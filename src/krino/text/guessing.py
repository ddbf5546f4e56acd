"""For a name that is not there: the one that may be meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from krino.text.clean import clean_line

_LONGEST = 100
_SHOWN = 60
_MOST = 10_000  # names that are held against the given one: a second of work at the very most


def guessed(name: str, names: Iterable[str]) -> str:
    """To be put after the name; nothing where no other is near. Capitals do not matter."""
    near = find_near(name, names)
    return f" (did you mean {clean_line(near, _SHOWN)}?)" if near is not None else ""


def find_near(name: str, names: Iterable[str]) -> str | None:
    """The name that may be meant."""
    there = {other.lower()[:_LONGEST]: other for other in sorted(islice(names, _MOST), reverse=True)}
    near = get_close_matches(name[:_LONGEST].lower(), there, n=1, cutoff=0.75)
    return there[near[0]] if near else None


def guessed_beside(path: Path, fits: Callable[[Path], bool]) -> str:
    """The same for a path whose last part may be misspelt: suggests a file beside it."""
    try:
        return guessed(path.name, (other.name for other in path.parent.iterdir() if fits(other)))
    except (OSError, ValueError):  # no folder, or one that cannot be read
        return ""
