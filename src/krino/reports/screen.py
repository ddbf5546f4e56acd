"""The terminal as we write to it: text is text, whatever brackets or colons a name or a case has in it."""

from __future__ import annotations

from typing import Any

from rich.console import Console


def screen(**settings: Any) -> Console:
    """A console that takes nothing in a text for markup, for an emoji or for something to paint."""
    return Console(markup=False, emoji=False, highlight=False, **settings)
