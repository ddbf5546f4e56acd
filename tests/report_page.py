"""Reads a report as a browser would split it, for the tests of reports."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any


class Page(HTMLParser):
    """The tags, the attributes and the text of each script and style, as a browser would split them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.blocks: list[tuple[dict[str, str | None], str]] = []
        self.visible = ""
        self._open: dict[str, str | None] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in {"script", "style"}:
            self._open = dict(attrs)
            self.blocks.append((self._open, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in {"script", "style"}:
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is None:
            self.visible += data
        else:
            self.blocks[-1] = (self._open, self.blocks[-1][1] + data)

    def data(self, name: str) -> list[Any]:
        (text,) = [text for attributes, text in self.blocks if attributes.get("id") == name]
        return [json.loads(line) for line in text.splitlines() if line]

    def policy(self) -> str:
        (found,) = [a["content"] for tag, a in self.tags if a.get("http-equiv") == "Content-Security-Policy"]
        return found or ""
