"""A score or a share over a series of runs, and the first run that differs from the first one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from krino.errors import UsageProblem
from krino.results import FrozenModel
from krino.results.formatting import format_start, join_quoted, judge_name
from krino.results.gates.measures import has_value
from krino.results.gates.rules import NULL, Target, parse_target
from krino.results.table import Table, read_table
from krino.results.verdict_schema import declared_bounds
from krino.stats.arrays import Floats
from krino.stats.confidence_intervals import Bounds, Interval, Moments
from krino.stats.repeated_looks import difference_at_look, interval_of_look
from krino.text.clean import clean_line
from krino.text.guessing import did_you_mean


class TrendPoint(FrozenModel):
    """One run of the series."""

    run: str
    judge: str
    started: str
    cases: int
    """With a value."""
    left_out: int
    """Without a verdict or a value."""
    value: float | None
    interval: Interval | None
    change: Interval | None = None
    """The interval of the change since the first run."""
    differs: bool = False


class Trend(FrozenModel):
    target: str
    is_share: bool
    points: tuple[TrendPoint, ...]
    first_different: str | None
    sentence: str
    notes: tuple[str, ...] = ()


def trend(folders: Sequence[Path], of: str) -> Trend:
    """The series of `of` (FIELD, FIELD:LABEL, FIELD:below:NUMBER, or pass, review, fail), in the order of the runs.

    The intervals hold for all runs together, however many follow.
    """
    target = parse_target(of)
    if target.field is None or target.label == NULL or target.to is not None:
        raise UsageProblem(f"{of}: name a field, a label of a field (FIELD:LABEL), or pass, review or fail")
    if len(folders) < 2:
        raise UsageProblem("a trend needs two runs at least; `krino show RUN` shows one")
    points: list[TrendPoint] = []
    first: tuple[Moments, Bounds] | None = None
    judges: list[str] = []
    for place, folder in enumerate(folders):
        run = read_table(folder, fields={target.field})
        values = _select_values(run, target)
        bounds = (0.0, 1.0) if not target.is_mean else declared_bounds(run.manifest.about.fields_schema, target.field)
        found = Moments.of(values)
        if first is None:
            if found.n < 2:
                raise UsageProblem(
                    f"{folder}: the first run has fewer than two values of {of}: nothing can be compared"
                )
            first = found, bounds
        points.append(_make_point(run, folder, found, first, look=max(place, 1), is_first=not place))
        judges.append(points[-1].judge)
    different = next((point for point in points if point.differs), None)
    notes = []
    if len(set(judges)) > 1:
        notes.append(f"The runs are of several judges ({join_quoted(dict.fromkeys(judges))}): a change may be theirs.")
    return Trend(
        target=str(target),
        is_share=not target.is_mean,
        points=tuple(points),
        first_different=None if different is None else different.run,
        sentence=_write_sentence(points, different, target),
        notes=tuple(notes),
    )


def _select_values(run: Table, target: Target) -> Floats:
    """Returns the values of a target in the cases that have one: 1 or 0 for a share. Raises `UsageProblem` for a
    field that is missing or no number."""
    column = run.fields.get(target.field or "")
    if column is None:
        if not run.ok.any():
            return np.empty(0)
        guess = did_you_mean(target.field or "", run.field_names)
        raise UsageProblem(f"{run.folder}: the verdicts have no field `{target.field}`{guess}")
    known = run.ok & has_value(column)
    if target.label is not None:
        return column.having(target.label)[known].astype(np.float64)
    if column.kind != "number":
        raise UsageProblem(f"{run.folder}: `{target.field}` is no number; name a label of it, as {target.field}:LABEL")
    if target.beyond is not None:
        return target.beyond.includes(column.numbers[known]).astype(np.float64)
    return column.numbers[known]


def _make_point(
    run: Table, folder: Path, found: Moments, first: tuple[Moments, Bounds], *, look: int, is_first: bool
) -> TrendPoint:
    """Returns one run's point in the series, compared with the first run."""
    before, bounds = first
    change = None if is_first else difference_at_look(before, found, look, bounds)
    return TrendPoint(
        run=clean_line(str(folder)),
        judge=judge_name(run.manifest),
        started=format_start(run.manifest),
        cases=found.n,
        left_out=len(run) - found.n,
        value=found.mean if found.n else None,
        interval=interval_of_look(found, look, bounds),
        change=change,
        differs=change is not None and (change[0] > 0 or change[1] < 0),
    )


def _write_sentence(points: Sequence[TrendPoint], different: TrendPoint | None, target: Target) -> str:
    """Says which run is the first that differs."""
    if different is None or different.change is None:
        return f"No run differs from the first one in {target} by more than chance explains ({len(points):,} runs)."
    place = points.index(different) + 1
    way = "higher" if different.change[0] > 0 else "lower"
    return f"Run {place:,} ({different.run}) is the first that differs from the first run: its {target} is {way}."
