"""Changes a text so that every place in it stays where it was: less its reference marks, or in lower case."""

from __future__ import annotations

import re

_CITATION = re.compile(r"\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]|\((?:passage|source|doc(?:ument)?)s?\s*\d{1,3}\)", re.I)


def without_citations(text: str) -> str:
    """The text less its reference marks such as [1], which are no claims; the length stays the same."""
    return _CITATION.sub(lambda found: " " * len(found.group()), text) if "[" in text or "(" in text else text


def lower(text: str) -> str:
    """In lower case and of the same length: a few capitals would become two letters."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
