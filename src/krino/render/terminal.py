"""Prints a run's summary, or one judgement, on a terminal.

Whatever comes from a case goes through `clean` and into `Text`, which reads no markup: text that tries to colour,
erase or link something is shown as the plain text that it is.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from krino.contract import Judgement
from krino.results.codes import CodeField
from krino.results.grades import Scales, grade
from krino.results.numbers import Histogram, NumberField
from krino.results.reasons import rule_in_words
from krino.results.stability import Stability
from krino.results.summary import LABELLER, Summary, spent
from krino.results.votes import SPLIT, Votes, votes_of
from krino.results.wording import (
    FEW_NOTE,
    INTERVAL_NOTE,
    date_of,
    duration,
    figure,
    fraction,
    interval_text,
    judge_of,
    labeller_name,
    labeller_of,
    member_text,
    panel_text,
    share,
    spend_text,
)
from krino.runs.manifest import Manifest
from krino.text.clean import clean, clean_line

STYLES = {"ok": "green", "failed": "yellow", "error": "red"}
SIGNS = {"ok": "✓", "failed": "–", "error": "✗"}
GRADES = {"low": "bold red", "middle": "yellow", "high": "green"}
"""The number itself says the same; where there is no colour (NO_COLOR) nothing is lost."""

_LEVELS = " ▁▂▃▄▅▆▇█"
_SPARK_BINS = 10
_SHOWN_CODES = 6
_SHOWN_RULES = 8
_SHOWN_MESSAGES = 5
_LONGEST_TEXT = 4_000
_LONGEST_RULE = 160


def print_summary(
    console: Console,
    summary: Summary,
    manifest: Manifest,
    folder: Path,
    rules: Mapping[str, str] | None = None,
    scales: Scales | None = None,
) -> None:
    """The whole run on one screen, 80 columns are enough. `rules` put findings into words, `scales` colour scores."""
    parts: list[RenderableType] = [_heading(manifest), _counts(summary), Text()]
    if summary.numbers:
        parts += [_numbers(summary.numbers, scales or {}), *_interval_note(summary.numbers), Text()]
    if summary.codes:
        parts += [_codes(summary.codes), Text()]
    if summary.stability is not None:
        parts += [_stability(summary.stability), Text()]
    if summary.messages:
        parts += [_messages(summary), Text()]
    if summary.findings:
        parts += [_finding_counts(summary, rules or {}), Text()]
    parts.append(_foot(summary, manifest, folder))
    console.print(Group(*parts))


def print_judgement(
    console: Console,
    judgement: Judgement,
    rules: Mapping[str, str] | None = None,
    *,
    labels: bool = False,
    scales: Scales | None = None,
) -> None:
    """One case: what was decided, by whom, on what evidence; or why it could not be. `labels`: those too."""
    parts: list[RenderableType] = [_case_heading(judgement)]
    if judgement.inputs:
        parts += [_title("Case"), _inputs(judgement.inputs)]
    for title, text in (("Reason", judgement.reason), ("Error", judgement.error)):
        if text:
            parts += [_title(title), _indented(_text(text))]
    if judgement.status == "ok" and judgement.verdict is not None:
        parts += [_title("Verdict"), _verdict(judgement, rules or {}, scales or {})]
    if judgement.ballots and (votes := votes_of(judgement.model_dump(mode="json"))):
        parts += [_title("Votes"), Padding(_votes(votes), (0, 0, 0, 2))]
    if judgement.findings:
        parts += [_title("Findings"), _findings(judgement, rules or {})]
    if labels and judgement.labels is not None:
        parts += [_title("Labels"), _indented(_text(_pretty(judgement.labels)))]
    if labels:
        for ballot in judgement.ballots:
            title = clean_line(f"Labels of {ballot.member}, asked for time {ballot.repeat}", 120)
            parts += [_title(title), _indented(_text(_pretty(ballot.labels)))]
    if judgement.raw_reply is not None:
        parts += [_title("Reply that could not be used"), _indented(_text(judgement.raw_reply))]
    parts += [Text(), Text(spend_text(judgement.usage), style="dim")]
    console.print(Group(*parts))


# --- the summary -----------------------------------------------------------------------------------


def _heading(manifest: Manifest) -> Text:
    facts = [labeller_of(manifest), date_of(manifest), manifest.state]
    return Text.assemble(
        (clean_line(judge_of(manifest)), "bold"), ("  " + " · ".join(clean_line(fact) for fact in facts), "dim")
    )


def _counts(summary: Summary) -> Text:
    counts = summary.counts
    line = Text.assemble((f"{counts.total:,}", "bold"), f" case{'' if counts.total == 1 else 's'}: ")
    shown = []
    for status, count in counts.model_dump().items():
        style = STYLES[status] if count else "dim"
        shown.append(Text(f"{SIGNS[status]} {count:,} {status} ({share(count, counts.total)})", style=style))
    return line.append_text(Text("   ").join(shown))


def _numbers(fields: Iterable[NumberField], scales: Scales) -> Table:
    table = plain_table("Score", "n", "null", "mean", "95 % interval", "spread", right=range(1, 5))
    for item in fields:
        table.add_row(
            clean_line(item.name, 40),
            f"{item.n:,}",
            f"{item.nulls:,}" if item.nulls else "–",
            Text(figure(item.mean), style=graded(scales, item.name, item.mean) or "bold"),
            interval_text(item.interval),
            Text(sparkline(item.histogram), style="cyan"),
        )
    return table


def _interval_note(fields: Iterable[NumberField]) -> Iterator[Padding]:
    """Where there is an interval to speak of."""
    told = [item for item in fields if item.interval is not None]
    if told:
        yield note_line(f"{INTERVAL_NOTE}{f', {FEW_NOTE}' if any(item.few for item in told) else ''}.")


def _codes(fields: Iterable[CodeField]) -> Table:
    table = plain_table("Field", "n", "values", right=range(1, 2))
    for item in fields:
        shown = [f"{clean_line(code, 40)} {count:,}" for code, count in list(item.counts.items())[:_SHOWN_CODES]]
        if len(item.counts) > _SHOWN_CODES:
            shown.append(f"and {len(item.counts) - _SHOWN_CODES} more")
        table.add_row(clean_line(item.name, 40), f"{item.n:,}", Text(" · ".join(shown)))
    return table


def _stability(stability: Stability) -> RenderableType:
    table = plain_table("Seats agree on", "n", "agree", "split", "spread", "sd", right=range(1, 6))
    for item in stability.fields:
        numbers = ["–" if value is None else figure(value) for value in (item.spread, item.sd)]
        table.add_row(clean_line(item.name, 40), f"{item.n:,}", fraction(item.agreement), f"{item.split:,}", *numbers)
    notes = [panel_text(stability), member_text(stability)]
    return Group(table, *(note_line(note) for note in notes if note))


def _votes(votes: Votes) -> Table:
    table = plain_table(*(clean_line(column, 40) for column in votes.columns), right=range(0))
    for row in votes.rows:
        style = "yellow" if row[-1] == SPLIT else ""
        table.add_row(*(Text(clean_line(cell, 200), style=style) for cell in row))
    return table


def _messages(summary: Summary) -> Table:
    table = plain_table("Not judged", "cases", "why (the first of its kind)", right=range(1, 2))
    for group in summary.messages[:_SHOWN_MESSAGES]:
        status = Text(f"{SIGNS.get(group.status, '')} {group.status}", style=STYLES.get(group.status, ""))
        why = Text.assemble(clean_line(group.text, 160), (f"  e.g. {clean_line(group.example, 40)}", "dim"))
        table.add_row(status, f"{group.count:,}", why)
    if (more := len(summary.messages) - _SHOWN_MESSAGES) > 0:
        table.add_row("", "", Text(f"and {more} more kinds; the report lists them", style="dim"))
    return table


def _finding_counts(summary: Summary, rules: Mapping[str, str]) -> Table:
    table = plain_table("Findings", "what the rule says", right=range(1))
    for rule, count in list(summary.findings.items())[:_SHOWN_RULES]:
        table.add_row(f"{count:,}", Text(clean_line(rule_in_words(rule, rules), _LONGEST_RULE)))
    if (more := len(summary.findings) - _SHOWN_RULES) > 0:
        table.add_row("", Text(f"and {more} more kinds; the report lists them", style="dim"))
    return table


def _foot(summary: Summary, manifest: Manifest, folder: Path) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    decided, usage = summary.decided_by, spent(summary, manifest)
    if decided.total:
        by_rules = share(decided.rules, decided.total)
        table.add_row("Decided", f"{by_rules} of verdict fields by rules alone, the rest with labels")
    table.add_row("Spent", f"{spend_text(usage)}, {duration(usage.seconds)} of labelling")
    report = folder / "report.html"
    table.add_row("Report" if report.exists() else "Run", Text(clean_line(str(report if report.exists() else folder))))
    name = clean_line(shlex.quote(str(folder)))
    table.add_row("Cases", Text(f"krino show {name} --worst 10 (ids and reasons), krino show {name} ID (one in full)"))
    return table


def sparkline(histogram: Histogram) -> str:
    """At most ten characters; the least filled bin still shows."""
    counts = list(histogram.counts)
    if len(counts) > _SPARK_BINS:
        counts = [sum(counts[place : place + 2]) for place in range(0, len(counts), 2)]
    most = max(counts, default=0) or 1
    top = len(_LEVELS) - 1
    return "".join(_LEVELS[max(1, round(count / most * top))] if count else _LEVELS[0] for count in counts)


# --- one case --------------------------------------------------------------------------------------


def _case_heading(judgement: Judgement) -> Text:
    status = judgement.status
    heading = Text.assemble(
        (clean_line(judgement.id, 200), "bold"), "  ", (f"{SIGNS[status]} {status}", f"bold {STYLES[status]}")
    )
    facts = [f"{judgement.judge} {judgement.judge_version}"]
    if judgement.source is not None:
        facts.append(str(judgement.source))
    if judgement.labeller:
        facts.append(labeller_name(judgement.labeller))
    return heading.append("\n" + " · ".join(clean_line(fact, 200) for fact in facts if fact), style="dim")


def _inputs(inputs: Mapping[str, str]) -> RenderableType:
    lines = (Text.assemble((clean_line(name, 80), "cyan"), "  ", _text(text)) for name, text in inputs.items())
    return Group(*map(_indented, lines))


def _verdict(judgement: Judgement, rules: Mapping[str, str], scales: Scales) -> RenderableType:
    shown: list[RenderableType] = []
    decider = ""
    for name, value in (judgement.verdict or {}).items():
        before, decider = decider, _decider(judgement, name, rules)
        shown_value = _text(_value(value), style=graded(scales, name, value) or ("bold" if _is_short(value) else ""))
        line = Text.assemble((clean_line(name, 80), "cyan"), "  ", shown_value)
        shown.append(Padding(line, (0, 0, 0, 2)))
        if decider != before:  # neighbours decided alike say so once
            shown.append(Padding(Text(decider, style="dim"), (0, 0, 0, 4)))
        for item in judgement.evidence.get(name, []):
            shown.append(Padding(Text.assemble(("· ", "dim"), _text(item)), (0, 0, 0, 4)))
    return Group(*shown)


def _decider(judgement: Judgement, name: str, rules: Mapping[str, str]) -> str:
    decider = judgement.decided_by.get(name, "")
    rule = judgement.rules.get(name) or (decider if decider != LABELLER else "")
    said = rule_in_words(rule, rules)
    who = "by the labeller's labels" if decider == LABELLER else "by rule"
    return clean_line(f"{who}, {said}" if decider == LABELLER and said else f"{who} {said}".strip())


def _findings(judgement: Judgement, rules: Mapping[str, str]) -> RenderableType:
    lines: list[RenderableType] = []
    for finding in judgement.findings:
        where = f" ({clean_line(finding.where, 80)})" if finding.where else ""
        lines.append(_indented(Text.assemble(_text(finding.text, style="yellow"), (where, "dim"))))
        said = clean_line(rule_in_words(finding.rule, rules))
        lines.append(Padding(Text(said, style="dim"), (0, 0, 0, 4)))
    return Group(*lines)


def _value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool | int | float):
        return orjson.dumps(value).decode()
    return value if isinstance(value, str) else _pretty(value)


def _pretty(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=repr).decode()


def _is_short(value: Any) -> bool:
    return value is not None and len(str(value)) <= 40


# --- pieces ----------------------------------------------------------------------------------------


def note_line(text: str, style: str = "dim", indent: int = 2) -> Padding:
    """A line below a heading or a table; where the terminal is too narrow, it goes on below its own beginning."""
    return Padding(Text(clean_line(text), style=style), (0, 0, 0, indent), expand=False)


COLUMN_GAP = 3
"""Between two columns of a plain table."""


def plain_table(*headings: str, right: range) -> Table:
    """The first and the last column give way when the line is too narrow; figures never break."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1), title_justify="left")
    for place, heading in enumerate(headings):
        figures = place in right
        table.add_column(
            Text(heading), justify="right" if figures else "left", no_wrap=figures, overflow="fold", header_style="bold"
        )
    return table


def column_width(cells: Iterable[Text]) -> int:
    """What a column of a plain table takes unbroken, without the gap to the next."""
    return max((cell_len(line) for cell in cells for line in cell.plain.split("\n")), default=0)


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold")


def _indented(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2))


def graded(scales: Scales, field: str, value: Any) -> str:
    """The style of a score by where it stands on its scale; none where the judge declares no scale."""
    return GRADES.get(grade(scales, field, value) or "", "")


def _text(text: str, *, style: str = "") -> Text:
    shown = clean(text[: 2 * _LONGEST_TEXT])
    if len(text) > _LONGEST_TEXT:
        shown = f"{shown[:_LONGEST_TEXT]}… ({len(text):,} characters)"
    return Text(shown, style=style)
