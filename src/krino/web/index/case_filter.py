"""Which cases to list and in which order: parsed from a query string, written back into one, and translated to SQL.

Everything is in the query string, so that a link shows other people the same cases:
`?q=words&status=failed&is.roll_up=fail&min.faithfulness=0.2&max.faithfulness=0.5&in.court=Ghent&sort=faithfulness&down=1`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any
from urllib.parse import urlencode

from krino.results.field_kinds import ROLL_UP, ROLL_UPS
from krino.runs.index import CODES
from krino.text.clean import clean_line
from krino.web.index.columns import FIELDS, METADATA, delimit_code
from krino.web.index.run_index import State

NULL = "null"
"""Matches cases in which a field is null."""
_MOST_PARTS = 60
_LONGEST = 400
_SHOWN = 60
PARTS = "known are q, status, is.FIELD, min.FIELD, max.FIELD, in.COLUMN, sort and down"
_ORDER = ("q", "status", "min", "max", "is", "in", "sort", "down")
_SEVERAL = ("status", "is", "in")
"""Names that may be repeated: any of the values matches. For other names the last value counts."""
_LAST_NUMBER, _LAST_TEXT = "1e+300", "\U0010ffff"

Condition = tuple[str, list[Any]]
"""SQL and the values of its placeholders."""


@dataclass(frozen=True, slots=True)
class CaseFilter:
    """A filter and an order. An empty one lists all cases in the order of the input."""

    parts: tuple[tuple[str, str], ...] = ()
    """Names and values, ordered by kind."""
    rejected: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Rejected names, each with the reason."""

    @classmethod
    def read(cls, query: Iterable[tuple[str, str]], besides: Collection[str] = ()) -> CaseFilter:
        """Parses a query. Invalid parts are dropped and reported in `rejected`. `besides`: parameters with another
        meaning here."""
        found: dict[Any, tuple[str, str]] = {}
        rejected = []
        pairs = [pair for pair in query if pair[0] not in besides]
        for name, value in pairs[:_MOST_PARTS]:
            known = value[:_LONGEST].replace("\0", " ")
            if fault := _find_fault(name, known):
                rejected.append(_describe_rejected(name, value, fault))
            else:
                found[(name, known) if _kind(name) in _SEVERAL else name] = (name, _normalise_value(name, known))
            if len(value) > _LONGEST:
                rejected.append(
                    _describe_rejected(name, value, f"has more than {_LONGEST} characters; the rest is ignored")
                )
        for name, value in pairs[_MOST_PARTS : _MOST_PARTS + 1]:
            rejected.append(
                _describe_rejected(name, value, f"and what follows is ignored: a query has at most {_MOST_PARTS} parts")
            )
        parts = [pair for pair in found.values() if pair[1] and pair != ("down", "0")]
        return cls(tuple(sorted(parts, key=lambda pair: _ORDER.index(_kind(pair[0])))), tuple(rejected))

    def of(self, kind: str) -> list[tuple[str, str]]:
        """Returns the pairs of field (may be empty) and value, of one kind."""
        return [(name.partition(".")[2], value) for name, value in self.parts if _kind(name) == kind]

    @property
    def words(self) -> str:
        return dict(self.parts).get("q", "")

    @property
    def sort(self) -> str:
        return dict(self.parts).get("sort", "")

    @property
    def down(self) -> bool:
        return "down" in dict(self.parts)

    @property
    def narrows(self) -> bool:
        """Whether it is more than an order."""
        return any(name not in ("sort", "down") for name, _ in self.parts)

    def pairs(self) -> list[tuple[str, str]]:
        """Returns names and values as written in an address."""
        return [(name, f"{float(value):g}" if _is_limit(name) else value) for name, value in self.parts]

    def address(self, **more: object) -> str:
        """Returns the query string, including `more` parameters such as a page; empty if there are none."""
        pairs = [*self.pairs(), *((name, str(value)) for name, value in more.items() if value is not None)]
        return f"?{urlencode(pairs)}" if pairs else ""

    def without(self, name: str, value: str) -> CaseFilter:
        """Returns a copy without one of its pairs."""
        return CaseFilter.read(pair for pair in self.pairs() if pair != (name, value))

    def sorted_by(self, name: str) -> CaseFilter:
        """Returns a copy sorted by this name: ascending (problems first); descending if it was sorted ascending by it;
        in the order of the input if it was descending."""
        kept = tuple(pair for pair in self.parts if pair[0] not in ("sort", "down"))
        if self.sort != name:
            return CaseFilter((*kept, ("sort", name)))
        return CaseFilter(kept if self.down else (*kept, ("sort", name), ("down", "1")))


def _kind(name: str) -> str:
    return name.partition(".")[0]


def _is_limit(name: str) -> bool:
    """Whether a name is for one end of a range of numbers."""
    return _kind(name) in ("min", "max")


def _normalise_value(name: str, value: str) -> str:
    """Writes equal numbers alike, and strips the words to search for; other values stay as they are."""
    if _is_limit(name):
        return repr(float(value))
    return value.strip() if name == "q" else value


