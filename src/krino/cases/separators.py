"""Notices texts that look like several with a separator between them, where the judge wants a list of texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from krino.cases.item import CaseItem
from krino.contract import Judge
from krino.contract.case_fields import list_names

_LOOKED_AT = 100
_SEPARATORS = re.compile(
    r"\|{2,}|<\|?/?sep\|?>|\[SEP\]|<br\s*/?>\s*<br\s*/?>|(?<=\n)[ \t]*(?:-{3,}|={3,}|\*{3,}|#{3,})[ \t]*(?=\r?\n)"
    r"|(?<=\s)(?:#{3,}|@{3,}|~{3,}|%{3,}|\${3,}|;{2,})(?=\s)",
    re.IGNORECASE,
)
_TOLD_FOR = 10_000  # characters of a text are enough to see how it is made


def looked_for_separators(
    items: Iterator[CaseItem], judge: Judge[Any, Any, Any], tell: Callable[[str], None]
) -> Iterator[CaseItem]:
    """The items as they are; after the first hundred (or all) it is told which of them hold a separator, if any do."""
    names = list_names(judge)
    return _watched(items, names, tell) if names else items


def _watched(items: Iterator[CaseItem], names: frozenset[str], tell: Callable[[str], None]) -> Iterator[CaseItem]:
    met: Counter[tuple[str, str]] = Counter()
    looked_at = 0
    for item in items:
        if looked_at < _LOOKED_AT:
            looked_at += 1
            met.update(_separators(item, names))
            if looked_at == _LOOKED_AT:
                _tell_of(met, looked_at, tell)
        yield item
    if looked_at < _LOOKED_AT:
        _tell_of(met, looked_at, tell)


def _separators(item: CaseItem, names: frozenset[str]) -> Iterator[tuple[str, str]]:
    for name, value in (item.record or {}).items():
        if name in names and isinstance(value, str) and (found := _SEPARATORS.search(value[:_TOLD_FOR])):
            yield name, found.group().strip()


def _tell_of(met: Counter[tuple[str, str]], looked_at: int, tell: Callable[[str], None]) -> None:
    for (name, separator), count in met.most_common(3):
        of = f"{count} of the first {looked_at} cases" if looked_at > 1 else "the case"
        tell(
            f"`{name}` of {of} is one text that holds `{separator}`, and is judged as it stands: "
            f"if this is where a new one begins, add --split '{name}={separator}'"
        )
