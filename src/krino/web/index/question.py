"""Which cases a reader asks for, and in which order: read from an address, written into one, and as SQL.

All of it stands in the query string, so that a link shows another person the same cases:
`?q=words&status=failed&is.roll_up=fail&min.faithfulness=0.2&max.faithfulness=0.5&in.court=Ghent&sort=faithfulness&down=1`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any
from urllib.parse import urlencode

from krino.runs.fields import ROLL_UP, ROLL_UPS
from krino.runs.journal import CODES
from krino.text.clean import clean_line
from krino.web.index.book import State
from krino.web.index.columns import FIELDS, METADATA, code

NULL = "null"
"""Asks for cases in which a field says nothing."""
_MOST_PARTS = 60
_LONGEST = 400
_SHOWN = 60
PARTS = "there are q, status, is.FIELD, min.FIELD, max.FIELD, in.COLUMN, sort and down"
_WORD = re.compile(r"\S+")
_LAST_NUMBER, _LAST_TEXT = 1e300, "\U0010ffff"

Parameters = list[Any]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the cases of one run; an empty one asks for all of them in the order of the input."""

    words: str = ""
    statuses: tuple[str, ...] = ()
    least: tuple[tuple[str, float], ...] = ()
    most: tuple[tuple[str, float], ...] = ()
    codes: tuple[tuple[str, str], ...] = ()
    """Field and value; of several values of one field any will do."""
    metadata: tuple[tuple[str, str], ...] = ()
    sort: str = ""
    down: bool = False

    unread: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Names of what was asked for and not understood, each with what is wrong about it."""

    @classmethod
    def read(cls, query: Iterable[tuple[str, str]], besides: Collection[str] = ()) -> Question:
        """What makes no sense is left out and told: an address may come from anyone. `besides`: names that mean
        something else to who asks."""
        found, pairs = cls(), [pair for pair in query if pair[0] not in besides]
        for name, value in pairs[:_MOST_PARTS]:
            known = found._with(name, value[:_LONGEST].replace("\0", " "))
            found = known if isinstance(known, Question) else found._without(name, value, known)
            if len(value) > _LONGEST:
                found = found._without(name, value, f"has more than {_LONGEST} characters: the rest is left out")
        if len(pairs) > _MOST_PARTS:
            name, value = pairs[_MOST_PARTS]
            found = found._without(name, value, f"and what follows: more than {_MOST_PARTS} parts are not read")
        return found

    def _without(self, name: str, value: str, why: str) -> Question:
        told = f"`{clean_line(f'{name}={value}', _SHOWN)}` {why}"
        return replace(self, unread=(*self.unread, (clean_line(name, _SHOWN), told)))

    def _with(self, name: str, value: str) -> Question | str:
        """With one part more; or what is wrong about it."""
        kind, _, field_name = name.partition(".")
        if name == "q":
            return replace(self, words=value.strip())
        if name == "status":
            known = tuple(dict.fromkeys((*self.statuses, value)))
            return replace(self, statuses=known) if value in CODES else f"is none of {', '.join(CODES)}"
        if name == "sort" and value:
            return replace(self, sort=value)
        if name == "down":
            return replace(self, down=value == "1") if value in ("0", "1") else "is neither 1 nor 0"
        if kind in ("min", "max") and field_name:
            return self._with_end(kind, field_name, value)
        if kind in ("is", "in") and field_name and value:
            if name == f"is.{ROLL_UP}" and value not in (*ROLL_UPS, NULL):
                return f"is none of {', '.join((*ROLL_UPS, NULL))}"
            return self._with_value(kind, field_name, value)
        return "is empty" if name == "sort" or (kind in ("is", "in") and field_name) else f"is not known: {PARTS}"

    def _with_end(self, kind: str, name: str, value: str) -> Question | str:
        if (number := _number(value)) is None:
            return "is no number"
        end = {**dict(self.least if kind == "min" else self.most), name: number}.items()
        return replace(self, least=tuple(end)) if kind == "min" else replace(self, most=tuple(end))

    def _with_value(self, kind: str, name: str, value: str) -> Question:
        if kind == "is":
            return replace(self, codes=tuple(dict.fromkeys((*self.codes, (name, value)))))
        return replace(self, metadata=tuple(dict.fromkeys((*self.metadata, (name, value)))))

    def pairs(self) -> list[tuple[str, str]]:
        """As it stands in an address."""
        pairs = [("q", self.words)] if self.words else []
        pairs += [("status", status) for status in self.statuses]
        pairs += [(f"min.{name}", f"{value:g}") for name, value in self.least]
        pairs += [(f"max.{name}", f"{value:g}") for name, value in self.most]
        pairs += [(f"is.{name}", value) for name, value in self.codes]
        pairs += [(f"in.{name}", value) for name, value in self.metadata]
        pairs += [("sort", self.sort)] if self.sort else []
        return pairs + ([("down", "1")] if self.down else [])

    def address(self, **more: object) -> str:
        """The query string, with what else belongs to it (a page); empty where there is nothing to say."""
        pairs = [*self.pairs(), *((name, str(value)) for name, value in more.items() if value is not None)]
        return f"?{urlencode(pairs)}" if pairs else ""

    def without(self, name: str, value: str | None = None) -> Question:
        """With one part of it taken away."""
        return Question.read(
            pair for pair in self.pairs() if pair[0] != name or (value is not None and pair[1] != value)
        )

    def sorted_by(self, name: str) -> Question:
        """First from the lowest, which is where the trouble is; then turned; then in the order of the input again."""
        if self.sort != name:
            return replace(self, sort=name, down=False)
        return replace(self, sort="" if self.down else name, down=not self.down)

    @property
    def narrows(self) -> bool:
        return bool(self.words or self.statuses or self.least or self.most or self.codes or self.metadata)


@dataclass(slots=True)
class Sql:
    """A question about one run as SQL; values are always parameters."""

    question: Question
    state: State
    unknown: list[str] = field(default_factory=list)
    """Fields that are asked for and that the run does not have."""

    def where(self) -> tuple[str, Parameters]:
        asked, parts, values = self.question, ["entry.line IS NOT NULL"], []
        for text, parameters in (
            *self._words(),
            *self._statuses(),
            *self._ends(asked.least, ">="),
            *self._ends(asked.most, "<="),
            *self._any_of(asked.codes, self._has_code),
            *self._any_of(asked.metadata, self._is_in),
        ):
            parts.append(text)
            values += parameters
        return " AND ".join(parts), values

    def order(self) -> str:
        """An expression that is never null: what has no value stands last, whichever way round."""
        name, last_number, last_text = self.question.sort, _LAST_NUMBER, _LAST_TEXT
        if name == "id":
            return "entry.id"
        if name == "status":
            return "CASE line.status WHEN 'error' THEN 0 WHEN 'failed' THEN 1 ELSE 2 END"
        if name == ROLL_UP:
            words = " ".join(f"WHEN '{word}' THEN {place}" for place, word in enumerate(reversed(ROLL_UPS)))
            return f"CASE line.roll_up {words} ELSE {-1 if self.question.down else len(ROLL_UPS)} END"
        if name in self.state.fields:
            last = f"{-last_number if self.question.down else last_number:g}"
            return f"coalesce(line.{FIELDS[self.state.fields.index(name)]}, {last})"
        if name in self.state.metadata:
            last = "''" if self.question.down else f"'{last_text}'"
            return f"coalesce(line.{METADATA[self.state.metadata.index(name)]}, {last})"
        if name:
            self.unknown.append(name)
        return "entry.place"

    def _words(self) -> Iterator[tuple[str, Parameters]]:
        if not self.question.words:
            return
        wanted = " ".join(f'"{word.replace(chr(34), chr(34) * 2)}"*' for word in _WORD.findall(self.question.words))
        inside_id = "%" + re.sub(r"([\\%_])", r"\\\1", self.question.words) + "%"
        yield (
            "(entry.line IN (SELECT rowid FROM words WHERE words MATCH ?) OR entry.id LIKE ? ESCAPE '\\')",
            [wanted, inside_id],
        )

    def _statuses(self) -> Iterator[tuple[str, Parameters]]:
        if self.question.statuses:
            yield f"line.status IN ({_marks(self.question.statuses)})", [*self.question.statuses]

    def _ends(self, ends: Sequence[tuple[str, float]], sign: str) -> Iterator[tuple[str, Parameters]]:
        for name, value in ends:
            if name in self.state.fields:
                column = f"line.{FIELDS[self.state.fields.index(name)]}"
                yield f"(typeof({column}) = 'real' AND {column} {sign} ?)", [value]
            else:
                self.unknown.append(name)

    def _any_of(self, pairs: Sequence[tuple[str, str]], told: Any) -> Iterator[tuple[str, Parameters]]:
        for name in dict.fromkeys(name for name, _ in pairs):
            found = [part for known, value in pairs if known == name and (part := told(name, value)) is not None]
            if found:
                texts, values = zip(*found, strict=True)
                yield f"({' OR '.join(texts)})", [item for value in values for item in value]
            else:
                self.unknown.append(name)

    def _has_code(self, name: str, value: str) -> tuple[str, Parameters] | None:
        if name == ROLL_UP:
            return ("line.roll_up IS NULL", []) if value == NULL else ("line.roll_up = ?", [value])
        if name not in self.state.fields:
            return None
        column = f"line.{FIELDS[self.state.fields.index(name)]}"
        if value == NULL:
            return f"({column} IS NULL AND line.status = 'ok')", []
        return f"instr({column}, ?) > 0", [code(value)]

    def _is_in(self, name: str, value: str) -> tuple[str, Parameters] | None:
        if name not in self.state.metadata:
            return None
        column = f"line.{METADATA[self.state.metadata.index(name)]}"
        return (f"({column} IS NULL OR {column} = ?)" if value == "none" else f"{column} = ?"), [value]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) else None


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
