"""Splits a court name into alias, place, division and language, and corrects typing errors.

`courts.py` finds the court that the parts mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Final, NamedTuple

from krino.judges.citation.belgium.gazetteer import BREAK, Cue, Gazetteer, Head, gazetteer, name_tokens

_SHORTEST: Final = 5
_TWO_ERRORS_FROM: Final = 7
_TWO_ERRORS_IN_A_PLACE_FROM: Final = 9
_MOST_WORDS: Final = 3
"""Words that are corrected in one name; more of them are no typing errors."""
_MOST_SPELLINGS: Final = 12


class Spelling(NamedTuple):
    """A corrected name, and the changes."""

    text: str
    changes: tuple[str, ...]


class _Vocabulary(NamedTuple):
    """The words of the gazetteer: all of them, and those that typing errors are corrected to."""

    known: frozenset[str]
    courts: tuple[str, ...]
    places: tuple[str, ...]


@cache
def _load_vocabulary() -> _Vocabulary:
    """Returns the words of court names and places: all, and those that typing errors are corrected to.

    Abbreviations are too short to be corrected to.
    """
    gaz = gazetteer()
    heads = list(gaz.heads.items())
    cues = list(gaz.cues.items())
    known = {word for phrase, _ in (*heads, *cues) for word in phrase}
    courts = {word for phrase, head in heads if not head.abbreviated for word in phrase}
    places = {word for phrase, cue in cues if cue.kind == "place" for word in phrase}
    return _Vocabulary(
        known=frozenset(known),
        courts=tuple(sorted(word for word in courts if len(word) >= _SHORTEST)),
        places=tuple(sorted(word for word in places if len(word) >= _SHORTEST)),
    )


def suggest_spellings(text: str, *, places_only: bool) -> Iterator[Spelling]:
    """Suggests corrections of the unknown words before the first number, those with the fewest errors.

    Yields none if there are too many unknown words.
    """
    sentence = name_tokens(text)
    end = next((at for at, word in enumerate(sentence) if word[0].isdigit()), len(sentence))
    options: list[tuple[int, list[str]]] = []
    for at in range(end):
        if nearest := _find_nearest(sentence[at], places_only):
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


def _find_nearest(word: str, places_only: bool) -> list[str]:
    """Returns the known words that an unknown word may be meant for, those with the fewest errors.

    Empty for a word that is known or too short.
    """
    vocabulary = _load_vocabulary()
    if len(word) < _SHORTEST - 1 or not word.isalpha() or word in vocabulary.known:
        return []
    found: dict[int, list[str]] = {}
    for known in () if places_only else vocabulary.courts:
        allowed = 2 if len(known) >= _TWO_ERRORS_FROM else 1
        if (errors := count_typing_errors(word, known, allowed)) <= allowed:
            found.setdefault(errors, []).append(known)
    for known in vocabulary.places:
        allowed = 2 if len(known) >= _TWO_ERRORS_IN_A_PLACE_FROM else 1
        if known[0] == word[0] and (errors := count_typing_errors(word, known, allowed)) <= allowed:
            found.setdefault(errors, []).append(known)
    return list(dict.fromkeys(found[min(found)])) if found else []


def count_typing_errors(word: str, meant: str, most: int) -> int:
    """Counts letters missing, added, wrong or swapped with a neighbour; stops above `most`."""
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


_PROVINCE_WORDS: Final = frozenset({"province", "provincie", "prov", "provinz"})
_CHAMBER_TAILS: Final = frozenset({*"bcdefgh", "bis", "ter"})
"""What may follow the word for a chamber: 6e ch. C."""
_CANTON_WORDS: Final = frozenset({"canton", "kanton", "cant", "kant"})


@dataclass(frozen=True, slots=True)
class Reading:
    """A court name as parsed: without `head` it is only a place; `abroad`: the body that a foreign place means."""

    head: Head | None
    place: Cue | None = None
    division: Cue | None = None
    language: str | None = None
    abroad: str | None = None
    says_province: bool = False


@dataclass(slots=True)
class _Opening:
    """What precedes the head: a place, and whether every word so far is known."""

    place: Cue | None = None
    division: Cue | None = None
    abroad: str | None = None
    language: str | None = None
    clean: bool = True
    bare: bool = True  # only signal words so far, or one more word: the place
    after_division: bool = False


@dataclass(slots=True)
class _Tail:
    """What follows the head so far."""

    language: str | None
    place: Cue | None = None
    division: Cue | None = None
    abroad: str | None = None
    attached: bool = True  # no punctuation or place between the head and here
    after_origin: bool = False
    after_division: bool = False

    def take(self, cue: Cue) -> bool:
        """Notes what a known phrase says (place, division, language); False if the court's name ends there."""
        if cue.kind in ("label", "month", "prose"):
            return False
        if cue.kind == "abroad" and not (self.place or self.division):
            self.abroad = cue.values[0]
            return False
        if cue.kind == "place":
            if self.after_division or (self.place and self.place.values != cue.values):
                self.division = self.division or cue
            elif self.place is None:
                self.place = cue
            self.attached = False
        elif cue.kind == "language":
            self.language = self.language or cue.values[0]
        filler = cue.kind in ("neutral", "signal", "language")
        self.after_origin = cue.kind == "origin" or (self.after_origin and filler)
        self.after_division = cue.kind == "division" or (self.after_division and (filler or cue.kind == "origin"))
        return True


