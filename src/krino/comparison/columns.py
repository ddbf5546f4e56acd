"""A run's judgements as columns: a few bytes a case and field, so that a hundred thousand fit easily in memory."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from krino.cases.metadata import column_value
from krino.contract import Status
from krino.reports.codes import MOST_VALUES, are_names, codes_of
from krino.reports.numbers import as_number
from krino.runs.journal import CODES, read_raw_in_order
from krino.runs.manifest import Counts, Manifest
from krino.stats.resample import Floats

Kind = Literal["number", "codes", "other", "empty"]
"""A field of numbers, of a few labels, of free text or names of things, or of nothing but null."""
Labels = tuple[str, ...]

ROLL_UP = "roll_up"
NULL, ABSENT, NO_CODE = -1, -2, -3
"""In place of a code: the value is null; there is no verdict or no such field; the value is no code."""
SPENDING = ("calls", "cached", "input_tokens", "output_tokens", "cost", "seconds")


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
    manifest = Manifest.load(folder)
    builder = _RunBuilder(wanted=fields, by=[tuple(columns) for columns in by])
    journal = folder / "judgements.jsonl"
    for judgement in read_raw_in_order(journal, manifest.cases) if journal.exists() else ():
        builder.add(judgement)
    return builder.result(folder, manifest)


def slice_name(columns: Sequence[str]) -> str:
    return "*".join(columns)


@dataclass(slots=True)
class _FieldBuilder:
    numbers: array[float] = field(default_factory=lambda: array("d"))
    codes: array[int] = field(default_factory=lambda: array("i"))
    marks: array[int] = field(default_factory=lambda: array("q"))
    values: dict[Labels, int] = field(default_factory=dict)
    labels: set[str] = field(default_factory=set)
    is_text: bool = False

    def fill(self, size: int) -> None:
        """Cases before this one had no such field."""
        if missing := size - len(self.codes):
            self.numbers.extend([float("nan")] * missing)
            self.codes.extend([ABSENT] * missing)
            self.marks.extend([0] * missing)

    def add(self, value: Any) -> None:
        number = as_number(value)
        if number is not None:
            self._append(number, NO_CODE, hash(number))
        elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            self._append(float("nan"), NULL, 0)  # a number that is none (nan, infinity) measures as little as null
        else:
            self._append(float("nan"), self._code(value), hash(orjson.dumps(value)))

    def _append(self, number: float, code: int, mark: int) -> None:
        self.numbers.append(number)
        self.codes.append(code)
        self.marks.append(mark)

    def _code(self, value: Any) -> int:
        labels = None if self.is_text else codes_of(value)
        if labels is None:
            self.is_text = True
            return NO_CODE
        key = tuple(sorted(labels))
        if key not in self.values:
            self.labels.update(key)
            self.is_text = len(self.labels) > MOST_VALUES
        return self.values.setdefault(key, len(self.values))

    def result(self, name: str, size: int) -> FieldColumn:
        self.fill(size)
        codes = np.array(self.codes, np.int32)
        return FieldColumn(
            name=name,
            kind=self._kind(int((codes >= 0).sum())),
            numbers=np.array(self.numbers, np.float64),
            codes=codes,
            values=tuple(self.values),
            marks=np.array(self.marks, np.int64),
        )

    def _kind(self, coded: int) -> Kind:
        if not np.isnan(np.array(self.numbers)).all():
            return "number"
        if self.is_text:
            return "other"
        if not self.values:
            return "empty"
        return "other" if are_names(len(self.labels), coded) else "codes"


@dataclass(slots=True)
class _RunBuilder:
    wanted: Collection[str] | None
    by: list[tuple[str, ...]]
    ids: list[str] = field(default_factory=list)
    statuses: bytearray = field(default_factory=bytearray)
    digests: array[int] = field(default_factory=lambda: array("Q"))
    spending: array[float] = field(default_factory=lambda: array("d"))
    fields: dict[str, _FieldBuilder] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    slices: dict[str, list[str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    metadata: set[str] = field(default_factory=set)

    def add(self, judgement: Mapping[str, Any]) -> None:
        place = len(self.ids)
        self.ids.append(str(judgement["id"]))
        status: Status = judgement["status"]
        self.statuses.append(CODES[status])
        self.digests.append(int(str(judgement["input_hash"])[:16], 16))
        self.spending.extend(_spent(judgement["usage"]))
        if status == "ok":
            for name, value in self._verdict(judgement).items():
                known = self.fields.get(name)
                if known is None:
                    known = self.fields[name] = _FieldBuilder()
                known.fill(place)
                known.add(value)
        metadata = judgement.get("metadata") or {}
        self.metadata.update(metadata)
        for columns in self.by:
            value = column_value(metadata, columns)
            self.slices.setdefault(slice_name(columns), []).append(self.texts.setdefault(value, value))

    def _verdict(self, judgement: Mapping[str, Any]) -> Mapping[str, Any]:
        """The fields that are wanted; the roll-up counts as one."""
        fields = judgement["verdict"] or {}
        if judgement.get(ROLL_UP):
            fields = {ROLL_UP: judgement[ROLL_UP], **fields}
        self.names.update(dict.fromkeys(fields))
        if self.wanted is None:
            return fields
        return {name: fields[name] for name in self.wanted if name in fields}

    def result(self, folder: Path, manifest: Manifest) -> RunColumns:
        size = len(self.ids)
        return RunColumns(
            folder=folder,
            manifest=manifest,
            ids=self.ids,
            statuses=np.array(self.statuses, np.uint8),
            digests=np.array(self.digests, np.uint64),
            spending=np.array(self.spending, np.float64).reshape(size, len(SPENDING)),
            fields={name: builder.result(name, size) for name, builder in self.fields.items()},
            field_names=tuple(self.names),
            slices={slice_name(columns): self.slices.get(slice_name(columns), []) for columns in self.by},
            metadata=frozenset(self.metadata),
        )


def _spent(usage: Mapping[str, Any]) -> Iterator[float]:
    for name in SPENDING:
        value = usage.get(name)
        yield float("nan") if value is None else float(value)
