"""Prompt caches as providers run them: by blocks from the start of a prompt, or at marked places."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from endpoints.base import CHARS_PER_TOKEN, count_tokens

BLOCK_TOKENS = 128
FEWEST_TOKENS = 1024


@dataclass(slots=True)
class BlockCache:
    """Caches every prompt by itself: the longest start in common with an earlier one is read, in whole blocks."""

    _known: set[bytes] = field(default_factory=set)

    def read(self, prompt: str) -> int:
        """Tokens of the prompt that are read from the cache."""
        blocks = 0
        for digest in _chain(prompt):
            if digest not in self._known:
                break
            blocks += 1
        tokens = blocks * BLOCK_TOKENS
        return tokens if tokens >= FEWEST_TOKENS else 0

    def store(self, prompt: str) -> None:
        if count_tokens(prompt) >= FEWEST_TOKENS:
            self._known.update(_chain(prompt))


def _chain(prompt: str) -> Iterable[bytes]:
    """A digest of everything up to the end of each whole block."""
    running = hashlib.blake2b(digest_size=16)
    size = BLOCK_TOKENS * CHARS_PER_TOKEN
    for start in range(0, len(prompt) - size + 1, size):
        running.update(prompt[start : start + size].encode())
        yield running.copy().digest()


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a prompt after which a cached prefix may end; `marked`: it does end here."""

    text: str
    marked: bool = False


@dataclass(slots=True)
class BreakpointCache:
    """Caches exact prefixes that end at marked places, each written once and read by prompts that begin with it."""

    fewest: int = FEWEST_TOKENS
    _known: set[bytes] = field(default_factory=set)

    def look(self, pieces: Sequence[Piece], fewest: int | None = None) -> tuple[int, int]:
        """Tokens that are read, and tokens that will be written; a prompt without any mark uses no cache."""
        if not any(piece.marked for piece in pieces):
            return 0, 0
        least = self.fewest if fewest is None else fewest
        read = end = 0
        for digest, tokens, marked in _prefixes(pieces):
            if tokens < least:
                continue
            if digest in self._known:
                read = tokens
            if marked:
                end = tokens
        return read, max(0, end - read)

    def store(self, pieces: Sequence[Piece]) -> None:
        self._known.update(digest for digest, _, marked in _prefixes(pieces) if marked)


def _prefixes(pieces: Sequence[Piece]) -> Iterable[tuple[bytes, int, bool]]:
    running, length = hashlib.blake2b(digest_size=16), 0
    for piece in pieces:
        running.update(piece.text.encode())
        running.update(b"\x00")
        length += len(piece.text)
        yield running.copy().digest(), -(-length // CHARS_PER_TOKEN), piece.marked
