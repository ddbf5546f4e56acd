"""`krino export`: a run as CSV, Excel, Parquet, JSON lines or OpenTelemetry events."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from krino.cli import exits

if TYPE_CHECKING:
    from krino.cases.item import CaseItem
    from krino.results.verdict_schema import Scales
    from krino.runs.reading import Run


class ExportFormat(StrEnum):
    csv = "csv"
    xlsx = "xlsx"
    parquet = "parquet"
    jsonl = "jsonl"
    otel = "otel"


HELP = "\n\n".join(  # one line a paragraph: the terminal breaks them where it ends
    (
        "Write RUN for other tools: one row a case, also for cases that were not judged.",
        "CSV and Excel have the columns that a person reads (the case, its status, the verdict, notes); --all adds "
        "those for machines (usage, versions, labels and evidence as JSON), which parquet and jsonl always have. "
        "xlsx needs krino[excel], parquet needs krino[parquet].",
        "In CSV, text that a spreadsheet would run as a formula (it begins with = + - @ or a tab) gets an apostrophe "
        "in front, as do these signs after a ; a tab or a line break inside the text, and control characters are left "
        "out. Excel cells are never formulas. jsonl and parquet hold the text as it is.",
        "otel writes one gen_ai.evaluation.result event for each score and label, as OTLP/JSON lines.",
    )
)
ENDINGS = {f".{item.value}": item for item in ExportFormat if item is not ExportFormat.otel}
FOR_PEOPLE = (ExportFormat.csv, ExportFormat.xlsx)

OWN_FILES = re.compile(r"run\.json|report\.html|(?:judgements|roll|stdin(?:-\d+)?)\..*", re.IGNORECASE)
"""What a run keeps in its folder."""


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="Where to write; - is stdout.")] = None,
    to: Annotated[
        ExportFormat | None, typer.Option(help="csv, xlsx, parquet, jsonl or otel; by default what FILE ends in.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every column, also those for machines (csv, xlsx).", show_default=False)
    ] = False,
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="With --to otel: send the events there (OTLP/HTTP, as http://HOST:4318); further headers come from "
            "OTEL_EXPORTER_OTLP_HEADERS.",
            show_default=False,
        ),
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--inputs",
            metavar="FILE",
            help="With --to otel: a file that RUN was made of, so that events point at the traces and spans that its "
            "cases name; may be repeated.",
            show_default=False,
        ),
    ] = None,
) -> None:
    from krino.errors import UsageProblem
    from krino.runs.reading import load_run

    found = load_run(run)
    chosen = _format(file, to, endpoint)
    if file is None and endpoint is None:
        raise UsageProblem("say where to write: a FILE, or - for stdout")
    if file is not None:
        with _sink(file, run) as sink:
            _write(found, chosen, sink, every, inputs)
    code = _send(found, endpoint, inputs) if endpoint is not None else exits.DONE
    _tell(found, None if file in (None, "-") else file)
    if file is not None and chosen in FOR_PEOPLE and not every:
        typer.echo("columns for machines (usage, labels, evidence, …) are left out; --all adds them", err=True)
    raise typer.Exit(code)


def _format(file: str | None, to: ExportFormat | None, endpoint: str | None) -> ExportFormat:
    from krino.errors import UsageProblem

    chosen = to or (ENDINGS.get(Path(file).suffix.lower()) if file else ExportFormat.otel)
    if chosen is None:
        known = ", ".join(ENDINGS)
        raise UsageProblem(f"{file}: name the format with --to, or let the file end in one of {known}")
    if endpoint is not None and chosen is not ExportFormat.otel:
        raise UsageProblem(f"--endpoint takes OpenTelemetry events: add --to otel (it is {chosen.value})")
    return chosen


@contextlib.contextmanager
def _sink(file: str, run: Path) -> Iterator[IO[bytes]]:
    """Stdout, or the file that the user named."""
    from krino.errors import UsageProblem
    from krino.writing import writing

    if file == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(file)
    real = Path(os.path.realpath(target))
    if real.parent == run.resolve() and OWN_FILES.fullmatch(real.name):
        raise UsageProblem(f"{target} is the run's own record; name another file")
    with writing(target) as sink:
        yield sink


def _write(run: Run, chosen: ExportFormat, sink: IO[bytes], every: bool, inputs: list[str] | None) -> None:
    from krino.exports.csv_file import write_csv
    from krino.exports.excel_file import write_excel
    from krino.exports.otel import write_otel
    from krino.exports.parquet_file import write_parquet

    if chosen is ExportFormat.csv:
        write_csv(sink, run.records, every_column=every)
    elif chosen is ExportFormat.xlsx:
        write_excel(sink, run.records, every_column=every, scales=_scales(run))
    elif chosen is ExportFormat.parquet:
        write_parquet(sink, run.records)
    elif chosen is ExportFormat.otel:
        write_otel(sink, _events(run, inputs))
    else:
        _write_lines(run, sink)


def _scales(run: Run) -> Scales:
    from krino.results.verdict_schema import scales_of

    return scales_of(run.manifest.about.verdict_schema)


def _write_lines(run: Run, sink: IO[bytes]) -> None:
    """The last judgement of each case, whole, in the order of the input."""
    import orjson

    for record in run.records():
        sink.write(orjson.dumps(record) + b"\n")


def _events(run: Run, inputs: list[str] | None) -> Iterator[bytes]:
    """With the traces and spans that the cases name, where the cases may be read."""
    from krino.exports.otel import label_fields, otel_lines

    labels = label_fields(run.manifest.about.verdict_schema, run.records)
    return otel_lines(run.manifest, run.folder.resolve().name, _judgements(run, inputs), labels)


def _judgements(run: Run, inputs: list[str] | None) -> Iterable[Mapping[str, Any]]:
    """With their cases, where these lie in the run's folder or the user has named their files."""
    from krino.cases import read_cases
    from krino.cli.vouched import kept_inputs, own_judge
    from krino.runs.inputs import with_cases

    plan = run.manifest.plan
    files = inputs or kept_inputs(run.folder, plan)
    if files is None:
        return run.records()

    def cases() -> Iterator[CaseItem]:
        judge = own_judge(plan)
        return read_cases(files, format=plan.format, mapping=plan.mapping, judge=judge)  # type: ignore[arg-type]

    return with_cases(run.records(), cases)


def _send(run: Run, endpoint: str, inputs: list[str] | None) -> int:
    import asyncio

    from krino.exports.otlp_send import send

    sent = asyncio.run(send(endpoint, _events(run, inputs)))
    if sent.rejected:
        typer.echo(f"krino: the endpoint rejected {sent.rejected:,} events: {sent.message}", err=True)
        return exits.CASES_FAILED
    return exits.DONE


def _tell(run: Run, file: str | None) -> None:
    """How complete the export is, on stderr: a run with failures or without its end must not pass for a whole one."""
    counts = run.counts()
    endings = ", ".join(f"{count:,} {status}" for status, count in counts.model_dump().items())
    typer.echo(f"{counts.total:,} cases{f' in {file}' if file else ''}: {endings}", err=True)
    if run.manifest.state != "finished":
        typer.echo(f"the run is not finished ({run.manifest.state}): the export holds what is judged so far", err=True)
