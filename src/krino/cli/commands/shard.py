"""`krino shard` and `krino merge`: split an input for processes of another scheduler, and merge their runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from krino.cli import exits, options


def shard(
    judge_name: Annotated[str, typer.Argument(metavar="JUDGE", help="The judge that will judge them.")],
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files or folders of cases; - is stdin.")],
    into: Annotated[Path, typer.Option("--into", help="Folder for the shards.")],
    shards: Annotated[int, typer.Option("--shards", help="Number of shards.")],
    format: options.Format = "auto",  # noqa: A002 - the flag's name
    map: options.MapFields = None,  # noqa: A002 - the flag's name
    split: options.Split = None,
    option: options.Options = None,
) -> None:
    """Cut the cases of FILE... into files that are judged one by one, anywhere, each with `krino judge`.

    Then `krino merge` makes one run of their runs. Cutting the same input again gives the same files.
    """
    from krino.api.sharing import shard as cut
    from krino.cases import parse_mapping, parse_splits
    from krino.cli.commands.judge import judge_options

    mapping, splits = parse_mapping(map or []), parse_splits(split or [])
    chosen = judge_options(judge_name, option)
    for path in cut(
        judge_name,
        files,
        into=into,
        shards=shards,
        options=chosen,
        mapping=mapping,
        split=splits,
        format=format,
    ):
        typer.echo(path)


def merge(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs, in any order.")],
    into: Annotated[Path, typer.Option("--into", help="Folder of the merged run; what it holds is kept.")],
) -> None:
    """Make one run of several: what a run over all their cases would have been, whatever their order or overlap.

    Exit code 0 where the merged run is finished and every case is ok, 3 where shards are missing or cases failed.
    """
    from krino.api.sharing import merge as merged
    from krino.cli import runner

    run = merged(runs, into)
    counts = run.manifest.counts
    typer.echo(f"{into}: {counts.ok:,} ok, {counts.failed:,} failed, {counts.error:,} errors")
    if run.manifest.state != "finished":
        runner.notify(f"{into} is unfinished: {run.manifest.stop_reason}")
    raise typer.Exit(runner.exit_code(run.manifest) if run.manifest.state == "finished" else exits.CASES_FAILED)
