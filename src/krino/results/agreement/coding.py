"""Decides from the data what kind of field is compared, and brings both sides' values to common codes."""

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
from krino.results.field_kinds import kind_of
from krino.results.formatting import join_quoted, quote
from krino.results.verdict_schema import Scale
from krino.runs.fields import ROLL_UP, ROLL_UPS
from krino.stats.arrays import MISSING, Codes, Floats
from krino.text.guessing import guessed

Kind = Literal["category", "order", "scale", "number"]
MOST_STEPS = 12
"""Numbers with no more different values than this are steps of a scale; each step is a class too."""
NULL = "null"

_TRUE, _FALSE = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0"})
_BETWEEN_WORDS = re.compile(r"[+,;|\n]")
_EMPTY = "(empty list)"
_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?")


class NotComparable(Exception):
    """The field holds nothing that can be compared; the text says why."""


@dataclass(frozen=True)
class Coding:
    """The classes or numbers of a field, and for both pools which code each value has (-1: none)."""

    kind: Kind
    values: tuple[str, ...]
    positions: Floats | None
    """Where each code stands; None where classes have no order."""
    judge: Codes
    people: Codes
    notes: tuple[str, ...] = ()


def encode_field(
    name: str, judge: Pool, labels: LabelColumn, scale: Scale | None = None, closed: Set[str] | None = None
) -> Coding:
    """Raises `NotComparable` for free text and objects, `UsageProblem` for labels that the field cannot have.

    `scale`: the ends of a field of numbers; `closed`: all words of a field; both where the judge declares them."""
    if judge.has_free_text or labels.pool.has_free_text:
        raise NotComparable("it is free text")
    said = [value for value in judge.values if value is not None]
    kinds = {kind_of(value) for value in said or labels.pool.values} - {"null"}
    if "object" in kinds:
        raise NotComparable("its values are objects")
    if kinds and kinds <= {"whole", "number"}:
        return _numbers(name, judge.values, labels, scale)
    if kinds == {"list"}:
        words = _Words(judge.values, closed)
        return _classes(name, judge.values, labels, words.read)
    return _classes(name, judge.values, labels, _read_boolean if kinds == {"flag"} else _read_class)


# --- numbers ---------------------------------------------------------------------------------------


def _numbers(name: str, judged: Sequence[Any], labels: LabelColumn, scale: Scale | None) -> Coding:
    ours = [None if value is None else _tidy(value) for value in judged]
    words = [value for value in labels.pool.values if isinstance(value, str) and not _NUMBER.fullmatch(value.strip())]
    theirs = [
        None if value is None else _read_number(name, value, place, words)
        for value, place in zip(labels.pool.values, labels.places, strict=True)
    ]
    if scale is not None:
        _refuse_strays(name, theirs, labels, scale)
    found = sorted({value for value in (*ours, *theirs) if value is not None})
    codes = {value: code for code, value in enumerate(found)}
    few = len(found) <= MOST_STEPS
    return Coding(
        kind="scale" if few else "number",
        values=tuple(f"{value:.12g}" if few else f"{value:.4g}" for value in found),
        positions=np.array(found, np.float64),
        judge=_codes(ours, codes),
        people=_codes(theirs, codes),
        notes=_unlike_scales(ours, theirs),
    )


def _read_number(name: str, value: Any, place: str, words: Sequence[str]) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _tidy(value)
    text = value.strip() if isinstance(value, str) else ""
    if not _NUMBER.fullmatch(text):
        raise UsageProblem(
            f"{place}: the judge's `{name}` is a number, the label {quote(value)} is none; say what words stand for "
            f"with --values {name}:WORD=NUMBER,... (words seen: {join_quoted(words)}), write the labels as numbers, "
            "or leave the field out by naming others with --field"
        )
    number = float(text.replace(",", "."))  # a decimal comma, as spreadsheets of half of Europe write it
    if not math.isfinite(number):
        raise UsageProblem(f"{place}: the label {quote(value)} is too large for a number")
    return _tidy(number)


def _refuse_strays(name: str, theirs: Sequence[float | None], labels: LabelColumn, scale: Scale) -> None:
    """Labels that lie on the judge's scale, and a few that cannot: those are slips. Where most of them lie outside,
    people have used a scale of their own, which `_unlike_scales` tells."""
    times = np.bincount(labels.table()[:, 2], minlength=len(theirs))
    given = [(value, number) for number, value in enumerate(theirs) if value is not None]
    outside = [number for value, number in given if not scale[0] <= value <= scale[1]]
    strays, all_given = (int(times[numbers].sum()) for numbers in (outside, [number for _, number in given]))
    if outside and strays * 2 < all_given:
        raise UsageProblem(
            f"{labels.places[outside[0]]}: `{name}` lies between {scale[0]:g} and {scale[1]:g}, the label "
            f"{quote(labels.pool.values[outside[0]])} does not ({strays} of {all_given:,} labels); correct it, or say "
            f"what people's numbers stand for with --values {name}:NUMBER=NUMBER,..."
        )


