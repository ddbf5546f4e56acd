"""The terminal as we write to it: text is text, whatever brackets or colons a name or a case has in it."""

from __future__ import annotations

from typing import Any, NoReturn

from rich.console import Console


class _Screen(Console):
    def on_broken_pipe(self) -> NoReturn:
        """Rich would end the program with exit code 1, which means that a gate failed."""
        raise BrokenPipeError


def screen(**settings: Any) -> Console:
    """A console that takes nothing in a text for markup, for an emoji or for something to paint."""
    return _Screen(markup=False, emoji=False, highlight=False, **settings)
