"""Shows the result of a gate: as blocks with every check and the cases that break it, and as JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as Tree

from krino.blocks import Block, Cell, DataTable, Heading, Paragraph, Tone, Value
from krino.render.text_form import SIGNS
from krino.results.formatting import format_count, format_outcomes
from krino.results.gates.result import Check, GateResult
from krino.text.clean import clean

_TONES: dict[str, Tone] = {"holds": "good", "broken": "bad", "warns": "warn", "too few": "warn"}
_SHOWN = 50
_SHOWN_LISTS = 12  # lists of worst cases: comments on pull requests have a maximum length


def gate_blocks(result: GateResult, *, known: bool = False) -> Iterator[Block]:
    """Yields the result of a gate: the outcome, every check that is shown, and the cases that break a rule.

    `known`: the run has just been described, so leave that out.
    """
    outcome = "holds" if result.passed else "broken"
    yield Heading(f"{SIGNS[_TONES[outcome]]} {_describe_outcome(result)}", note="" if known else _describe_run(result))
    sliced = any(check.slice for check in result.checks)
    rows: list[Sequence[Value]] = []
    for check in _select_shown(result):
        where = [check.slice or ""] if sliced else []
        sign = Cell(SIGNS[_TONES[check.outcome]], _TONES[check.outcome])
        rows.append((sign, Cell(check.rule, code=True), *where, check.message))
    yield DataTable("", ("", "Rule", *(["Slice"] if sliced else []), "Found"), rows)
    for check in _broken_with_cases(result):
        there = f" [{check.slice}]" if check.slice else ""
        cases = [(Cell(case.id, case=case.id), case.shown, case.reason) for case in check.worst]
        yield DataTable(f"{check.rule}{there}: {check.heading()}", ("Case", "value", "why"), cases)
    yield from (Paragraph(line, small=True) for line in _list_notes(result))
    if not result.passed:  # repeated, because there may be pages of cases above
        yield Paragraph(_describe_outcome(result), "bad", strong=True)


def _broken_with_cases(result: GateResult) -> list[Check]:
    return [check for check in (*result.broken, *result.warnings) if check.worst][:_SHOWN_LISTS]


def _describe_outcome(result: GateResult) -> str:
    """Says whether the gate passed, and how many checks hold."""
    checked = sum(check.outcome != "too few" for check in result.checks)
    warned = len(result.warnings)
    if result.passed and warned:
        return f"Gate passed with {format_count(warned, 'warning')}: {checked - warned:,} of {checked:,} checks hold."
    if result.passed:
        return f"Gate passed: all {checked:,} checks hold."
    return f"Gate failed: {len(result.broken):,} of {checked:,} checks broken."


def _describe_run(result: GateResult) -> str:
    return f"{result.run} · {result.judge} · {result.labeller} · {result.started} · {format_outcomes(result.counts)}"


def _select_shown(result: GateResult) -> list[Check]:
    """Returns every broken check and every warning, and some of the others."""
    kept = {id(check) for check in (*result.broken, *result.warnings)}
    others = [id(check) for check in result.checks if id(check) not in kept]
    kept |= {*others[: max(_SHOWN - len(kept), 0)]}
    return [check for check in result.checks if id(check) in kept]


def _list_notes(result: GateResult) -> Iterator[str]:
    """Yields notes of the result, and how much is not shown here."""
    yield from result.notes
    if hidden := len(result.checks) - len(_select_shown(result)):
        yield f"{hidden:,} more checks that are not broken are not shown here; --json and --junit have all."
    if hidden := sum(bool(check.worst) for check in (*result.broken, *result.warnings)) - len(
        _broken_with_cases(result)
    ):
        yield f"The cases of {hidden:,} more broken checks are not shown here; --json and --junit have them."


# --- JUnit -----------------------------------------------------------------------------------------

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(result: GateResult) -> bytes:
    """Returns the result as JUnit XML, which build servers read: one test case for each rule and slice.

    Properties say who judged. `failure` is a broken rule, `skipped` a slice with too few cases; a rule that only warns
    says so in `system-out`.
    """
    skipped = sum(check.outcome == "too few" for check in result.checks)
    suite = Tree.Element(
        "testsuite",
        name=_xml_text(f"krino gate {result.run}"),
        tests=str(len(result.checks)),
        failures=str(len(result.broken)),
        errors="0",
        skipped=str(skipped),
    )
    if result.judged_by:
        properties = Tree.SubElement(suite, "properties")
        for name, value in result.judged_by.items():
            Tree.SubElement(properties, "property", name=f"krino.{name}", value=_xml_text(value))
    for check in result.checks:
        case = Tree.SubElement(
            suite, "testcase", classname=_xml_text(f"krino.gate.{result.judge}"), name=_xml_text(_check_name(check))
        )
        if check.outcome == "broken":
            failure = Tree.SubElement(case, "failure", type="gate", message=_xml_text(check.message))
            failure.text = _xml_text("\n".join(_list_failure_lines(check)))
        elif check.outcome == "warns":
            lines = "\n".join(_list_failure_lines(check))
            Tree.SubElement(case, "system-out").text = _xml_text(f"warning: {lines}")
        elif check.outcome == "too few":
            Tree.SubElement(case, "skipped", message=_xml_text(check.message))
        else:
            Tree.SubElement(case, "system-out").text = _xml_text(check.message)
    root = Tree.Element("testsuites")
    root.append(suite)
    Tree.indent(root)
    written: bytes = Tree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _list_failure_lines(check: Check) -> Iterator[str]:
    """Yields the lines of a check that is broken or warns: its message, and its worst cases."""
    yield f"{_check_name(check)}: {check.message}"
    if check.worst:
        yield f"{check.heading()}:"
    for case in check.worst:
        yield f"  {case.id}: {case.shown}{f': {case.reason}' if case.reason else ''}"


def _check_name(check: Check) -> str:
    return check.rule if check.slice is None else f"{check.rule} [{check.slice}]"


def _xml_text(text: str) -> str:
    """Returns the text without characters that XML cannot hold; the rest is escaped by the writer."""
    return _NOT_XML.sub("", clean(text))
