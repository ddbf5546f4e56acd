"""True rates from Python: labels as rows, a file or a workbench, and a run."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from krino.api.recorded_run import AnyRun, Labelled, is_workbench, load_run
from krino.cases.origin import Format
from krino.errors import UsageProblem
from krino.results.agreement.labels import Labels, labels_from_rows, read_labels, translate_values
from krino.results.field_kinds import fields_of
from krino.results.gates.rules import parse_target
from krino.results.true_rate import TrueRates, true_rates
from krino.runs.stored_run import StoredRun


def true_rate(
    run: AnyRun,
    labels: Labelled,
    of: str,
    *,
    by: str | None = None,
    weight: str | None = None,
    values: Mapping[str, Any] | None = None,
    than: tuple[AnyRun, Labelled] | None = None,
    format: Format = "auto",  # noqa: A002
    mapping: Mapping[str, str] | None = None,
) -> TrueRates:
    """The true rate or mean over all cases of a run, from all its verdicts and the labels of a few cases.

    `of`: FIELD (the mean of a number), FIELD:LABEL (the share of a label), or pass, review, fail. `by`: also for each
    value of this metadata column. `weight`: a column of the labels with sampling weights, one over the chance of being
    labelled; labels without weights must be a random sample of the cases, or of the cases with each answer of the
    judge. Of the labels of a workbench only its random sample counts. `values`, `format` and `mapping` as in
    `krino.agree`, the last two for all labels. `than`: another run with labels of its own, to compare with.
    """
    how: Any = {"values": values, "format": format, "mapping": mapping}
    loaded = load_run(run)
    given = labels_for(loaded, labels, of, **how)
    other = None
    if than is not None:
        before = load_run(than[0])
        other = before, labels_for(before, than[1], of, **how)
    return true_rates(loaded, given, of, by=by, weight=weight, than=other)


def labels_for(
    run: StoredRun,
    labels: Labelled,
    of: str,
    *,
    values: Mapping[str, Any] | None = None,
    format: Format = "auto",  # noqa: A002
    mapping: Mapping[str, str] | None = None,
) -> Labels:
    """Returns the labels with their provenance, and with `values` translated in the field that `of` is about."""
    given = read_all_labels(run, labels, format=format, mapping=mapping)
    field = parse_target(of).field
    return translate_values(given, values or {}, [field] if field else [])


def read_all_labels(
    run: StoredRun,
    labels: Labelled,
    *,
    format: Format = "auto",  # noqa: A002
    mapping: Mapping[str, str] | None = None,
) -> Labels:
    """Reads labels from rows, a file or a workbench, with the columns `label_*` that say how a case came to be
    labelled.

    `run` is needed for a workbench, `format` for a file, `mapping` for a file or rows.
    """
    if isinstance(labels, Labels):
        return labels
    if is_workbench(labels):
        return labels_from_rows(_rows_of_workbench(str(labels), run))
    if isinstance(labels, str | PathLike):
        return read_labels(labels, format=format, mapping=mapping)
    return labels_from_rows(labels, mapping)


def _rows_of_workbench(workbench: str, run: StoredRun) -> list[dict[str, Any]]:
    """Returns the labels of a run from the database of a workbench; raises `UsageProblem` if the packages for it are
    missing."""
    try:
        from krino.people.rows import load_rows
    except ModuleNotFoundError as missing:
        raise UsageProblem(f"labels of a workbench need {missing.name}: pip install 'krino[web]'") from None

    def answers(target: str) -> dict[str, bool]:
        """Returns whether the judge gave the answer of a target, by the hash of each judged case; cases without an
        answer are left out."""
        wanted = parse_target(target)
        judged = (record for record in run.records() if record["status"] == "ok")
        said = {record["input_hash"]: wanted.answer_in(fields_of(record)) for record in judged}
        return {digest: answer for digest, answer in said.items() if answer is not None}

    return load_rows(workbench, run, answers=answers)
