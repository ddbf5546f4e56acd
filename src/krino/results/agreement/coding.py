"""Decides what kind of field is compared, and encodes the values of judge and people with common codes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import orjson

from krino.errors import UsageProblem
from krino.results.agreement.labels import LabelColumn, Pool
from krino.results.field_kinds import ROLL_UP, ROLL_UPS, kind_of
from krino.results.formatting import join_quoted, quote
from krino.results.verdict_schema import Scale
from krino.stats.arrays import MISSING, Codes, Floats
from krino.text.guessing import did_you_mean

FieldKind = Literal["category", "order", "scale", "number"]
MOST_STEPS = 12
"""Numbers with at most this many distinct values are steps of a scale; each step is also a class."""
NULL = "null"

_TRUE, _FALSE = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0"})
_BETWEEN_WORDS = re.compile(r"[+,;|\n]")
_BETWEEN_KNOWN_WORDS = re.compile(r"[\s/&+,;|]+")
_AROUND_WORDS = " \t\"'`()[]{}"
EMPTY = "(empty list)"
BETWEEN = " + "
_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?")


class NotComparable(Exception):
    """The field cannot be compared; the text says why."""


@dataclass(frozen=True)
class Coding:
    """The classes or numbers of a field, and the code of each value in both pools (-1: none)."""

    kind: FieldKind
    values: tuple[str, ...]
    positions: Floats | None
    """The number of each code; None if classes have no order."""
    judge: Codes
    people: Codes
    notes: tuple[str, ...] = ()
    is_list: bool = False
    """Whether each value is a list of words, joined by ` + `."""

    @property
    def words(self) -> list[str]:
        """The words of lists."""
        lists = (value.split(BETWEEN) for value in self.values if value not in (EMPTY, NULL))
        return sorted({word for words in lists for word in words}) if self.is_list else []


def encode_field(
    name: str, judge: Pool, labels: LabelColumn, scale: Scale | None = None, closed: Set[str] | None = None
) -> Coding:
    """Encodes the values of judge and people with common codes, as the kind of the field demands.

    Raises `NotComparable` for free text and objects, `UsageProblem` for impossible labels. `scale` has the ends of a
    numeric field, `closed` all words of a field, if the judge declares them.
    """
    if judge.has_free_text or labels.pool.has_free_text:
        raise NotComparable("it is free text")
    given = [value for value in judge.values if value is not None]
    kinds = {kind_of(value) for value in given or labels.pool.values} - {"null"}
    if "object" in kinds:
        raise NotComparable("its values are objects")
    if kinds and kinds <= {"whole", "number"}:
        return _encode_numbers(name, judge.values, labels, scale)
    if kinds == {"list"}:
        words = _WordReader(judge.values, closed)
        return replace(_encode_classes(name, judge.values, labels, words.read), is_list=True)
    return _encode_classes(name, judge.values, labels, _read_boolean if kinds == {"flag"} else _read_class)


# --- numbers ---------------------------------------------------------------------------------------


def _encode_numbers(name: str, judged: Sequence[Any], labels: LabelColumn, scale: Scale | None) -> Coding:
    """Encodes the values of judge and people as numbers, or as steps of a scale if there are few different ones.
    Refuses words, and a few labels outside the scale."""
    ours = [None if value is None else _round_float(value) for value in judged]
    words = [value for value in labels.pool.values if isinstance(value, str) and not _NUMBER.fullmatch(value.strip())]
    theirs = [
        None if value is None else _read_number(name, value, place, words)
        for value, place in zip(labels.pool.values, labels.places, strict=True)
    ]
    if scale is not None:
        _refuse_outliers(name, theirs, labels, scale)
    found = sorted({value for value in (*ours, *theirs) if value is not None})
    codes = {value: code for code, value in enumerate(found)}
    few = len(found) <= MOST_STEPS
    return Coding(
        kind="scale" if few else "number",
        values=tuple(f"{value:.12g}" if few else f"{value:.4g}" for value in found),
        positions=np.array(found, np.float64),
        judge=_to_codes(ours, codes),
        people=_to_codes(theirs, codes),
        notes=_note_other_scale(ours, theirs),
    )


def _read_number(name: str, value: Any, place: str, words: Sequence[str]) -> float:
    """Reads a label as a number; raises `UsageProblem` for a word."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _round_float(value)
    text = value.strip() if isinstance(value, str) else ""
    if not _NUMBER.fullmatch(text):
        raise UsageProblem(
            f"{place}: the judge's `{name}` is a number, the label {quote(value)} is not; say what words stand for "
            f"with --values {name}:WORD=NUMBER,... (words seen: {join_quoted(words)}), write the labels as numbers, "
            "or leave the field out by naming others with --field"
        )
    number = float(text.replace(",", "."))  # a decimal comma, as European spreadsheets write it
    if not math.isfinite(number):
        raise UsageProblem(f"{place}: the label {quote(value)} is too large for a number")
    return _round_float(number)


