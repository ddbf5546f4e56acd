"""The table of a run: one row for each case, one column for each verdict field, a few bytes for each value.

`TableReader` turns judgements into parts of the table, some hundred rows each. Summary and slices add up these parts in
constant memory. Comparison and gates need all rows: `read_table` reads the journal once, in the order of its lines, and
puts the rows into the order of the input.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from krino.results.field_kinds import MOST_VALUES, ROLL_UP, ColumnKind, as_codes, as_number, column_kind, own_fields
from krino.results.verdict_schema import closed_labels
from krino.runs.index import CODES
from krino.runs.manifest import Counts, Manifest
from krino.runs.roll import Entry
from krino.runs.stored_run import JudgedCases, LineReader, StoredRun, load_stored_run
from krino.stats.arrays import Floats
from krino.text.clean import clean_line
from krino.text.guessing import did_you_mean

Record = Mapping[str, Any]
Labels = tuple[str, ...]
Mask = NDArray[np.bool_]
Places = NDArray[np.intp]

SPENDING = ("calls", "cached", "input_tokens", "output_tokens", "cost", "seconds", "unpriced")
ROWS = 500
"""Rows in one part of the table."""
_FIRST_HASH = NO_CODE
_HASH_BITS = (1 << 55) - 1
_MOST_COMBINATIONS = 1_000
_SPENT = itemgetter(*SPENDING[:-1])


# --- parts of the table ----------------------------------------------------------------------------


class EncodedValues(NamedTuple):
    """The values of one field in some rows."""

    rows: Places
    numbers: Floats
    """nan where there is no number."""
    codes: NDArray[np.int64]
    """Index into the values of the encoder, `NULL`, `NO_CODE` for a number, or a smaller number: the hash of a text."""


class TablePart(NamedTuple):
    """Some rows of the table, with their judgements."""

    records: Sequence[Record]
    statuses: NDArray[np.uint8]
    fields: dict[str, EncodedValues]


@dataclass(slots=True)
class FieldEncoder:
    """Encodes the values of one field as numbers and codes, and learns the kind of the field."""

    marks: bool = True
    """Whether texts are hashed, which only the comparison of two runs needs."""
    values: dict[Labels, int] = field(default_factory=dict)
    """The meaning of a code: a label, or the sorted labels of a list."""
    labels: set[str] = field(default_factory=set)
    is_text: bool = False
    _known: dict[Any, int] = field(default_factory=lambda: {None: NULL})
    """Codes of earlier values: most values are one of a few."""

    def read(self, values: Sequence[Any]) -> tuple[Floats, NDArray[np.int64]]:
        """Encodes values: numbers (nan where there is none) and codes of labels (`NO_CODE` for a number). Learns
        whether the field is text."""
        kinds = set(map(type, values))
        if kinds <= {float, type(None)}:  # by far the most common: scores
            numbers = np.array(values, np.float64)
            numbers[~(np.abs(numbers) < 1e100)] = np.nan
            return numbers, np.where(np.isnan(numbers), NULL, NO_CODE)
        if self.is_text and not self.marks and kinds.isdisjoint((float, int)):
            codes = (NULL if value is None else NO_CODE for value in values)  # without hashes all texts are equal
            return np.full(len(values), np.nan), np.fromiter(codes, np.int64, len(values))
        if kinds.isdisjoint((float, int)):
            return np.full(len(values), np.nan), np.fromiter(map(self._code, values), np.int64, len(values))
        found = [as_number(value) for value in values]
        numbers = np.array(found, np.float64)
        codes = (NO_CODE if n is not None else self._code(v) for n, v in zip(found, values, strict=True))
        return numbers, np.fromiter(codes, np.int64, len(values))

    def forget(self) -> None:
        """Free the combinations of labels if there are many; they have been counted."""
        if len(self.values) > _MOST_COMBINATIONS:
            self.values.clear()
            self._known = {None: NULL}

    def _code(self, value: Any) -> int:
        """Returns the code of a value, known ones without further work."""
        try:
            return self._known[value]
        except (KeyError, TypeError):  # new, or a list
            return self._new_code(value)

    def _new_code(self, value: Any) -> int:
        """Returns the code of a value that was not seen before; nan and infinity count as null. A text, or too many
        labels, make the field a text."""
        if isinstance(value, float | int) and not isinstance(value, bool):
            return NULL  # nan and infinity count as null
        labels = as_codes(value)
        if labels is None or self.is_text:  # hashed like a code, because other values of the field may be codes
            self.is_text = True
            return _hash_text(value if labels is None else sorted(labels)) if self.marks else NO_CODE
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
    """Makes parts of the table; `encoders` has one encoder for each field, in order of appearance."""

    wanted: Collection[str] | None = None
    """Keep only these fields; None keeps all."""
    marks: bool = True
    encoders: dict[str, FieldEncoder] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    """The names of all fields; the roll-up is one if the judge gives it."""

    def parts(self, records: Iterable[Record]) -> Iterator[TablePart]:
        """Yields parts of the table, of `ROWS` judgements each."""
        remaining = iter(records)
        while some := list(islice(remaining, ROWS)):
            yield self.part(some)

    def part(self, records: Sequence[Record]) -> TablePart:
        """Makes the part of some judgements, and adds new fields to `names`. Only judgements with status `ok` have
        values."""
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
                rows, values = _field_values(name, ok, verdicts, rolled)
                if values:
                    encoder = self.encoders.setdefault(name, FieldEncoder(self.marks))
                    fields[name] = EncodedValues(rows, *encoder.read(values))
        return TablePart(records, statuses, fields)


def _field_values(name: str, ok: Places, verdicts: Sequence[Record], rolled: Sequence[Any]) -> tuple[Places, list[Any]]:
    """The rows that have a field, and its values. A judge's own `roll_up` field takes precedence over ours."""
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
    """One verdict field over all cases of a run."""

    name: str
    kind: ColumnKind
    numbers: Floats
    """nan where there is no number."""
    codes: NDArray[np.int32]
    """Index into `values`, or one of the negative codes."""
    values: tuple[Labels, ...]
    """The meaning of a code: a label, or the sorted labels of a list."""
    texts: NDArray[np.int64] | None
    """Hashes of values that are neither numbers nor codes; None if there are none."""

    def marks(self, places: Places) -> NDArray[np.int64]:
        """A number for the value of each case, equal for equal values of any kind (within one process)."""
        codes, numbers = self.codes[places], self.numbers[places]
        table = np.array([_hash_text(list(labels)) for labels in self.values] or [0], np.int64)
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
        """All labels that occur, sorted; those inside lists too."""
        return sorted({label for labels in self.values for label in labels})


