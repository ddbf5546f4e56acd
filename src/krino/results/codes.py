"""Counts the values of a field whose values are short codes, and notices when it is free text instead."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

MOST_VALUES = 30
EMPTY_LIST = "(empty list)"

_LONGEST_CODE = 40
_MOST_WORDS = 4
_FEW_VALUES = 5


class CodeField(BaseModel):
    """A categorical field of the verdict over all cases judged `ok`; a list counts once for each value in it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    n: int
    nulls: int
    counts: dict[str, int]
    """From the most frequent down."""


@dataclass(slots=True)
class CodeTally:
    """Takes values one at a time; gives up, and frees its memory, at the first sign of free text."""

    n: int = 0
    is_text: bool = False
    _counts: dict[str, int] = field(default_factory=dict)

    def add(self, value: Any) -> None:
        """A string, a boolean or a list; everything else is no code and makes the field no categorical one."""
        if self.is_text:
            return
        codes = codes_of(value)
        if codes is None:
            self._give_up()
            return
        self.n += 1
        for code in codes:
            self._counts[code] = self._counts.get(code, 0) + 1
        if len(self._counts) > MOST_VALUES:
            self._give_up()

    def result(self, name: str, nulls: int) -> CodeField | None:
        """None for free text, and for names of things: mostly a new value in each case."""
        if self.is_text or not self.n or are_names(len(self._counts), self.n):
            return None
        counts = dict(sorted(self._counts.items(), key=lambda item: (-item[1], item[0])))
        return CodeField(name=name, n=self.n, nulls=nulls, counts=counts)

    def _give_up(self) -> None:
        self.is_text = True
        self._counts.clear()


def are_names(values: int, cases: int) -> bool:
    """Whether so many values in so many cases are names of things rather than categories."""
    return values > max(_FEW_VALUES, cases // 2)


def codes_of(value: Any) -> list[str] | None:
    """The codes that a value holds, one or (a list) several; None of free text."""
    if not isinstance(value, list | tuple):
        code = _code_of(value)
        return None if code is None else [code]
    if not value:
        return [EMPTY_LIST]
    if len(value) > MOST_VALUES:
        return None
    codes = []
    for item in value:
        code = _code_of(item)
        if code is None:
            return None
        if code not in codes:
            codes.append(code)
    return codes


def _code_of(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str) or len(value) > _LONGEST_CODE:
        return None
    return value if value.isprintable() and len(value.split()) <= _MOST_WORDS else None
