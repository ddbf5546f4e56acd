"""Mend typing errors of one or two letters in the words of a court's name, where that makes it readable."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Final, NamedTuple

from krino.judges.citation.court_text import BREAK, words
from krino.judges.citation.gazetteer import gazetteer

_SHORTEST: Final = 5
_TWO_ERRORS_FROM: Final = 7
_TWO_ERRORS_IN_A_PLACE_FROM: Final = 9
_MOST_WORDS: Final = 3
"""Words that are mended in one name; a name with more of them is not a slip of the pen."""
_MOST_SPELLINGS: Final = 12


class Spelling(NamedTuple):
    """The name with its errors mended, and what was changed."""

    text: str
    changes: tuple[str, ...]


class _Vocabulary(NamedTuple):
    known: frozenset[str]
    courts: tuple[str, ...]
    places: tuple[str, ...]


@cache
def _vocabulary() -> _Vocabulary:
    """Words that open or follow a court's name. Abbreviations are too short to be mended."""
    gaz = gazetteer()
    heads = list(gaz.heads.items())
    cues = list(gaz.cues.items())
    known = {word for phrase, _ in (*heads, *cues) for word in phrase}
    courts = {word for phrase, head in heads if not head.abbreviated for word in phrase}
    places = {word for phrase, cue in cues if cue.kind == "place" for word in phrase}
    long_enough = [{word for word in group if len(word) >= _SHORTEST} for group in (courts, places)]
    return _Vocabulary(frozenset(known), *(tuple(sorted(group)) for group in long_enough))


def spellings(text: str, *, places_only: bool) -> Iterator[Spelling]:
    """Every way to mend the unknown words before the first number; the fewest letters changed in each word."""
    sentence = words(text)
    end = next((at for at, word in enumerate(sentence) if word[0].isdigit()), len(sentence))
    options: list[tuple[int, list[str]]] = []
    for at in range(end):
        if nearest := _nearest(sentence[at], places_only):
            options.append((at, nearest))
    if not options or len(options) > _MOST_WORDS:
        return
    for count, choice in enumerate(product(*(nearest for _, nearest in options))):
        if count >= _MOST_SPELLINGS:
            return
        mended = list(sentence)
        for (at, _), word in zip(options, choice, strict=True):
            mended[at] = word
        changes = tuple(f"{sentence[at]} → {word}" for (at, _), word in zip(options, choice, strict=True))
        yield Spelling(" ".join(mended).replace(f" {BREAK}", BREAK), changes)


def _nearest(word: str, places_only: bool) -> list[str]:
    vocabulary = _vocabulary()
    if word == BREAK or len(word) < _SHORTEST - 1 or word in vocabulary.known or not word.isalpha():
        return []
    found: dict[int, list[str]] = {}
    for known in () if places_only else vocabulary.courts:
        allowed = 2 if len(known) >= _TWO_ERRORS_FROM else 1
        if (errors := typing_errors(word, known, allowed)) <= allowed:
            found.setdefault(errors, []).append(known)
    for known in vocabulary.places:
        allowed = 2 if len(known) >= _TWO_ERRORS_IN_A_PLACE_FROM else 1
        if known[0] == word[0] and (errors := typing_errors(word, known, allowed)) <= allowed:
            found.setdefault(errors, []).append(known)
    return list(dict.fromkeys(found[min(found)])) if found else []


def typing_errors(word: str, meant: str, most: int) -> int:
    """Letters left out, added, mistaken or swapped with a neighbour; more than `most` is only known to be more."""
    if abs(len(word) - len(meant)) > most:
        return most + 1
    before, last = list(range(len(meant) + 1)), list(range(len(meant) + 1))
    for row, letter in enumerate(word, 1):
        current = [row]
        for column, other in enumerate(meant, 1):
            cost = min(last[column] + 1, current[-1] + 1, last[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == meant[column - 2] and word[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        if min(current) > most:
            return most + 1
        before, last = last, current
    return last[-1]
