"""Writes how far a run agrees with people as Markdown, for a pull request or a report."""

from __future__ import annotations

from collections.abc import Iterator

from krino.render.agree_wording import (
    basis_text,
    calibration_text,
    counts_text,
    figure_rows,
    footnotes,
    heading,
    reasons,
    rest_text,
    value_text,
)
from krino.render.markdown import escape, table_lines
from krino.results.agreement.result import Agreement, CalibrationResult, Confusion, FieldAgreement
from krino.results.wording import figure, interval_text

_LONG = 400


def agreement_to_markdown(agreement: Agreement, title: str) -> str:
    """GitHub's dialect; ids, labels and names of raters are escaped."""
    return "\n".join(_lines(agreement, title)) + "\n"


def _lines(agreement: Agreement, title: str) -> Iterator[str]:
    counts = agreement.counts
    yield f"### {escape(title)}"
    yield ""
    yield f"**{escape(agreement.headline, _LONG)}**"
    yield ""
    found = f"{counts.judged:,} judged, {counts.failed:,} failed, {counts.error:,} error"
    yield f"{counts.labelled:,} labelled cases: {found}."
    for line in rest_text(agreement):
        yield f"{escape(line, _LONG)}."
    yield ""
    for field in agreement.fields:
        yield from _field(field, alone=len(agreement.fields) == 1)
    for calibration in agreement.calibration:
        yield from _calibration(calibration)
    for line in footnotes(agreement):
        yield f"<sub>{escape(line, _LONG)}</sub>"
        yield ""


def _field(field: FieldAgreement, *, alone: bool) -> Iterator[str]:
    yield f"#### {escape(field.field)}: {escape(heading(field))}"
    yield ""
    if not alone:
        yield escape(field.headline, _LONG)
        yield ""
    if field.worst:
        yield from table_lines(
            ("Disagrees most", "Apart", "Judge", "People", "Why the judge says so"), _worst_rows(field)
        )
    yield f"{escape(counts_text(field), _LONG)}."
    yield ""
    if field.figures:
        yield escape(basis_text(field), _LONG)
        yield ""
        yield from _figures(field)
    if field.classes:
        heads = ("Class", "People", "Judge", "Precision", "Recall", "F1")
        yield from table_lines(heads, _class_rows(field))
    if field.confusion is not None:
        yield from _confusion(field.confusion)
    for line in (*reasons(field), *(f"{note}." for note in field.notes)):
        yield f"- {escape(line, _LONG)}"
    yield ""


def _worst_rows(field: FieldAgreement) -> Iterator[tuple[str, ...]]:
    for case in field.worst:
        said = ", ".join(f"{rater}: {label}" for rater, label in case.people.items())
        yield escape(case.id), figure(case.distance), escape(case.judge), escape(said), escape(case.reason, 240)


def _figures(field: FieldAgreement) -> Iterator[str]:
    heads = ("Judge and people", "n", "Value", "95 % interval", "People among themselves", "95 % interval")
    rows = []
    for words, ours, theirs in figure_rows(field):
        beside = ("", "") if theirs is None else (value_text(theirs), interval_text(theirs.interval))
        rows.append((words, f"{ours.n:,}", f"**{value_text(ours)}**", interval_text(ours.interval), *beside))
    width = 6 if field.people else 4
    yield from table_lines(heads[:width], (row[:width] for row in rows))


def _class_rows(field: FieldAgreement) -> Iterator[tuple[str, ...]]:
    for item in field.classes:
        figures = (
            f"{value_text(each)} ({interval_text(each.interval)})" for each in (item.precision, item.recall, item.f1)
        )
        yield (escape(item.value), f"{item.people:,}", f"{item.judge:,}", *figures)


def _confusion(found: Confusion) -> Iterator[str]:
    heads = ("People say ↓ judge says →", *(escape(value, 40) for value in found.values))
    rows = (
        (escape(value, 40), *(f"{count:,}" for count in counts))
        for value, counts in zip(found.values, found.counts, strict=True)
    )
    yield from table_lines(heads, rows)


def _calibration(found: CalibrationResult) -> Iterator[str]:
    yield f"#### {escape(found.field)}: a confidence"
    yield ""
    yield f"{escape(calibration_text(found), _LONG)}."
    yield ""
    yield f"Expected calibration error **{value_text(found.error)}** ({interval_text(found.error.interval)})"
    yield ""
    rows = (
        (f"{figure(item.low)} to {figure(item.high)}", f"{item.n:,}", figure(item.confidence), figure(item.right))
        for item in found.bins
        if item.confidence is not None and item.right is not None
    )
    yield from table_lines(("Says", "n", "Mean", "Right"), rows)
    for note in found.notes:
        yield f"- {escape(note)}"
    yield ""
