"""Names and values of strangers in messages: short, and harmless on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

_LONGEST = 60
_MOST = 20


def shown(value: Any) -> str:
    """`repr` writes out whatever could act on a terminal."""
    text = repr(value[: 2 * _LONGEST] if isinstance(value, str) else value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def listed(names: Iterable[Any], most: int = _MOST) -> str:
    first = list(islice(names, most + 1))
    text = ", ".join(map(shown, first[:most])) or "none"
    return f"{text}, …" if len(first) > most else text
