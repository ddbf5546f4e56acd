"""Writes a gate's result as JUnit XML, which build servers read: one test case a rule and slice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as Tree

from krino.results.gates.result import Check, GateResult
from krino.text.clean import clean

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(result: GateResult) -> bytes:
    """`failure` for a broken rule, `skipped` for a slice with too few cases."""
    skipped = sum(check.outcome == "too few" for check in result.checks)
    suite = Tree.Element(
        "testsuite",
        name=_text(f"krino gate {result.run}"),
        tests=str(len(result.checks)),
        failures=str(len(result.broken)),
        errors="0",
        skipped=str(skipped),
    )
    for check in result.checks:
        case = Tree.SubElement(
            suite, "testcase", classname=_text(f"krino.gate.{result.judge}"), name=_text(_name(check))
        )
        if check.outcome == "broken":
            failure = Tree.SubElement(case, "failure", type="gate", message=_text(check.message))
            failure.text = _text("\n".join(_lines(check)))
        elif check.outcome == "too few":
            Tree.SubElement(case, "skipped", message=_text(check.message))
        else:
            Tree.SubElement(case, "system-out").text = _text(check.message)
    root = Tree.Element("testsuites")
    root.append(suite)
    Tree.indent(root)
    written: bytes = Tree.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _lines(check: Check) -> Iterator[str]:
    yield f"{_name(check)}: {check.message}"
    if check.worst:
        yield f"{check.heading()}:"
    for case in check.worst:
        yield f"  {case.id}: {case.shown}{f': {case.reason}' if case.reason else ''}"


def _name(check: Check) -> str:
    return check.rule if check.slice is None else f"{check.rule} [{check.slice}]"


def _text(text: str) -> str:
    """Without what XML cannot hold at all; the rest is escaped when it is written."""
    return _NOT_XML.sub("", clean(text))
