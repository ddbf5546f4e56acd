"""A gate's result for people: on a terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from krino.gates.result import Check, GateResult
from krino.reports.clean import clean_line
from krino.reports.markdown import escape, table_lines
from krino.reports.terminal import note_line, plain_table

_SIGNS = {"holds": "✓", "broken": "✗", "too few": "–"}
_STYLES = {"holds": "green", "broken": "bold red", "too few": "dim"}
_SHOWN = 50
_LONGEST = 400


def print_gate(console: Console, result: GateResult) -> None:
    console.print(Text(clean_line(_facts(result)), style="dim"))
    sliced = any(check.slice for check in result.checks)
    table = plain_table("", "rule", *(["slice"] if sliced else []), "found", right=range(0))
    for check in _shown(result):
        sign = Text(_SIGNS[check.outcome], style=_STYLES[check.outcome])
        where = [Text(clean_line(check.slice or "", 80))] if sliced else []
        table.add_row(sign, Text(clean_line(check.rule, 120)), *where, Text(clean_line(check.message, _LONGEST)))
    console.print(table)
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
        *(f"<sub>{escape(line, _LONGEST)}</sub>  " for line in _notes(result)),
    ]
    return "\n".join(lines) + "\n"


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


def _code(text: str) -> str:
    """For a code span, where nothing is escaped: without what ends it or the table cell."""
    return clean_line(text, 120).replace("`", "'").replace("|", "¦")
