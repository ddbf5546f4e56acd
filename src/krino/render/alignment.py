"""Shows what `krino align` tried, what it kept, and the agreement that the judge reaches, as blocks."""

from __future__ import annotations

from collections.abc import Iterator

from krino.blocks import Block, BulletList, Cell, DataTable, Heading, Paragraph
from krino.results.alignment.result import Alignment
from krino.results.formatting import format_count


def alignment_blocks(found: Alignment) -> Iterator[Block]:
    """Yields the sentence first, then every change that was tried, and how a run names the result."""
    yield Heading(f"Alignment of {found.judge} with people", note=f"labelled by {found.labeller}")
    yield Paragraph(found.sentence, strong=True)
    if found.tried:
        rows = [
            (Cell(one.words, strong=one.chosen), f"{one.gain:+.1%}", f"{one.error:.1%}", _outcome(found, one.chosen))
            for one in found.tried
        ]
        about = f"Tried on {format_count(found.chosen_by)}, learnt from {format_count(found.learnt)}"
        yield DataTable(about, ("change", "gain", "standard error", ""), rows, figures=(1, 2))
    if found.kept:
        yield BulletList("What was changed", found.kept)
    for note in _list_notes(found):
        yield Paragraph(note, small=True)


def _outcome(found: Alignment, chosen: bool) -> str:
    return ("kept" if found.kept else "tested, not proven") if chosen else "no gain"


def _list_notes(found: Alignment) -> Iterator[str]:
    """Yields how the cases were split, what is missing, and where the result is."""
    if found.source is not None:
        yield f"Cases with the same `{found.source}` stayed together."
    if found.not_judged:
        yield f"{format_count(found.not_judged)} of the test got no verdict and count as disagreement."
    for note in found.notes:
        yield note[:1].upper() + note[1:] + "."
    if found.file is None:
        return
    named = "".join(f" --option {name}={value:g}" for name, value in found.options.items())
    if found.file.endswith(".aligned.md") or named:
        yield f"Written to {found.file}; a run names it: krino judge {found.judge} CASES --prompt {found.file}{named}"
    else:
        yield f"Written to {found.file}, with the agreement that was measured."
