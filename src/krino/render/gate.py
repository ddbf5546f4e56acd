"""What is said of a gate: every check with its outcome, and the cases that speak against the broken ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krino.blocks import Block, Cell, DataTable, Heading, Paragraph, Tone, Value
from krino.render.text_form import SIGNS
from krino.results.formatting import format_outcomes
from krino.results.gates.result import Check, GateResult

_TONES: dict[str, Tone] = {"holds": "good", "broken": "bad", "too few": "warn"}
_SHOWN = 50
_SHOWN_LISTS = 12  # of worst cases: a page has an end, and so has the comment on a pull request


def gate_blocks(result: GateResult, *, known: bool = False) -> Iterator[Block]:
    """`known`: what run it is has just been said."""
    outcome = "holds" if result.passed else "broken"
    yield Heading(f"{SIGNS[_TONES[outcome]]} {_headline(result)}", note="" if known else _facts(result))
    sliced = any(check.slice for check in result.checks)
    rows: list[Sequence[Value]] = []
    for check in _shown(result):
        where = [check.slice or ""] if sliced else []
        sign = Cell(SIGNS[_TONES[check.outcome]], _TONES[check.outcome])
        rows.append((sign, Cell(check.rule, code=True), *where, check.message))
    yield DataTable("", ("", "Rule", *(["Slice"] if sliced else []), "Found"), rows)
    for check in _with_cases(result):
        there = f" [{check.slice}]" if check.slice else ""
        cases = [(Cell(case.id, case=case.id), case.shown, case.reason) for case in check.worst]
        yield DataTable(f"{check.rule}{there}: {check.heading()}", ("Case", "value", "why"), cases)
    yield from (Paragraph(line, small=True) for line in _notes(result))
    if not result.passed:  # above it there may be pages of cases
        yield Paragraph(_headline(result), "bad", strong=True)


def _with_cases(result: GateResult) -> list[Check]:
    return [check for check in result.broken if check.worst][:_SHOWN_LISTS]


def _headline(result: GateResult) -> str:
    checked = sum(check.outcome != "too few" for check in result.checks)
    if result.passed:
        return f"Gate passed: all {checked:,} checks hold."
    return f"Gate failed: {len(result.broken):,} of {checked:,} checks broken."


def _facts(result: GateResult) -> str:
    return f"{result.run} · {result.judge} · {result.labeller} · {result.started} · {format_outcomes(result.counts)}"


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
