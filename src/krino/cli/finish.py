"""What follows a run: the summary, the report files, and the exit code that tells how it went."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import typer

from krino.cli import exits
from krino.exports.parquet_file import write_beside
from krino.reports.asked import Asked
from krino.reports.html import write_report
from krino.reports.summary import summarise
from krino.reports.terminal import print_summary
from krino.runs.reading import Run
from krino.runs.rereading import with_cases

if TYPE_CHECKING:
    from rich.console import Console

    from krino.engine.one import AnyJudge
    from krino.runs.manifest import Manifest

MANY = 20_000  # from so many on, summing up takes long enough to be announced


def finish(
    folder: Path,
    manifest: Manifest,
    judge: AnyJudge,
    console: Console,
    as_json: bool,
    command: str,
) -> int:
    """Summarise what there is, finished or not."""
    from rich.console import Console

    run = Run(folder, manifest)
    if manifest.counts.total > MANY:
        console.print(f"summing up {manifest.counts.total:,} judgements", highlight=False)
    summary = summarise(run.records())
    if manifest.state == "finished":
        shown = with_cases(run.records(), folder, manifest.plan)
        write_report(folder, manifest, shown, judge.rules, Asked(judge))
        write_beside(folder, run.records)
    if as_json:
        result = {"run": str(folder), **manifest.model_dump(mode="json"), "summary": summary.model_dump(mode="json")}
        typer.echo(orjson.dumps(result).decode())
    else:
        print_summary(Console(), summary, manifest, folder)
    if manifest.state != "finished":
        reason = f"{manifest.state} before the end of the input: {manifest.stop_reason}"
        console.print(reason, highlight=False, markup=False, soft_wrap=True)
        higher = " (with a higher limit)" if "limit of" in (manifest.stop_reason or "") else ""
        console.print(f"continue with{higher}: {command}", highlight=False, markup=False, soft_wrap=True)
    return exit_code(manifest)


def exit_code(manifest: Manifest) -> int:
    """Nothing but a finished run in which every case is ok is a success."""
    if manifest.state == "interrupted":
        return exits.INTERRUPTED
    if manifest.state != "finished" or manifest.counts.failed or manifest.counts.error:
        return exits.CASES_FAILED
    return exits.DONE
