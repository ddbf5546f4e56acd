"""What an answer puts in quotation marks as somebody's own words, and whether a text has them so."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from krino.judges.rag.tables import table
from krino.text.forms import locate
from krino.text.language import READ_LANGUAGES
from krino.text.quoting import says_too_little
from krino.text.words import stop_words

_QUOTED = re.compile(
    r"“([^“”]{2,2000})”|„([^„“”]{2,2000})[“”]|«([^«»]{2,2000})»|(?<!\w)\"(?=\S)([^\"\n]{2,2000})(?<=\S)\"(?!\w)"
)
"""A straight mark behind a figure is one of inches, and opens nothing."""
_OPENING = '"“„«'
_CUT = re.compile(r"\.{3,}|…|\[[^\]]*\]")
"""Where words were left out, or put in by whoever quotes."""
_LETTER = re.compile(r"[^\W_]")
_FEWEST = 6
"""Words from which on a stretch in quotation marks is a quotation, and no name, title or word that is spoken about."""
_FEWEST_ALONE = 4
"""The same where the sentence has nothing else."""
_WORD = re.compile(r"\w+")
_SIGNS = " ,;:.!?"
_SHORT = 3
"""Letters up to which a word has a small letter in a title too."""


class Quotation(NamedTuple):
    """The words in quotation marks, with the place of the marks in the text."""

    text: str
    start: int
    end: int


def find_quotations(text: str) -> list[Quotation]:
    """Returns every stretch in quotation marks that is long enough to be somebody's words.

    None in JSON, where all text is in quotation marks.
    """
    if not any(map(text.__contains__, _OPENING)) or text.lstrip()[:1] in ("{", "["):
        return []
    found = []
    for match in _QUOTED.finditer(text):
        said = next(filter(None, match.groups())).strip()
        alone = not _LETTER.search(text[: match.start()].rpartition("\n")[2]) and not _LETTER.search(
            text[match.end() :]
        )
        if len(said.split()) >= (_FEWEST_ALONE if alone else _FEWEST) and not _says_nothing(said):
            found.append(Quotation(said, match.start(), match.end()))
    return found


def _says_nothing(said: str) -> bool:
    """Is it a question, or have most of its longer words a capital, as in the title of a work?"""
    if said.endswith("?"):
        return True
    longer = [word for word in said.split()[1:] if len(word) > _SHORT and word[0].isalpha()]
    return 2 * sum(word[0].isupper() for word in longer) > len(longer)


def is_quoted(quotation: str, texts: Iterable[str]) -> bool:
    """Has one of the texts these words, piece by piece where some were left out?"""
    pieces = [piece.strip(_SIGNS) for piece in _CUT.split(quotation)]
    worded = [piece for piece in pieces if _LETTER.search(piece)]
    return any(all(locate(piece, text) is not None for piece in worded) for text in texts)


def proves_nothing(quote: str, text: str) -> bool:
    """Whether a piece of a text is no evidence: too short, without a word, or nothing but function words.

    "It is" occurs in nearly every passage, and proves something only where the passage says no more.
    """
    words = _WORD.findall(quote.lower())
    if not words or says_too_little(quote, text):
        return True
    return _function_words().issuperset(words) and _WORD.findall(text.lower()) != words


@cache
def _function_words() -> frozenset[str]:
    """Without yes and no: bare ones in a table or a form decide."""
    polarity = table("words")["polarity"]
    return frozenset[str]().union(*map(stop_words, READ_LANGUAGES)).difference(polarity["yes"], polarity["no"])
