"""The different values of a column, each kept once: what a column of many cases takes in memory is numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

_LONGEST: Final = 120
_MOST_WORDS: Final = 8
_OPTIONS: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


class FreeText:
    """Stands for any text too long to be a label: it is not kept."""


FREE_TEXT: Final = FreeText()


@dataclass(slots=True)
class Pool:
    """Values in the order in which they first came."""

    values: list[Any] = field(default_factory=list)
    _numbers: dict[Any, int] = field(default_factory=dict)

    def number(self, value: Any) -> int:
        """The number of a value, the same for equal values: 1 and 1.0 differ here, as do 1 and "1"."""
        is_text = isinstance(value, str)
        key = value if is_text else orjson.dumps(value, option=_OPTIONS, default=str)
        known = self._numbers.get(key)
        if known is not None:
            return known
        if is_text and (len(value) > _LONGEST or value.count(" ") >= _MOST_WORDS):
            if self.has_free_text:
                return self._numbers[FREE_TEXT]
            key = value = FREE_TEXT
        self._numbers[key] = len(self.values)
        self.values.append(value)
        return self._numbers[key]

    def replaced(self, meant: Callable[[Any], Any]) -> Pool:
        """The same numbers for what the values stand for."""
        return Pool([meant(value) for value in self.values], self._numbers)

    @property
    def has_free_text(self) -> bool:
        return FREE_TEXT in self._numbers
