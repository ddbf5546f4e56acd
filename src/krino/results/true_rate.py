"""The true rate or mean of a field over all cases of a run, from all verdicts and the labels of a few cases."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from krino.errors import UsageProblem
from krino.results.agreement.coding import Coding, NotComparable, encode_field
from krino.results.agreement.labelled_verdicts import note_content
from krino.results.agreement.labels import LabelColumn, Labels, Pool
from krino.results.field_kinds import ROLL_UP, fields_of
from krino.results.formatting import format_count, join_quoted, judge_name, quote
from krino.results.gates.rules import Target, parse_target
from krino.results.verdict_schema import Schema, closed_labels, declared_scale
from krino.runs.stored_run import StoredRun
from krino.stats import prediction_powered as powered
from krino.stats.arrays import Floats
from krino.stats.confidence_intervals import NORMAL_95, Interval
from krino.stats.prediction_powered import Estimated, Strata
from krino.text.clean import clean_line, clean_name
from krino.text.guessing import did_you_mean

FEWEST = 10
"""With fewer labels nothing is estimated."""
_MOST_SLICES = 50
RANDOM = "label_random"
"""The column of a workbench that marks the random sample."""
WEIGHT = "label_weight"
"""The column with the sampling weights of a workbench where cases were drawn for a rate."""


class Estimate(BaseModel):
    """One estimate of the true value."""

    method: str
    value: float
    interval: Interval
    words: str


class TrueRate(BaseModel):
    """The true value of a field: the estimates, which of them to trust, and what more labels would bring."""

    target: str
    is_rate: bool
    cases: int
    """Cases with a verdict, which the estimate is about."""
    labels: int
    judged: float
    """What the verdicts alone say."""
    estimates: list[Estimate]
    trusted: str
    """The method to trust."""
    sentence: str
    more_labels: int | None = None
    """How many more labels would halve the interval; null if it needs more cases instead."""
    label_next: dict[str, float] = {}
    """For each answer of the judge, the share of further labels that it should get."""
    notes: list[str] = []

    @property
    def best(self) -> Estimate:
        return next(found for found in self.estimates if found.method == self.trusted)


BY_ANSWER = "labels by answer of the judge"
TUNED = "prediction-powered, tuned"
ROGAN_GLADEN = "Rogan-Gladen"
ALONE = "labels alone"


@dataclass(slots=True)
class _Column:
    """One field of all cases of a run, and which of them have labels."""

    labels: Labels
    name: str
    weight: str | None
    pool: Pool = field(default_factory=Pool)
    values: array[int] = field(default_factory=lambda: array("q"))
    case_of: dict[int, int] = field(default_factory=dict)
    """Number of a labelled case to its place among `values`; of a record that comes twice, the first place."""
    unjudged: int = 0
    names: dict[str, None] = field(default_factory=dict)
    contents: dict[int, str | None] = field(default_factory=dict)
    """The content hash of each labelled case."""

    def add(self, judgement: Mapping[str, Any]) -> None:
        """Adds a judgement's value of the field, and notes whether the case is labelled. Raises `UsageProblem` if two
        labelled cases with different content have one id."""
        case = self.labels.ids.get(clean_name(judgement["id"]))
        if case is not None:
            note_content(judgement, case, self.contents)  # refuses an ambiguous label; a copy is a case of the run too
        if judgement["status"] != "ok":
            self.unjudged += 1
            return
        values = fields_of(judgement)
        if not values.keys() <= self.names.keys():
            self.names.update(dict.fromkeys(values))
        if case is not None:
            self.case_of.setdefault(case, len(self.values))
        self.values.append(self.pool.number(values.get(self.name)))


@dataclass(frozen=True, slots=True)
class _Sample:
    """Numbers only: of all cases the judge's values, of some the label."""

    judged: Floats
    """Of all cases; nan where the verdict has no value."""
    places: NDArray[np.intp]
    labels: Floats
    weights: Floats
    is_weighted: bool


