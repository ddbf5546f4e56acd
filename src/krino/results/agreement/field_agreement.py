"""Compares one field of the verdict with its labels, and computes every figure of agreement."""

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
from krino.results.agreement.single_words import compare_words
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
from krino.runs.index import CODES
from krino.stats.arrays import MISSING, Codes
from krino.stats.bootstrap import Resampler
from krino.stats.classification import class_scores, confusion_counts
from krino.stats.confidence_intervals import FEW

Mask = NDArray[np.bool_]
FINE = 5_000
"""With more distinct numbers than this, numbers are rounded for the bootstrap (not for the values)."""
_MOST_WORK = 10_000_000
_LEAST_DRAWS = 100
_GRID_STEPS = 1_000
_SHOWN_RATERS = 12


@dataclass(frozen=True)
class Sampling:
    """Settings of the bootstrap."""

    draws: int
    seed: int
    groups: Sequence[Hashable] | None = None
    """The cluster of each labelled case."""

    def resampler(self, cases: NDArray[np.intp], patterns: int) -> Resampler:
        """Makes a resampler of some labelled cases. With many patterns each draw is slow, so that there are fewer
        draws."""
        groups = None if self.groups is None else [self.groups[case] for case in cases]
        draws = min(self.draws, max(_LEAST_DRAWS, _MOST_WORK // max(patterns, 1)))
        return Resampler.create(len(cases), groups, draws, self.seed)


@dataclass(frozen=True)
class FieldData:
    """One field, with codes for all labelled cases in the order of the labels."""

    name: str
    coding: Coding
    status: NDArray[np.uint8]
    judge: Codes
    people: Codes
    """One row for each case, one column for each rater if `named`; otherwise columns have no meaning."""
    raters: tuple[str, ...]
    named: bool
    null_only: Mask
    """Cases that people labelled null only."""

    @property
    def labelled(self) -> Mask:
        """Which cases have a label in this field."""
        given: Mask = (self.people != MISSING).any(axis=1)
        return given

    @property
    def compared(self) -> Mask:
        """Which cases have a label and a value of the judge in this field."""
        both: Mask = self.labelled & (self.status == CODES["ok"]) & (self.judge != MISSING)
        return both


def collect_field(
    name: str, labels: Labels, verdicts: Verdicts, scale: Scale | None = None, closed: Set[str] | None = None
) -> FieldData:
    """Encodes a field of judge and people for all labelled cases. Raises `NotComparable` or `UsageProblem` if that is
    impossible."""
    size = len(labels.ids)
    column = labels.columns[name]
    verdict = verdicts.fields.get(name) or VerdictColumn(array("q", [-1]) * size)
    coding = encode_field(name, verdict.pool, column, scale, closed)
    judged = np.append(coding.judge, MISSING)[np.array(verdict.values, np.intp)]  # -1 selects the last: missing
    cases, raters, numbers = column.table().T
    codes = coding.people[numbers]
    given = codes != MISSING
    asked = np.zeros(size, np.bool_)
    asked[cases] = True
    cases, raters, codes = cases[given], raters[given], codes[given]
    present, own = np.unique(raters, return_inverse=True)
    named = len(present) <= MOST_PAIRED
    people = np.full((size, len(present) if named else int(np.bincount(cases).max(initial=0))), MISSING, np.intp)
    people[cases, own if named else _rank_within_case(cases)] = codes
    names = list(labels.raters)
    return FieldData(
        name=name,
        coding=coding,
        status=np.frombuffer(bytes(verdicts.status), np.uint8),
        judge=judged,
        people=people,
        raters=tuple(names[number] for number in present),
        named=named,
        null_only=asked & ~(people != MISSING).any(axis=1),
    )


def _rank_within_case(cases: Codes) -> Codes:
    """Rank of each label within its case."""
    order = np.argsort(cases, kind="stable")
    ordered = cases[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    lengths = np.diff(np.r_[starts, len(ordered)])
    place = np.empty(len(cases), np.intp)
    place[order] = np.arange(len(cases)) - np.repeat(starts, lengths)
    return place


def compare_field(data: FieldData, labels: Labels, sampling: Sampling, worst: int) -> FieldAgreement:
    """Compares judge and people on one field, with bootstrap intervals for every figure."""
    compared = np.flatnonzero(data.compared)
    if not len(compared):
        note = "no labelled case has a value of the judge in this field: nothing can be compared"
        counts, kind = _count_cases(data, None), data.coding.kind
        return FieldAgreement(field=data.name, kind=kind, raters=data.raters, counts=counts, notes=(note,))
    patterns = Patterns.of(data.judge[compared], data.people[compared], data.coding.positions)
    parts = field_statistics(patterns, data.coding, named=data.named)
    drawn, drawn_parts = patterns, parts
    if data.coding.kind == "number" and len(data.coding.values) > FINE:
        drawn, coding = _round_for_draws(data, compared)
        drawn_parts = field_statistics(drawn, coding, named=data.named)
    resampler = sampling.resampler(compared, len(drawn.counts))
    draws = resampler.draw_pattern_counts(drawn.pattern, len(drawn.counts))
    found = estimate_figures(parts, patterns.counts, draws, resampler.units, drawn_parts)
    return FieldAgreement(
        field=data.name,
        kind=data.coding.kind,
        raters=data.raters,
        counts=_count_cases(data, patterns),
        draws=resampler.draws,
        figures=found[JUDGE],
        people=found.get(PEOPLE, {}),
        gap=found.get(GAP, {}),
        classes=_score_classes(patterns, data.coding, found.get(CLASSES), resampler.units),
        words=compare_words(data.judge[compared], data.people[compared], data.coding, sampling.groups is not None),
        confusion=_count_confusion(patterns, data.coding),
        disagreeing=int(patterns.counts[patterns.differs()].sum()),
        worst=_find_worst(data, patterns, compared, labels, worst),
        notes=_list_notes(data, patterns),
    )


def _round_for_draws(data: FieldData, compared: Codes) -> tuple[Patterns, Coding]:
    """Rounded numbers: the bootstrap is many times faster, and its intervals are the same."""
    coding, new = round_values(data.coding, _GRID_STEPS)
    new = np.append(new, MISSING)  # for -1, which selects the last
    return Patterns.of(new[data.judge[compared]], new[data.people[compared]], coding.positions), coding


def _count_cases(data: FieldData, patterns: Patterns | None) -> FieldCounts:
    """Counts the cases of a field by what could be compared."""
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
    """Counts the labelled cases by their status, under the names of the fields of `LabelledCounts`."""
    codes = {"judged": CODES["ok"], "failed": CODES["failed"], "error": CODES["error"], "absent": ABSENT}
    found = np.bincount(status[labelled], minlength=max(codes.values()) + 1)
    return {"labelled": int(labelled.sum()), **{name: int(found[code]) for name, code in codes.items()}}


def _score_classes(
    patterns: Patterns, coding: Coding, figures: dict[str, Figure] | None, units: int
) -> tuple[ClassAgreement, ...]:
    """Returns precision, recall and F1 of every class."""
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
        own = {name: _class_figure(name, figures[f"{name}:{code}"], n[name], units) for name in CLASS_FIGURES}
        classes.append(ClassAgreement(value=value, people=people, judge=judge, **own))
    return tuple(classes)


def _class_figure(name: str, found: Figure, n: int, units: int) -> Figure:
    """The figure of a class with `n` cases: shares get Wilson's interval, others none if the cases are too few."""
    if name in SHARES:
        return with_wilson_interval(found, n, units)
    if found.interval is not None and n < FEWEST:
        return Figure(value=found.value, n=n, why=too_few_reason(n))
    return found.model_copy(update={"n": n})


def _count_confusion(patterns: Patterns, coding: Coding) -> Confusion | None:
    """Returns how often the judge said each class where people said each; None for numbers and very many classes."""
    if coding.kind == "number" or len(coding.values) > MOST_CLASSES:
        return None
    table = confusion_counts(patterns.majority, patterns.judge, len(coding.values), patterns.counts)
    counts = tuple(tuple(int(cell) for cell in row) for row in table)
    return Confusion(values=coding.values, counts=counts)


def _find_worst(
    data: FieldData, patterns: Patterns, compared: Codes, labels: Labels, most: int
) -> tuple[Disagreement, ...]:
    """Returns at most `most` cases on which they differ. Largest distance first; ties by the number of raters, then in
    the order of the labels."""
    distance = patterns.distance(data.coding.positions)[patterns.pattern]
    voices = (patterns.people != MISSING).sum(axis=1)[patterns.pattern]
    order = np.lexsort((-voices, -distance))[:most]
    chosen = [(int(compared[place]), float(distance[place])) for place in order if distance[place] > 0]
    ids = {case: own_id for own_id, case in labels.ids.items()} if chosen else {}
    people = _labels_of_cases({case for case, _ in chosen}, labels.columns[data.name], data.coding, list(labels.raters))
    return tuple(
        Disagreement(
            id=ids[case], judge=data.coding.values[data.judge[case]], people=people[case], distance=round(far, 12)
        )
        for case, far in chosen
    )


def _labels_of_cases(
    wanted: set[int], column: LabelColumn, coding: Coding, raters: list[str]
) -> dict[int, dict[str, str]]:
    """Returns for each wanted case what its first raters said."""
    found: dict[int, dict[str, str]] = {case: {} for case in wanted}
    table = column.table()
    for case, rater, number in table[np.isin(table[:, 0], list(wanted))].tolist():
        code = coding.people[number]
        if code != MISSING and len(found[case]) < _SHOWN_RATERS:
            found[case][raters[rater]] = coding.values[code]
    return found


def _list_notes(data: FieldData, patterns: Patterns) -> tuple[str, ...]:
    """Returns notes on what limits the figures: few cases, rounding, too many raters or classes."""
    notes = list(data.coding.notes)
    n = int(patterns.counts.sum())
    if n < FEW:
        notes.append(f"only {n} cases: the intervals are rough")
    if data.coding.kind == "number" and len(data.coding.values) > FINE:
        notes.append(f"for the intervals, not for the values, numbers are rounded to 1/{_GRID_STEPS:,} of their range")
    if not data.named:
        notes.append(f"{len(data.raters)} raters: too many for pairs of raters; see alpha")
    if data.coding.kind != "number" and len(data.coding.values) > MOST_CLASSES:
        notes.append(f"{len(data.coding.values)} classes: too many for figures by class")
    return tuple(notes)