def _refuse_outliers(name: str, theirs: Sequence[float | None], labels: LabelColumn, scale: Scale) -> None:
    """Refuses a few labels outside the judge's scale as typing errors.

    If most labels lie outside, people used a scale of their own, which `_note_other_scale` reports.
    """
    times = np.bincount(labels.table()[:, 2], minlength=len(theirs))
    given = [(value, number) for number, value in enumerate(theirs) if value is not None]
    outside = [number for value, number in given if not scale[0] <= value <= scale[1]]
    outliers, all_given = (int(times[numbers].sum()) for numbers in (outside, [number for _, number in given]))
    if outside and outliers * 2 < all_given:
        raise UsageProblem(
            f"{labels.places[outside[0]]}: `{name}` lies between {scale[0]:g} and {scale[1]:g}, the label "
            f"{quote(labels.pool.values[outside[0]])} does not ({outliers} of {all_given:,} labels); correct it, "
            f"or say what people's numbers stand for with --values {name}:NUMBER=NUMBER,..."
        )


def _round_float(value: float) -> float:
    """Rounded, so that 0.1 + 0.2 equals a label of 0.3."""
    return round(float(value), 9)


def _note_other_scale(ours: Sequence[float | None], theirs: Sequence[float | None]) -> tuple[str, ...]:
    """Returns a note if judge and people seem to use different scales, else an empty tuple."""
    judge, people = ({value for value in side if value is not None} for side in (ours, theirs))
    if not judge or not people or _lies_in_unit(judge) == _lies_in_unit(people):
        return ()
    return (
        f"the judge's values lie between {min(judge):g} and {max(judge):g}, those of people between {min(people):g} "
        f"and {max(people):g}: if the scales differ, only the correlations are meaningful",
    )


def _lies_in_unit(values: set[float]) -> bool:
    return min(values) >= 0.0 and max(values) <= 1.0


def round_values(coding: Coding, steps: int) -> tuple[Coding, Codes]:
    """The coding with numbers rounded to `steps` steps of their range, and the new code of each old one."""
    assert coding.positions is not None
    low, high = coding.positions[0], coding.positions[-1]
    grid = np.round((coding.positions - low) / (high - low) * steps)
    found, codes = np.unique(grid, return_inverse=True)
    positions = low + found / steps * (high - low)
    return replace(coding, values=tuple(f"{value:.4g}" for value in positions), positions=positions), codes


# --- classes ---------------------------------------------------------------------------------------


def _encode_classes(
    name: str, judged: Sequence[Any], labels: LabelColumn, read: Callable[[str, Any, str], str]
) -> Coding:
    """Encodes the values of judge and people as classes, ordered only for the roll-up.

    Null is a class of its own; a null label is one only if the judge gave null somewhere, and no label otherwise.
    """
    ours = [NULL if value is None else read(name, value, "the run") for value in judged]
    theirs = [
        (NULL if None in judged else None) if value is None else read(name, value, place)
        for value, place in zip(labels.pool.values, labels.places, strict=True)
    ]
    theirs, notes = _match_capitals(ours, theirs)
    ordered = name == ROLL_UP and {*ours, *theirs} <= {*ROLL_UPS, None}
    found = {value for value in (*ours, *theirs) if value is not None}
    classes = list(reversed(ROLL_UPS)) if ordered else sorted(found)
    codes = {value: code for code, value in enumerate(classes)}
    return Coding(
        kind="order" if ordered else "category",
        values=tuple(classes),
        positions=np.arange(len(classes), dtype=np.float64) if ordered else None,
        judge=_to_codes(ours, codes),
        people=_to_codes(theirs, codes),
        notes=notes,
    )


def _read_class(name: str, value: Any, place: str) -> str:
    return value.strip() if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def _read_boolean(name: str, value: Any, place: str) -> str:
    """Reads a value as `true` or `false`, also from yes, no, 1 and 0; raises `UsageProblem` for anything else."""
    text = _read_class(name, value, place).casefold()
    if text not in _TRUE | _FALSE:
        raise UsageProblem(
            f"{place}: the judge's `{name}` is true or false, the label {quote(value)} is neither; "
            "write true or false (yes, no, 1 and 0 do too)"
        )
    return "true" if text in _TRUE else "false"