def true_rate(
    judgements: Iterable[Mapping[str, Any]],
    labels: Labels,
    target: str,
    *,
    schema: Schema | None = None,
    weight: str | None = None,
) -> TrueRate:
    """Estimates the true value of `target` over all cases of a run.

    `target`: FIELD for the mean of a number, FIELD:LABEL for the share of a label, or pass, review and fail. `weight`:
    a column of the labels with sampling weights (one over the chance that the case was labelled).
    """
    wanted = parse_target(target)
    if wanted.field is None:
        raise UsageProblem(f"{target}: cases without a verdict are counted, not estimated; name a field")
    if weight is None and WEIGHT in labels.columns:
        labels, notes, weight = *_weighted_sample(labels), WEIGHT
    else:
        labels, notes = _random_sample(labels)
    column = _Column(labels, wanted.field, weight)
    for judgement in judgements:
        column.add(judgement)
    sample = _make_sample(column, wanted, schema, notes)
    return _estimate(sample, wanted, notes)


def _weighted_sample(labels: Labels) -> tuple[Labels, list[str]]:
    """Keeps the labels of a workbench with a sampling weight, and notes the rest: they were chosen for being
    disputed."""
    column = labels.columns[WEIGHT]
    rows = {(case, rater) for one in labels.columns.values() for case, rater, _ in one.table().tolist()}
    weighted = column.table().tolist()
    kept = {(case, rater) for case, rater, value in weighted if column.pool.values[value] not in (None, "")}
    return _keep_labels(labels, kept, len(rows), f"has a sampling weight ({WEIGHT})")


def _random_sample(labels: Labels) -> tuple[Labels, list[str]]:
    """Keeps the labels of a workbench's random sample, and notes the rest: they were chosen for being disputed. All, if
    none is marked."""
    column = labels.columns.get(RANDOM)
    if column is None:
        return labels, []
    table = column.table()
    drawn = np.array([value is True or str(value).casefold() == "true" for value in column.pool.values], np.bool_)
    kept = {(int(case), int(rater)) for case, rater, value in table if drawn[value]}
    return _keep_labels(labels, kept, len(table), f"is part of the random sample ({RANDOM})")


def _keep_labels(labels: Labels, kept: set[tuple[int, int]], of: int, condition: str) -> tuple[Labels, list[str]]:
    """Returns the labels of these cases and raters, and a note on those that are left out. Raises `UsageProblem` if
    none remain; the message says that no label meets the `condition`."""
    left_out = of - len(kept)
    if not left_out:
        return labels, []
    if not kept:
        raise UsageProblem(
            f"no label {condition}: cases that were chosen for being disputed say nothing "
            "about all cases; label some of the random ones"
        )
    columns = {name: _select_rows(column, kept) for name, column in labels.columns.items()}
    cases = {case for case, _ in kept}
    ids = {name: case for name, case in labels.ids.items() if case in cases}
    words = f"{format_count(left_out, 'label')} left out: their cases were chosen for being disputed, not at random"
    return Labels(ids=ids, raters=labels.raters, columns=columns), [words]


def _select_rows(column: LabelColumn, kept: set[tuple[int, int]]) -> LabelColumn:
    """The column with the labels of these cases and raters only."""
    rows = [row for row in column.table() if (int(row[0]), int(row[1])) in kept]
    return LabelColumn(column.pool, column.places, array("q", (int(item) for row in rows for item in row)))


def _make_sample(column: _Column, target: Target, schema: Schema | None, notes: list[str]) -> _Sample:
    """Brings verdicts and labels of a field together, adds to `notes` what is left out, and refuses what cannot be
    compared."""
    name = column.name
    if name not in column.names:
        there = join_quoted(column.names)
        raise UsageProblem(
            f"the verdicts have no field {quote(name)}{did_you_mean(name, column.names)}; there are {there}"
        )
    given = column.labels.columns.get(name)
    if given is None:
        there = join_quoted(column.labels.columns)
        raise UsageProblem(
            f"the labels have no column {quote(name)}{did_you_mean(name, column.labels.columns)}: {there}"
        )
    try:
        scale, closed = declared_scale(schema, name), closed_labels(schema, name)
        coding = encode_field(name, column.pool, given, scale, closed)
    except NotComparable as problem:
        raise UsageProblem(f"{name}: {problem}, so it has no rate and no mean") from None
    numbers = _numbers_of(coding, target, given)
    judged = numbers[coding.judge[np.frombuffer(column.values, np.int64)]]
    of_case = _means_by_case(given, numbers[coding.people])
    places, labels, chosen = [], [], []
    for case, value in of_case.items():
        place = column.case_of.get(case)
        if place is not None and not np.isnan(judged[place]):
            places.append(place)
            labels.append(value)
            chosen.append(case)
    _note_left_out(column, len(of_case), len(places), int(np.isnan(judged).sum()), notes)
    if len(places) < FEWEST:
        raise UsageProblem(
            f"{format_count(len(places), 'label')} of {target} on cases with a verdict: an estimate needs at least "
            f"{FEWEST}; ids of the labels must be those of the cases"
        )
    weights = _weights(column, chosen)
    is_weighted = bool(np.ptp(weights) > 0)
    return _Sample(judged, np.array(places, np.intp), np.array(labels), weights, is_weighted)


