"""`krino demo`: run the bundled examples offline and write a report to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    folder: Annotated[Path, typer.Option("--run", help="Folder for the demo's run.")] = Path("krino-demo"),
) -> None:
    """Judge the bundled examples with the embedded labeller: no key, no network."""
    from importlib.resources import as_file, files

    from rich.console import Console

    from krino.cli.judge import Job
    from krino.judges.registry import load_judge
    from krino.labellers.local import LocalLabeller

    with as_file(files("krino").joinpath("examples/rag.jsonl")) as examples:
        job = Job("rag", load_judge("rag"), LocalLabeller(), [str(examples)], "auto", {}, folder)
        code = job.carry_out(as_json=False)
    console = Console()
    console.print(f"\nThe report: {folder / 'report.html'} (open it in a browser)", highlight=False, soft_wrap=True)
    console.print(f"One case in full: {_me()} show {folder} half-supported", highlight=False, soft_wrap=True)
    if code == 3:
        console.print(
            "One example has no answer on purpose: it is recorded as failed, with its reason and without a score.\n"
            "`krino judge` would end with exit code 3 to say so.",
            highlight=False,
        )
    raise typer.Exit(0 if code in (0, 3) else code)


def _me() -> str:
    """How this command is called here: by its name if that is on the path, else as it was called."""
    import os
    import shutil
    import sys

    return "krino" if shutil.which("krino") else os.path.relpath(sys.argv[0])