@dataclass(frozen=True)
class Slicing:
    """The slice of each case, as an index into `names`."""

    codes: NDArray[np.int32]
    names: tuple[str, ...]

    def sizes(self) -> list[tuple[int, int]]:
        """The index and size of each slice, largest first; ties in order of appearance."""
        codes, first, counts = np.unique(self.codes, return_index=True, return_counts=True)
        order = np.lexsort((first, -counts))
        return list(zip(codes[order].tolist(), counts[order].tolist(), strict=True))


@dataclass(frozen=True)
class Table:
    """The data of a run that comparison and gates need."""

    run: StoredRun
    ids: Texts
    positional: Mask
    """Cases without an id of their own: their id is their position in the input and says nothing about the case."""
    statuses: NDArray[np.uint8]
    digests: NDArray[np.uint64]
    spending: NDArray[np.float32]
    """One row for each case, one column for each of `SPENDING`; unknown costs are nan. Empty unless requested."""
    fields: dict[str, Column]
    """The requested fields."""
    field_names: tuple[str, ...]
    """The names of all fields."""
    slices: dict[str, Slicing]
    """One slicing for each requested combination of metadata columns."""
    metadata: frozenset[str]
    """The names of all metadata columns."""
    offsets: NDArray[np.int64]
    """Where the line of each case begins in the journal."""

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
        """The number of cases of each status."""
        return Counts(**{status: int((self.statuses == code).sum()) for status, code in CODES.items()})

    def records(self, places: Iterable[int]) -> Iterator[tuple[int, dict[str, Any]]]:
        """The judgements of a few cases in the order of the table, read again from the journal."""
        with LineReader(self.run) as lines:
            for place in sorted(places):
                record = lines.read(int(self.offsets[place]), f"{self.digests[place]:016x}")
                yield place, {**record, "id": self.ids[place]}