def _numbers_of(coding: Coding, target: Target, given: LabelColumn) -> Floats:
    """The number that each code counts as: for a share 1 or 0. nan for no value, which is also the last item, of code
    -1.

    Raises `UsageProblem` if there is nothing to estimate, or the field is of another kind.
    """
    if target.to is not None:
        raise UsageProblem(f"{target}: a change between two runs; estimate each of the two labels")
    if target.beyond is not None:
        if coding.positions is None:
            raise UsageProblem(f"{target}: {target.field} is not a number")
        return np.append(target.beyond.includes(coding.positions).astype(np.float64), np.nan)
    if target.label is None:
        if coding.positions is None or target.field == ROLL_UP:
            raise UsageProblem(
                f"{target.field} has labels, not numbers: name one, as {target.field}:{coding.values[0]} "
                f"(there are {join_quoted(coding.values)})"
            )
        return np.append(coding.positions, np.nan)
    wanted = target.label.casefold()
    hits = [wanted in (word.casefold() for word in (value, *value.split(" + "))) for value in coding.values]
    if not any(hits):
        there = join_quoted(coding.values)
        raise UsageProblem(f"{target}: neither a verdict nor a label has it; there are {there}")
    if len(hits) == sum(hits):
        raise UsageProblem(f"{target}: every verdict and every label has it, so there is nothing to estimate")
    return np.append(np.array(hits, np.float64), np.nan)


def _means_by_case(given: LabelColumn, values: Floats) -> dict[int, float]:
    """The mean label of each case, over its raters."""
    found: dict[int, list[float]] = {}
    for case, _, number in given.table():
        if not np.isnan(values[number]):
            found.setdefault(int(case), []).append(float(values[number]))
    return {case: float(np.mean(several)) for case, several in found.items()}


def _weights(column: _Column, cases: list[int]) -> Floats:
    """Returns the sampling weight of each labelled case, 1 without a column of weights; refuses a missing one."""
    if column.weight is None:
        return np.ones(len(cases))
    given = column.labels.columns.get(column.weight)
    if given is None:
        raise UsageProblem(f"--weight {column.weight}: the labels have no such column")
    of_case: dict[int, float] = {}
    for case, _, number in given.table():
        try:
            of_case[int(case)] = float(given.pool.values[number])
        except (TypeError, ValueError):
            of_case[int(case)] = np.nan
    weights = np.array([of_case.get(case, np.nan) for case in cases])
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise UsageProblem(f"--weight {column.weight}: every labelled case needs a weight above 0")
    return weights


def _note_left_out(column: _Column, labelled: int, used: int, no_value: int, notes: list[str]) -> None:
    """Adds notes on cases and labels that the estimate leaves out."""
    if column.unjudged:
        notes.append(
            f"{format_count(column.unjudged)} without a verdict are left out: the estimate is about the others"
        )
    if no_value:
        notes.append(f"{format_count(no_value)} whose verdict has no value here are left out")
    if labelled > used:
        notes.append(f"{format_count(labelled - used, 'labelled case')} have no such verdict in the run")


# --- estimates -------------------------------------------------------------------------------------


