"""Shows a run as a whole: outcome, scores, categories, failures, stability, slices, findings and rules."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from krino import blocks as b
from krino.render.text_form import SIGNS
from krino.results.explanations import describe_rule
from krino.results.field_kinds import look_like_names
from krino.results.formatting import (
    FEW_CASES_NOTE,
    INTERVAL_NOTE,
    SMALL_SLICE_NOTE,
    describe_members,
    describe_panel,
    field_words,
    format_cost,
    format_duration,
    format_fraction,
    format_interval,
    format_number,
    format_share,
    format_start,
    format_usage,
    judge_name,
    run_labeller_name,
)
from krino.results.number_summary import NumberField
from krino.results.slices import Slice, SliceNumber, SliceTable
from krino.results.stability import Stability
from krino.results.summary import Summary, total_usage
from krino.results.verdict_schema import Grade, Scales, closed_labels, declared_scales, grade_value
from krino.runs.manifest import Counts, Manifest
from krino.text.clean import clean_line

TONES: dict[str, b.Tone] = {
    "ok": "good",
    "failed": "warn",
    "error": "bad",
    "pass": "good",
    "review": "warn",
    "fail": "bad",
}
"""The tones of statuses and roll-ups."""
_MEANINGS = {"ok": "judged", "failed": "case cannot be judged", "error": "judging went wrong"}
_GRADES: dict[Grade | None, b.Tone] = {"low": "bad", "middle": "warn", "high": "good"}
_SHOWN_MESSAGES = 5
_SHOWN_FINDINGS = 8
_LONGEST_ID = 60


def summary_blocks(summary: Summary, manifest: Manifest, folder: Path) -> Iterator[b.Block]:
    """Yields a run on one screen, with the place of its report and how to see its cases."""
    state = "running, or killed: the same command goes on" if manifest.state == "running" else manifest.state
    note = " · ".join((run_labeller_name(manifest), format_start(manifest), state))
    yield b.Heading(judge_name(manifest), note=note, level=1)
    yield counts_block(summary.counts)
    yield from _warn_of_repeated_ids(manifest)
    yield from _show_overview(summary, manifest)
    usage, report = total_usage(summary, manifest), folder / "report.html"
    name = shlex.quote(str(folder))
    yield b.KeyFigures(
        [
            *_decided_figure(summary),
            b.KeyFigure("Spent", f"{format_usage(usage)}, {format_duration(usage.seconds)} of labelling"),
            b.KeyFigure("Report", str(report)) if report.exists() else b.KeyFigure("Run", str(folder)),
            b.KeyFigure("Cases", f"krino show {name} --worst 10 (ids and reasons), krino show {name} ID (one in full)"),
        ]
    )


def page_blocks(
    summary: Summary, manifest: Manifest, slices: Sequence[SliceTable], own: Sequence[b.Block] = ()
) -> Iterator[b.Block]:
    """Yields the upper half of the report. `own`: the judge's own overview of all cases."""
    yield b.Section(
        "Outcome",
        [b.KeyFigures(list(_list_outcome_figures(summary, manifest))), counts_block(summary.counts)],
        "outcome",
    )
    yield from _warn_of_repeated_ids(manifest)
    yield from _show_overview(summary, manifest, own)
    yield from slice_sections(slices)
    yield from _show_rules(summary, manifest)


def _warn_of_repeated_ids(manifest: Manifest) -> Iterator[b.Block]:
    """Yields a warning about repeated ids, if there are any, since labels, comparisons and `krino show` use the id."""
    if count := manifest.repeated_ids:
        have = "case has" if count == 1 else "cases have"
        yield b.Paragraph(
            f"{count:,} {have} the id of an earlier case with different content, such as "
            f"`{clean_line(manifest.repeated_id or '', _LONGEST_ID)}`: labels and comparisons go by id, so give every "
            "case its own",
            "warn",
        )


