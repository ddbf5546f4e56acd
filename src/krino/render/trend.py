"""Shows the series of a score over runs, as blocks."""

from __future__ import annotations

from collections.abc import Iterator

from krino.blocks import Block, Cell, DataTable, Heading, Paragraph
from krino.results.trend import Trend, TrendPoint

_WIDTH = 30


def trend_blocks(found: Trend) -> Iterator[Block]:
    """Yields the sentence, then one row for each run with a small chart of its interval."""
    yield Heading(f"Trend of {found.target}")
    yield Paragraph(found.sentence, "warn" if found.first_different else "good", strong=True)
    ends = [edge for point in found.points for edge in (*(point.interval or ()), *_value(point))]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    rows = [_make_row(number, point, found, low, high) for number, point in enumerate(found.points, 1)]
    yield DataTable("", ("", "Run", "started", "cases", "value", "interval", "chart", "change"), rows, figures=(3, 4))
    yield Paragraph(
        "The intervals hold for all runs together, however many follow: over the whole series a change is reported "
        "falsely in at most 5 of 100 series. Cases of two runs are treated as separate samples.",
        small=True,
    )
    for note in found.notes:
        yield Paragraph(note, "warn")
    if left_out := sum(point.left_out for point in found.points):
        yield Paragraph(f"Left out: {left_out:,} cases without a verdict or without a value.", small=True)


def _value(point: TrendPoint) -> tuple[float, ...]:
    return () if point.value is None else (point.value,)


def _make_row(number: int, point: TrendPoint, found: Trend, low: float, high: float) -> tuple[str | Cell, ...]:
    """Returns one run of a series as a table row."""
    run = Cell(point.run, "warn" if point.differs else None, strong=point.differs)
    if point.value is None or point.interval is None:
        return (f"{number}", run, point.started, f"{point.cases:,}", "", "", "", "too few values")
    interval = " to ".join(_format(edge, found) for edge in point.interval)
    change = "" if point.change is None else " to ".join(_format(edge, found, signed=True) for edge in point.change)
    outcome = f"{change}, differs" if point.differs else change
    chart = _draw_chart(point.value, point.interval, low, high)
    return (f"{number}", run, point.started, f"{point.cases:,}", _format(point.value, found), interval, chart, outcome)


def _draw_chart(value: float, interval: tuple[float, float], low: float, high: float) -> str:
    """Draws the interval as a line of characters, with a mark at the value."""
    spread = (high - low) or 1.0
    start, end, middle = (round((edge - low) / spread * (_WIDTH - 1)) for edge in (*interval, value))
    line = ["·" if start <= place <= end else " " for place in range(_WIDTH)]
    line[middle] = "●"
    return "".join(line)


def _format(value: float, found: Trend, *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    return f"{100 * value:{sign}.1f}%" if found.is_share else f"{value:{sign}.3f}"
