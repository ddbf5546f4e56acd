"""`krino verify`: whether every verdict of a run follows from its recorded labels and its cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from krino.cli import exits, options
from krino.cli.printing import print_blocks


def verify(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run to verify.")],
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INPUT]...",
            help="The files that RUN was made of. Not needed where they came on stdin: RUN has kept those.",
            show_default=False,
        ),
    ] = None,
    judge: Annotated[
        str | None, options.flag("The judge of RUN, if it is none of Krino's own: its code is run.")
    ] = None,
    trust: Annotated[
        bool, options.flag("Load whatever judge RUN names: only if you know who made RUN.", "--trust")
    ] = False,
    named: Annotated[int, options.flag("Verdicts named that do not follow (20).", min=0)] = 20,
    json: options.AsJson = False,
) -> None:
    """Compute every verdict of RUN again from its recorded labels and its cases: no model is asked, no key is needed.

    Says how many verdicts follow, and names those that do not: edited, made by another version of the judge, or of a
    case that INPUT does not have. Edited texts of rules and of the prompt are named too.

    Exit code 0: all follow. 1: at least one does not, or the folder contradicts itself. 2: wrong usage.

    What follows was settled by the judge's rules. Whether the recorded labels are those that the model gave, only
    asking it again can show.
    """
    from krino.api.verifying import verify as verify_run
    from krino.cli.runner import tune_memory
    from krino.render.verification import verification_blocks

    tune_memory()
    found = verify_run(run, files or None, judge=judge, trust=trust, named=named)
    typer.echo(found.model_dump_json()) if json else print_blocks(verification_blocks(found))
    raise typer.Exit(exits.DONE if found.verified else exits.GATE_FAILED)
