"""`krino resettle`: applies today's rules to the recorded labels of a run, without asking a model."""

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
            help="The files that RUN was made of. Not needed if they came from stdin: RUN keeps those.",
            show_default=False,
        ),
    ] = None,
    option: options.Options = None,
    judge: Annotated[
        str | None, options.flag("The judge of RUN, if it is not one of Krino's own; its code is run.")
    ] = None,
    trust: Annotated[
        bool, options.flag("Load whatever judge RUN names: only if you know who made RUN.", "--trust")
    ] = False,
    new_run: Annotated[Path | None, options.flag(_NEW, "--run")] = None,
    json: options.AsJson = False,
) -> None:
    """Apply the judge's present rules (and --option) to the labels of RUN. No model is asked, nothing is spent.

    RUN may come from someone else: no judge is loaded and no file opened only because RUN names it.
    """
    from krino.api.recorded_run import load_run
    from krino.api.resettling import prepare_resettling
    from krino.cli import runner
    from krino.cli.commands.judge import parse_options
    from krino.engine.processes import AllCores

    with prepare_resettling(
        load_run(run),
        files or None,
        into=new_run,
        options=parse_options(option),
        judge=judge,
        trust=trust,
        notify=runner.notify,
        make_engine=lambda: AllCores(1),
    ) as running:
        code = runner.carry_out(running, as_json=json)
    raise typer.Exit(code)