def _estimate(sample: _Sample, target: Target, notes: list[str]) -> TrueRate:
    """Computes every estimate of the true value, and chooses which one to trust."""
    defined = ~np.isnan(sample.judged)
    cases, is_rate = int(defined.sum()), not target.is_mean
    found = TrueRate(
        target=str(target),
        is_rate=is_rate,
        cases=cases,
        labels=len(sample.labels),
        judged=float(sample.judged[defined].mean()),
        estimates=[],
        trusted=ALONE,
        sentence="",
        notes=notes,
    )
    strata = _stratify_by_answer(sample) if is_rate else None
    weights = sample.weights if sample.is_weighted else None
    if strata is not None:
        _add_estimate(found, BY_ANSWER, _estimate_strata(strata), "labels weighted up answer by answer, score interval")
        found.trusted = BY_ANSWER
        _plan_labels(found, strata)
    others = _other_values(sample)
    if len(others) > 1:
        tune = powered.tuned_mean if is_rate else powered.tuned_mean_for_few
        tuned = tune(sample.labels, sample.judged[sample.places], others, weights)
        found.trusted = found.trusted if is_rate else TUNED
        _add_estimate(found, TUNED, tuned, "the judge's mean, corrected by its mean error on the labelled cases")
    if is_rate and weights is None:
        hits = sample.judged[sample.places] > 0.5
        known = powered.rogan_gladen(sample.labels, hits, float(sample.judged[defined].sum()), cases)
        if known is not None:
            _add_estimate(found, ROGAN_GLADEN, known, "from sensitivity and specificity, with the uncertainty of both")
    alone = powered.labels_alone(sample.labels, weights, is_rate=is_rate)
    _add_estimate(found, ALONE, alone, "without the judge")
    if not is_rate and found.trusted == TUNED:
        found.more_labels = _more_labels_for_mean(sample, others)
    found.sentence = _conclusion(found)
    return found


def _other_values(sample: _Sample) -> Floats:
    """The judge's values that correct labels: of the cases without one, or of all if some were drawn more often."""
    others = sample.judged if sample.is_weighted else np.delete(sample.judged, sample.places)
    return others[~np.isnan(others)]


def _add_estimate(found: TrueRate, method: str, estimated: Estimated, words: str) -> None:
    """Adds an estimate, a rate being kept between 0 and 1."""
    value, (low, high) = estimated
    if found.is_rate:
        value, low, high = (min(max(end, 0.0), 1.0) for end in (value, low, high))
    found.estimates.append(Estimate(method=method, value=value, interval=(low, high), words=words))


def _stratify_by_answer(sample: _Sample) -> Strata | None:
    """Groups the labels by answer of the judge; None if an answer that cases have was not labelled at all."""
    answers = np.nan_to_num(sample.judged, nan=-1.0)
    kinds = [answer for answer in np.unique(answers) if answer >= 0]
    shares, hits, sizes = [], [], []
    for kind in kinds:
        here = answers[sample.places] == kind
        if not here.any():
            return None
        weights = sample.weights[here]
        size = powered.effective_number(weights)
        shares.append(float((answers == kind).sum()))
        hits.append(float((weights * sample.labels[here]).sum() / weights.sum()) * size)
        sizes.append(size)
    total = sum(shares)
    return Strata.of(np.array(shares) / total, np.array(hits), np.array(sizes), total)


def _estimate_strata(strata: Strata) -> Estimated:
    """The rate of all strata with its interval."""
    value, low, high = powered.stratified_rate(strata)
    return Estimated(float(value[0]), (float(low[0]), float(high[0])))


def _plan_labels(found: TrueRate, strata: Strata) -> None:
    """Sets how many more labels halve the interval, and on which answers of the judge they do most (Neyman's
    allocation)."""
    factor = powered.labels_to_halve(strata)
    found.more_labels = None if factor is None else int(np.ceil((factor - 1) * found.labels))
    shares = powered.share_labels(strata)
    names = ("not " + found.target, found.target) if len(shares) == 2 else (found.target,)
    found.label_next = dict(zip(names, map(float, shares), strict=True))


def _more_labels_for_mean(sample: _Sample, others: Floats) -> int | None:
    """How many more labels would halve the interval of a mean; None if no number of labels does.

    From the two parts of the variance: that of the labels shrinks with them, that of the other cases does not.
    """
    labels, judged = sample.labels, sample.judged[sample.places]
    found = powered.tuned_mean(labels, judged, others, sample.weights if sample.is_weighted else None)
    whole = ((found.interval[1] - found.interval[0]) / 2 / NORMAL_95) ** 2
    fixed = float(others.var() / len(others))
    left = whole / 4 - fixed
    if left <= 0 or whole <= fixed:
        return None
    return int(np.ceil(((whole - fixed) / left - 1) * len(labels)))


