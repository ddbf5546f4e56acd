"""Draws charts as inline SVG: histograms, bars, stacked bars, reliability. Colours come from the style sheet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krino import blocks as b
from krino.render.markup import Markup, join, tag
from krino.results.formatting import format_count, format_number

if TYPE_CHECKING:
    from krino.results.trend import Trend

_WIDTH, _HEIGHT = 400.0, 88.0
_GAP = 0.12  # of a bin's width
_MOST_LABELS = 12
_SIDE = 240.0  # length of a side of the square reliability diagram
_LARGEST_DOT = 13.0
_TREND_WIDTH, _TREND_HEIGHT = 640.0, 160.0


def histogram(score: b.Score) -> Markup:
    """Draws bars, the mean as a line and its interval as a band; axis labels are text below."""
    label = (
        f"Histogram of {score.name}: {score.n} values from {_format_edge(score.least)} to {_format_edge(score.most)}, "
        f"mean {format_number(score.mean)}"
    )
    box = f"0 0 {_WIDTH:g} {_HEIGHT:g}"
    drawn = (_draw_interval(score), *_draw_bars(score), _draw_mean(score))
    svg = tag("svg", *drawn, class_="histogram", viewBox=box, preserveAspectRatio="none", role="img", aria_label=label)
    return tag("div", svg, _draw_axis(score), class_="chart")


def bar(part: int, whole: int) -> Markup:
    """Draws one horizontal bar, hidden from screen readers because the number is shown as text."""
    return tag(
        "svg",
        tag("rect", class_="track", width="100%", height="100%", rx=3),
        tag("rect", class_="fill", width=f"{_percent(part, whole):g}%", height="100%", rx=3) if part else None,
        class_="bar",
        aria_hidden="true",
    )


def stacked_bar(block: b.Parts) -> Markup:
    """Draws the parts side by side, in order."""
    rects, at = [], 0.0
    for part in block.parts:
        width = _percent(part.count, block.total)
        if part.count:
            title = tag("title", f"{part.name}: {part.count:,}")
            place = {"x": f"{at:g}%", "width": f"{width:g}%", "height": "100%"}
            rects.append(tag("rect", title, class_=f"fill fill-{part.tone}", **place))
        at += width
    label = f"{block.what}: " + ", ".join(f"{part.count} {part.name}" for part in block.parts)
    return tag("svg", *rects, class_="stack", role="img", aria_label=label)


def reliability_diagram(block: b.Reliability) -> Markup:
    """Draws the share of right answers over confidence; below the diagonal, confidence is too high. Dots grow with
    n."""
    shown = [item for item in block.bins if item.n]
    most = max((item.n for item in shown), default=1)
    dots, captions = [], []
    for item in shown:
        sure = item.confidence / block.most
        captions.append(f"says {_format_edge(item.confidence)}, right in {item.right:.0%} of {item.n:,} cases")
        place = {"cx": f"{sure * _SIDE:.1f}", "cy": f"{_SIDE - item.right * _SIDE:.1f}"}
        radius = max(_LARGEST_DOT * (item.n / most) ** 0.5, 3.0)
        dots.append(
            tag(
                "circle",
                tag("title", captions[-1]),
                class_="dot over" if sure > item.right else "dot",
                r=radius,
                **place,
            )
        )
    ticks = []
    for part in (0.0, 0.5, 1.0):
        ticks.append(tag("text", f"{part:.0%}", class_="tick up", x=-8, y=_SIDE - part * _SIDE + 4))
        ticks.append(tag("text", _format_edge(part * block.most), class_="tick", x=part * _SIDE, y=_SIDE + 18))
    frame = tag("rect", class_="frame", x=0, y=0, width=_SIDE, height=_SIDE)
    diagonal = tag("line", class_="diagonal", x1=0, y1=_SIDE, x2=_SIDE, y2=0)
    box = f"-48 -16 {_SIDE + 64:g} {_SIDE + 40:g}"
    label = f"Reliability: {'; '.join(captions)}"
    svg = tag("svg", frame, diagonal, *dots, *ticks, class_="reliability", viewBox=box, role="img", aria_label=label)
    said = tag("p", "Share of right answers over confidence; below the line, confidence is too high.", class_="soft")
    return tag("div", svg, said, class_="square")


def trend_chart(found: Trend) -> Markup:
    """Draws the value of each run with its interval, from left to right; a run that differs from the first is
    filled."""
    known = [(place, point) for place, point in enumerate(found.points) if point.value is not None and point.interval]
    ends = [end for _, point in known for end in point.interval or ()]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    spread, step = (high - low) or 1.0, _TREND_WIDTH / max(len(found.points), 1)

    def height(value: float) -> str:
        return f"{_TREND_HEIGHT - (value - low) / spread * _TREND_HEIGHT:.1f}"

    drawn, captions = [], []
    for place, point in known:
        across = f"{(place + 0.5) * step:.1f}"
        value, (least, most) = point.value or 0.0, point.interval or (0.0, 0.0)
        captions.append(f"{point.run}: {value:.3f} ({least:.3f} to {most:.3f}){', differs' * point.differs}")
        title, line = tag("title", captions[-1]), {"stroke": "currentColor", "stroke_width": "2"}
        drawn.append(tag("line", x1=across, x2=across, y1=height(least), y2=height(most), **line))
        fill = "currentColor" if point.differs else "none"
        drawn.append(tag("circle", title, cx=across, cy=height(value), r=6, fill=fill, **line))
    box = f"-8 -8 {_TREND_WIDTH + 16:g} {_TREND_HEIGHT + 16:g}"
    label = f"Trend of {found.target}: {'; '.join(captions)}"
    return tag("svg", *drawn, class_="trend", viewBox=box, role="img", aria_label=label)


def _draw_bars(score: b.Score) -> list[Markup]:
    """Draws a bar for each bin, and behind it a full-height area that shows the count to a pointer."""
    most = max(score.counts, default=0) or 1
    width = _WIDTH / len(score.counts)
    gap = width * _GAP
    bars = []
    for place, count in enumerate(score.counts):
        height = max(count / most * (_HEIGHT - 4), 1.5) if count else 0.0
        low, high = score.edges(place)
        where = _format_edge(low) if score.whole else f"{_format_edge(low)} to {_format_edge(high)}"
        title = tag("title", f"{where}: {format_count(count)}")
        across = {"x": f"{place * width + gap / 2:.2f}", "width": f"{width - gap:.2f}"}
        bars.append(tag("rect", title, class_="hit", y=0, height=_HEIGHT, **across))
        if count:
            up = {"y": f"{_HEIGHT - height:.2f}", "height": f"{height:.2f}"}
            bars.append(tag("rect", title, class_="column", **across, **up))
    return bars


def _draw_interval(score: b.Score) -> Markup:
    """Draws the interval of the mean."""
    if score.interval is None:
        return join()
    low, high = (_place(score, edge) for edge in score.interval)
    return tag("rect", class_="interval", x=f"{low:.2f}", y=0, width=f"{max(high - low, 0.5):.2f}", height=_HEIGHT)


def _draw_mean(score: b.Score) -> Markup:
    at = f"{_place(score, score.mean):.2f}"
    return tag("line", tag("title", f"mean {format_number(score.mean)}"), class_="mean", x1=at, x2=at, y1=0, y2=_HEIGHT)


def _place(score: b.Score, value: float) -> float:
    """Returns the position of a value on the axis; a bin of whole numbers is centred on its number. Values beyond the
    axis are put at its end."""
    shift = 0.5 if score.whole else 0.0
    place = ((value - score.low) / score.step + shift) / len(score.counts)
    return min(max(place, 0.0), 1.0) * _WIDTH


def _draw_axis(score: b.Score) -> Markup:
    """Labels the axis: every bar, or first, middle and last edge."""
    last = len(score.counts)
    if score.whole:  # a label for each bar, or for the first and the last
        named = range(last) if last <= _MOST_LABELS else (0, last - 1)
        labels = [_format_edge(score.edges(place)[0]) if place in named else "" for place in range(last)]
    else:
        labels = [_format_edge(score.edges(0)[0])]
        labels += [_format_edge(score.edges(last // 2)[0])] if last % 2 == 0 else []
        labels += [_format_edge(score.edges(last - 1)[1])]
    whole = " whole" if score.whole else ""
    return tag("div", *(tag("span", text) for text in labels), class_=f"axis{whole}", aria_hidden="true")


def _format_edge(value: float) -> str:
    return f"{value:g}" if abs(value) < 1e6 else f"{value:.3g}"


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 3) if whole else 0.0