class _WordReader:
    """Reads lists of words as sets: real lists, or text separated by `+`, `,`, `;` or `|`.

    Words that the judge knows may also be in brackets or quotes, or be separated by spaces, `/` or `&`.
    """

    def __init__(self, judged: Sequence[Any], closed: Set[str] | None) -> None:
        given = {
            item.strip() for value in judged if isinstance(value, list | tuple) for item in value if _is_word(item)
        }
        self._closed = closed
        self._known = {word.casefold(): word for word in (*given, *(closed or ()))}

    def read(self, name: str, value: Any, place: str) -> str:
        """Reads a value as its set of words, sorted and joined by ` + `; a single word is a list of one.

        Lists of other things become JSON text. Raises `UsageProblem` for text that cannot be split, or unknown words.
        """
        items = value if isinstance(value, list | tuple) else [value]
        if not all(map(_is_word, items)):
            return _read_class(name, value, place)
        words = {word for item in items for word in self._words(item)}
        self._refuse_unread(name, words, value, place)
        if self._closed is not None:
            self._refuse_unknown(name, sorted(words), value, place)
        return BETWEEN.join(sorted(words)) or EMPTY

    def _words(self, text: str) -> list[str]:
        """Splits a label into words, as the judge writes them. If it uses none of them, the text stays whole."""
        whole = text.strip()
        if whole.casefold() in self._known:
            return [self._known[whole.casefold()]]
        if whole in ("", "[]", EMPTY):
            return []
        if known := self._only_known(_BETWEEN_WORDS.split(whole)) or self._only_known(
            _BETWEEN_KNOWN_WORDS.split(whole)
        ):
            return known
        parts = [part for part in map(str.strip, _BETWEEN_WORDS.split(whole)) if part]
        if self._closed is None and not any(part.casefold() in self._known for part in parts):
            return [whole]  # words that the judge never gave: where one ends cannot be known
        return [self._known.get(part.casefold(), part) for part in parts]

    def _only_known(self, parts: Sequence[str]) -> list[str]:
        """The words that these parts are, if the judge knows every one of them; else none."""
        bare = [part for part in (part.strip(_AROUND_WORDS).casefold() for part in parts) if part]
        return [self._known[part] for part in bare] if all(part in self._known for part in bare) else []

    def _refuse_unread(self, name: str, words: Set[str], value: Any, place: str) -> None:
        """Raises `UsageProblem` for several known words in one, and a known word that signs make an unknown one."""
        for word in words:
            if word.casefold() in self._known:
                continue
            parts = [part.casefold() for part in re.findall(r"[\w.-]+", word)]
            known = [self._known[part] for part in parts if part in self._known]
            if known and (len(known) > 1 or len(parts) == 1):
                raise UsageProblem(
                    f"{place}: the label {quote(value)} of `{name}` has {quote(known[0])} in it and cannot be read as "
                    "a list: separate words by a comma, ; | or +, or write a JSON list"
                )

    def _refuse_unknown(self, name: str, words: Sequence[str], value: Any, place: str) -> None:
        """Refuses a label that holds a word outside the judge's closed set."""
        for word in words:
            if word.casefold() not in self._known:
                raise UsageProblem(
                    f"{place}: the label {quote(value)} of `{name}` says {quote(word)}, which is not one of its words"
                    f"{did_you_mean(word, self._known.values())}; there are {join_quoted(sorted(self._known.values()))}"
                )


def _is_word(item: Any) -> bool:
    return isinstance(item, str)


def _match_capitals(ours: Sequence[str], theirs: Sequence[str | None]) -> tuple[list[str | None], tuple[str, ...]]:
    """Returns the labels, those with other capitals than the judge's class as that class if only one fits; and a note
    of which."""
    known = set(ours)
    by_fold: dict[str, set[str]] = {}
    for own in known:
        by_fold.setdefault(own.casefold(), set()).add(own)
    read: list[str | None] = []
    taken: dict[str, str] = {}
    for value in theirs:
        meant = by_fold.get(value.casefold(), set()) if value is not None and value not in known else set()
        if value is not None and len(meant) == 1:
            taken[value] = next(iter(meant))
        read.append(value if value is None else taken.get(value, value))
    notes = ", ".join(f"{quote(value)} as {quote(own)}" for value, own in taken.items())
    return read, (f"capitals in labels are ignored: {notes}",) if notes else ()


def _to_codes(values: Sequence[Any], codes: dict[Any, int]) -> Codes:
    return np.array([MISSING if value is None else codes[value] for value in values], np.intp)