def _conclusion(found: TrueRate) -> str:
    """Says what the true value is and whether the verdicts agree with it."""
    best = found.best
    low, high = best.interval
    what = "share" if found.is_rate else "mean"
    value, one, other, judged = (_format(part, found.is_rate) for part in (best.value, low, high, found.judged))
    verdict = "which agrees" if low <= found.judged <= high else "which is off by more than chance explains"
    return (
        f"The true {what} of {found.target} is {value} ({one} to {other}); the verdicts alone say {judged}, {verdict}. "
        f"{_WHY[found.trusted]}"
    )


_WHY = {
    BY_ANSWER: "Trust the estimate by answer of the judge: it uses all verdicts, and its interval also holds for few "
    "labels and rare values.",
    TUNED: "Trust the prediction-powered estimate: it uses all verdicts, as far as they agree with the labels.",
    ALONE: "Trust the labels alone: an answer of the judge has no label, so its errors are not known.",
}


def _format(value: float, is_rate: bool) -> str:
    return f"{100 * value:.1f}%" if is_rate else f"{value:.3f}"


def compare_true_rates(before: TrueRate, after: TrueRate) -> Estimated:
    """How the true value of one run differs from that of another: the second less the first."""
    one, other = (Estimated(found.best.value, found.best.interval) for found in (before, after))
    return powered.difference(one, other)


class TrueRates(BaseModel):
    """What `krino true-rate` found: for the whole run, for its slices, and against another run."""

    run: str
    judge: str
    overall: TrueRate
    by: str | None = None
    slices: dict[str, TrueRate] = {}
    not_sliced: list[str] = []
    other: TrueRate | None = None
    difference: str | None = None


def true_rates(
    run: StoredRun,
    labels: Labels,
    target: str,
    *,
    by: str | None = None,
    weight: str | None = None,
    than: tuple[StoredRun, Labels] | None = None,
) -> TrueRates:
    """The true value over a run, in each value of a metadata column, and compared with another run and its labels."""
    schema = run.manifest.about.fields_schema
    overall = true_rate(run.records(), labels, target, schema=schema, weight=weight)
    found = TrueRates(run=str(run.folder), judge=judge_name(run.manifest), overall=overall, by=by)
    if by is not None:
        _add_slices(found, run, labels, by, weight)
    if than is not None:
        other, other_labels = than
        schema = other.manifest.about.fields_schema
        found.other = true_rate(other.records(), other_labels, target, schema=schema, weight=weight)
        found.difference = _describe_difference(found.other, overall, other)
    return found


def _add_slices(found: TrueRates, run: StoredRun, labels: Labels, by: str, weight: str | None) -> None:
    """Adds the true value in each slice with enough labels, and names the others. One reading a slice: there are
    few."""
    sizes: dict[str, int] = {}
    for judgement in run.records():
        if clean_name(judgement["id"]) in labels.ids and (value := judgement["metadata"].get(by)) is not None:
            sizes[str(value)] = sizes.get(str(value), 0) + 1
    if not sizes:
        raise UsageProblem(f"--by {by}: no labelled case has this column in its metadata")
    few = []
    for name, size in sorted(sizes.items()):
        if size < FEWEST or len(found.slices) == _MOST_SLICES:
            few.append(name)
            continue
        records = (one for one in run.records() if str(one["metadata"].get(by)) == name)
        try:
            schema = run.manifest.about.fields_schema
            found.slices[clean_line(name)] = true_rate(
                records, labels, found.overall.target, schema=schema, weight=weight
            )
        except UsageProblem as problem:
            found.not_sliced.append(clean_line(f"{by}={name}: {problem}"))
    if few:
        found.not_sliced.append(f"Not estimated, with fewer than {FEWEST} labels: {join_quoted(few)}")


def _describe_difference(before: TrueRate, after: TrueRate, other: StoredRun) -> str:
    """Says how the true value differs from that of another run."""
    change, (low, high) = compare_true_rates(before, after)
    sign = "higher" if change > 0 else "lower"
    sure = "more than chance explains" if low > 0 or high < 0 else "which chance may explain"
    size, one, two = (_format(part, after.is_rate) for part in (abs(change), low, high))
    return f"{after.target} is truly {size} {sign} than in {other.folder} ({one} to {two}), {sure}."
