"""Groups messages that differ only in their particulars: `line 12: "a" is missing` and `line 9: "b" is missing`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

_LONGEST = 600
_SHOWN = 240
_MOST_GROUPS = 2_000
_LONGEST_SHOWN = 2_000
_KEPT_GROUPS = 1_000
_QUOTED = re.compile(
    r'"[^"\n]{0,300}"'
    r"|`[^`\n]{0,300}`"
    r"|“[^”\n]{0,300}”"
    r"|«[^»\n]{0,300}»"
    r"|(?<!\w)'[^'\n]{0,300}'(?!\w)"  # an apostrophe inside a word opens no quotation
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class MessageGroup(BaseModel):
    """A reason or an error, how often it came, and one case where it did."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: str
    text: str
    """The first such message, as it came; others of its kind differ in numbers and quoted parts."""
    count: int
    example: str
    """Id of the first such case."""


@dataclass(slots=True)
class MessageTally:
    """Takes messages one at a time; of very many kinds only the frequent ones are kept."""

    _groups: dict[tuple[str, str], tuple[int, str, str]] = field(default_factory=dict)

    def add(self, status: str, message: str, case: str) -> None:
        key = (status, pattern_of(message))
        count, example, first = self._groups.get(key, (0, case, message))
        self._groups[key] = (count + 1, example, first)
        if len(self._groups) > _MOST_GROUPS:
            self._groups = dict(self._sorted()[:_KEPT_GROUPS])

    def top(self, most: int) -> tuple[MessageGroup, ...]:
        return tuple(
            MessageGroup(status=status, text=" ".join(text[:_LONGEST_SHOWN].split()), count=count, example=example)
            for (status, _), (count, example, text) in self._sorted()[:most]
        )

    def _sorted(self) -> list[tuple[tuple[str, str], tuple[int, str, str]]]:
        return sorted(self._groups.items(), key=lambda item: -item[1][0])


def pattern_of(message: str) -> str:
    """The message with its numbers and quoted parts taken out, on one line."""
    line = " ".join(message[:_LONGEST].split())
    masked = _NUMBER.sub("#", _QUOTED.sub("‹…›", line))
    return masked if len(masked) <= _SHOWN else f"{masked[: _SHOWN - 1]}…"
