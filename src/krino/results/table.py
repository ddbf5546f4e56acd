"""The table of a run: one row a case, one column for each field of the verdict, in a few bytes a case and field.

`Reader` turns judgements into parts of the table, some hundred rows at a time. Summary and slices add such parts up as
they come, in flat memory. Comparison and gates need all rows at once: `read_table` reads the journal once, in whatever
order its lines stand, and puts the rows in the order of the input.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from math import nan
from operator import itemgetter
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from krino.cases.metadata import column_value
from krino.errors import UsageProblem
from krino.results.compact_columns import NO_CODE, NULL, GrowingColumn, Texts, constant_column
from krino.results.field_kinds import MOST_VALUES, ColumnKind, as_codes, as_number, column_kind
from krino.results.verdict_schema import closed_labels
from krino.runs.fields import ROLL_UP, own_fields
from krino.runs.files import inside
from krino.runs.journal import CODES
from krino.runs.manifest import Counts, Manifest
from krino.runs.reading import Found, StoredRun, load_run
from krino.runs.roll import Entry
from krino.stats.arrays import Floats
from krino.text.clean import clean_line
from krino.text.guessing import guessed

Record = Mapping[str, Any]
Labels = tuple[str, ...]
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]

SPENDING = ("calls", "cached", "input_tokens", "output_tokens", "cost", "seconds", "unpriced")
ROWS = 500
"""In one part of the table."""
_FIRST_MARK = NO_CODE
_MARK_BITS = (1 << 55) - 1
_MOST_COMBINATIONS = 1_000
_SPENT = itemgetter(*SPENDING[:-1])


# --- parts of the table ----------------------------------------------------------------------------


class Values(NamedTuple):
    """Values of one field in some rows."""

    rows: Places
    numbers: Floats
    """nan where there is none."""
    codes: NDArray[np.int64]
    """Place among the values of the coder, NULL, NO_CODE for a number, or below that the mark of a text."""


class Part(NamedTuple):
    """Some rows of the table, with the judgements that they were made of."""

    records: Sequence[Record]
    statuses: NDArray[np.uint8]
    fields: dict[str, Values]


@dataclass(slots=True)
class FieldEncoder:
    """Turns the values of one field into numbers and codes, and learns what kind of field it is."""

    marks: bool = True
    """Whether different texts get different marks, which only a comparison of two runs needs."""
    values: dict[Labels, int] = field(default_factory=dict)
    """What a code stands for: the label, or the labels of a list, sorted."""
    labels: set[str] = field(default_factory=set)
    is_text: bool = False
    _known: dict[Any, int] = field(default_factory=lambda: {None: NULL})
    """Values seen before: most are one of a few."""

    def read(self, values: Sequence[Any]) -> tuple[Floats, NDArray[np.int64]]:
        kinds = set(map(type, values))
        if kinds <= {float, type(None)}:  # by far the most common: scores
            numbers = np.array(values, np.float64)
            numbers[~(np.abs(numbers) < 1e100)] = np.nan
            return numbers, np.where(np.isnan(numbers), NULL, NO_CODE)
        if self.is_text and not self.marks and kinds.isdisjoint((float, int)):
            codes = (NULL if value is None else NO_CODE for value in values)  # which text it is does not matter
            return np.full(len(values), np.nan), np.fromiter(codes, np.int64, len(values))
        if kinds.isdisjoint((float, int)):
            return np.full(len(values), np.nan), np.fromiter(map(self._code, values), np.int64, len(values))
        found = [as_number(value) for value in values]
        numbers = np.array(found, np.float64)
        codes = (NO_CODE if n is not None else self._code(v) for n, v in zip(found, values, strict=True))
        return numbers, np.fromiter(codes, np.int64, len(values))

    def forget(self) -> None:
        """Let go of combinations of labels, if there are many: what was counted by them is counted."""
        if len(self.values) > _MOST_COMBINATIONS:
            self.values.clear()
            self._known = {None: NULL}

    def _code(self, value: Any) -> int:
        try:
            return self._known[value]
        except (KeyError, TypeError):  # new, or a list
            return self._new_code(value)

    def _new_code(self, value: Any) -> int:
        if isinstance(value, float | int) and not isinstance(value, bool):
            return NULL  # a number that is none (nan, infinity) measures as little as null
        labels = as_codes(value)
        if labels is None or self.is_text:  # marked as a code would be, which other values of the field may be
            self.is_text = True
            return _mark(value if labels is None else sorted(labels)) if self.marks else NO_CODE
        key = tuple(sorted(labels))
        if key not in self.values:
            self.labels.update(key)
            self.is_text = len(self.labels) > MOST_VALUES
        code = self.values.setdefault(key, len(self.values))
        if not isinstance(value, list):
            self._known[value] = code
        return code


@dataclass(slots=True)
class TableReader:
    """Makes parts of the table; `coders` are those of the fields, in the order in which they came up."""

    wanted: Collection[str] | None = None
    """Only these fields are kept; all, if None."""
    marks: bool = True
    coders: dict[str, FieldEncoder] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    """Of all fields that there are; the roll-up counts as one, where the judge gives it."""

    def parts(self, records: Iterable[Record]) -> Iterator[Part]:
        remaining = iter(records)
        while some := list(islice(remaining, ROWS)):
            yield self.part(some)

    def part(self, records: Sequence[Record]) -> Part:
        """Verdicts count only where the status is ok."""
        statuses = np.fromiter((CODES[record["status"]] for record in records), np.uint8, len(records))
        ok = np.flatnonzero(statuses == CODES["ok"])
        judged = [record for record in records if record["status"] == "ok"]
        verdicts = [own_fields(record) for record in judged]
        rolled = [record.get(ROLL_UP) for record in judged]
        for verdict, word in zip(verdicts, rolled, strict=True):
            if word and ROLL_UP not in self.names:
                self.names[ROLL_UP] = None
            if not verdict.keys() <= self.names.keys():
                self.names.update(dict.fromkeys(verdict))
        fields = {}
        for name in self.names:
            if self.wanted is None or name in self.wanted:
                rows, values = _column(name, ok, verdicts, rolled)
                if values:
                    coder = self.coders.setdefault(name, FieldEncoder(self.marks))
                    fields[name] = Values(rows, *coder.read(values))
        return Part(records, statuses, fields)


def _column(name: str, ok: Places, verdicts: Sequence[Record], rolled: Sequence[Any]) -> tuple[Places, list[Any]]:
    """The rows that have a field, and what it holds there. A field of the judge's own goes before ours."""
    try:
        return ok, [verdict[name] for verdict in verdicts]
    except KeyError:
        held = [verdict.get(name, _NO_FIELD) for verdict in verdicts]
    if name == ROLL_UP:
        held = [own if own is not _NO_FIELD else word or _NO_FIELD for own, word in zip(held, rolled, strict=True)]
    there = [place for place, value in enumerate(held) if value is not _NO_FIELD]
    return ok[there], [held[place] for place in there]


