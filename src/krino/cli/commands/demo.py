"""`krino demo`: run the bundled examples offline and write reports to look at."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from krino.cli import exits

EXAMPLES = {
    "citation": ("wrong-jurisdiction", "does a citation mean the decision that a matcher found?"),
    "efficiency": ("one-duplicate", "how economically did an agent work?"),
    "rag": ("half-supported", "is an answer faithful to its passages?"),
}


def demo(
    folder: Annotated[Path, typer.Option("--run", help="Folder for the demo's runs.")] = Path("krino-demo"),
) -> None:
    """Judge the bundled examples with the embedded labellers: no key, no network."""
    from importlib.resources import as_file, files

    from krino.api.running import Running, RunSettings
    from krino.cli import runner
    from krino.judges.registry import load_judge
    from krino.labellers.local import LocalLabeller
    from krino.runs.inputs import inputs_of

    codes = []
    for name, (_, question) in EXAMPLES.items():
        typer.secho(f"\n{name}: {question}", bold=True)
        settings = RunSettings(into=folder / name, fresh=True)
        with as_file(files("krino").joinpath(f"examples/{name}.jsonl")) as cases, inputs_of(cases) as inputs:
            running = Running(load_judge(name), name, LocalLabeller(), inputs, settings, runner.notify)
            codes.append(runner.carry_out(running, as_json=False))
    typer.echo(f"\nThe reports: {folder / '*' / 'report.html'} (open them in a browser)")
    typer.echo(f"One case in full: {_command_name()} show {folder / 'rag'} {EXAMPLES['rag'][0]}")
    typer.echo(
        "Some examples cannot be judged, on purpose: they are recorded as failed, with a reason and without a score.\n"
        "`krino judge` would end with exit code 3 to say so."
    )
    raise typer.Exit(next((code for code in codes if code not in (exits.DONE, exits.CASES_FAILED)), exits.DONE))


def _command_name() -> str:
    """Returns the name of this command: `krino` if that is on the path, else as it was called."""
    return "krino" if shutil.which("krino") else os.path.relpath(sys.argv[0])
