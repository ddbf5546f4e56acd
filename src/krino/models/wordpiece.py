"""Cuts text into the word pieces of a BERT vocabulary (lower case, no accents), as the original tokenizer does.

One difference is wanted: names of control tokens such as `[SEP]` in a text are text, never control tokens.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import lru_cache
from importlib.resources.abc import Traversable

_LONGEST_WORD = 100
_CHARACTERS_PER_TOKEN = 64
"""Text beyond so many characters for each token that is kept cannot matter, or is hostile."""
_CACHED_WORDS = 32_768
_DROPPED = frozenset({"Mn", "Cc", "Cf", "Co", "Cs"})
"""Categories of characters that leave no trace: accents, controls, private use, lone surrogates."""
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class _Cleaner(dict[int, str]):
    """What each character becomes: dropped, a space, a word of its own, or its lower case."""

    def __missing__(self, code: int) -> str:
        self[code] = became = _become(chr(code))
        return became


def _become(character: str) -> str:
    """Returns what a character becomes before words are cut: its lower case, a space, nothing, or itself between spaces
    (signs)."""
    category = unicodedata.category(character)
    if character in "\t\n\r" or character.isspace():
        return " "
    if category in _DROPPED or character == "\ufffd":
        return ""
    code = ord(character)
    if category[0] == "P" or character in "$+<=>^`|~" or any(first <= code <= last for first, last in _IDEOGRAPHS):
        return f" {character} "
    return character.lower()


class WordPiece:
    """A vocabulary, and texts as lists of its numbers between the marks for start and end."""

    def __init__(self, vocabulary: Traversable) -> None:
        words = vocabulary.read_text("utf-8").split("\n")
        self._ids = {word: number for number, word in enumerate(words) if word}
        self._unknown, self._start, self._end = (self._ids[mark] for mark in ("[UNK]", "[CLS]", "[SEP]"))
        self._cleaner = _Cleaner()
        self._pieces: Callable[[str], tuple[int, ...]] = lru_cache(maxsize=_CACHED_WORDS)(self._cut)

    def encode(self, text: str, most: int) -> list[int]:
        """The token numbers of a text, at most `most` with the marks around it; what is too long loses its end."""
        ids = [self._start]
        for word in self._words(text[: most * _CHARACTERS_PER_TOKEN]):
            ids.extend(self._pieces(word))
            if len(ids) >= most:
                break
        del ids[most - 1 :]
        ids.append(self._end)
        return ids

    def _words(self, text: str) -> list[str]:
        """The words of a text, cleaned and cut at spaces and signs."""
        plain = text if text.isascii() else unicodedata.normalize("NFD", text)
        return plain.translate(self._cleaner).split()

    def _cut(self, word: str) -> tuple[int, ...]:
        """Cuts a word into the numbers of its pieces: the longest known beginning, then the longest known continuation,
        and so on; the unknown mark alone if that fails."""
        if len(word) > _LONGEST_WORD:
            return (self._unknown,)
        found: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._ids.get(prefix + word[start:end])
                if number is not None:
                    break
            else:
                return (self._unknown,)
            found.append(number)
            start = end
        return tuple(found)
