"""One field of the verdict against its labels: who said what of which case, and every figure that follows."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from krino.results.agreement.coding import Coding, encode_field, round_values
from krino.results.agreement.labelled_verdicts import ABSENT, VerdictColumn, Verdicts
from krino.results.agreement.labels import LabelColumn, Labels
from krino.results.agreement.result import ClassAgreement, Confusion, Disagreement, FieldAgreement, FieldCounts, Figure
from krino.results.agreement.statistics import (
    CLASS_FIGURES,
    CLASSES,
    FEWEST,
    GAP,
    JUDGE,
    MOST_CLASSES,
    MOST_PAIRED,
    PEOPLE,
    SHARES,
    Patterns,
    estimate_figures,
    field_statistics,
    too_few_reason,
    with_wilson_interval,
)
from krino.results.verdict_schema import Scale
from krino.runs.journal import CODES
from krino.stats.arrays import MISSING, Codes
from krino.stats.bootstrap import Resampler
from krino.stats.classification import class_scores, confusion_counts

Mask = NDArray[np.bool_]
FEW = 30
FINE = 5_000
"""Numbers with more different values than this are rounded for the draws (not for the values)."""
_MOST_WORK = 10_000_000
_LEAST_DRAWS = 100
_STEPS = 1_000
_SHOWN_RATERS = 12


@dataclass(frozen=True)
class Sampling:
    """How the bootstrap is to draw."""

    draws: int
    seed: int
    groups: Sequence[Hashable] | None = None
    """For each labelled case its cluster."""

    def resampler(self, cases: NDArray[np.intp], patterns: int) -> Resampler:
        """Over some of the labelled cases. Where hardly two are alike each draw is work, and fewer have to do."""
        groups = None if self.groups is None else [self.groups[case] for case in cases]
        draws = min(self.draws, max(_LEAST_DRAWS, _MOST_WORK // max(patterns, 1)))
        return Resampler.create(len(cases), groups, draws, self.seed)


@dataclass(frozen=True)
class FieldData:
    """Codes of all labelled cases, in the order of the labels."""

    name: str
    coding: Coding
    status: NDArray[np.uint8]
    judge: Codes
    people: Codes
    """A row a case; a column a rater where `named`, else just the labels of the case."""
    raters: tuple[str, ...]
    named: bool
    null_only: Mask
    """People gave null and nothing else."""

    @property
    def labelled(self) -> Mask:
        given: Mask = (self.people != MISSING).any(axis=1)
        return given

    @property
    def compared(self) -> Mask:
        both: Mask = self.labelled & (self.status == CODES["ok"]) & (self.judge != MISSING)
        return both


def collect_field(
    name: str, labels: Labels, verdicts: Verdicts, scale: Scale | None = None, closed: Set[str] | None = None
) -> FieldData:
    """Raises `NotComparable` or `UsageProblem` where the values are of no use."""
    size = len(labels.ids)
    column = labels.columns[name]
    verdict = verdicts.fields.get(name) or VerdictColumn(array("q", [-1]) * size)
    coding = encode_field(name, verdict.pool, column, scale, closed)
    said = np.append(coding.judge, MISSING)[np.array(verdict.values, np.intp)]  # -1 takes the last: missing
    cases, raters, numbers = column.table().T
    codes = coding.people[numbers]
    given = codes != MISSING
    asked = np.zeros(size, np.bool_)
    asked[cases] = True
    cases, raters, codes = cases[given], raters[given], codes[given]
    present, own = np.unique(raters, return_inverse=True)
    named = len(present) <= MOST_PAIRED
    people = np.full((size, len(present) if named else int(np.bincount(cases).max(initial=0))), MISSING, np.intp)
    people[cases, own if named else _place_within(cases)] = codes
    names = list(labels.raters)
    return FieldData(
        name=name,
        coding=coding,
        status=np.frombuffer(bytes(verdicts.status), np.uint8),
        judge=said,
        people=people,
        raters=tuple(names[number] for number in present),
        named=named,
        null_only=asked & ~(people != MISSING).any(axis=1),
    )


def _place_within(cases: Codes) -> Codes:
    """For each label, how many labels of the same case stand before it."""
    order = np.argsort(cases, kind="stable")
    ordered = cases[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, len(ordered)])
    place = np.empty(len(cases), np.intp)
    place[order] = np.arange(len(cases)) - np.repeat(starts, lengths)
    return place


def compare_field(data: FieldData, labels: Labels, sampling: Sampling, worst: int) -> FieldAgreement:
    compared = np.flatnonzero(data.compared)
    if not len(compared):
        told = "no labelled case has a value of the judge in this field: nothing can be compared"
        counts, kind = _counts(data, None), data.coding.kind
        return FieldAgreement(field=data.name, kind=kind, raters=data.raters, counts=counts, notes=(told,))
    patterns = Patterns.of(data.judge[compared], data.people[compared], data.coding.positions)
    parts = field_statistics(patterns, data.coding, named=data.named)
    drawn, drawn_parts = patterns, parts
    if data.coding.kind == "number" and len(data.coding.values) > FINE:
        drawn, coding = _coarse(data, compared)
        drawn_parts = field_statistics(drawn, coding, named=data.named)
    resampler = sampling.resampler(compared, len(drawn.counts))
    draws = resampler.draw_pattern_counts(drawn.pattern, len(drawn.counts))
    found = estimate_figures(parts, patterns.counts, draws, resampler.units, drawn_parts)
    return FieldAgreement(
        field=data.name,
        kind=data.coding.kind,
        raters=data.raters,
        counts=_counts(data, patterns),
        draws=resampler.draws,
        figures=found[JUDGE],
        people=found.get(PEOPLE, {}),
        gap=found.get(GAP, {}),
        classes=_classes(patterns, data.coding, found.get(CLASSES), resampler.units),
        confusion=_confusion(patterns, data.coding),
        disagreeing=int(patterns.counts[patterns.differs()].sum()),
        worst=_worst(data, patterns, compared, labels, worst),
        notes=_notes(data, patterns),
    )


def _coarse(data: FieldData, compared: Codes) -> tuple[Patterns, Coding]:
    """Numbers of which hardly two are alike, rounded: the draws are many times quicker, the intervals the same."""
    coding, new = round_values(data.coding, _STEPS)
    new = np.append(new, MISSING)  # for -1, which takes the last
    return Patterns.of(new[data.judge[compared]], new[data.people[compared]], coding.positions), coding


def _counts(data: FieldData, patterns: Patterns | None) -> FieldCounts:
    ok, without = data.status == CODES["ok"], data.judge == MISSING
    ties = 0
    if patterns is not None and data.coding.kind != "number":
        ties = int(patterns.counts[patterns.majority == MISSING].sum())
    return FieldCounts(
        **count_outcomes(data.status, data.labelled),
        null_in_verdict=int((data.labelled & ok & without).sum()),
        null_in_labels=int((data.null_only & ok & ~without).sum()),
        ties=ties,
        compared=int(data.compared.sum()),
    )


def count_outcomes(status: NDArray[np.uint8], labelled: Mask) -> dict[str, int]:
    """The counts of `LabelledCounts`."""
    codes = {"judged": CODES["ok"], "failed": CODES["failed"], "error": CODES["error"], "absent": ABSENT}
    found = np.bincount(status[labelled], minlength=max(codes.values()) + 1)
    return {"labelled": int(labelled.sum()), **{name: int(found[code]) for name, code in codes.items()}}


def _classes(
    patterns: Patterns, coding: Coding, figures: dict[str, Figure] | None, units: int
) -> tuple[ClassAgreement, ...]:
    if figures is None:
        return ()
    found = class_scores(patterns.majority, patterns.judge, len(coding.values), patterns.counts)
    classes = []
    for code, value in enumerate(coding.values):
        people, judge = int(found.actual[code]), int(found.predicted[code])
        either = patterns.counts[
            (patterns.majority != MISSING) & ((patterns.majority == code) | (patterns.judge == code))
        ]
        n = {"precision": judge, "recall": people, "f1": int(either.sum())}
        own = {name: _of_class(name, figures[f"{name}:{code}"], n[name], units) for name in CLASS_FIGURES}
        classes.append(ClassAgreement(value=value, people=people, judge=judge, **own))
    return tuple(classes)


def _of_class(name: str, found: Figure, n: int, units: int) -> Figure:
    """A figure of all draws, for a class that has `n` cases only."""
    if name in SHARES:
        return with_wilson_interval(found, n, units)
    if found.interval is not None and n < FEWEST:
        return Figure(value=found.value, n=n, why=too_few_reason(n))
    return found.model_copy(update={"n": n})


def _confusion(patterns: Patterns, coding: Coding) -> Confusion | None:
    if coding.kind == "number" or len(coding.values) > MOST_CLASSES:
        return None
    table = confusion_counts(patterns.majority, patterns.judge, len(coding.values), patterns.counts)
    counts = tuple(tuple(int(cell) for cell in row) for row in table)
    return Confusion(values=coding.values, counts=counts)


def _worst(data: FieldData, patterns: Patterns, compared: Codes, labels: Labels, most: int) -> tuple[Disagreement, ...]:
    """The farthest first; as far, those that more raters speak against; then in the order of the labels."""
    distance = patterns.distance(data.coding.positions)[patterns.pattern]
    voices = (patterns.people != MISSING).sum(axis=1)[patterns.pattern]
    order = np.lexsort((-voices, -distance))[:most]
    chosen = [(int(compared[place]), float(distance[place])) for place in order if distance[place] > 0]
    ids = {case: own_id for own_id, case in labels.ids.items()} if chosen else {}
    said = _labels_of({case for case, _ in chosen}, labels.columns[data.name], data.coding, list(labels.raters))
    return tuple(
        Disagreement(
            id=ids[case], judge=data.coding.values[data.judge[case]], people=said[case], distance=round(far, 12)
        )
        for case, far in chosen
    )


def _labels_of(wanted: set[int], column: LabelColumn, coding: Coding, raters: list[str]) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = {case: {} for case in wanted}
    table = column.table()
    for case, rater, number in table[np.isin(table[:, 0], list(wanted))].tolist():
        code = coding.people[number]
        if code != MISSING and len(found[case]) < _SHOWN_RATERS:
            found[case][raters[rater]] = coding.values[code]
    return found


def _notes(data: FieldData, patterns: Patterns) -> tuple[str, ...]:
    notes = list(data.coding.notes)
    n = int(patterns.counts.sum())
    if n < FEW:
        notes.append(f"only {n} cases: the intervals are rough")
    if data.coding.kind == "number" and len(data.coding.values) > FINE:
        notes.append(f"for the intervals, not for the values, numbers are rounded to 1/{_STEPS:,} of their range")
    if not data.named:
        notes.append(f"{len(data.raters)} raters: too many to make pairs of them, alpha speaks for all")
    if data.coding.kind != "number" and len(data.coding.values) > MOST_CLASSES:
        notes.append(f"{len(data.coding.values)} classes: too many to tell apart one by one")
    return tuple(notes)
