"""Parts the sources of the pairs before any pair is made: what is kept out shares no sentence with training."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from typing import TypeVar

HELD_OUT = 25
"""One group of sources in so many is kept out of training, to watch it and to calibrate."""
_END = re.compile(r"(?<=[.!?;])[\"')\]]*\s+")
_WORD = re.compile(r"[a-z0-9]+")
_FEWEST_WORDS = 4

SourceT = TypeVar("SourceT")


def sentence_keys(text: str) -> set[str]:
    """The sentences of a text by their letters and digits alone; those of a word or three would join anything."""
    keys = (" ".join(_WORD.findall(part.lower())) for part in [*_END.split(text), text])
    return {key for key in keys if len(key.split()) >= _FEWEST_WORDS}


def part_sources(
    sources: Sequence[SourceT], texts_of: Callable[[SourceT], Iterable[str]]
) -> tuple[list[SourceT], list[SourceT]]:
    """Those to learn from and those kept out; sources that share a sentence, directly or by others, stay together."""
    leader: dict[str, str] = {}

    def lead(key: str) -> str:
        while leader.setdefault(key, key) != key:
            leader[key] = leader[leader[key]]
            key = leader[key]
        return key

    first: list[str | None] = []
    for source in sources:
        keys = sorted({key for text in texts_of(source) for key in sentence_keys(text)})
        first.append(keys[0] if keys else None)
        for key in keys[1:]:
            one, two = lead(keys[0]), lead(key)
            leader[max(one, two)] = min(one, two)
    learned: list[SourceT] = []
    kept: list[SourceT] = []
    for source, known in zip(sources, first, strict=True):
        (kept if known is not None and _is_kept(lead(known)) else learned).append(source)
    return learned, kept


def _is_kept(key: str) -> bool:
    """The same on every machine."""
    return int.from_bytes(blake2b(key.encode(), digest_size=4).digest(), "big") % HELD_OUT == 0
