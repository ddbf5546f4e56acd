"""Fold court names to plain words and find known phrases among them."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final, Generic, TypeVar

# A court is named at the start of its string; what lies beyond is parties, reports and prose.
MAX_LENGTH: Final = 400
BREAK: Final = ","

_LETTERS: Final = str.maketrans({"ʼ": "'", "œ": "oe", "æ": "ae", "ø": "o", "ł": "l"})
_PIECE: Final = re.compile(r"[^\W_]+|[,;:()\[\]{}/|\n–—]|\s-\s")
_CONSTITUTIONAL_NUMBER: Final = re.compile(r"(?<![\d./-])\d{1,3}/(?:19[89]\d|20\d\d)(?![\d/])")
_LABELLED_SHORT_NUMBER: Final = re.compile(r"\bn(?:r|o|°|º)\.?\s{0,3}\d{1,3}/\d\d(?![\d/])", re.IGNORECASE)
_WHOLE_NUMBER: Final = re.compile(r"\D*(?:\d{1,3}/(?:\d{4}|\d{2})|(?:19[89]\d|20\d\d)/\d{1,3})\D*")
_YEAR: Final = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")

Payload = TypeVar("Payload")


def fold(text: str) -> str:
    """Lower case without accents."""
    lowered = text.casefold()
    if lowered.isascii():
        return lowered
    decomposed = unicodedata.normalize("NFKD", lowered.translate(_LETTERS))
    return "".join(char for char in decomposed if not unicodedata.combining(char)).casefold()


def words(text: str) -> list[str]:
    """The folded words of a text, and a BREAK where punctuation parts them; dots and apostrophes do not."""
    return [piece if piece[0].isalnum() else BREAK for piece in _PIECE.findall(fold(text[:MAX_LENGTH]))]


def plain_words(text: str) -> tuple[str, ...]:
    """The folded words of an alias, breaks left out."""
    return tuple(word for word in words(text) if word != BREAK)


def latest_year(text: str) -> int | None:
    """The latest plausible year written in the text."""
    years = _YEAR.findall(text[:MAX_LENGTH])
    return max(map(int, years)) if years else None


def names_constitutional_number(text: str) -> bool:
    """Whether the text holds a judgment number as the Constitutional Court writes them (N/YYYY)."""
    head = text[:MAX_LENGTH]
    return bool(_CONSTITUTIONAL_NUMBER.search(head) or _LABELLED_SHORT_NUMBER.search(head))


def is_constitutional_number(case_number: str) -> bool:
    """Whether a case number standing alone is of that kind, short and reversed forms included."""
    return len(case_number) < 60 and _WHOLE_NUMBER.fullmatch(case_number) is not None


class PhraseTable(Generic[Payload]):
    """Phrases by their words; finds the longest one starting at a given word."""

    __slots__ = ("_by_phrase", "_lengths")

    def __init__(self) -> None:
        self._by_phrase: dict[tuple[str, ...], Payload] = {}
        self._lengths: dict[str, tuple[int, ...]] = {}

    def get(self, phrase: tuple[str, ...]) -> Payload | None:
        return self._by_phrase.get(phrase)

    def items(self) -> Iterable[tuple[tuple[str, ...], Payload]]:
        return self._by_phrase.items()

    def put(self, phrase: tuple[str, ...], payload: Payload) -> None:
        self._by_phrase[phrase] = payload
        known = self._lengths.get(phrase[0], ())
        self._lengths[phrase[0]] = tuple(sorted({*known, len(phrase)}, reverse=True))

    def longest(self, sentence: Sequence[str], start: int) -> tuple[Payload, int] | None:
        """The payload of the longest phrase that begins at `start`, and how many words it takes."""
        for length in self._lengths.get(sentence[start], ()):
            payload = self._by_phrase.get(tuple(sentence[start : start + length]))
            if payload is not None and start + length <= len(sentence):
                return payload, length
        return None
