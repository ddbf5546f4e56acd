"""Shows whether the verdicts of a run follow from its labels and cases, as blocks."""

from __future__ import annotations

from collections.abc import Iterator

from krino.blocks import Block, BulletList, Cell, DataTable, Heading, Paragraph, Tone, Value
from krino.render.text_form import SIGNS
from krino.results.formatting import format_count
from krino.results.verification import NamedCase, Verification


def verification_blocks(found: Verification) -> Iterator[Block]:
    """Yields the sentence first, then each case that does not follow with what was recorded and what was computed."""
    tone: Tone = "good" if found.verified else "bad"
    yield Heading(f"{SIGNS[tone]} {found.sentence}", note=f"{found.run} · {found.judge}")
    if found.problems:
        yield BulletList("What is wrong with the run folder", found.problems)
    if found.cases:
        rows: list[tuple[Value, ...]] = [row for case in found.cases for row in _list_rows(case)]
        yield DataTable("Verdicts that do not follow", ("Case", "line", "fault", "field", "recorded", "computed"), rows)
    for note in _list_notes(found):
        yield Paragraph(note, small=True)


def _list_rows(case: NamedCase) -> Iterator[tuple[Value, ...]]:
    """Yields the rows of a case: one for each field that differs, and one for the reason."""
    head = (Cell(case.id, case=case.id), "" if case.line is None else f"{case.line:,}", case.fault)
    if not case.differences:
        yield (*head, case.why, "", "")
        return
    for place, difference in enumerate(case.differences):
        start = ("", "", "") if place else head
        yield (*start, Cell(difference.field, code=True), difference.recorded, difference.computed)
    if case.why:
        yield ("", "", "", case.why, "", "")


def _list_notes(found: Verification) -> Iterator[str]:
    """Yields notes on a changed judge, on faults that are not named, and on cases without a verdict."""
    if found.judge_changes:
        yield "The installed judge is not the one that made the run: " + "; ".join(found.judge_changes) + "."
    named = len(found.cases)
    if (faults := found.verdicts - found.follow) > named:
        yield f"{faults - named:,} more that do not follow are not named; --named names more."
    if found.errors:
        yield f"{format_count(found.errors)} ended in an error and have no verdict to check."
    if found.not_judged:
        yield f"{format_count(found.not_judged)} of the run are not judged yet."