def _show_overview(summary: Summary, manifest: Manifest, own: Sequence[b.Block] = ()) -> Iterator[b.Block]:
    """Yields the sections of a run that have content: scores, categories, the judge's own blocks, failures, stability,
    findings."""
    about = manifest.about
    if summary.numbers:
        yield b.Section("Scores", list(_show_scores(summary.numbers, declared_scales(about.fields_schema))), "scores")
    if summary.codes:
        yield b.Section("Categories", [b.Categories(list(_list_categories(summary, manifest)))], "categories")
    yield from own
    if summary.messages:
        yield b.Section("Why cases were not judged", [_make_message_table(summary)], "failures")
    if summary.stability is not None:
        yield b.Section("Stability", list(_show_stability(summary.stability)), "stability")
    if summary.findings:
        rows = [(f"{count:,}", describe_rule(rule, about.rules)) for rule, count in summary.findings.items()]
        table = b.DataTable("", ("Findings", "what the rule says"), rows, figures=(0,), most=_SHOWN_FINDINGS)
        yield b.Section("What was found on the way", [table], "findings")


def counts_block(counts: Counts) -> b.Parts:
    parts = [b.Part(name, count, TONES[name], _MEANINGS[name]) for name, count in counts.model_dump().items()]
    return b.Parts("case" if counts.total == 1 else "cases", parts)


def status_mark(status: str) -> tuple[str, b.Tone | None]:
    """Returns a status with its sign, and its tone."""
    tone = TONES.get(status)
    return f"{SIGNS[tone]} {status}" if tone else status, tone


def score_tone(scales: Scales, field: str, value: object) -> b.Tone | None:
    """Returns the tone of a score by its position on its scale; None if the judge declares no scale."""
    return _GRADES.get(grade_value(scales, field, value))


def slice_blocks(tables: Sequence[SliceTable]) -> Iterator[b.Block]:
    """Yields the tables of slices, with notes on intervals and small slices."""
    for table in tables:
        yield _make_slice_table(table)
    if any(table.numbers for table in tables):
        yield b.Paragraph(f"{INTERVAL_NOTE}.", small=True)
    if any(item.few for table in tables for item in table.slices):
        yield b.Paragraph(SMALL_SLICE_NOTE, small=True)


def slice_sections(tables: Sequence[SliceTable]) -> Iterator[b.Section]:
    """Yields the slices as one section, collapsed if all of them are too small to say much.

    Columns in which most cases have a new value (ids, names) are left out.
    """
    tables = [table for table in tables if not look_like_names(len(table.slices), sum(item.n for item in table.slices))]
    if tables:
        few = all(item.few for table in tables for item in table.slices)
        columns = ", ".join(field_words(table.column) for table in tables)
        yield b.Section(f"Slices by {columns}" if few else "Slices", list(slice_blocks(tables)), "slices", folded=few)


def _decided_figure(summary: Summary) -> Iterator[b.KeyFigure]:
    """Yields the share of verdict fields that rules alone decided."""
    decided = summary.decided_by
    if decided.total:
        rest = "" if decided.rules == decided.total else ", the rest with labels"
        note = f"of {decided.total:,} verdict fields by rules alone{rest}"
        yield b.KeyFigure("Decided", format_share(decided.rules, decided.total), note)


def _list_outcome_figures(summary: Summary, manifest: Manifest) -> Iterator[b.KeyFigure]:
    """Yields the key figures of a run."""
    counts, decided, usage = summary.counts, summary.decided_by, total_usage(summary, manifest)
    yield b.KeyFigure("Cases", f"{counts.total:,}", f"{format_share(counts.ok, counts.total)} judged")
    if decided.total:
        by_rules = format_share(decided.rules, decided.total)
        yield b.KeyFigure("Decided by rules alone", by_rules, f"of {decided.total:,} verdict fields")
    kinds = len(summary.findings)
    yield b.KeyFigure("Findings", f"{sum(summary.findings.values()):,}", f"by {kinds} rule{'' if kinds == 1 else 's'}")
    if usage.calls or usage.cached:
        cost = "no prices given" if usage.cost is None else f"cost {format_cost(usage.cost, usage.unpriced)}"
        yield b.KeyFigure(
            "Model calls", f"{usage.calls:,}", f"{usage.cached:,} more from cache" if usage.cached else cost
        )
        yield b.KeyFigure("Tokens", f"{usage.tokens:,}", f"{usage.input_tokens:,} in, {usage.output_tokens:,} out")
        if usage.cached and usage.cost is not None:
            yield b.KeyFigure("Cost", format_cost(usage.cost, usage.unpriced), "as priced by the user")
    else:
        yield b.KeyFigure("Model calls", "0", "nothing was spent")
    yield b.KeyFigure("Labelling time", format_duration(usage.seconds), "summed over cases")