def parse_court_name(text: str, gaz: Gazetteer) -> Reading | None:
    """Parses a court name; None if it does not begin with a court, body or place."""
    sentence = name_tokens(text)
    opening = _Opening()
    at = 0
    while at < len(sentence):
        if sentence[at] == BREAK:
            at += 1
            continue
        found = gaz.heads.longest(sentence, at)
        if found and _opens_name(sentence, at, found, opening, gaz):
            head, length = found
            head = _find_foreign_court(sentence, at, length, gaz) or head
            tail = _read_tail(sentence, at + length, head, opening, gaz)
            if head.kind == "court":
                return tail
            belgian = head.need == "abroad" and tail is not None and tail.place is not None
            language = tail.language if tail is not None else None
            return None if belgian else Reading(head, language=head.fixed_language or language)
        if _starts_number(sentence, at, gaz) and opening.place:
            break
        at += _read_opening_word(sentence, at, opening, gaz)
    if opening.place and opening.clean and opening.bare:
        return Reading(None, place=opening.place, language=opening.language)
    return None


def _find_foreign_court(sentence: list[str], at: int, length: int, gaz: Gazetteer) -> Head | None:
    """Returns the foreign court that a country in brackets makes of a head, or None: Cass. (fr.)."""
    after = at + length
    if sentence[after : after + 1] != [BREAK] or after + 1 >= len(sentence):
        return None
    head = gaz.heads.get((*sentence[at:after], sentence[after + 1]))
    return head if head is not None and head.kind == "other" else None


def _read_opening_word(sentence: list[str], at: int, opening: _Opening, gaz: Gazetteer) -> int:
    """Reads one word or phrase before the head, and notes in `opening` what it says; returns its number of words."""
    found = gaz.cues.longest(sentence, at)
    if found is None or found[0].kind == "prose":
        opening.clean = opening.clean and _is_date_or_chamber_number(sentence, at, gaz)
        return 1
    cue, length = found
    if opening.place is None and cue.kind != "signal":
        opening.bare = opening.bare and cue.kind == "place" and length == 1
    if cue.kind == "place" and opening.after_division:
        opening.division = cue
    elif cue.kind == "place" and opening.clean:
        opening.place = opening.place or cue
    elif cue.kind == "abroad" and opening.clean:
        opening.abroad = opening.abroad or cue.values[0]
    elif cue.kind == "language":
        opening.language = opening.language or cue.values[0]
    opening.after_division = cue.kind == "division" or (opening.after_division and cue.kind == "origin")
    return length


def _opens_name(sentence: list[str], at: int, found: tuple[Head, int], opening: _Opening, gaz: Gazetteer) -> bool:
    """Whether the head found at `at` begins a court's name.

    An abbreviation does if every word before it (there may be none) is known, unless it names a section behind a place:
    Liège (civ.).
    """
    head, length = found
    if not head.abbreviated:
        return True
    cue = gaz.cues.longest(sentence, at) if opening.place else None
    section = cue is not None and cue[0].kind == "neutral" and cue[1] >= length
    return opening.clean and not section


def _kind_at(sentence: list[str], at: int, gaz: Gazetteer) -> str | None:
    """Returns the kind of cue at a position, or None."""
    if not 0 <= at < len(sentence):
        return None
    cue = gaz.cues.get((sentence[at],))
    return cue.kind if cue else None


def _is_chamber_or_canton_number(sentence: list[str], at: int, gaz: Gazetteer) -> bool:
    """Is the word at a position the number of a chamber or a canton: 13e ch., kamer 2, 3e canton?"""
    after = sentence[at + 1] if at + 1 < len(sentence) else ""
    return (
        after in _CANTON_WORDS
        or _kind_at(sentence, at + 1, gaz) == "chamber"
        or _kind_at(sentence, at - 1, gaz) == "chamber"
    )


def _starts_number(sentence: list[str], at: int, gaz: Gazetteer) -> bool:
    return sentence[at][0].isdigit() and not _is_chamber_or_canton_number(sentence, at, gaz)


def _is_date_or_chamber_number(sentence: list[str], at: int, gaz: Gazetteer) -> bool:
    """Is the word at a position part of a date or of a chamber's number, rather than of the court's name?"""
    if sentence[at] in _CHAMBER_TAILS:
        return _kind_at(sentence, at - 1, gaz) == "chamber"
    if not sentence[at][0].isdigit():
        return False
    by_month = "month" in (_kind_at(sentence, at + 1, gaz), _kind_at(sentence, at - 1, gaz))
    return by_month or _is_chamber_or_canton_number(sentence, at, gaz)


def _read_tail(sentence: list[str], at: int, head: Head, opening: _Opening, gaz: Gazetteer) -> Reading | None:
    """Parses what follows the head, up to a date, a number, another court or an unknown word.

    None if an unknown word right behind an abbreviation shows that it names no court.
    """
    tail = _Tail(language=opening.language, division=opening.division)
    while at < len(sentence):
        word = sentence[at]
        if word == BREAK:
            tail.attached = tail.after_origin = False
            at += 1
            continue
        found = gaz.cues.longest(sentence, at)
        if found is not None:
            if not tail.take(found[0]):
                break
            at += found[1]
            continue
        same_court = gaz.heads.longest(sentence, at)
        if same_court is not None and same_court[0].target == head.target:
            at += same_court[1]
        elif word[0].isdigit() and _is_chamber_or_canton_number(sentence, at, gaz):
            at += 1
        else:
            unknown_word = same_court is None and not word[0].isdigit()
            if unknown_word and tail.attached and (head.abbreviated or tail.after_origin):
                return None
            break
    if not (tail.place or tail.division or tail.abroad):
        tail.place, tail.abroad = opening.place, opening.abroad
    return Reading(
        head, tail.place, tail.division, tail.language, tail.abroad, not _PROVINCE_WORDS.isdisjoint(sentence)
    )
