"""The command that goes on with a stopped run: the same again, with a higher limit where a limit stopped it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from krino.labellers.llm.endpoint import masked

_LIMIT = re.compile(r"the limit of ([\d.,e+-]+)(?: tokens)? \((--max-tokens|--max-cost)\) is reached")
FROM_NOTHING = {"--max-tokens": 100_000.0, "--max-cost": 1.0}
"""What to suggest instead of a limit of 0."""


def command_to_go_on(arguments: Sequence[str], stop_reason: str | None) -> str:
    """As it can be typed; a password in an address is not shown, and has to be put in again."""
    reached = _LIMIT.search(stop_reason or "")
    if reached:
        flag, limit = reached[2], 2 * float(reached[1].replace(",", "")) or FROM_NOTHING[reached[2]]
        arguments = _with_flag(arguments, flag, f"{limit:.0f}" if flag == "--max-tokens" else f"{limit:g}")
    return shlex.join(["krino", *(masked(word) if "://" in word else word for word in arguments)])


def _with_flag(arguments: Sequence[str], flag: str, value: str) -> list[str]:
    """The arguments with this value for a flag, wherever it was given before or not at all."""
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == flag:
            next(words, None)
        elif not word.startswith(f"{flag}="):
            kept.append(word)
    return [*kept, flag, value]
