"""`krino resettle`: settle a finished run again under today's rules, from its recorded labels, for nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from krino.cli import options


def resettle(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run to settle again.")],
    option: options.Options = None,
    new_run: Annotated[Path | None, typer.Option("--run", help="Folder of the new run.", show_default=False)] = None,
    json: options.AsJson = False,
) -> None:
    """Apply the judge's present rules (and --option) to the labels of RUN. Nobody is asked, nothing is spent."""
    from rich.console import Console

    from krino.cases import read_cases
    from krino.cli.finish import finish
    from krino.cli.judge import announce, judge_options
    from krino.errors import UsageProblem
    from krino.judges.registry import load_judge
    from krino.labellers.replay import ReplayLabeller
    from krino.runs.folder import find_place
    from krino.runs.manifest import Manifest
    from krino.runs.recorded import RecordedLabels
    from krino.runs.sitting import Sitting

    old = Manifest.load(run)
    address = old.plan.judge.get("address", old.plan.judge["name"])
    judge = load_judge(address, {**old.plan.judge.get("options", {}), **judge_options(address, option)})
    inputs = [_stored_stdin(run) if name == "-" else name for name in old.plan.inputs]
    if missing := [name for name in inputs if not Path(name).exists()]:
        raise UsageProblem(f"the cases of {run} are gone: {missing[0]} does not exist; put the file back and try again")
    recorded = RecordedLabels(run / "judgements.jsonl")
    labeller = ReplayLabeller(recorded, of={"run": run.name, **old.plan.labeller})
    plan = old.plan.model_copy(
        update={"judge": {"address": address, **judge.fingerprint()}, "labeller": labeller.describe()}
    )
    place = find_place(plan, named=new_run, base=run.parent)
    console = Console(stderr=True)
    announce(place, console)
    try:
        items = read_cases(inputs, format=old.plan.format, mapping=old.plan.mapping)  # type: ignore[arg-type]
        manifest = asyncio.run(Sitting(judge, labeller, plan, place.folder).hold(items))
    finally:
        recorded.close()
    raise typer.Exit(finish(place.folder, manifest, judge.rules, console, json, f"krino resettle {run}"))


def _stored_stdin(run: Path) -> str:
    found = next((path for name in ("stdin.jsonl", "stdin.json") if (path := run / name).exists()), None)
    return str(found or run / "stdin.jsonl")
