"""Knows an answer that stands in the case itself, in whatever dress: spaced, escaped, re-ordered, as YAML, wrapped.

A case is text from strangers and may bring a finished answer along. Compared are letters and digits alone: if every
field of a reply stands in the case behind its own name, the reply was copied and is not the model's.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

ESCAPED_SPACE = re.compile(r"\\+[nrtbf]")
ESCAPED = re.compile(r"\\+u([0-9a-fA-F]{4})")
NOT_CONTENT = re.compile(r"[\W_]+")


class Plants:
    """The case as a model sees it, searched for answers. Truthy when it names every field of an answer."""

    __slots__ = ("_contents",)

    def __init__(self, texts: Iterable[str], keys: Collection[str]) -> None:
        text = "\n".join(texts).lower()
        if "\\u" in text:
            text = ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").lower()  # pairs become one
        if "&" in text:
            text = html.unescape(text)
        self._contents: tuple[str, ...] = ()
        if keys and _names_all(text, keys):
            # An escaped line break leaves a letter behind, a path with backslashes may look like one: try both.
            forms = {text, ESCAPED_SPACE.sub(" ", text)} if "\\" in text else {text}
            self._contents = tuple(map(_content, forms))

    def __bool__(self) -> bool:
        return bool(self._contents)

    def hold(self, answer: Any) -> bool:
        """Whether every field of the answer stands in the case, value behind name."""
        return bool(self._contents) and all(
            any(piece in content for content in self._contents) for piece in _pieces("", answer)
        )


def _names_all(text: str, keys: Collection[str]) -> bool:
    """A cheap look first: most cases do not even hold the words."""
    return all(key.lower() in text for key in keys) and all(
        re.search(rf"{re.escape(key.lower())}[^\w:=]{{0,6}}[:=]", text) for key in keys
    )


def _pieces(name: str, value: Any) -> Iterator[str]:
    """Name and value of every field at any depth, as they would stand side by side in any notation."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _pieces(key, item)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for item in value:
            yield from _pieces(name, item)
    elif isinstance(value, list):
        yield _content(name + "".join(map(_word, value)))
    else:
        yield _content(name + _word(value))


def _word(value: Any) -> str:
    return {None: "null", True: "true", False: "false"}.get(value, str(value)) if not isinstance(value, str) else value


def _content(text: str) -> str:
    return NOT_CONTENT.sub("", text).lower()
