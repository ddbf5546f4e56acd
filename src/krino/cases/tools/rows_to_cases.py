"""Turns the rows of a tool's file into rows of cases; the rows of one trace become one case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from krino.cases.item import Row, bad_row
from krino.cases.tools.case_parts import Tool, ToolCase, ToolRow

_TRACE = "trace"


def read_tool_rows(tool: Tool, rows: Callable[[], Iterator[Row]], shown: str, *, keeps_traces: bool) -> Iterator[Row]:
    """The cases of a file. `rows` gives all rows of the file, each time it is called.

    A case whose run gave no output is a problem with the tool's reason, unless the judge reads traces (`keeps_traces`)
    and there is one.
    """
    for row, found in _group_rows(tool, rows, shown):
        if not found:
            yield row
            continue
        first = row[0]
        where = f"{shown}:{first}"
        try:
            cases = list(tool.read(found))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as fault:
            yield bad_row(first, f"{where}: this {tool.name} is not of the known form ({fault!r}); fix or remove it")
            continue
        for case in cases:
            yield _row_of(case, tool, first, where, keeps_traces=keeps_traces)


def _row_of(case: ToolCase, tool: Tool, number: int, where: str, *, keeps_traces: bool) -> Row:
    """The row of a case; with its record and a problem, if its run gave no output and there is no trace to judge."""
    if case.problem is None or (keeps_traces and case.record.get(_TRACE)):
        return number, case.record, None, None
    return number, case.record, f"{where}: this {tool.name} has no output: {case.problem}", None


def _group_rows(tool: Tool, rows: Callable[[], Iterator[Row]], shown: str) -> Iterator[tuple[Row, Sequence[ToolRow]]]:
    """Yields the rows that are read together, as (first row, records); a bad row comes alone, without records.

    Of traces, a first pass counts the rows, so that only those of unfinished traces are in memory.
    """
    trace_of = tool.trace_of
    left: Counter[str] = Counter()
    if trace_of is not None:
        left.update(trace_of(row[1]) for row in rows() if row[1] is not None and tool.recognise(row[1]))
    waiting: dict[str, tuple[Row, list[dict[str, Any]]]] = {}
    for row in rows():
        number, record, _, _ = row
        if record is None:
            yield row, ()
        elif not tool.recognise(record):
            problem = f"{shown}:{number}: this is no {tool.name}, as the first row of the file is; fix or remove it"
            yield bad_row(number, problem), ()
        elif trace_of is None:
            yield row, (record,)
        else:
            key = trace_of(record)
            first, members = waiting.setdefault(key, (row, []))
            members.append(record)
            left[key] -= 1
            if not left[key]:
                del waiting[key], left[key]
                yield first, members
