"""`krino show`: a run's summary, or one judgement of it in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from krino.cli import options


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

    from krino.runs.journal import read_raw_in_order
    from krino.runs.manifest import Manifest

    manifest = Manifest.load(run)
    journal = run / "judgements.jsonl"
    if by is not None:
        _slices(read_raw_in_order(journal, manifest.cases), by, json)
        return
    if not json and case_id is None:
        _summary(run, manifest)
        return
    found = 0
    for judgement in read_raw_in_order(journal, manifest.cases):
        if case_id is not None and judgement["id"] != case_id:
            continue
        found += 1
        if json:
            typer.echo(orjson.dumps(judgement).decode())
        else:
            _one(judgement, manifest.about.rules, labels)
    if case_id is not None and not found:
        from krino.errors import UsageProblem

        raise UsageProblem(f"{run} has no judgement of a case `{case_id}`; `krino show {run} --json` lists them all")


def _slices(judgements: Iterable[dict[str, Any]], by: str, as_json: bool) -> None:
    import orjson

    from krino.reports.screen import screen
    from krino.reports.slices import parse_columns, slice_by
    from krino.reports.slices_terminal import print_slices

    tables = slice_by(judgements, parse_columns(by))
    if as_json:
        typer.echo(orjson.dumps([table.model_dump(mode="json") for table in tables]).decode())
    else:
        print_slices(screen(), tables)


def _summary(run: Path, manifest: object) -> None:
    from krino.reports.screen import screen
    from krino.reports.summary import summarise
    from krino.reports.terminal import print_summary
    from krino.runs.journal import read_raw_in_order
    from krino.runs.manifest import Manifest

    assert isinstance(manifest, Manifest)
    summary = summarise(read_raw_in_order(run / "judgements.jsonl", manifest.cases))
    print_summary(screen(), summary, manifest, run)


def _one(judgement: dict[str, object], rules: Mapping[str, str], labels: bool) -> None:
    from krino.contract import Judgement
    from krino.reports.screen import screen
    from krino.reports.terminal import print_judgement

    print_judgement(screen(), Judgement.model_validate(judgement), rules, labels=labels)
