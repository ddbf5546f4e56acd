"""`krino rank`: one table of many systems from a run of comparisons."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from krino.cli import options
from krino.cli.printing import print_blocks, print_json, write_markdown
from krino.errors import UsageProblem

_BY = Annotated[str, options.flag("Columns of the metadata with the names of both systems.", "--by", metavar="A,B")]
_MARKDOWN = Annotated[Path | None, options.flag("Write it to this file too.", panel=options.OUTPUT)]


def rank(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run of a judge that compares two.")],
    by: _BY = "system_a,system_b",
    markdown: _MARKDOWN = None,
    json: options.AsJson = False,
) -> None:
    """Rank systems by who won against whom: Bradley-Terry strengths with intervals, and with ties and biases."""
    from krino.api.ranking import rank_systems
    from krino.blocks import Block, DataTable, Paragraph

    columns = [name.strip() for name in by.split(",")]
    if len(columns) != 2 or not all(columns):
        raise UsageProblem(f"--by {by!r}: write two columns, as system_a,system_b")
    found = rank_systems(run, (columns[0], columns[1]))
    if json:
        print_json(asdict(found))
        return
    rows = [
        (
            ranked.name,
            f"{ranked.strength:.2f} ({ranked.low:.2f} to {ranked.high:.2f})",
            str(ranked.games),
            str(ranked.won),
            str(ranked.tied),
            ", ".join(ranked.level_with[:5]) or "nobody",
        )
        for ranked in found.systems
    ]
    heads = ("system", "wins against an average one", "games", "won", "tied", "not distinguishable from")
    notes = [
        f"{found.games:,} comparisons, {found.ties:,} ties. Intervals: 95 %, cases resampled.",
        f"The label turned with the order in {found.turned:,}: these count as ties.",
        f"The longer one won {found.longer:,} of {found.decided:,} that were decided between unequal lengths.",
    ]
    notes += [f"{found.left_out:,} cases are left out: no verdict, or no two names."] if found.left_out else []
    blocks: list[Block] = [DataTable("Systems", heads, rows, figures=(1, 2, 3, 4)), *map(Paragraph, notes)]
    write_markdown(markdown, blocks)
    print_blocks(blocks)
