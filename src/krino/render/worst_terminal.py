"""Prints the worst cases of a run on a terminal: each with its id, what it is about, its value and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from krino.render.terminal import SIGNS, STYLES, graded
from krino.results.grades import Scales
from krino.results.named_cases import reason_of
from krino.results.reasons import rule_in_words
from krino.results.worst import Record, Worst
from krino.runs.fields import ROLL_UP, fields_of
from krino.text.clean import clean_line

_LONGEST_INPUT = 200
_LONGEST_WHY = 400
_LONGEST_VALUE = 60
_ROLL_UP_STYLES = {"fail": "bold red", "review": "yellow", "pass": "green"}


def print_worst(console: Console, found: Worst, rules: Mapping[str, str], scales: Scales, folder: Path) -> None:
    """Those that were not judged come first, apart: they have no value to be ranked by."""
    parts: list[RenderableType] = []
    if found.all_not_judged:
        more = found.all_not_judged - len(found.not_judged)
        shown = f", the first {len(found.not_judged):,} here" if more else ""
        parts += [Text(f"Not judged: {found.all_not_judged:,}{shown}", style="bold"), Text()]
        parts += [_case(record, _status(record), "", rules) for record in found.not_judged]
    parts.append(_heading(found))
    for record in found.judged:
        parts += [_case(record, _value(record, found.order.field, scales), found.order.field, rules)]
    told = f"krino show {clean_line(str(folder))} ID shows a case in full; --by FIELD ranks by another field."
    console.print(Group(*parts, Text(told, style="dim")))


def _heading(found: Worst) -> RenderableType:
    if not found.judged:
        return Text("No case to rank.\n", style="bold")
    head = f"The worst {len(found.judged):,} of {found.ranked:,} {clean_line(found.order.told(), 120)}"
    nulls = f" ({found.nulls:,} more have no value)" if found.nulls else ""
    return Text.assemble((head, "bold"), (nulls, "dim"), "\n")


def _case(record: Record, value: Text, field: str, rules: Mapping[str, str]) -> RenderableType:
    head = Text.assemble((clean_line(str(record["id"]), 120), "bold"), "  ", value)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in (record.get("inputs") or {}).items():
        table.add_row(Text(clean_line(str(name), 30)), Text(clean_line(str(text), _LONGEST_INPUT)))
    for line, style in _why(record, field, rules):
        table.add_row("why" if not style else "", Text(line, style=style))
    return Group(head, Padding(table, (0, 0, 1, 2)))


def _why(record: Record, field: str, rules: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield reason_of(record, field, rules) or "no reason is on record", ""
    rules_applied = record.get("rules") or {}
    if rule := rules_applied.get(_ruled(record, field)):
        yield clean_line(rule_in_words(str(rule), rules), _LONGEST_WHY), "dim"


def _ruled(record: Record, field: str) -> str:
    """The field whose rule explains: a roll-up has none of its own, the verdict's first field stands for it."""
    return next(iter(record.get("verdict") or ()), "") if field == ROLL_UP else field


def _status(record: Record) -> Text:
    status = str(record["status"])
    return Text(f"{SIGNS.get(status, '')} {status}", style=STYLES.get(status, ""))


def _value(record: Record, field: str, scales: Scales) -> Text:
    value = fields_of(record).get(field)
    style = _ROLL_UP_STYLES.get(str(value), "") if field == ROLL_UP else graded(scales, field, value)
    shown = Text.assemble((_short(value), style or "bold"), (f"  {clean_line(field, 40)}", "dim"))
    if (beside := _ruled(record, field)) != field:
        shown.append(f" · {clean_line(beside, 40)} {_short((record.get('verdict') or {}).get(beside))}", style="dim")
    return shown


def _short(value: Any) -> str:
    return clean_line(", ".join(map(str, value)) if isinstance(value, list) else str(value), _LONGEST_VALUE)
