"""Calibration: is the judge right, by the majority of people, as often as its confidence says?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from krino.errors import UsageProblem
from krino.results.agreement.field_agreement import FieldData, Sampling
from krino.results.agreement.labelled_verdicts import Verdicts, names_confidence
from krino.results.agreement.result import Bin, CalibrationResult, Skipped
from krino.results.agreement.statistics import FigureGroup, estimate_figures, group_patterns, majority_codes
from krino.results.formatting import join_quoted
from krino.stats.arrays import MISSING, Floats
from krino.stats.classification import BINS, Reliability, reliability
from krino.stats.confidence_intervals import FEW
from krino.text.guessing import did_you_mean


def calibrate_confidences(
    verdicts: Verdicts, fields: Sequence[FieldData], chosen: Mapping[str, str], sampling: Sampling
) -> Iterator[CalibrationResult | Skipped]:
    """Yields one result for each confidence: fields with such a name, and those in `chosen` (confidence to its
    field)."""
    classes = {data.name: data for data in fields if data.coding.kind != "number"}
    for name, of in chosen.items():
        if name not in verdicts.names:
            raise UsageProblem(
                f"confidence `{name}`: no such field of the verdict{did_you_mean(name, verdicts.names)}; "
                f"it has {join_quoted(verdicts.names)}"
            )
        if of not in classes:
            raise UsageProblem(
                f"confidence `{name}` of `{of}`: that field is not compared as classes{did_you_mean(of, classes)}; "
                f"there are {join_quoted(classes)}"
            )
    for name in verdicts.fields:
        if name not in chosen and not names_confidence(name):
            continue
        about = chosen.get(name) or _guess_field(name, classes)
        if about is None:
            yield Skipped(column=name, why="a confidence, but no field with classes is compared that it could be about")
        else:
            yield _calibrate(name, verdicts, classes[about], sampling)


def _guess_field(name: str, classes: Mapping[str, FieldData]) -> str | None:
    """The field that a confidence is about: `match` for `match_confidence`, else the first compared field; None
    without any."""
    stem = name.rpartition("_")[0]
    return stem if stem in classes else next(iter(classes), None)


def _calibrate(name: str, verdicts: Verdicts, data: FieldData, sampling: Sampling) -> CalibrationResult | Skipped:
    """Compares a confidence with how often the judge agrees with the majority; returns `Skipped` with the reason if
    that is impossible."""
    column = verdicts.fields[name]
    numbers = np.array(column.values, np.intp)
    known = np.array([*map(_to_float, column.pool.values), math.nan])
    confidence = known[numbers]  # -1 selects the last: no confidence
    most = majority_codes(data.people)
    there = np.flatnonzero(data.compared & (most != MISSING) & np.isfinite(confidence))
    stated, right = confidence[there], data.judge[there] == most[there]
    if not len(there):
        return Skipped(column=name, why=f"a confidence, but no case with a majority on `{data.name}` has one")
    notes = []
    if stated.max() > 1.0:
        notes.append("the confidences are read as per cent")
        stated = stated / 100.0
    if stated.min() < 0.0 or stated.max() > 1.0:
        return Skipped(column=name, why="a confidence, but it is neither between 0 and 1 nor between 0 and 100")
    if len(there) < BINS * FEW:
        notes.append("few cases in each bin: chance alone makes the error look larger than it is")
    first, pattern, counts = group_patterns([numbers[there], right.astype(np.intp)])

    def figures(weights: Floats) -> dict[str, float]:
        return {"error": reliability(stated[first], right[first], weights=weights).error}

    resampler = sampling.resampler(there, len(first))
    draws = resampler.draw_pattern_counts(pattern, len(first))
    group = FigureGroup("confidence", len(there), figures)
    found = estimate_figures([group], counts, draws, resampler.units)
    return CalibrationResult(
        field=name,
        of=data.name,
        error=found["confidence"]["error"],
        bins=_bins(reliability(stated, right)),
        notes=tuple(notes),
    )


def _to_float(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def _bins(found: Reliability) -> tuple[Bin, ...]:
    """Returns the bins of a reliability diagram."""
    return tuple(
        Bin(
            low=round(float(found.edges[at]), 12),
            high=round(float(found.edges[at + 1]), 12),
            n=int(n),
            confidence=float(found.confidence[at]) if n else None,
            right=float(found.right[at]) if n else None,
        )
        for at, n in enumerate(found.counts)
    )