def _tidy(value: float) -> float:
    """0.1 + 0.2 is 0.3 for people who label."""
    return round(float(value), 9)


def _unlike_scales(ours: Sequence[float | None], theirs: Sequence[float | None]) -> tuple[str, ...]:
    judge, people = ({value for value in side if value is not None} for side in (ours, theirs))
    if not judge or not people or _is_share(judge) == _is_share(people):
        return ()
    return (
        f"the judge's values lie between {min(judge):g} and {max(judge):g}, those of people between {min(people):g} "
        f"and {max(people):g}: if the scales differ, only the correlations mean something",
    )


def _is_share(values: set[float]) -> bool:
    return min(values) >= 0.0 and max(values) <= 1.0


def round_values(coding: Coding, steps: int) -> tuple[Coding, Codes]:
    """Numbers rounded to so many steps of their range, and for each code the new one."""
    assert coding.positions is not None
    low, high = coding.positions[0], coding.positions[-1]
    grid = np.round((coding.positions - low) / (high - low) * steps)
    found, codes = np.unique(grid, return_inverse=True)
    positions = low + found / steps * (high - low)
    return replace(coding, values=tuple(f"{value:.4g}" for value in positions), positions=positions), codes


# --- classes ---------------------------------------------------------------------------------------


def _classes(name: str, judged: Sequence[Any], labels: LabelColumn, read: Callable[[str, Any, str], str]) -> Coding:
    ours = [NULL if value is None else read(name, value, "the run") for value in judged]
    theirs = [
        (NULL if None in judged else None) if value is None else read(name, value, place)
        for value, place in zip(labels.pool.values, labels.places, strict=True)
    ]
    theirs, notes = _fold_case(ours, theirs)
    ordered = name == ROLL_UP and {*ours, *theirs} <= {*ROLL_UPS, None}
    found = {value for value in (*ours, *theirs) if value is not None}
    classes = list(reversed(ROLL_UPS)) if ordered else sorted(found)
    codes = {value: code for code, value in enumerate(classes)}
    return Coding(
        kind="order" if ordered else "category",
        values=tuple(classes),
        positions=np.arange(len(classes), dtype=np.float64) if ordered else None,
        judge=_codes(ours, codes),
        people=_codes(theirs, codes),
        notes=notes,
    )


def _read_class(name: str, value: Any, place: str) -> str:
    return value.strip() if isinstance(value, str) else orjson.dumps(value, default=str).decode()


def _read_boolean(name: str, value: Any, place: str) -> str:
    text = _read_class(name, value, place).casefold()
    if text not in _TRUE | _FALSE:
        raise UsageProblem(
            f"{place}: the judge's `{name}` is true or false, the label {quote(value)} is neither; "
            "write true or false (yes, no, 1 and 0 do too)"
        )
    return "true" if text in _TRUE else "false"


class _Words:
    """Reads lists of words as sets, however people write them: a list, or text with `+`, `,`, `;` or `|` between."""

    def __init__(self, judged: Sequence[Any], closed: Set[str] | None) -> None:
        said = {item.strip() for value in judged if isinstance(value, list | tuple) for item in value if _is_word(item)}
        self._closed = closed
        self._known = {word.casefold(): word for word in (*said, *(closed or ()))}

    def read(self, name: str, value: Any, place: str) -> str:
        """One word alone is a list of one. Lists of anything but words are compared as they stand."""
        items = value if isinstance(value, list | tuple) else [value]
        if not all(map(_is_word, items)):
            return _read_class(name, value, place)
        words = {word for item in items for word in self._words(item)}
        if self._closed is not None:
            self._refuse_unknown(name, sorted(words), value, place)
        return " + ".join(sorted(words)) or _EMPTY

    def _words(self, text: str) -> list[str]:
        whole = text.strip()
        if whole.casefold() in self._known:
            return [self._known[whole.casefold()]]
        if whole in ("", "[]", _EMPTY):
            return []
        parts = [part for part in map(str.strip, _BETWEEN_WORDS.split(whole)) if part]
        if self._closed is None and not any(part.casefold() in self._known for part in parts):
            return [whole]  # words that the judge never said: where one ends cannot be known
        return [self._known.get(part.casefold(), part) for part in parts]

    def _refuse_unknown(self, name: str, words: Sequence[str], value: Any, place: str) -> None:
        for word in words:
            if word.casefold() not in self._known:
                raise UsageProblem(
                    f"{place}: the label {quote(value)} of `{name}` says {quote(word)}, which is none of its words"
                    f"{guessed(word, self._known.values())}; there are {join_quoted(sorted(self._known.values()))}"
                )


def _is_word(item: Any) -> bool:
    return isinstance(item, str)


def _fold_case(ours: Sequence[str], theirs: Sequence[str | None]) -> tuple[list[str | None], tuple[str, ...]]:
    """People need not write capitals as the judge does, where only one of its classes can be meant."""
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
    return read, (f"labels are read without regard to capitals: {notes}",) if notes else ()


def _codes(values: Sequence[Any], codes: dict[Any, int]) -> Codes:
    return np.array([MISSING if value is None else codes[value] for value in values], np.intp)
