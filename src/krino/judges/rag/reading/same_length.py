"""Normalises a text without changing offsets: blanks its reference marks and list numbers, or lowers its case."""

from __future__ import annotations

import re

_SOURCE = r"(?:passage|source|doc(?:ument)?|context|chunk|quelle|bron|fuente)[sn]?"
_NUMBERS = rf"\d{{1,3}}(?:(?:\s*[,;&–-]\s*|\s+(?:and|und|et|en|y)\s+)(?:{_SOURCE}\s*)?\d{{1,3}})*"
_PLACE = r"\d{1,3}(?:\s*[:,;–-]\s*\d{1,3})*(?:†(?:source|[\w-]{1,40}\.[a-z]{2,4}|L\d{1,5}(?:-L\d{1,5})?))?"
"""What some assistants write between 【 and 】: numbers, and the name of a file or its lines."""
_CITATION = re.compile(
    rf"\[\^?\d{{1,3}}(?:\s*[,;–-]\s*\d{{1,3}})*\]"
    rf"|[(\[【](?:see\s+)?{_SOURCE}:?\s*{_NUMBERS}[)\]】]|【{_PLACE}】",
    re.I,
)
_NAMED_SOURCE = re.compile(rf"\b{_SOURCE}\s+{_NUMBERS}\b", re.I)
_STEP = r"(?:(?:step|part|option|point|stap|deel|schritt|punkt|étape|paso)\s+)"
_LIST_MARK = re.compile(rf"^[\s*_#>(-]*(?:{_STEP}\d{{1,3}}[.):]?|\d{{1,3}}[.)])(?=[\s*_]|$)", re.I)


def without_citations(text: str) -> str:
    """Returns the text with reference marks such as [1] blanked, which are no claims; the length stays the same."""
    return _CITATION.sub(_blank, text) if "[" in text or "(" in text or "【" in text else text


def without_numbering(text: str) -> str:
    """Returns the text with every number blanked that only counts sources or items: "2) See [1] and passage 3"."""
    return _LIST_MARK.sub(_blank, _NAMED_SOURCE.sub(_blank, without_citations(text)))


def lower(text: str) -> str:
    """Returns the text in lower case and of the same length: a few capitals would become two letters."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found.group())
