"""What a person is shown of a case before labelling it: the case as it was given, and nothing that code found in it.

`Judge.ask` may give a model hints that code computed (values that no passage has, steps that look alike). A person who
labels is to be independent of them, so pages show exhibits and never what `ask` writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One piece of the case under a title."""

    title: str
    text: str = ""
    """As it was written: Markdown, line breaks and greetings included."""
    sentences: tuple[str, ...] = ()
    """The same in pieces, numbered from 1, where labels refer to them; shown only to who gives labels."""
    number: str = ""
    """What labels call it (`candidate 2`), where that differs from its title; shown only to who gives labels."""


@dataclass(frozen=True, slots=True)
class Exhibits:
    """What is judged, and beside it what it is judged by."""

    work: tuple[Exhibit, ...]
    sources: tuple[Exhibit, ...]
    request: str = ""
    """What is asked of who gives labels, without hints."""
    start: Mapping[str, Any] = field(default_factory=dict)
    """Labels that the form begins with, where those that the bounds leave no choice about would be a hint."""
