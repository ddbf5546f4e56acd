"""`krino export`: a run as CSV, Parquet, JSON lines or OpenTelemetry events."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from krino.cli import exits

if TYPE_CHECKING:
    from krino.runs.reading import Run


class ExportFormat(StrEnum):
    csv = "csv"
    parquet = "parquet"
    jsonl = "jsonl"
    otel = "otel"


HELP = "\n\n".join(  # one line a paragraph: the terminal breaks them where it ends
    (
        "Write RUN for other tools: one row a case, also for cases that were not judged.",
        "CSV and Parquet have the same columns. In CSV, text that a spreadsheet would run as a formula (it begins with "
        "= + - @ or a tab) gets an apostrophe in front, as do these signs after a ; a tab or a line break inside the "
        "text, and control characters are left out; jsonl and parquet hold the text as it is. otel writes one "
        "gen_ai.evaluation.result event for each score and label, as OTLP/JSON "
        "lines.",
    )
)
ENDINGS = {".csv": ExportFormat.csv, ".parquet": ExportFormat.parquet, ".jsonl": ExportFormat.jsonl}

OWN_FILES = re.compile(r"run\.json|report\.html|(?:judgements|roll|stdin)\..*", re.IGNORECASE)
"""What a run keeps in its folder."""


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="Where to write; - is stdout.")] = None,
    to: Annotated[
        ExportFormat | None, typer.Option(help="csv, parquet, jsonl or otel; by default what FILE ends in.")
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="With --to otel: send the events there (OTLP/HTTP, as http://HOST:4318); further headers come from "
            "OTEL_EXPORTER_OTLP_HEADERS.",
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
            _write(found, chosen, sink)
    code = _send(found, endpoint) if endpoint is not None else exits.DONE
    _tell(found, None if file in (None, "-") else file)
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
    """Stdout, or a draft that takes the file's name once it is whole."""
    from krino.errors import UsageProblem

    if file == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(file)
    if target.is_dir():
        raise UsageProblem(f"{target} is a folder; name a file in it")
    if target.resolve().parent == run.resolve() and OWN_FILES.fullmatch(target.resolve().name):
        raise UsageProblem(f"{target} is the run's own record; name another file")
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        opened = draft.open("wb")
    except OSError as error:
        raise UsageProblem(
            f"{target} cannot be written: {error.strerror}; name a file in a folder that is there"
        ) from None
    try:
        with opened as sink:
            yield sink
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _write(run: Run, chosen: ExportFormat, sink: IO[bytes]) -> None:
    from krino.exports.csv_file import write_csv
    from krino.exports.otel import write_otel
    from krino.exports.parquet_file import write_parquet

    if chosen is ExportFormat.csv:
        write_csv(sink, run.records)
    elif chosen is ExportFormat.parquet:
        write_parquet(sink, run.records)
    elif chosen is ExportFormat.otel:
        write_otel(sink, _events(run))
    else:
        _write_lines(run, sink)


def _write_lines(run: Run, sink: IO[bytes]) -> None:
    """The last judgement of each case, whole, in the order of the input."""
    import orjson

    for record in run.records():
        sink.write(orjson.dumps(record) + b"\n")


def _events(run: Run) -> Iterator[bytes]:
    from krino.exports.otel import label_fields, otel_lines
    from krino.runs.rereading import with_cases

    labels = label_fields(run.manifest.plan.judge, run.records)
    judgements = with_cases(run.records(), run.folder, run.manifest.plan)
    return otel_lines(run.manifest, run.folder.resolve().name, judgements, labels)


def _send(run: Run, endpoint: str) -> int:
    import asyncio

    from krino.exports.otlp_send import send

    sent = asyncio.run(send(endpoint, _events(run)))
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
