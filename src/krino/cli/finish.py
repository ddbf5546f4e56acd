"""What follows a run: the summary, the report files, and the exit code that tells how it went."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
import typer

from krino.cli import exits
from krino.errors import UsageProblem
from krino.exports.parquet_file import ParquetBeside
from krino.render.gate import gate_blocks
from krino.render.report import Report
from krino.render.summary import summary_blocks
from krino.render.terminal import screen, show
from krino.results.finish import Collected, collect
from krino.runs.inputs import CasesBeside
from krino.runs.reading import Run

if TYPE_CHECKING:
    from rich.console import Console

    from krino.cases.item import CaseItem
    from krino.cli.gating import Gating
    from krino.engine.case import AnyJudge
    from krino.results.gates.result import GateResult
    from krino.runs.manifest import Manifest

MANY = 20_000  # from so many on, summing up takes long enough to be announced


def finish(
    folder: Path,
    manifest: Manifest,
    judge: AnyJudge,
    cases: Callable[[], Iterator[CaseItem]],
    console: Console,
    as_json: bool,
    command: str,
    gating: Gating | None = None,
) -> int:
    """Summarise what there is, finished or not; then hold it against the rules of a gate, if there is one.

    `judge` and `cases` are those that this command was given.
    """
    if manifest.state == "finished" and not manifest.cases:
        raise UsageProblem(f"{', '.join(manifest.plan.inputs)}: there are no cases in it")
    run = Run(folder, manifest)
    if manifest.counts.total > MANY:
        console.print(f"summing up {manifest.counts.total:,} judgements", highlight=False)
    finished = manifest.state == "finished"
    summary = (
        _with_files(run, judge, cases) if finished else collect(run.records(), schema=manifest.about.verdict_schema)
    ).summary
    gated = None
    if as_json:
        gated = gating.hold(folder) if gating is not None else None
        result = {"run": str(folder), **manifest.model_dump(mode="json"), "summary": summary.model_dump(mode="json")}
        found = {} if gated is None else {"gate": gated.model_dump(mode="json")}
        typer.echo(orjson.dumps({**result, **found}).decode())
    else:
        show(screen(), summary_blocks(summary, manifest, folder))
        if gating is not None:  # after the summary: a rule about what is not there must not keep it from being shown
            gated = gating.hold(folder)
            show(screen(), gate_blocks(gated, known=True))
    if manifest.state != "finished":
        reason = f"{manifest.state} before the end of the input: {manifest.stop_reason}"
        console.print(reason, highlight=False, markup=False, soft_wrap=True)
        console.print(f"continue with: {command}", highlight=False, markup=False, soft_wrap=True)
    return exit_code(manifest, gated)


def _with_files(run: Run, judge: AnyJudge, cases: Callable[[], Iterator[CaseItem]]) -> Collected:
    """The summary, the HTML report and the Parquet table of a finished run, from one reading of its journal."""
    with (
        Report(run.folder, run.manifest, judge, CasesBeside(cases).case_of) as report,
        ParquetBeside(run.folder, run.records) as table,
    ):
        found = collect(run.records(), report, table, schema=run.manifest.about.verdict_schema)
        report.write(found)
        table.write()
    return found


def exit_code(manifest: Manifest, gated: GateResult | None = None) -> int:
    """Nothing but a finished run in which every case is ok is a success; with a gate, one that keeps its rules.

    A run that did not come to its end has not failed its gate: it can go on, and 1 is kept for what is decided.
    """
    if manifest.state == "interrupted":
        return exits.INTERRUPTED
    if gated is not None and manifest.state == "finished":
        return exits.DONE if gated.passed else exits.GATE_FAILED
    if manifest.state != "finished" or manifest.counts.failed or manifest.counts.error:
        return exits.CASES_FAILED
    return exits.DONE
