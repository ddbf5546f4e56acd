"""A gate's result for people: on a terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from krino.render.markdown import escape, table_lines
from krino.render.terminal import note_line, plain_table
from krino.results.gates.result import Check, GateResult
from krino.text.clean import clean_line

_SIGNS = {"holds": "✓", "broken": "✗", "too few": "–"}
_STYLES = {"holds": "green", "broken": "bold red", "too few": "dim"}
_SHOWN = 50
_LONGEST = 400
_SHOWN_LISTS = 12  # of worst cases: a page has an end, and so has the comment on a pull request
_LONGEST_REASON = 240


def print_gate(console: Console, result: GateResult, heading: str | None = None) -> None:
    """`heading` stands in place of what the run is, where that has just been said."""
    console.print(Text(heading, style="bold") if heading else Text(clean_line(_facts(result)), style="dim"))
    sliced = any(check.slice for check in result.checks)
    table = plain_table("", "rule", *(["slice"] if sliced else []), "found", right=range(0))
    for check in _shown(result):
        sign = Text(_SIGNS[check.outcome], style=_STYLES[check.outcome])
        where = [Text(clean_line(check.slice or "", 80))] if sliced else []
        table.add_row(sign, Text(clean_line(check.rule, 120)), *where, Text(clean_line(check.message, _LONGEST)))
    console.print(table)
    for check in _with_cases(result):
        console.print(Text(f"\n{clean_line(_title(check), 240)}", style="bold"))
        cases = plain_table("Case", "value", "why", right=range(0))
        for case in check.worst:
            cells = (clean_line(case.id, 60), clean_line(case.shown, 130), clean_line(case.reason, _LONGEST_REASON))
            cases.add_row(*map(Text, cells))
        console.print(cases)
    for line in _notes(result):
        console.print(note_line(line))
    style = "bold green" if result.passed else "bold red"
    console.print(Text(f"\n{_headline(result)}", style=style))


def to_markdown(result: GateResult) -> str:
    """GitHub's dialect; text from cases is escaped."""
    rows = (
        (_SIGNS[check.outcome], f"`{_code(check.rule)}`", escape(check.slice or ""), escape(check.message, _LONGEST))
        for check in _shown(result)
    )
    lines = [
        f"### {_SIGNS['holds' if result.passed else 'broken']} {_headline(result)}",
        "",
        escape(_facts(result), _LONGEST),
        "",
        *table_lines(("", "Rule", "Slice", "Found"), rows),
        *(line for check in _with_cases(result) for line in _case_lines(check)),
        *(f"<sub>{escape(line, _LONGEST)}</sub>  " for line in _notes(result)),
    ]
    return "\n".join(lines) + "\n"


def _title(check: Check) -> str:
    where = f" [{check.slice}]" if check.slice else ""
    return f"{check.rule}{where}: {check.heading()}"


def _case_lines(check: Check) -> Iterator[str]:
    yield ""
    yield f"**{escape(_title(check), 240)}**"
    yield ""
    yield from table_lines(
        ("Case", "Value", "Why"),
        ((escape(case.id, 60), escape(case.shown, 130), escape(case.reason, _LONGEST_REASON)) for case in check.worst),
    )


def _with_cases(result: GateResult) -> list[Check]:
    return [check for check in result.broken if check.worst][:_SHOWN_LISTS]


def _headline(result: GateResult) -> str:
    checked = sum(check.outcome != "too few" for check in result.checks)
    if result.passed:
        return f"Gate passed: all {checked:,} checks hold."
    return f"Gate failed: {len(result.broken):,} of {checked:,} checks broken."


def _facts(result: GateResult) -> str:
    ends = ", ".join(f"{count:,} {status}" for status, count in result.counts.model_dump().items())
    return f"{result.run} · {result.judge} · {result.labeller} · {result.started} · {ends}"


def _shown(result: GateResult) -> list[Check]:
    """Every broken check; of the others as many as can be read."""
    room = max(_SHOWN - len(result.broken), 0)
    others = [id(check) for check in result.checks if check.outcome != "broken"][:room]
    return [check for check in result.checks if check.outcome == "broken" or id(check) in others]


def _notes(result: GateResult) -> Iterator[str]:
    yield from result.notes
    if hidden := len(result.checks) - len(_shown(result)):
        yield f"{hidden:,} more checks that are not broken are not shown here; --json and --junit have all."
    if hidden := sum(bool(check.worst) for check in result.broken) - len(_with_cases(result)):
        yield f"The cases of {hidden:,} more broken checks are not shown here; --json and --junit have them."


def _code(text: str) -> str:
    """For a code span, where nothing is escaped: without what ends it or the table cell."""
    return clean_line(text, 120).replace("`", "'").replace("|", "¦")
