"""`krino resettle`: settle a finished run again under today's rules, from its recorded labels, for nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from krino.cli import options

if TYPE_CHECKING:
    from krino.cases.item import CaseItem


def resettle(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run to settle again.")],
    option: options.Options = None,
    new_run: Annotated[Path | None, typer.Option("--run", help="Folder of the new run.", show_default=False)] = None,
    json: options.AsJson = False,
) -> None:
    """Apply the judge's present rules (and --option) to the labels of RUN. Nobody is asked, nothing is spent."""
    import asyncio
    import shutil

    from rich.console import Console

    from krino.cases import read_cases
    from krino.cli.finish import finish
    from krino.cli.judge import parse_options
    from krino.errors import UsageProblem
    from krino.judges.registry import load_judge
    from krino.labellers.replay import PanelReplay
    from krino.runs.folder import find_place
    from krino.runs.journal import JOURNAL
    from krino.runs.manifest import Manifest
    from krino.runs.reading import Run
    from krino.runs.recorded import RecordedLabels
    from krino.runs.rereading import stored_inputs
    from krino.runs.sitting import Sitting

    old = Manifest.load(run)
    address = old.plan.judge.get("address", old.plan.judge["name"])
    judge = load_judge(address, {**old.plan.judge.get("options", {}), **parse_options(option)})
    inputs = stored_inputs(run, old.plan)
    if missing := [name for name in inputs if not Path(name).exists()]:
        raise UsageProblem(f"the cases of {run} are gone: {missing[0]} does not exist; put the file back and try again")
    if not (run / JOURNAL).exists():
        raise UsageProblem(f"{run} has no judgements yet: there is nothing to settle again")
    recorded = RecordedLabels(Run(run, old))
    labeller = PanelReplay(recorded, recorded.ballots, of={"run": run.name, **old.plan.labeller})
    plan = old.plan.model_copy(
        update={"judge": {"address": address, **judge.fingerprint()}, "labeller": labeller.describe()}
    )
    console = Console(stderr=True)

    def cases() -> Iterator[CaseItem]:
        for stored in run.glob("stdin.json*"):
            shutil.copyfile(stored, place.folder / stored.name)
        return read_cases(inputs, format=old.plan.format, mapping=old.plan.mapping, judge=judge)  # type: ignore[arg-type]

    try:
        place = find_place(plan, named=new_run, base=run.parent)
        console.print(f"run folder {place.folder}", highlight=False, markup=False)
        # Afresh: the labels of RUN may be others than they were, and settling costs nothing.
        manifest = asyncio.run(Sitting(judge, labeller, plan, place.folder, fresh=True).hold(cases))
    finally:
        recorded.close()
    raise typer.Exit(finish(place.folder, manifest, judge, console, json, f"krino resettle {run}"))
