"""Prints how far a run agrees with people on a terminal, 80 columns wide."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

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
from krino.render.terminal import SIGNS, STYLES, note_line, plain_table
from krino.results.agreement.result import Agreement, CalibrationResult, Confusion, FieldAgreement
from krino.results.wording import figure, interval_text
from krino.text.clean import clean_line

_MOST_COLUMNS = 8
_SHOWN_LABELS = 6
_LONGEST_REASON = 240


def print_agreement(console: Console, agreement: Agreement, title: str) -> None:
    parts: list[RenderableType] = [Text(clean_line(title, 200), style="bold"), Text(clean_line(agreement.headline))]
    parts += [Text(), _counts(agreement)]
    parts += [Text(clean_line(line), style="yellow") for line in rest_text(agreement)]
    for field in agreement.fields:
        parts += [Text(), *_field(field, alone=len(agreement.fields) == 1)]
    for calibration in agreement.calibration:
        parts += [Text(), *_calibration(calibration)]
    parts.append(Text())
    parts += [Text(clean_line(line), style="dim") for line in footnotes(agreement)]
    console.print(Group(*parts))


def _counts(agreement: Agreement) -> Text:
    counts = agreement.counts
    line = Text.assemble((f"{counts.labelled:,}", "bold"), " labelled: ")
    found = {"ok": ("judged", counts.judged), "failed": ("failed", counts.failed), "error": ("error", counts.error)}
    shown = [
        Text(f"{SIGNS[status]} {count:,} {word}", style=STYLES[status] if count else "dim")
        for status, (word, count) in found.items()
    ]
    return line.append_text(Text("   ").join(shown))


def _field(field: FieldAgreement, *, alone: bool) -> Iterator[RenderableType]:
    """`alone`: what is said of it has just been said of the whole."""
    yield Text.assemble((clean_line(field.field, 60), "bold cyan"), f"  {clean_line(heading(field), 200)}")
    if not alone:
        yield note_line(field.headline, "bold")
    if field.worst:
        yield Text()
        yield _worst(field)
        yield Text()
    without = field.counts.failed + field.counts.error
    yield note_line(counts_text(field), "yellow" if without else "dim")
    if field.figures:
        yield note_line(basis_text(field), "dim")
        yield _figures(field)
    if field.classes:
        yield Text()
        yield _classes(field)
    if field.confusion is not None and len(field.confusion.values) <= _MOST_COLUMNS:
        yield Text()
        yield _confusion(field.confusion)
    for line in (*reasons(field), *(f"Note: {note}." for note in field.notes)):
        yield note_line(line, "dim")


def _figures(field: FieldAgreement) -> Table:
    both = bool(field.people)
    beside = ("people", "95 % interval") if both else ()
    table = plain_table("Judge and people", "n", "value", "95 % interval", *beside, right=range(1, 6))
    for words, ours, theirs in figure_rows(field):
        row: list[str | Text] = [
            Text(words),
            f"{ours.n:,}",
            Text(value_text(ours), style="bold"),
            interval_text(ours.interval),
        ]
        if both:
            row += [value_text(theirs), interval_text(theirs.interval)] if theirs is not None else ["", ""]
        table.add_row(*row)
    return table


def _classes(field: FieldAgreement) -> Table:
    table = plain_table("Class", "people", "judge", "precision", "recall", "F1", "interval of F1", right=range(1, 7))
    for item in field.classes:
        figures = [
            value_text(item.precision),
            value_text(item.recall),
            value_text(item.f1),
            interval_text(item.f1.interval),
        ]
        table.add_row(Text(clean_line(item.value, 40)), f"{item.people:,}", f"{item.judge:,}", *figures)
    return table


def _confusion(found: Confusion) -> Table:
    headings = [clean_line(value, 20) for value in found.values]
    table = plain_table("People say ↓  judge says →", *headings, right=range(1, len(headings) + 1))
    for row, (value, counts) in enumerate(zip(found.values, found.counts, strict=True)):
        cells = [
            Text(f"{count:,}", style="bold green" if row == column else "red" if count else "dim")
            for column, count in enumerate(counts)
        ]
        table.add_row(Text(clean_line(value, 40)), *cells)
    return table


def _worst(field: FieldAgreement) -> Table:
    table = plain_table("Disagrees most", "apart", "judge", "people", "why the judge says so", right=range(1, 2))
    for case in field.worst:
        said = [f"{clean_line(rater, 20)}: {clean_line(label, 30)}" for rater, label in case.people.items()]
        more = ["…"] if len(said) > _SHOWN_LABELS else []
        table.add_row(
            Text(clean_line(case.id, 60)),
            figure(case.distance),
            Text(clean_line(case.judge, 40)),
            Text(", ".join([*said[:_SHOWN_LABELS], *more])),
            Text(clean_line(case.reason, _LONGEST_REASON)),
        )
    if field.disagreeing > len(field.worst):
        table.add_row(Text(f"and {field.disagreeing - len(field.worst):,} more", style="dim"), "", "", "", "")
    return table


def _calibration(found: CalibrationResult) -> Iterator[RenderableType]:
    yield Text.assemble((clean_line(found.field, 60), "bold cyan"), "  a confidence")
    yield note_line(calibration_text(found), "dim")
    error = Text.assemble("expected calibration error ", (value_text(found.error), "bold"))
    yield Padding(error.append(f"  {interval_text(found.error.interval)}"), (0, 0, 0, 2))
    table = plain_table("Says", "n", "mean", "right", right=range(1, 4))
    for item in found.bins:
        if item.n and item.confidence is not None and item.right is not None:
            table.add_row(
                f"{figure(item.low)} to {figure(item.high)}", f"{item.n:,}", figure(item.confidence), figure(item.right)
            )
    yield table
    for note in found.notes:
        yield note_line(f"Note: {note}.", "dim")