_NO_FIELD = object()


# --- the whole table -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """One field of the verdict over all cases of a run, in the order of the run."""

    name: str
    kind: ColumnKind
    numbers: Floats
    """nan where there is none."""
    codes: NDArray[np.int32]
    """Place in `values`, or one of the signs above."""
    values: tuple[Labels, ...]
    """What a code stands for: the label, or the labels of a list, sorted."""
    texts: NDArray[np.int64] | None
    """Marks of values that are neither numbers nor codes; None where there are none."""

    def marks(self, places: Places) -> NDArray[np.int64]:
        """Of the cases at these places, equal where values are equal, whatever they are (within one process)."""
        codes, numbers = self.codes[places], self.numbers[places]
        table = np.array([_mark(list(labels)) for labels in self.values] or [0], np.int64)
        marks = np.where(codes >= 0, table[np.maximum(codes, 0)], codes)
        marks = np.where(codes == NO_CODE, numbers.view(np.int64), marks)
        if self.texts is not None:
            marks = np.where((codes == NO_CODE) & np.isnan(numbers), self.texts[places], marks)
        return marks

    def having(self, label: str) -> Mask:
        """Which cases have this label."""
        wanted = [place for place, labels in enumerate(self.values) if label in labels]
        return np.isin(self.codes, wanted)

    def labels(self) -> list[str]:
        return sorted({label for labels in self.values for label in labels})


