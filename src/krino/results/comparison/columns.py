"""A run's judgements as columns: a few bytes a case and field, so that a hundred thousand fit easily in memory."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path, PurePath
from typing import Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from krino.cases.metadata import column_value
from krino.contract import Status
from krino.results.codes import MOST_VALUES, are_names, codes_of
from krino.results.numbers import as_number
from krino.runs.fields import fields_of
from krino.runs.journal import CODES
from krino.runs.manifest import Counts, Manifest
from krino.runs.reading import Found, Run, load_run
from krino.runs.roll import Entry
from krino.stats.resample import Floats

Kind = Literal["number", "codes", "other", "empty"]
"""A field of numbers, of a few labels, of free text or names of things, or of nothing but null."""
Labels = tuple[str, ...]

NULL, ABSENT, NO_CODE = -1, -2, -3
"""In place of a code: the value is null; there is no verdict or no such field; the value is no code."""
_FIRST_MARK = NO_CODE
_MARK_BITS = (1 << 55) - 1
_NAN = float("nan")
SPENDING = ("calls", "cached", "input_tokens", "output_tokens", "cost", "seconds")
_SPENT = itemgetter(*SPENDING)


@dataclass(frozen=True)
class FieldColumn:
    """One field of the verdict over all cases of a run, in the order of the run."""

    name: str
    kind: Kind
    numbers: Floats
    """nan where there is none."""
    codes: NDArray[np.int32]
    """Place in `values`, or one of the signs above."""
    values: tuple[Labels, ...]
    """What a code stands for: the label, or the labels of a list, sorted."""
    marks: NDArray[np.int64]
    """Equal where values are equal, whatever they are (within one process)."""

    def having(self, label: str) -> NDArray[np.bool_]:
        """Which cases have this label."""
        wanted = [place for place, labels in enumerate(self.values) if label in labels]
        return np.isin(self.codes, wanted)

    def labels(self) -> list[str]:
        return sorted({label for labels in self.values for label in labels})


@dataclass(frozen=True)
class RunColumns:
    """All that comparing and gating need of a run."""

    folder: Path
    manifest: Manifest
    ids: list[str]
    positional: NDArray[np.bool_]
    """Whose id is only a place in the input, because the case gave none: it says nothing of what the case is."""
    statuses: NDArray[np.uint8]
    digests: NDArray[np.uint64]
    spending: Floats
    """A row for each case, a column for each of `SPENDING`; cost is nan where no price is known."""
    fields: dict[str, FieldColumn]
    """Those that were asked for."""
    field_names: tuple[str, ...]
    """Of all that there are."""
    slices: dict[str, list[str]]
    """For each combination of metadata columns asked for: where each case belongs."""
    metadata: frozenset[str]
    """The metadata columns that there are."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def ok(self) -> NDArray[np.bool_]:
        judged: NDArray[np.bool_] = self.statuses == CODES["ok"]
        return judged

    def counts(self) -> Counts:
        return Counts(**{status: int((self.statuses == code).sum()) for status, code in CODES.items()})


def read_columns(
    folder: Path, *, fields: Collection[str] | None = None, by: Sequence[Sequence[str]] = ()
) -> RunColumns:
    """`fields`: only these (all, if None). `by`: combinations of metadata columns to slice or cluster by."""
    run = load_run(folder)
    builder = _RunBuilder(wanted=None if fields is None else frozenset(fields), by=[tuple(columns) for columns in by])
    found = Found(run, builder.cases(run))
    for line in run.lines():  # once through the journal, in whatever order: half the time of reading it in order
        if found.note(line.data["input_hash"], line.data["status"], len(builder)):
            builder.add(line.data)
    return builder.result(run, found)


def slice_name(columns: Sequence[str]) -> str:
    return "*".join(columns)


