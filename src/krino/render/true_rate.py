"""Shows the true rate or mean of a field, as blocks: the sentence first, then every estimate."""

from __future__ import annotations

from collections.abc import Iterator

from krino.blocks import Block, Cell, DataTable, Heading, Paragraph
from krino.results.formatting import format_count
from krino.results.true_rate import ALONE, Estimate, TrueRate, TrueRates


def true_rates_blocks(found: TrueRates) -> Iterator[Block]:
    """Yields the true value of a run, of its slices, and the difference from another run."""
    yield Heading(f"True value of {found.overall.target}", note=f"{found.run} · {found.judge}")
    yield from _show_estimates(found.overall)
    if found.slices:
        rows = [
            (name, f"{one.cases:,}", f"{one.labels:,}", format_rate(one.judged, one), *_cells(one.best, one))
            for name, one in found.slices.items()
        ]
        columns = (found.by or "", "cases", "labels", "verdicts say", "true value", "95 % interval")
        yield DataTable("By slice", columns, rows, figures=range(1, 6))
    for line in found.not_sliced:
        yield Paragraph(line, small=True)
    if found.difference is not None:
        yield Paragraph(found.difference, strong=True)


def _show_estimates(found: TrueRate) -> Iterator[Block]:
    """Yields the sentence, every estimate and the advice for one field."""
    yield Paragraph(found.sentence, strong=True)
    rows = [
        (Cell(one.method, strong=one.method == found.trusted), *_cells(one, found), one.words)
        for one in found.estimates
    ]
    about = f"{format_count(found.labels, 'label')} on {format_count(found.cases)}"
    yield DataTable(about, ("Estimate", "value", "95 % interval", "how"), rows, figures=(1, 2))
    yield Paragraph(_advise_labels(found), small=True)
    for note in found.notes:
        yield Paragraph(note[:1].upper() + note[1:] + ".", small=True)


def _cells(one: Estimate, found: TrueRate) -> tuple[str, str]:
    low, high = one.interval
    return format_rate(one.value, found), f"{format_rate(low, found)} to {format_rate(high, found)}"


def _advise_labels(found: TrueRate) -> str:
    """Says how many more labels would help, and where to take them."""
    if found.trusted == ALONE:
        return "Label some cases of every answer of the judge: then its verdicts can be used too."
    if found.more_labels is None:
        return "More labels alone cannot halve the interval: it takes more cases."
    advice = f"About {found.more_labels:,} more labels would halve the interval."
    if not found.label_next:
        return advice
    shares = " and ".join(f"{share:.0%} where the judge says {name}" for name, share in found.label_next.items())
    return (
        f"{advice} Draw them at random, {shares}; the queue of the workbench does so in the order "
        f'"for the true rate of {found.target}".'
    )


def format_rate(value: float, found: TrueRate) -> str:
    return f"{100 * value:.1f}%" if found.is_rate else f"{value:.3f}"
