"""Compares each field of the verdict between two runs, in the cases that both have judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from krino.results.compact_columns import ABSENT, NULL
from krino.results.comparison.result import (
    CodeChange,
    Direction,
    FieldChange,
    Flip,
    Interval,
    LabelChange,
    Mover,
    NumberChange,
    OtherChange,
    direction_of,
)
from krino.results.field_kinds import ROLL_UP, ColumnKind
from krino.results.table import Column, Places, Table
from krino.stats.bootstrap import Resampler
from krino.stats.confidence_intervals import FEW
from krino.stats.paired_tests import (
    SIGNIFICANCE,
    adjust_holm,
    bootstrap_mean_intervals,
    mcnemar_p,
    share_difference_interval,
)

Codes = NDArray[np.int32]

_NULL = "null"
_MOST_FLIPS = 100  # kinds of flips listed; lists of labels can flip in more ways than anyone reads
_POSITIVE_LABELS = ("pass", "true")


@dataclass(frozen=True)
class FieldComparison:
    """Two runs, and the places of the cases that both have judged."""

    a: Table
    b: Table
    in_a: Places
    in_b: Places
    resampler: Resampler
    shown: int
    """How many ids to list for each change."""

    def ids(self, which: NDArray[np.bool_] | Places) -> tuple[str, ...]:
        """The first ids of some of the common cases, as many as are shown."""
        places = np.flatnonzero(which) if which.dtype == np.bool_ else which
        return tuple(self.a.ids.at(self.in_a[places[: self.shown]]))

    def changes(self) -> Iterator[FieldChange]:
        """One change for each common field, in the order of the verdict. All numbers share one bootstrap."""
        names = [name for name in self.a.fields if name in self.b.fields]
        if ROLL_UP in names:  # it summarises the verdict, so it comes first
            names.sort(key=lambda name: name != ROLL_UP)
        kinds = {name: _common_kind(self.a.fields[name].kind, self.b.fields[name].kind) for name in names}
        numbers = {
            item.name: item for item in self._compare_numbers([name for name in names if kinds[name] == "number"])
        }
        for name in names:
            if kinds[name] == "number":
                yield numbers[name]
            elif kinds[name] == "codes":
                yield self._compare_codes(self.a.fields[name], self.b.fields[name])
            elif kinds[name] == "other":
                yield self._compare_other(self.a.fields[name], self.b.fields[name])

    # --- numbers -------------------------------------------------------------------------------

    def _compare_numbers(self, names: Sequence[str]) -> Iterator[NumberChange]:
        """Compares the means of number fields, with bootstrap intervals of the differences."""
        if not names:
            return
        before = np.column_stack([self.a.fields[name].numbers[self.in_a] for name in names])
        after = np.column_stack([self.b.fields[name].numbers[self.in_b] for name in names])
        for place, interval in enumerate(bootstrap_mean_intervals(after - before, self.resampler)):
            yield self._number_change(names[place], before[:, place], after[:, place], interval)

    def _number_change(
        self, name: str, before: NDArray[np.float64], after: NDArray[np.float64], interval: Interval | None
    ) -> NumberChange:
        """Returns how a number field changed, with the cases that changed most."""
        change = after - before
        known = np.flatnonzero(~np.isnan(change))
        moved = known[change[known] != 0.0]
        largest = moved[np.argsort(-np.abs(change[moved]), kind="stable")][: self.shown]
        n = len(known)
        return NumberChange(
            name=name,
            n=n,
            left_out=len(change) - n,
            a=float(before[known].mean()) if n else None,
            b=float(after[known].mean()) if n else None,
            difference=float(change[known].mean()) if n else None,
            interval=interval,
            risen=int((change[known] > 0).sum()),
            fallen=int((change[known] < 0).sum()),
            movers=tuple(
                Mover(id=self.a.ids[self.in_a[place]], a=float(before[place]), b=float(after[place]))
                for place in largest
            ),
            says=self._number_direction(interval, change, known),
        )

    def _number_direction(self, interval: Interval | None, change: NDArray[np.float64], known: Places) -> Direction:
        """Returns whether a number rose, fell or stayed the same, or that cases are too few to tell.

        With few cases the sign test must agree, because the bootstrap interval is then too narrow.
        """
        moves = change[known]
        if self.resampler.clusters is not None:  # a cluster counts as one case
            _, homes = np.unique(self.resampler.clusters[known], return_inverse=True)
            moves = np.bincount(homes, weights=moves).astype(np.float64)
        says = direction_of(interval, same=len(known) > 0 and not change[known].any())
        if len(moves) >= FEW or says == "the same":
            return says
        significant = mcnemar_p(int((moves < 0).sum()), int((moves > 0).sum())) <= SIGNIFICANCE
        return says if significant and says in ("higher", "lower") else "too few to tell"

    # --- labels --------------------------------------------------------------------------------

    def _compare_codes(self, a: Column, b: Column) -> CodeChange:
        """Returns how a field of labels changed."""
        joint = {labels: place for place, labels in enumerate(dict.fromkeys(a.values + b.values))}
        before, after = (
            _renumber(column.codes[places], [joint[labels] for labels in column.values])
            for column, places in ((a, self.in_a), (b, self.in_b))
        )
        words = {place: ", ".join(labels) for labels, place in joint.items()}
        return CodeChange(
            name=a.name,
            n=len(self.in_a),
            changed=int((before != after).sum()),
            labels=tuple(self._label_changes(a, b)),
            flips=tuple(self._count_flips(before, after, words | {NULL: _NULL, ABSENT: _NULL})),
        )

    def _count_flips(self, before: Codes, after: Codes, words: Mapping[int, str]) -> Iterator[Flip]:
        """Yields how often one label became another, most frequent first."""
        moves, counts = np.unique(np.stack([before, after])[:, before != after], axis=1, return_counts=True)
        for place in np.argsort(-counts, kind="stable")[:_MOST_FLIPS]:
            old, new = moves[:, place]
            which = (before == old) & (after == new)
            yield Flip(before=words[old], after=words[new], count=int(counts[place]), ids=self.ids(which))

    def _label_changes(self, a: Column, b: Column) -> Iterator[LabelChange]:
        """Yields how the share of each label changed, with p values adjusted for their number (None for clusters)."""
        labels, n = self._tested_labels(a, b), len(self.in_a)
        before = np.array([a.having(label)[self.in_a] for label in labels]).reshape(len(labels), n)
        after = np.array([b.having(label)[self.in_b] for label in labels]).reshape(len(labels), n)
        lost, gained = (before & ~after).sum(axis=1).tolist(), (after & ~before).sum(axis=1).tolist()
        flips = list(zip(lost, gained, strict=True))
        ps: Sequence[float | None] = [None] * len(labels)
        if self.resampler.clusters is None:
            ps = adjust_holm([mcnemar_p(*flip) for flip in flips])
        intervals = self._share_intervals(before, after, flips)
        for place, label in enumerate(labels):
            yield LabelChange(
                label=label,
                a=int(before[place].sum()),
                b=int(after[place].sum()),
                lost=lost[place],
                gained=gained[place],
                difference=(gained[place] - lost[place]) / n if n else 0.0,
                interval=intervals[place],
                p=ps[place],
                says=_label_direction(ps[place], intervals[place], lost[place], gained[place]),
            )

    def _tested_labels(self, a: Column, b: Column) -> list[str]:
        """The labels to test: one for a field of two labels (yes/no), "pass" for a roll-up, otherwise all."""
        labels = sorted({*a.labels(), *b.labels()})
        either_or = all(_has_one_label(column, cases) for column, cases in ((a, self.in_a), (b, self.in_b)))
        if (len(labels) <= 2 and either_or) or a.name == ROLL_UP:
            return next(([label] for label in _POSITIVE_LABELS if label in labels), labels[:1])
        return labels

    def _share_intervals(
        self, before: NDArray[np.bool_], after: NDArray[np.bool_], flips: Sequence[tuple[int, int]]
    ) -> list[Interval | None]:
        """Returns the intervals of the differences in shares. By formula, or by bootstrap of clusters; without any
        flip, by formula over the number of clusters."""
        if self.resampler.clusters is None:
            return [share_difference_interval(*flip, len(self.in_a)) for flip in flips]
        found = bootstrap_mean_intervals((after.astype(np.float64) - before).T, self.resampler)
        alike = share_difference_interval(0, 0, self.resampler.units)
        return [interval if any(flip) else alike for interval, flip in zip(found, flips, strict=True)]

    # --- anything else -------------------------------------------------------------------------

    def _compare_other(self, a: Column, b: Column) -> OtherChange:
        changed = a.marks(self.in_a) != b.marks(self.in_b)
        return OtherChange(name=a.name, n=len(changed), changed=int(changed.sum()), ids=self.ids(changed))


def _common_kind(a: ColumnKind, b: ColumnKind) -> ColumnKind:
    """The kind of a field in two runs: an empty column is of the other's kind, two different kinds are `other`."""
    if a == b or b == "empty":
        return a
    return b if a == "empty" else "other"


def _has_one_label(column: Column, cases: Places) -> bool:
    """Whether every case has exactly one label; a list may hold several or none, and a null has none."""
    codes = column.codes[cases]
    return bool((codes >= 0).all()) and all(len(column.values[code]) == 1 for code in np.unique(codes))


def _label_direction(p: float | None, interval: Interval | None, lost: int, gained: int) -> Direction:
    """Whether the share of a label rose or fell. Decided by the test of the flips; if cases are clustered, by the
    interval."""
    same = interval is not None and not (lost or gained)
    if interval is None or p is None or same:
        return direction_of(interval, same=same)
    if p > SIGNIFICANCE:
        return "no difference shown"
    return "higher" if gained > lost else "lower"


def _renumber(codes: Codes, table: list[int]) -> Codes:
    """Codes of one run in the numbering of both; negative codes (no value) are kept."""
    if not table:
        return codes
    return np.where(codes >= 0, np.array(table, np.int32)[np.maximum(codes, 0)], codes).astype(np.int32)
