"""Builds HTML from Python values. Every text and attribute is escaped here, so callers cannot forget it."""

from __future__ import annotations

from html import escape
from typing import Final

from krino.text.clean import clean

_VOID: Final = frozenset({"br", "meta", "rect", "line", "circle", "wbr"})
_DRAWN: Final = frozenset({"rect", "line", "circle"})


class Markup(str):
    """Escaped HTML; only `tag` and `join` make it."""

    __slots__ = ()


def tag(name: str, /, *children: str | Markup | None, **attributes: str | float | bool | None) -> Markup:
    """Writes an element. `class_` is written `class`, `aria_label` is written `aria-label`; None and False are left
    out."""
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID and not children:
        return Markup(f"<{name}{written}/>" if name in _DRAWN else f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: str | Markup | None) -> Markup:
    """Joins pieces of HTML; what is no `Markup` is escaped, None is left out."""
    given = (child for child in children if child is not None)
    return Markup("".join(child if isinstance(child, Markup) else escape(clean(child)) for child in given))


def _attribute(key: str, value: str | float | bool | None) -> str:
    """Writes an attribute with its value escaped; None and False write nothing."""
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(clean(str(value)))}"'
