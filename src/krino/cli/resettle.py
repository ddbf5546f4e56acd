"""`krino resettle`: settle a finished run again under today's rules, from its recorded labels, for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from krino.cli import options

_NEW = "Folder of the new run (default: beside RUN, as <judge>-<date>-<hash>)."


def resettle(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run to settle again.")],
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...",
            help="The files that RUN was made of. Not needed where they came on stdin: RUN has kept those.",
            show_default=False,
        ),
    ] = None,
    option: options.Options = None,
    judge: Annotated[
        str | None, options.flag("The judge of RUN, if it is none of Krino's own: its code is run.")
    ] = None,
    trust: Annotated[
        bool, options.flag("Load whatever judge RUN names: only if you know who made RUN.", "--trust")
    ] = False,
    new_run: Annotated[Path | None, options.flag(_NEW, "--run")] = None,
    json: options.AsJson = False,
) -> None:
    """Apply the judge's present rules (and --option) to the labels of RUN. Nobody is asked, nothing is spent.

    RUN may come from someone else: no judge is loaded and no file opened only because RUN names it.
    """
    from krino.api.recorded_run import load_run
    from krino.api.running import resettling
    from krino.cli import runner
    from krino.cli.judge import parse_options
    from krino.engine.processes import AllCores

    with resettling(
        load_run(run),
        files or None,
        into=new_run,
        options=parse_options(option),
        judge=judge,
        trust=trust,
        tell=runner.tell,
        make_engine=lambda: AllCores(1),
    ) as running:
        code = runner.carry_out(running, as_json=json)
    raise typer.Exit(code)
