"""`krino show`: a run's summary, or one judgement of it in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from krino.cli import options

if TYPE_CHECKING:
    from krino.runs.reading import Run


def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    case_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Id of a case; without it, the summary.")
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Slices by columns of metadata: court,language, or court*language.", show_default=False),
    ] = None,
    labels: Annotated[bool, typer.Option("--labels", help="With an ID: the labels too.")] = False,
    json: options.AsJson = False,
) -> None:
    """Show a run, or one case of it. With --json: every judgement, one a line, in the order of the input."""
    import orjson

    from krino.runs.reading import load_run

    loaded = load_run(run)
    manifest = loaded.manifest
    if by is not None:
        _slices(loaded.records(), by, json)
        return
    if not json and case_id is None:
        _summary(loaded)
        return
    found = 0
    for judgement in loaded.records():
        if case_id is not None and judgement["id"] != case_id:
            continue
        found += 1
        if json:
            typer.echo(orjson.dumps(judgement).decode())
        else:
            _one(judgement, _rules(manifest.plan.judge.get("address", "")), labels)
    if case_id is not None and not found:
        from krino.errors import UsageProblem

        raise UsageProblem(f"{run} has no judgement of a case `{case_id}`; `krino show {run} --json` lists them all")


def _slices(judgements: Iterable[dict[str, Any]], by: str, as_json: bool) -> None:
    import orjson
    from rich.console import Console

    from krino.reports.slices import parse_columns, slice_by
    from krino.reports.slices_terminal import print_slices

    tables = slice_by(judgements, parse_columns(by))
    if as_json:
        typer.echo(orjson.dumps([table.model_dump(mode="json") for table in tables]).decode())
    else:
        print_slices(Console(), tables)


def _summary(run: Run) -> None:
    from rich.console import Console

    from krino.reports.summary import summarise
    from krino.reports.terminal import print_summary

    print_summary(Console(), summarise(run.records()), run.manifest, run.folder)


def _one(judgement: dict[str, object], rules: Mapping[str, str], labels: bool) -> None:
    from rich.console import Console

    from krino.contract import Judgement
    from krino.reports.terminal import print_judgement

    print_judgement(Console(), Judgement.model_validate(judgement), rules, labels=labels)


def _rules(address: str) -> Mapping[str, str]:
    """The judge's rules, if the judge can still be found: a run can be shown without it."""
    from krino.errors import UsageProblem
    from krino.judges.registry import load_judge

    try:
        return load_judge(address).rules
    except UsageProblem:
        return {}