def read_table(
    folder: Path,
    *,
    fields: Collection[str] | None = None,
    by: Sequence[Sequence[str]] = (),
    spending: bool = False,
    change: Callable[[Record], Record] | None = None,
) -> Table:
    """Read the table of a run. `fields`: only these; `by`: combinations of metadata columns to slice or cluster by;
    `change`: takes each judgement in another form.
    """
    run = load_stored_run(folder)
    builder = _TableBuilder(run, TableReader(fields), [tuple(columns) for columns in by], spending)
    index = run.index()
    judged, places, again = JudgedCases(run, index, builder.note_cases()).judged_offsets()
    digests = np.frombuffer(builder.digests, np.uint64)[judged]
    offsets, first, rows = np.unique(places, return_index=True, return_inverse=True)
    with LineReader(
        run, index
    ) as lines:  # in the order of the journal: in the order of the input it takes twice as long
        for offset, case_number in zip(offsets.tolist(), first.tolist(), strict=True):
            record = lines.read(offset, f"{digests[case_number]:016x}")
            builder.add_line(record if change is None else change(record))
    return builder.result(judged, places, again, rows)


def slice_name(columns: Sequence[str]) -> str:
    """The name of several columns that are combined: `court*language`."""
    return "*".join(columns)


def unknown_column(flag: str, name: str, known: Collection[str], what: str = "column") -> UsageProblem:
    """Returns the error for a column that the judgements do not have."""
    there = ", ".join(clean_line(column, 60) for column in sorted(known)) or "none"
    return UsageProblem(
        f"{flag} {name}: the judgements have no such {what}{did_you_mean(name, known)}; they have {there}"
    )


