"""Compares a run, or any judgements, with the labels of people."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from krino.contract import Judgement
from krino.errors import UsageProblem
from krino.results.agreement.calibration import calibrate_confidences
from krino.results.agreement.coding import NotComparable
from krino.results.agreement.field_agreement import FieldData, Sampling, collect_field, compare_field, count_outcomes
from krino.results.agreement.headline import add_headline, summarise_headlines
from krino.results.agreement.labelled_verdicts import ABSENT, Verdicts, read_verdicts
from krino.results.agreement.labels import Labels, labels_from_rows, read_labels, translate_values
from krino.results.agreement.result import (
    Agreement,
    AgreementCounts,
    CalibrationResult,
    Clusters,
    FieldAgreement,
    Skipped,
)
from krino.results.explanations import DEFAULT_WORST, explain_value
from krino.results.formatting import join_quoted, quote
from krino.results.verdict_schema import Schema, closed_labels, declared_scale
from krino.runs.manifest import JudgeCard
from krino.runs.stored_run import load_stored_run
from krino.stats.bootstrap import DRAWS, LEVEL
from krino.text.clean import clean_name
from krino.text.guessing import did_you_mean

_SHOWN_IDS = 3
_ReadJudgements = Callable[[Collection[int] | None], Iterable[Judgement | Mapping[str, Any]]]
"""Returns the judgements; those of a run can be limited to the cases at some places."""


def agree(
    judgements: str | os.PathLike[str] | Iterable[Judgement | Mapping[str, Any]],
    labels: str | os.PathLike[str] | Labels | Iterable[Mapping[str, Any]],
    *,
    fields: Collection[str] | None = None,
    confidence: Mapping[str, str] | None = None,
    cluster: str | None = None,
    worst: int = DEFAULT_WORST,
    values: Mapping[str, Any] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Agreement:
    """How far judgements (or the folder of a run) agree with labels (rows, or a file of them).

    Args:
        fields: compare only these fields.
        confidence: which field each confidence is about, where names such as `match_confidence` do not say so.
        cluster: a column of the labels or the metadata whose cases the bootstrap draws together.
        values: what words in the labels stand for, as `{"good": 1, "bad": 0}`, or for one field
            `{"faithfulness": {"good": 1, "bad": 0}}`.
        worst: how many cases to name for each field.

    Judgements are read a second time for the reasons of the worst cases, so an iterator is kept in memory.
    """
    given = _load_labels(labels)
    verdicts = Verdicts(given, frozenset(confidence or ()), cluster)
    read, about = _open_judgements(judgements)
    read_verdicts(read(None), verdicts)
    _require_overlap(given, verdicts)
    given = translate_values(given, values or {}, verdicts.names)
    compared, skipped = _select_fields(given, verdicts, fields, cluster, about.fields_schema)
    groups, clusters = _find_clusters(cluster, given, verdicts) if cluster is not None else (None, None)
    sampling = Sampling(draws, seed, groups)
    results = [add_headline(compare_field(data, given, sampling, worst)) for data in compared]
    counts = _count_cases(compared, verdicts)
    calibrated = list(calibrate_confidences(verdicts, compared, confidence or {}, sampling))
    return Agreement(
        headline=summarise_headlines(results, counts),
        counts=counts,
        absent_ids=_first_absent_ids(given, verdicts),
        raters=tuple(dict.fromkeys(rater for data in compared for rater in data.raters)),
        fields=_add_reasons(results, read, about.rules, verdicts),
        calibration=tuple(item for item in calibrated if isinstance(item, CalibrationResult)),
        skipped=(*skipped, *(item for item in calibrated if isinstance(item, Skipped))),
        clusters=clusters,
        level=LEVEL,
        seed=seed,
    )


def _open_judgements(
    judgements: str | os.PathLike[str] | Iterable[Judgement | Mapping[str, Any]],
) -> tuple[_ReadJudgements, JudgeCard]:
    """Returns a function that reads the judgements, any number of times, and what is known about their judge."""
    if isinstance(judgements, str | os.PathLike):
        run = load_stored_run(judgements)
        return run.judged().records, run.manifest.about
    again = list(judgements) if isinstance(judgements, Iterator) else judgements
    return lambda _: again, JudgeCard()


def _load_labels(labels: str | os.PathLike[str] | Labels | Iterable[Mapping[str, Any]]) -> Labels:
    if isinstance(labels, Labels):
        return labels
    return read_labels(labels) if isinstance(labels, str | os.PathLike) else labels_from_rows(labels)


def _require_overlap(labels: Labels, verdicts: Verdicts) -> None:
    """Refuses a comparison without judgements, or without one case that has labels."""
    if not verdicts.cases:
        raise UsageProblem("the run has no judgements yet: there is nothing to compare")
    if verdicts.cases == verdicts.unlabelled:
        raise UsageProblem(
            "no label belongs to a case of the run: the ids of the labels look like "
            f"{join_quoted(labels.ids, _SHOWN_IDS)}, those of the run like {join_quoted(verdicts.first_ids)}; "
            "say which column holds the id with --map id=COLUMN"
        )


def _select_fields(
    labels: Labels, verdicts: Verdicts, wanted: Collection[str] | None, cluster: str | None, schema: Schema
) -> tuple[list[FieldData], list[Skipped]]:
    """Returns the labelled fields in the order of the verdict, and the columns that cannot be compared.

    Raises `UsageProblem` for a wanted field that is not there, and if nothing can be compared.
    """
    if not verdicts.names:  # without a verdict, columns cannot be matched with fields
        return [], []
    for name in wanted or ():
        if name not in verdicts.names or name not in labels.columns:
            side, there = ("labels", labels.columns) if name in verdicts.names else ("verdict", verdicts.names)
            guess = did_you_mean(name, there)
            raise UsageProblem(
                f"field {quote(name)}: no such field in the {side}{guess}; there are {join_quoted(there)}"
            )
    skipped = [
        Skipped(column=name, why="no field of the verdict")
        for name in labels.columns
        if name not in verdicts.names and name != cluster
    ]
    compared = []
    for name in verdicts.names:
        if name in labels.columns and (wanted is None or name in wanted):
            try:
                compared.append(
                    collect_field(name, labels, verdicts, declared_scale(schema, name), closed_labels(schema, name))
                )
            except NotComparable as why:
                skipped.append(Skipped(column=name, why=str(why)))
    if not compared:
        raise UsageProblem(
            f"no column of the labels is a field of the verdict that can be compared: the labels have "
            f"{join_quoted(labels.columns)}, the verdict has {join_quoted(verdicts.names)}; "
            "rename a column with --map FIELD=COLUMN"
        )
    return compared, skipped


def _count_cases(compared: list[FieldData], verdicts: Verdicts) -> AgreementCounts:
    """Counts the cases that have a label in a compared field by what became of them."""
    status = np.frombuffer(bytes(verdicts.status), np.uint8)
    labelled = np.any([data.labelled for data in compared], axis=0) if compared else np.ones(len(status), np.bool_)
    return AgreementCounts(**count_outcomes(status, labelled), unlabelled=verdicts.unlabelled)


def _first_absent_ids(labels: Labels, verdicts: Verdicts) -> tuple[str, ...]:
    missing = (own_id for own_id, case in labels.ids.items() if verdicts.status[case] == ABSENT)
    return tuple(islice(missing, _SHOWN_IDS))


# --- clusters --------------------------------------------------------------------------------------


def _find_clusters(column: str, labels: Labels, verdicts: Verdicts) -> tuple[list[Hashable], Clusters]:
    """Returns the cluster of each labelled case, from labels or metadata, and a summary; a case without one forms its
    own."""
    in_labels = column in labels.columns
    known: dict[int, Any] = _clusters_in_labels(column, labels) if in_labels else dict(verdicts.clusters)
    if not known:
        raise UsageProblem(
            f"cluster {quote(column)}: neither the labels nor the metadata of the labelled cases have such a "
            f"column{did_you_mean(column, labels.columns)}; the labels have {join_quoted(labels.columns)}"
        )
    groups: list[Hashable] = [("named", known[case]) if case in known else case for case in range(len(labels.ids))]
    return groups, Clusters(
        column=column,
        source="labels" if in_labels else "metadata",
        count=len(set(groups)),
        without=len(labels.ids) - len(known),
    )


def _clusters_in_labels(column: str, labels: Labels) -> dict[int, str]:
    """Reads the cluster of each case from a column of the labels; two values for one case are refused."""
    found: dict[int, str] = {}
    given = labels.columns[column]
    for case, _, number in given.table().tolist():
        value = given.pool.values[number]
        if value is not None and found.setdefault(case, str(value)) != str(value):
            own_id = next(own_id for own_id, at in labels.ids.items() if at == case)
            raise UsageProblem(
                f"cluster {quote(column)}: case {quote(own_id)} has two values: {quote(found[case])}, {quote(value)}"
            )
    return found


# --- reasons ---------------------------------------------------------------------------------------


def _add_reasons(
    fields: Sequence[FieldAgreement], read: _ReadJudgements, rules: Mapping[str, str], verdicts: Verdicts
) -> tuple[FieldAgreement, ...]:
    """Returns the fields with the judge's reasons at their worst cases. Only the judgements of these are read again."""
    wanted: dict[str, list[str]] = {}
    for field in fields:
        for case in field.worst:
            wanted.setdefault(case.id, []).append(field.field)
    reasons: dict[tuple[str, str], str] = {}
    places = {verdicts.places[verdicts.labels.ids[own_id]] for own_id in wanted}
    for judgement in read(places) if wanted else ():
        own_id = clean_name(judgement.id if isinstance(judgement, Judgement) else judgement["id"])
        if own_id in wanted:
            plain = judgement.model_dump(mode="json") if isinstance(judgement, Judgement) else judgement
            reasons.update({(name, own_id): explain_value(plain, name, rules) for name in wanted[own_id]})

    def add_reason(field: FieldAgreement) -> FieldAgreement:
        worst = (case.model_copy(update={"reason": reasons[field.field, case.id]}) for case in field.worst)
        return field.model_copy(update={"worst": tuple(worst)})

    return tuple(map(add_reason, fields))