def _show_scores(numbers: Sequence[NumberField], scales: Scales) -> Iterator[b.Block]:
    """Yields the scores for their charts, and a note about intervals."""
    yield b.Scores(
        [
            b.Score(
                **{key: getattr(item, key) for key in ("name", "n", "nulls", "mean", "interval")},
                **{key: getattr(item.histogram, key) for key in ("low", "step", "counts", "whole")},
                least=item.min,
                most=item.max,
                tone=score_tone(scales, item.name, item.mean),
            )
            for item in numbers
        ]
    )
    if note := [item for item in numbers if item.interval is not None]:
        few = f", {FEW_CASES_NOTE}" if any(item.few for item in note) else ""
        yield b.Paragraph(f"{INTERVAL_NOTE}{few}; only ok cases count.", small=True)


def _list_categories(summary: Summary, manifest: Manifest) -> Iterator[b.Category]:
    """Yields the categories, with labels that never occurred."""
    for item in summary.codes:
        closed = closed_labels(manifest.about.fields_schema, item.name) or set()
        never = dict.fromkeys(sorted(closed - item.counts.keys()), 0)
        yield b.Category(item.name, item.n, item.nulls, {**item.counts, **never})


def _make_message_table(summary: Summary) -> b.DataTable:
    """Returns the table of why cases were not judged."""
    rows: list[Sequence[b.Value]] = [
        (b.Cell(*status_mark(group.status)), f"{group.count:,}", group.text, b.Cell(group.example, case=group.example))
        for group in summary.messages
    ]
    heads = ("Not judged", "cases", "why (the first of its kind)", "example")
    return b.DataTable("", heads, rows, figures=(1,), most=_SHOWN_MESSAGES)


def _show_stability(stability: Stability) -> Iterator[b.Block]:
    """Yields the stability of a panel, by field."""
    rows = [
        (
            item.name,
            f"{item.n:,}",
            format_fraction(item.agreement),
            f"{item.split:,}",
            *("–" if value is None else format_number(value) for value in (item.spread, item.widest, item.sd)),
        )
        for item in stability.fields
    ]
    heads = ("Seats agree on", "n", "agree", "split", "spread", "widest", "sd")
    yield b.DataTable("", heads, rows, figures=range(1, 7))
    yield b.Paragraph(f"{describe_panel(stability)} {describe_members(stability)}".strip(), small=True)
    yield b.Paragraph(
        "Each seat's own verdict is compared with the others', before the votes were joined. Agree: the mean share of "
        "seats that gave the commonest value.",
        small=True,
    )


def _make_slice_table(table: SliceTable) -> b.DataTable:
    heads = (table.column, "n", "not ok", *table.roll_ups, *table.numbers)
    rows = [(b.Cell(item.value, slice_of=table.column), *_make_slice_cells(item, table)) for item in table.slices]
    return b.DataTable("", heads, rows, figures=range(1, len(heads)), names=2)


def _make_slice_cells(item: Slice, table: SliceTable) -> Iterator[b.Value]:
    """Yields the cells after the value, in the order of the headings."""
    yield b.Cell(f"{item.n:,}{'*' if item.few else ''}", "plain" if item.few else None)
    yield b.Cell(f"{item.not_ok:,}", "warn" if item.not_ok else "plain")
    for word in table.roll_ups:
        yield f"{item.roll_up.get(word, 0):,}"
    for name in table.numbers:
        yield _slice_mean(item.numbers[name])


def _slice_mean(found: SliceNumber) -> b.Cell:
    """Returns the mean of a slice as a cell."""
    if found.mean is None:
        return b.Cell("–", "plain")
    below = "" if found.interval is None else format_interval(found.interval)
    return b.Cell(format_number(found.mean), strong=True, below=below)


def _show_rules(summary: Summary, manifest: Manifest) -> Iterator[b.Section]:
    """Yields a section of the rules that fired, if any did."""
    known = manifest.about.rules
    fired = dict.fromkeys([*known, *summary.rules, *summary.findings])
    rows: list[Sequence[b.Value]] = [
        (b.Cell(rule, code=True), known.get(rule, ""), f"{given:,}", f"{found:,}")
        for rule in fired
        if (given := summary.rules.get(rule, 0)) + (found := summary.findings.get(rule, 0))
    ]
    if rows:
        table = b.DataTable("", ("Rule", "What it says", "Fields given", "Findings"), rows, figures=(2, 3))
        yield b.Section(f"Rules that fired ({len(rows)})", [table], folded=True)