@dataclass(slots=True)
class _TableBuilder:
    run: StoredRun
    reader: TableReader
    by: list[tuple[str, ...]]
    with_spending: bool
    # One value for each case:
    ids: Texts = field(default_factory=Texts)
    positional: bytearray = field(default_factory=bytearray)
    digests: array[int] = field(default_factory=lambda: array("Q"))
    # One value for each line that counts, which cases with the same content share:
    spending: array[float] = field(default_factory=lambda: array("f"))
    statuses: bytearray = field(default_factory=bytearray)
    columns: dict[str, GrowingColumn] = field(default_factory=dict)
    slices: dict[str, array[int]] = field(default_factory=dict)
    slice_names: dict[str, int] = field(default_factory=dict)
    metadata: set[str] = field(default_factory=set)
    waiting: list[Record] = field(default_factory=list)

    def note_cases(self) -> Iterator[Entry]:
        """Yields the entries of the roll, and stores what the table needs of each in passing."""
        for place, entry in enumerate(self.run.roll()):
            self.ids.append(entry.id)
            self.positional.append(_is_positional(place, entry))
            self.digests.append(int(entry.input_hash[:16], 16))
            yield entry

    def add_line(self, judgement: Record) -> None:
        """Adds a judgement's spending, metadata and slices, and its fields once enough lines wait."""
        if self.with_spending:
            spent = (*_SPENT(usage := judgement["usage"]), usage.get("unpriced", 0))  # older lines lack it
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
        """Encodes the fields of the waiting judgements, and empties the list."""
        before, part = len(self.statuses), self.reader.part(self.waiting)
        self.statuses += part.statuses.tobytes()
        for name, values in part.fields.items():
            column = self.columns.setdefault(name, GrowingColumn())
            column.add(before, len(self.waiting), *values)
        self.waiting = []

    def result(self, judged: Mask, offsets: NDArray[np.int64], again: Mask, rows: NDArray[np.int64]) -> Table:
        """The table. `judged`: which cases of the roll; then for each of them its offset, and which line is its own."""
        self._add_waiting()
        return Table(
            run=self.run,
            ids=self.ids if judged.all() else self.ids.at(np.flatnonzero(judged)),
            positional=np.frombuffer(self.positional, np.bool_)[judged],
            statuses=np.frombuffer(self.statuses, np.uint8)[rows],
            digests=np.frombuffer(self.digests, np.uint64)[judged],
            spending=self._spending(rows, again),
            fields={name: self._field(name, rows) for name in self.reader.names if name in self.columns},
            field_names=tuple(self.reader.names),
            slices={name: self._slicing(name, rows) for name in map(slice_name, self.by)},
            metadata=frozenset(self.metadata),
            offsets=offsets,
        )

    def _spending(self, rows: NDArray[np.int64], again: Mask) -> NDArray[np.float32]:
        """Returns the spending of the chosen lines; a case that repeats an earlier one cost nothing."""
        lines = np.frombuffer(self.spending, np.float32).reshape(-1, len(SPENDING))
        if not self.with_spending:
            return lines
        spending: NDArray[np.float32] = lines[rows]
        spending[again] *= 0.0  # paid for by the earlier case with this verdict; nan stays nan
        return spending

    def _slicing(self, name: str, rows: NDArray[np.int64]) -> Slicing:
        """Returns one slicing. `rows`: the current rows in order."""
        return Slicing(_in_order(self.slices.get(name, array("i")), np.int32, rows), tuple(self.slice_names))

    def _field(self, name: str, rows: NDArray[np.int64]) -> Column:
        """Returns one field as a column. `rows`: the current rows in order."""
        encoder, column = self.reader.encoders[name], self.columns.pop(name)
        column.fill(len(self.statuses))
        codes = _in_order(column.codes, np.int32, rows)
        numbers = constant_column(np.nan, len(rows))
        if column.numbers is not None:
            numbers = _in_order(column.numbers, np.float64, rows)
        kind = column_kind(
            name,
            has_numbers=not np.isnan(numbers).all(),
            is_text=encoder.is_text,
            labels=len(encoder.labels),
            coded=int((codes >= 0).sum()),
            closed=bool(closed_labels(self.run.manifest.about.fields_schema, name)),
        )
        return Column(
            name=name,
            kind=kind,
            numbers=numbers,
            codes=codes,
            values=tuple(encoder.values),
            texts=None if column.marks is None else _in_order(column.marks, np.int64, rows),
        )


def _in_order(values: array[Any], kind: type[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """The values at some rows; without a copy if the journal is in the order of the input."""
    stored = np.frombuffer(values, kind)
    return stored if len(rows) == len(stored) and (rows == np.arange(len(rows))).all() else stored[rows]


def _is_positional(index: int, case: Entry) -> bool:
    """Whether the id is the one that readers give to cases without: file and line, or in Python a number."""
    if case.source is None:
        return case.id == str(index + 1)
    file, _, line = case.id.rpartition(":")
    return line == str(case.source["line"]) and file in ("stdin", PurePath(case.source["file"]).name)


def _hash_text(value: Any) -> int:
    """A number for a value, equal for equal values, and smaller than all special codes."""
    text = value if isinstance(value, str) else orjson.dumps(value)
    return _FIRST_HASH - 1 - (hash(text) >> 8 & _HASH_BITS)