@dataclass(frozen=True)
class Slicing:
    """Which slice each case belongs to, as a number; `names` says what the numbers mean."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]

    def sizes(self) -> list[tuple[int, int]]:
        """The number of each slice and how many cases it has, from the largest down; of equals the first met first."""
        codes, first, counts = np.unique(self.codes, return_index=True, return_counts=True)
        order = np.lexsort((first, -counts))
        return list(zip(codes[order].tolist(), counts[order].tolist(), strict=True))


@dataclass(frozen=True)
class Table:
    """All that comparing and gating need of a run."""

    run: StoredRun
    ids: Texts
    positional: Mask
    """Whose id is only a place in the input, because the case gave none: it says nothing of what the case is."""
    statuses: NDArray[np.uint8]
    digests: NDArray[np.uint64]
    spending: NDArray[np.float32]
    """A row for each case, a column for each of `SPENDING`; cost is nan where no price is known. Empty unless asked."""
    fields: dict[str, Column]
    """Those that were asked for."""
    field_names: tuple[str, ...]
    """Of all that there are."""
    slices: dict[str, Slicing]
    """For each combination of metadata columns asked for: where each case belongs."""
    metadata: frozenset[str]
    """The metadata columns that there are."""
    offsets: NDArray[np.int64]
    """Where in the journal the line of each case begins."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def folder(self) -> Path:
        return self.run.folder

    @property
    def manifest(self) -> Manifest:
        return self.run.manifest

    @property
    def ok(self) -> Mask:
        judged: Mask = self.statuses == CODES["ok"]
        return judged

    def counts(self) -> Counts:
        return Counts(**{status: int((self.statuses == code).sum()) for status, code in CODES.items()})

    def records(self, places: Iterable[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        """The judgements of a few cases, in their order, read again from where they stand in the journal."""
        with inside(self.run.journal).open("rb") as journal:
            for place in sorted(places):
                journal.seek(int(self.offsets[place]))
                yield place, self._same(journal.readline(), place)

    def _same(self, line: bytes, place: int) -> dict[str, Any]:
        """It was checked when it was read first; since then the journal can only have been emptied and filled again."""
        with suppress(orjson.JSONDecodeError, KeyError, TypeError):
            record: dict[str, Any] = orjson.loads(line)
            if int(record["input_hash"][:16], 16) == self.digests[place]:
                return {**record, "id": self.ids[place]}
        raise self.run.begun_anew()


def read_table(
    folder: Path,
    *,
    fields: Collection[str] | None = None,
    by: Sequence[Sequence[str]] = (),
    spending: bool = False,
) -> Table:
    """`fields`: only these (all, if None). `by`: combinations of metadata columns to slice or cluster by."""
    run = load_run(folder)
    builder = _TableBuilder(run, TableReader(fields), [tuple(columns) for columns in by], spending)
    found = Found(run, builder.cases())
    for line in run.lines():  # once through the journal, in whatever order: half the time of reading it in order
        if found.note(line.data["input_hash"], line.data["status"], len(builder)):
            builder.add(line.data, line.offset)
    return builder.result(found)


def slice_name(columns: Sequence[str]) -> str:
    return "*".join(columns)


def unknown_column(flag: str, name: str, known: Collection[str], what: str = "column") -> UsageProblem:
    there = ", ".join(clean_line(column, 60) for column in sorted(known)) or "none"
    return UsageProblem(f"{flag} {name}: the judgements have no such {what}{guessed(name, known)}; they have {there}")


@dataclass(slots=True)
class _TableBuilder:
    run: StoredRun
    reader: TableReader
    by: list[tuple[str, ...]]
    with_spending: bool
    ids: Texts = field(default_factory=Texts)
    """Of all cases on the roll; what follows is of lines."""
    positional: bytearray = field(default_factory=bytearray)
    offsets: array[int] = field(default_factory=lambda: array("q"))
    digests: array[int] = field(default_factory=lambda: array("Q"))
    spending: array[float] = field(default_factory=lambda: array("f"))
    statuses: bytearray = field(default_factory=bytearray)
    columns: dict[str, GrowingColumn] = field(default_factory=dict)
    slices: dict[str, array[int]] = field(default_factory=dict)
    slice_names: dict[str, int] = field(default_factory=dict)
    metadata: set[str] = field(default_factory=set)
    waiting: list[Record] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.offsets)

    def cases(self) -> Iterator[Entry]:
        """The roll, whose ids are kept as it goes by."""
        for index, entry in enumerate(self.run.roll()):
            self.ids.append(entry.id)
            self.positional.append(_is_positional(index, entry))
            yield entry

    def add(self, judgement: Record, offset: int) -> None:
        self.offsets.append(offset)
        self.digests.append(int(judgement["input_hash"][:16], 16))
        if self.with_spending:
            spent = (*_SPENT(usage := judgement["usage"]), usage.get("unpriced", 0))  # older lines do not count them
            self.spending.extend(spent if None not in spent else [nan if part is None else part for part in spent])
        metadata = judgement.get("metadata") or {}
        self.metadata.update(metadata)
        for columns in self.by:
            number = self.slice_names.setdefault(column_value(metadata, columns), len(self.slice_names))
            self.slices.setdefault(slice_name(columns), array("i")).append(number)
        self.waiting.append(judgement)
        if len(self.waiting) == ROWS:
            self._add_waiting()

    def _add_waiting(self) -> None:
        before, part = len(self.statuses), self.reader.part(self.waiting)
        self.statuses += part.statuses.tobytes()
        for name, values in part.fields.items():
            column = self.columns.setdefault(name, GrowingColumn())
            column.add(before, len(self.waiting), *values)
        self.waiting = []

    def result(self, found: Found) -> Table:
        """The rows that count, in the order of the input; cases of the same content share one."""
        self._add_waiting()
        judged, rows, again = found.at_once()
        return Table(
            run=self.run,
            ids=self.ids if judged.all() else self.ids.at(np.flatnonzero(judged)),
            positional=np.frombuffer(self.positional, np.bool_)[judged],
            statuses=np.frombuffer(self.statuses, np.uint8)[rows],
            digests=_in_order(self.digests, np.uint64, rows),
            spending=self._spent(rows, again),
            fields={name: self._field(name, rows) for name in self.reader.names if name in self.columns},
            field_names=tuple(self.reader.names),
            slices={name: self._sliced(name, rows) for name in map(slice_name, self.by)},
            metadata=frozenset(self.metadata),
            offsets=_in_order(self.offsets, np.int64, rows),
        )

    def _spent(self, rows: NDArray[np.int64], again: Mask) -> NDArray[np.float32]:
        lines = np.frombuffer(self.spending, np.float32).reshape(-1, len(SPENDING))
        if not self.with_spending:
            return lines
        spending: NDArray[np.float32] = lines[rows]
        spending[again] *= 0.0  # paid for in the earlier case that it shares a verdict with; what is unknown stays so
        return spending

    def _sliced(self, name: str, rows: NDArray[np.int64]) -> Slicing:
        return Slicing(_in_order(self.slices.get(name, array("i")), np.int32, rows), tuple(self.slice_names))

    def _field(self, name: str, rows: NDArray[np.int64]) -> Column:
        """`rows`: those that count, in order."""
        coder, column = self.reader.coders[name], self.columns.pop(name)
        column.fill(len(self))
        codes = _in_order(column.codes, np.int32, rows)
        numbers = constant_column(np.nan, len(rows))
        if column.numbers is not None:
            numbers = _in_order(column.numbers, np.float64, rows)
        kind = column_kind(
            name,
            has_numbers=not np.isnan(numbers).all(),
            is_text=coder.is_text,
            labels=len(coder.labels),
            coded=int((codes >= 0).sum()),
            closed=bool(closed_labels(self.run.manifest.about.fields_schema, name)),
        )
        return Column(
            name=name,
            kind=kind,
            numbers=numbers,
            codes=codes,
            values=tuple(coder.values),
            texts=None if column.marks is None else _in_order(column.marks, np.int64, rows),
        )


def _in_order(values: array[Any], kind: type[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """The values at these rows; of a journal in the order of the input, the values themselves without a copy."""
    stored = np.frombuffer(values, kind)
    return stored if len(rows) == len(stored) and (rows == np.arange(len(rows))).all() else stored[rows]


def _is_positional(index: int, case: Entry) -> bool:
    """As the readers number cases without an id: by file and line, or from Python by their number."""
    if case.source is None:
        return case.id == str(index + 1)
    file, _, line = case.id.rpartition(":")
    return line == str(case.source["line"]) and file in ("stdin", PurePath(case.source["file"]).name)


def _mark(value: Any) -> int:
    """A number for a value, the same for the same value; always below the signs for nothing."""
    text = value if isinstance(value, str) else orjson.dumps(value)
    return _FIRST_MARK - 1 - (hash(text) >> 8 & _MARK_BITS)
