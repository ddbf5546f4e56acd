"""`krino resettle`: settle a finished run again under today's rules, from its recorded labels, for nothing."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from krino.cli import options
from krino.errors import UsageProblem

if TYPE_CHECKING:
    from krino.cases.item import CaseItem
    from krino.engine.case import AnyJudge
    from krino.runs.manifest import Plan


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
        str | None,
        typer.Option(help="The judge of RUN, if it is none of Krino's own: its code is run.", show_default=False),
    ] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Load whatever judge RUN names: only if you know who made RUN.")
    ] = False,
    new_run: Annotated[Path | None, typer.Option("--run", help="Folder of the new run.", show_default=False)] = None,
    json: options.AsJson = False,
) -> None:
    """Apply the judge's present rules (and --option) to the labels of RUN. Nobody is asked, nothing is spent.

    RUN may come from someone else: no judge is loaded and no file opened only because RUN names it.
    """
    from krino.cli.judge import parse_options
    from krino.cli.stdin import stdin_kept
    from krino.cli.vouched import address_of, judge_of
    from krino.runs.inside import inside
    from krino.runs.manifest import Manifest

    old = Manifest.load(run)
    command = shlex.join(["krino", "resettle", str(run), *(files or [])])
    address = address_of(run, old.plan, judge, trust, command)
    ready = judge_of(address, old.plan, parse_options(option))
    if not inside(run / "judgements.jsonl").exists():
        raise UsageProblem(f"{run} has no judgements yet: there is nothing to settle again")
    plan = old.plan.model_copy(update={"judge": {"address": address, **ready.fingerprint()}})
    kept = [] if files else _kept(run, plan, command)
    with stdin_kept(files or []) as pipes:
        if files:
            plan = plan.model_copy(update={"inputs": pipes.names(files)})

        def settle_inputs(folder: Path) -> list[str]:
            return pipes.settle_in(folder, files) if files else [_copied(Path(path), folder) for path in kept]

        raise typer.Exit(_settle(run, plan, ready, settle_inputs, new_run, json, command))


def _kept(run: Path, plan: Plan, command: str) -> list[str]:
    from krino.cli.vouched import kept_inputs
    from krino.text.clean import clean_line

    if (kept := kept_inputs(run, plan)) is not None:
        return kept
    names = " ".join(shlex.quote(clean_line(name)) for name in plan.inputs)
    raise UsageProblem(
        f"name the files that {run} was made of: they do not lie in it, and what a run folder names is not opened "
        f"unasked. If they are yours and still there: {command} {names}"
    )


def _copied(kept: Path, folder: Path) -> str:
    """What was kept in the old folder is kept in the new one too."""
    from krino.writing import replacing

    folder.mkdir(parents=True, exist_ok=True)
    with kept.open("rb") as source, replacing(folder / kept.name) as copy:
        shutil.copyfileobj(source, copy)
    return str(folder / kept.name)


def _settle(
    run: Path,
    plan: Plan,
    judge: AnyJudge,
    settle_inputs: Callable[[Path], list[str]],
    named: Path | None,
    as_json: bool,
    command: str,
) -> int:
    import asyncio

    from krino.cases import read_cases
    from krino.cli.finish import finish
    from krino.cli.interrupting import Interrupting
    from krino.labellers.replay import PanelReplay
    from krino.render.terminal import screen
    from krino.runs.folder import find_location
    from krino.runs.labels import RecordedLabels
    from krino.runs.reading import load_run
    from krino.runs.session import Session

    recorded = RecordedLabels(load_run(run))
    labeller = PanelReplay(recorded, recorded.ballots, recorded.findings, of={"run": run.name, **plan.labeller})
    plan = plan.model_copy(update={"labeller": labeller.describe()})
    console = screen(stderr=True)

    inputs: list[str] = []

    def cases() -> Iterator[CaseItem]:
        if not inputs:  # not before the folder is this command's own
            inputs.extend(settle_inputs(place.folder))
        return read_cases(inputs, format=plan.format, mapping=plan.mapping, split=plan.split, judge=judge)  # type: ignore[arg-type]

    try:
        place = find_location(plan, named=named, base=run.parent)
        console.print(f"run folder {place.folder}")
        # Afresh: the labels of RUN may be others than they were, and settling costs nothing.
        session = Session(judge, labeller, plan, place.folder, fresh=True)
        manifest = asyncio.run(Interrupting(session, console).run(cases))
    finally:
        recorded.close()
    return finish(place.folder, manifest, judge, cases, console, as_json, command)
