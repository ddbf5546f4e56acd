"""Draws the report's charts as inline SVG: histograms, stacked bars, plain bars. Colours come from the style sheet."""

from __future__ import annotations

from collections.abc import Sequence

from krino.render.markup import Markup, join, tag
from krino.results.numbers import Histogram, NumberField
from krino.results.wording import figure

_WIDTH, _HEIGHT = 400.0, 88.0
_GAP = 0.12  # of a bin's width
_MOST_LABELS = 12


def histogram(field: NumberField) -> Markup:
    """Bars, with the mean as a line and its interval as a band; the axis stands below as text."""
    shape = field.histogram
    bars = _bars(shape)
    marks = [_interval(field), _mean(field)]
    label = (
        f"Histogram of {field.name}: {field.n} values from {_edge(field.min)} to {_edge(field.max)}, "
        f"mean {figure(field.mean)}"
    )
    return tag(
        "div",
        tag(
            "svg",
            *marks[:1],
            *bars,
            *marks[1:],
            class_="histogram",
            viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
            preserveAspectRatio="none",
            role="img",
            aria_label=label,
        ),
        _axis(shape),
        class_="chart",
    )


def bar(part: int, whole: int, kind: str = "") -> Markup:
    """One horizontal bar; the figure beside it is text, so the bar itself is hidden from screen readers."""
    return tag(
        "svg",
        tag("rect", class_="track", width="100%", height="100%", rx=3),
        tag("rect", class_=f"fill {kind}".strip(), width=f"{_percent(part, whole):g}%", height="100%", rx=3),
        class_="bar",
        aria_hidden="true",
    )


def stack(parts: Sequence[tuple[str, int]], label: str) -> Markup:
    """Parts of a whole side by side, in the order given."""
    whole = sum(count for _, count in parts)
    rects, at = [], 0.0
    for kind, count in parts:
        width = _percent(count, whole)
        if count:
            rects.append(
                tag(
                    "rect",
                    tag("title", f"{kind}: {count:,}"),
                    class_=f"fill {kind}",
                    x=f"{at:g}%",
                    width=f"{width:g}%",
                    height="100%",
                )
            )
        at += width
    return tag("svg", *rects, class_="stack", role="img", aria_label=label)


def _bars(shape: Histogram) -> list[Markup]:
    most = max(shape.counts, default=0) or 1
    width = _WIDTH / len(shape.counts)
    gap = width * _GAP
    bars = []
    for place, count in enumerate(shape.counts):
        height = max(count / most * (_HEIGHT - 4), 1.5) if count else 0.0
        low, high = shape.edges(place)
        where = _edge(low) if shape.whole else f"{_edge(low)} to {_edge(high)}"
        title = tag("title", f"{where}: {count:,} case{'' if count == 1 else 's'}")
        x, y = place * width + gap / 2, _HEIGHT - height
        bars.append(tag("rect", title, class_="hit", x=f"{x:.2f}", y=0, width=f"{width - gap:.2f}", height=_HEIGHT))
        if count:
            bars.append(
                tag(
                    "rect",
                    title,
                    class_="column",
                    x=f"{x:.2f}",
                    y=f"{y:.2f}",
                    width=f"{width - gap:.2f}",
                    height=f"{height:.2f}",
                )
            )
    return bars


def _interval(field: NumberField) -> Markup:
    if field.interval is None:
        return join()
    low, high = (_place(field, edge) for edge in field.interval)
    return tag("rect", class_="interval", x=f"{low:.2f}", y=0, width=f"{max(high - low, 0.5):.2f}", height=_HEIGHT)


def _mean(field: NumberField) -> Markup:
    at = f"{_place(field, field.mean):.2f}"
    return tag("line", tag("title", f"mean {figure(field.mean)}"), class_="mean", x1=at, x2=at, y1=0, y2=_HEIGHT)


def _place(field: NumberField, value: float) -> float:
    """Where a value stands on the axis; a bin of whole numbers is centred on its number."""
    shape = field.histogram
    shift = 0.5 if shape.whole else 0.0
    place = ((value - shape.low) / shape.step + shift) / len(shape.counts)
    return min(max(place, 0.0), 1.0) * _WIDTH


def _axis(shape: Histogram) -> Markup:
    last = len(shape.counts)
    if shape.whole:  # a label below each bar, or below the first and the last one
        named = range(last) if last <= _MOST_LABELS else (0, last - 1)
        labels = [_edge(shape.edges(place)[0]) if place in named else "" for place in range(last)]
    else:
        labels = [_edge(shape.edges(0)[0])]
        labels += [_edge(shape.edges(last // 2)[0])] if last % 2 == 0 else []
        labels += [_edge(shape.edges(last - 1)[1])]
    whole = " whole" if shape.whole else ""
    return tag("div", *(tag("span", text) for text in labels), class_=f"axis{whole}", aria_hidden="true")


def _edge(value: float) -> str:
    return f"{value:g}" if abs(value) < 1e6 else f"{value:.3g}"


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 3) if whole else 0.0