def _describe_rejected(name: str, value: str, why: str) -> tuple[str, str]:
    """Returns the name of a rejected part and the reason, both cut to what can be shown."""
    return clean_line(name, _SHOWN), f"`{clean_line(f'{name}={value}', _SHOWN)}` {why}"


def _find_fault(name: str, value: str) -> str:
    """Says what is wrong with a part of a query; empty if nothing is."""
    kind, _, field_name = name.partition(".")
    if name == "q":
        return ""
    if name == "status":
        return "" if value in CODES else f"is not one of {', '.join(CODES)}"
    if name == "down":
        return "" if value in ("0", "1") else "is neither 1 nor 0"
    if name == f"is.{ROLL_UP}" and value and value not in (*ROLL_UPS, NULL):
        return f"is none of {', '.join((*ROLL_UPS, NULL))}"
    if name == "sort" or (kind in ("is", "in") and field_name):
        return "" if value else "is empty"
    if _is_limit(name) and field_name:
        return "" if _is_number(value) else "is not a number"
    return f"is not known: {PARTS}"


def _is_number(text: str) -> bool:
    """Is a text a finite number?"""
    try:
        return isfinite(float(text))
    except ValueError:
        return False


@dataclass(slots=True)
class FilterSql:
    """A filter as SQL for one run. Values are always bound parameters."""

    question: CaseFilter
    state: State
    unknown: list[str] = field(default_factory=list)
    """Requested fields that the run does not have."""

    def where(self) -> Condition:
        """Returns all conditions joined by AND, with their values; the condition is true for an empty filter."""
        found = [("TRUE", []), *self._conditions()]
        return " AND ".join(text for text, _ in found), [value for _, values in found for value in values]

    def order(self) -> str:
        """Returns the ORDER BY expression; a name that the run does not have is noted in `unknown`. The expression is
        never null: cases without a value come last in both directions."""
        name, down = self.question.sort, self.question.down
        if name == "id":
            return "entry.id"
        if name == "status":
            return "CASE line.status WHEN 'error' THEN 0 WHEN 'failed' THEN 1 ELSE 2 END"
        if name == ROLL_UP:
            words = " ".join(f"WHEN '{word}' THEN {place}" for place, word in enumerate(reversed(ROLL_UPS)))
            return f"CASE line.roll_up {words} ELSE {-1 if down else len(ROLL_UPS)} END"
        if (column := self._column("min", name)) is not None:
            return f"coalesce({column}, {'-' if down else ''}{_LAST_NUMBER})"
        if (column := self._column("in", name)) is not None:
            return f"coalesce({column}, '{'' if down else _LAST_TEXT}')"
        if name:
            self.unknown.append(name)
        return "entry.place"

    def _conditions(self) -> Iterator[Condition]:
        """Yields the conditions of the filter as SQL; values of the same field are alternatives. A field that the run
        does not have is noted in `unknown` and filters nothing."""
        if words := self.question.words:
            wanted = " ".join(f'"{word.replace(chr(34), chr(34) * 2)}"*' for word in words.split())
            inside_id = "%" + re.sub(r"([\\%_])", r"\\\1", words) + "%"
            found = "(line.number IN (SELECT rowid FROM words WHERE words MATCH ?) OR entry.id LIKE ? ESCAPE '\\')"
            yield found, [wanted, inside_id]
        if statuses := [value for _, value in self.question.of("status")]:
            yield f"line.status IN ({', '.join('?' * len(statuses))})", statuses
        for kind in ("min", "max", "is", "in"):
            asked: dict[str, list[str]] = {}
            for name, value in self.question.of(kind):
                asked.setdefault(name, []).append(value)
            for name, values in asked.items():
                if (column := self._column(kind, name)) is None:
                    self.unknown.append(name)
                else:
                    either = [_write_condition(kind, column, value) for value in values]
                    texts = " OR ".join(text for text, _ in either)
                    yield f"({texts})", [one for _, known in either for one in known]

    def _column(self, kind: str, name: str) -> str | None:
        """Returns the SQL column of a field or of metadata, or None if it is not indexed."""
        if kind == "is" and name == ROLL_UP:
            return "line.roll_up"
        names, columns = (self.state.metadata, METADATA) if kind == "in" else (self.state.fields, FIELDS)
        return f"line.{columns[names.index(name)]}" if name in names else None


def _write_condition(kind: str, column: str, value: str) -> Condition:
    """Returns the SQL condition for one value."""
    if kind in ("min", "max"):
        sign = ">=" if kind == "min" else "<="
        return f"(typeof({column}) = 'real' AND {column} {sign} ?)", [float(value)]
    if kind == "in":  # slices count what has no value as `none`
        return (f"({column} IS NULL OR {column} = ?)" if value == "none" else f"{column} = ?"), [value]
    if column == "line.roll_up":
        return (f"{column} IS NULL", []) if value == NULL else (f"{column} = ?", [value])
    if value == NULL:
        return f"({column} IS NULL AND line.status = 'ok')", []
    return f"instr({column}, ?) > 0", [delimit_code(value)]
