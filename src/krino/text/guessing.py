"""For a name that is not there: the one that may be meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from krino.text.clean import clean_line

_LONGEST = 100
_SHOWN = 60


def guessed(name: str, names: Iterable[str]) -> str:
    """To be put after the name; nothing where no other is near."""
    near = get_close_matches(name[:_LONGEST].lower(), sorted(names), n=1, cutoff=0.75)
    return f" (did you mean {clean_line(near[0], _SHOWN)}?)" if near else ""