@dataclass(slots=True)
class _FieldBuilder:
    """Takes the values of one field, for the rows that have it."""

    number_rows: array[int] = field(default_factory=lambda: array("q"))
    numbers: array[float] = field(default_factory=lambda: array("d"))
    code_rows: array[int] = field(default_factory=lambda: array("q"))
    codes: array[int] = field(default_factory=lambda: array("q"))
    """Places in `values`, NULL, or the mark of a value that is no code."""
    values: dict[Labels, int] = field(default_factory=dict)
    labels: set[str] = field(default_factory=set)
    known: dict[Any, int] = field(default_factory=lambda: {None: NULL})
    """Values seen before: most are one of a few."""
    is_text: bool = False

    def add(self, row: int, value: Any) -> None:
        number = value if value.__class__ is float and -1.0 <= value <= 1.0 else as_number(value)  # most are scores
        if number is not None:
            self.number_rows.append(row)
            self.numbers.append(number)
            return
        self.code_rows.append(row)
        try:
            self.codes.append(self.known[value])
        except (KeyError, TypeError):  # new, or a list
            self.codes.append(self._code(value))

    def _code(self, value: Any) -> int:
        if isinstance(value, float | int) and not isinstance(value, bool):
            return NULL  # a number that is none (nan, infinity) measures as little as null
        labels = None if self.is_text else codes_of(value)
        if labels is None:
            self.is_text = True
            return _mark(value)
        key = tuple(sorted(labels))
        if key not in self.values:
            self.labels.update(key)
            self.is_text = len(self.labels) > MOST_VALUES
        code = self.values.setdefault(key, len(self.values))
        if not isinstance(value, list):
            self.known[value] = code
        return code

    def result(self, name: str, rows: NDArray[np.intp], size: int) -> FieldColumn:
        """`rows`: those that count, in order, of `size` that were read."""
        numbers, found = np.full(size, np.nan), np.full(size, ABSENT, np.int64)
        numbers[np.array(self.number_rows, np.intp)] = self.numbers
        found[np.array(self.number_rows, np.intp)] = NO_CODE
        found[np.array(self.code_rows, np.intp)] = self.codes
        numbers, found = numbers[rows], found[rows]
        codes = np.where(found < _FIRST_MARK, NO_CODE, found).astype(np.int32)
        return FieldColumn(
            name=name,
            kind=self._kind(numbers, int((codes >= 0).sum())),
            numbers=numbers,
            codes=codes,
            values=tuple(self.values),
            marks=self._marks(numbers, found),
        )

    def _marks(self, numbers: Floats, found: NDArray[np.int64]) -> NDArray[np.int64]:
        table = np.array([_mark(list(labels)) for labels in self.values] or [0], np.int64)
        marks = np.where(found >= 0, table[np.maximum(found, 0)], found)
        return np.where(found == NO_CODE, numbers.view(np.int64), marks)

    def _kind(self, numbers: Floats, coded: int) -> Kind:
        if not np.isnan(numbers).all():
            return "number"
        if self.is_text:
            return "other"
        if not self.values:
            return "empty"
        return "other" if are_names(len(self.labels), coded) else "codes"


@dataclass(slots=True)
class _RunBuilder:
    wanted: frozenset[str] | None
    by: list[tuple[str, ...]]
    ids: list[str] = field(default_factory=list)
    """Of all cases on the roll; what follows is of lines."""
    positional: bytearray = field(default_factory=bytearray)
    statuses: bytearray = field(default_factory=bytearray)
    digests: array[int] = field(default_factory=lambda: array("Q"))
    spending: array[float] = field(default_factory=lambda: array("d"))
    fields: dict[str, _FieldBuilder] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    slices: dict[str, list[str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    metadata: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.statuses)

    def cases(self, run: Run) -> Iterator[Entry]:
        """The roll, whose ids are kept as it goes by."""
        for index, entry in enumerate(run.roll()):
            self.ids.append(entry.id)
            self.positional.append(_is_positional(index, entry))
            yield entry

    def add(self, judgement: Mapping[str, Any]) -> None:
        row = len(self)
        status: Status = judgement["status"]
        self.statuses.append(CODES[status])
        self.digests.append(int(judgement["input_hash"][:16], 16))
        spent = _SPENT(judgement["usage"])
        self.spending.extend(spent if None not in spent else [_NAN if part is None else part for part in spent])
        if status == "ok":
            self._add_verdict(row, judgement)
        metadata = judgement.get("metadata") or {}
        self.metadata.update(metadata)
        for columns in self.by:
            value = column_value(metadata, columns)
            self.slices.setdefault(slice_name(columns), []).append(self.texts.setdefault(value, value))

    def _add_verdict(self, row: int, judgement: Mapping[str, Any]) -> None:
        """The fields that are wanted; the roll-up counts as one."""
        verdict = fields_of(judgement)
        if not verdict.keys() <= self.names.keys():
            self.names.update(dict.fromkeys(verdict))
        for name in verdict if self.wanted is None else self.wanted & verdict.keys():
            known = self.fields.get(name)
            if known is None:
                known = self.fields[name] = _FieldBuilder()
            known.add(row, verdict[name])

    def result(self, run: Run, found: Found) -> RunColumns:
        """The rows that count, in the order of the input; cases of the same content share one."""
        judged, rows, again = found.at_once()
        size = len(self)
        in_order = [name for name in self.names if name in self.fields]
        return RunColumns(
            folder=run.folder,
            manifest=run.manifest,
            ids=self.ids if judged.all() else [self.ids[place] for place in np.flatnonzero(judged)],
            positional=np.array(self.positional, np.bool_)[judged],
            statuses=np.array(self.statuses, np.uint8)[rows],
            digests=np.array(self.digests, np.uint64)[rows],
            spending=self._spent(rows, again),
            fields={name: self.fields[name].result(name, rows, size) for name in in_order},
            field_names=tuple(self.names),
            slices={name: [values[row] for row in rows] for name, values in self._sliced()},
            metadata=frozenset(self.metadata),
        )

    def _spent(self, rows: NDArray[np.intp], again: NDArray[np.bool_]) -> Floats:
        """What is shared with an earlier case was paid for there."""
        spending = np.array(self.spending, np.float64).reshape(len(self), len(SPENDING))[rows]
        spending[again] *= 0.0  # an unknown cost stays unknown
        return spending

    def _sliced(self) -> Iterator[tuple[str, list[str]]]:
        for columns in self.by:
            yield slice_name(columns), self.slices.get(slice_name(columns), [])


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
