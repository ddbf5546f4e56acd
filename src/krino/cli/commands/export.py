"""`krino export`: writes a run as CSV, Excel, Parquet, JSON lines or OpenTelemetry events."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from krino.cli import exits, options
from krino.cli.printing import say
from krino.errors import UsageProblem

if TYPE_CHECKING:
    from krino.api.recorded_run import Run


ExportFormat = Literal["csv", "xlsx", "parquet", "jsonl", "otel"]

HELP = """\
Write RUN for other tools: one row a case, also for cases that were not judged.

• csv and xlsx have the columns that a person reads (the case, its status, the verdict, notes); --all adds those for \
machines (usage, versions, labels and evidence as JSON). xlsx needs krino[excel].

• parquet and jsonl always have every column, and hold the text as it is. parquet needs krino[parquet].

• otel writes one gen_ai.evaluation.result event for each score and label, as OTLP/JSON lines.

In CSV, text that a spreadsheet would run as a formula (it begins with = + - @ or a tab) gets an apostrophe in \
front, as do these signs after a ; a tab or a line break inside the text, and control characters are left out. Excel \
cells are never formulas."""


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="Where to write; - is stdout.")] = None,
    to: Annotated[
        ExportFormat | None, typer.Option(help="csv, xlsx, parquet, jsonl or otel; by default what FILE ends in.")
    ] = None,
    every: Annotated[bool, options.flag("Every column, also those for machines (csv, xlsx).", "--all")] = False,
    endpoint: Annotated[
        str | None,
        options.flag(
            "With --to otel: send the events there (OTLP/HTTP, as http://HOST:4318); further headers come from "
            "OTEL_EXPORTER_OTLP_HEADERS."
        ),
    ] = None,
    inputs: Annotated[
        options.Texts,
        options.flag(
            "With --to otel: a file that RUN was made of, so that events point at the traces and spans that its "
            "cases name; may be repeated.",
            metavar="FILE",
        ),
    ] = None,
) -> None:
    from krino.api.exporting import FOR_PEOPLE, export_run, format_of, write_run
    from krino.api.recorded_run import load_run

    found = load_run(run)
    chosen = format_of(Path(file), to) if file else to or "otel"
    if endpoint is not None and chosen != "otel":
        raise UsageProblem(f"--endpoint takes OpenTelemetry events: add --to otel (it is {chosen})")
    if file is None and endpoint is None:
        raise UsageProblem("say where to write: a FILE, or - for stdout")
    if file == "-":
        write_run(found, chosen, sys.stdout.buffer, every_column=every, inputs=inputs)
        sys.stdout.buffer.flush()
    elif file is not None:
        export_run(found, Path(file), chosen, every_column=every, inputs=inputs)
    code = _send(found, endpoint, inputs) if endpoint is not None else exits.DONE
    _report_completeness(found, None if file in (None, "-") else file)
    if file is not None and chosen in FOR_PEOPLE and not every:
        say("columns for machines (usage, labels, evidence, …) are left out; --all adds them")
    raise typer.Exit(code)


def _send(run: Run, endpoint: str, inputs: list[str] | None) -> int:
    """Sends the events of a run to an endpoint; returns the exit code."""
    import asyncio

    from krino.api.exporting import events_of_run
    from krino.exports.otlp_send import send

    sent = asyncio.run(send(endpoint, events_of_run(run, inputs)))
    if sent.rejected:
        say(f"krino: the endpoint rejected {sent.rejected:,} events: {sent.message}")
        return exits.CASES_FAILED
    return exits.DONE


def _report_completeness(run: Run, file: str | None) -> None:
    """Says on stderr how complete the export is, so that a partial run is not mistaken for a whole one."""
    from krino.results.formatting import format_outcomes

    counts = run.counts()
    say(f"{counts.total:,} cases{f' in {file}' if file else ''}: {format_outcomes(counts)}")
    if run.manifest.state != "finished":
        say(f"the run is not finished ({run.manifest.state}): the export contains what is judged so far")
