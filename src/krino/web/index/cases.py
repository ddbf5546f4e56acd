"""Queries over the indexed cases of a run: pages of a filtered list, lookups, and neighbours of a case."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from krino.runs.manifest import Counts
from krino.runs.roll import Entry
from krino.runs.stored_run import LineReader, StoredRun
from krino.text.clean import clean_name
from krino.web.index.case_filter import CaseFilter, FilterSql
from krino.web.index.run_index import JUDGED, RunIndex, State, count_by_status

_MANY = 500  # values in one statement


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case: its position in the input (from 0), id, and where its judgement is in the journal."""

    place: int
    entry: Entry
    offset: int
    again: bool = False
    """An earlier case has the same id, so its address needs the position."""


@dataclass(frozen=True, slots=True)
class Page:
    rows: list[CaseRow]
    found: int
    unknown: list[str]
    """Requested fields that the run does not have."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The previous and next case within a filtered list."""

    position: int
    found: int
    before: CaseRow | None
    after: CaseRow | None


class Cases:
    """The indexed cases of a run."""

    def __init__(self, index: RunIndex, run: StoredRun, state: State) -> None:
        self._index, self._run, self._state = index, run, state

    def counts(self) -> Counts:
        """Counts the cases by status; the counts are kept once the index is complete."""
        known = self._state.counts
        if known is None:
            with self._index.reading() as db:
                known = count_by_status(db)
        return Counts(**known)

    def page(self, question: CaseFilter, first: int, most: int) -> Page:
        """Returns one page of the cases that pass the filter, in its order."""
        with self._index.reading() as db:
            sql = FilterSql(question, self._state)
            where, values = sql.where()
            order, way = sql.order(), "DESC" if question.down else "ASC"
            limit = f"ORDER BY {order} {way}, entry.place LIMIT ? OFFSET ?"
            rows = list(_query_rows(db, f"WHERE {where} {limit}", [*values, most, first]))
            return Page(rows, self._count_found(db, question, where, values), sql.unknown)

    def find(self, name: str, again: int = 0) -> CaseRow | None:
        """Returns the first case with this id, or with `again` the one after as many others of the same id; None if
        there is none. An id that nobody has is also tried as the cleaned name that a page would show."""
        with self._index.reading() as db:
            rest = "WHERE entry.id = ? ORDER BY entry.place LIMIT 1 OFFSET ?"
            return next(_query_rows(db, rest, [name, again]), None) or next(
                _query_rows(db, rest, [clean_name(name), again]), None
            )

    def at(self, place: int) -> CaseRow | None:
        """Returns the case at this position in the input; None if it is not judged."""
        with self._index.reading() as db:
            return next(_query_rows(db, "WHERE entry.place = ?", [place]), None)

    def find_by_hashes(self, hashes: Iterable[str]) -> dict[str, CaseRow]:
        """Returns the first case with each of these content hashes; those without a case are left out."""
        found: dict[str, CaseRow] = {}
        for row in self._query_among("entry.digest", map(bytes.fromhex, hashes)):
            found.setdefault(row.entry.input_hash, row)
        return found

    def find_by_ids(self, ids: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yields content hash and id of every judged case with one of these ids."""
        return ((row.entry.input_hash, row.entry.id) for row in self._query_among("entry.id", ids))

    def _query_among(self, column: str, values: Iterable[Any]) -> Iterator[CaseRow]:
        """Yields the cases whose column has one of the values."""
        wanted = list(dict.fromkeys(values))
        with self._index.reading() as db:
            for start in range(0, len(wanted), _MANY):
                some = wanted[start : start + _MANY]
                among = f"{column} IN ({', '.join('?' * len(some))})"
                yield from _query_rows(db, f"WHERE {among} ORDER BY entry.place", some)

    def neighbours(self, question: CaseFilter, row: CaseRow) -> Neighbours | None:
        """Returns the cases before and after one in the list; None if the filter does not match the case itself."""
        with self._index.reading() as db:
            sql = FilterSql(question, self._state)
            where, values = sql.where()
            order = sql.order()
            own = db.execute(f"SELECT {order} {JUDGED} WHERE {where} AND entry.place = ?", [*values, row.place])
            if (key := own.fetchone()) is None:
                return None
            later, sooner, up, down = ("<", ">", "DESC", "ASC") if question.down else (">", "<", "ASC", "DESC")
            behind = f"WHERE {where} AND ({order} {later} ? OR ({order} = ? AND entry.place > ?))"
            ahead = f"WHERE {where} AND ({order} {sooner} ? OR ({order} = ? AND entry.place < ?))"
            here = [*values, key[0], key[0], row.place]
            after = next(_query_rows(db, f"{behind} ORDER BY {order} {up}, entry.place LIMIT 1", here), None)
            before = next(_query_rows(db, f"{ahead} ORDER BY {order} {down}, entry.place DESC LIMIT 1", here), None)
            position = db.execute(f"SELECT count(*) {JUDGED} {ahead}", here).fetchone()[0] + 1
            return Neighbours(position, self._count_found(db, question, where, values), before, after)

    def _count_found(self, db: sqlite3.Connection, question: CaseFilter, where: str, values: list[Any]) -> int:
        """Counts the matching cases; without a filter, the counts that are kept are used."""
        if not question.narrows:
            return self.counts().total
        return int(db.execute(f"SELECT count(*) {JUDGED} WHERE {where}", values).fetchone()[0])

    def read_judgements(self, rows: Iterable[CaseRow]) -> Iterator[dict[str, Any]]:
        """Yields the judgements of these rows from the journal, each with the position, id and source of its own case.
        They were checked when they were indexed."""
        with LineReader(self._run) as lines:
            for row in rows:
                record = lines.read(row.offset, row.entry.input_hash)
                yield {**record, "index": row.place, "id": row.entry.id, "source": row.entry.source}


def _query_rows(db: sqlite3.Connection, rest: str, values: list[Any]) -> Iterator[CaseRow]:
    """Yields cases from a query, with whether an earlier case has the same id."""
    before = "EXISTS (SELECT 1 FROM entry AS other WHERE other.id = entry.id AND other.place < entry.place)"
    columns = f"SELECT entry.place, entry.id, entry.digest, entry.source, line.offset, {before} {JUDGED}"
    for place, name, digest, source, offset, again in db.execute(f"{columns} {rest}", values):
        yield CaseRow(place, Entry(name, digest.hex(), orjson.loads(source)), offset, bool(again))
