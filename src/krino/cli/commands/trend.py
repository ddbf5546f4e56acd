"""`krino trend`: a score over a series of runs, and the first run that differs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from krino.cli import options
from krino.cli.printing import print_blocks, write_markdown


def trend(
    runs: Annotated[list[Path], typer.Argument(metavar="RUNS...", help="Folders of runs, the oldest first.")],
    of: Annotated[
        str,
        typer.Option(help="FIELD (the mean), FIELD:LABEL (the share), FIELD:below:NUMBER, or pass, review, fail."),
    ],
    markdown: Annotated[Path | None, options.flag("Write it to this file too.", panel=options.OUTPUT)] = None,
    json: options.AsJson = False,
) -> None:
    """Show a score over a series of runs, and the first run that differs from the first one.

    The intervals are wider than those of single runs: they hold for the whole series, so that it may be looked at after
    every run without false alarms piling up.
    """
    from krino.cli.runner import tune_memory
    from krino.render.trend import trend_blocks
    from krino.results.trend import trend as read_trend

    tune_memory()
    found = read_trend(runs, of)
    write_markdown(markdown, trend_blocks(found))
    typer.echo(found.model_dump_json()) if json else print_blocks(trend_blocks(found))
