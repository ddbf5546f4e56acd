"""Writes a run for other tools: CSV, Excel, Parquet, JSON lines or OpenTelemetry events.

The writers of formats are imported when they are used: that of OpenTelemetry imports a whole judge.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Literal, get_args

import orjson

from krino.cases import CaseItem, read_cases
from krino.errors import UsageProblem
from krino.exports.columns import with_identity
from krino.judges.registry import our_judge
from krino.results.verdict_schema import declared_scales
from krino.runs.inputs import identify_by, kept_inputs, with_cases
from krino.runs.stored_run import StoredRun
from krino.writing import writing

ExportFormat = Literal["csv", "xlsx", "parquet", "jsonl", "otel"]
ENDINGS: dict[str, ExportFormat] = {f".{name}": name for name in get_args(ExportFormat) if name != "otel"}
FOR_PEOPLE: tuple[ExportFormat, ...] = ("csv", "xlsx")
_RUN_FILES = re.compile(r"run\.json|report\.html|(?:judgements|roll|records|stdin(?:-\d+)?)\..*", re.IGNORECASE)
"""Names of the files that a run keeps in its folder."""


def export_run(
    run: StoredRun,
    file: Path,
    to: ExportFormat | None = None,
    *,
    every_column: bool = False,
    inputs: Sequence[str] | None = None,
) -> Path:
    """Writes a run to a file; an existing file is replaced only once the new one is complete. Raises `UsageProblem` for
    a file that the run itself keeps."""
    chosen = format_of(file, to)
    real = Path(os.path.realpath(file))
    if real.parent == run.folder.resolve() and _RUN_FILES.fullmatch(real.name):
        raise UsageProblem(f"{file} is the run's own record; name another file")
    with writing(file) as sink:
        write_run(run, chosen, sink, every_column=every_column, inputs=inputs)
    return file


def format_of(file: Path, to: ExportFormat | None) -> ExportFormat:
    """Returns the named format, or that of the file's ending; raises `UsageProblem` if there is neither."""
    if (chosen := to or ENDINGS.get(file.suffix.lower())) is None:
        raise UsageProblem(f"{file}: name the format with --to, or a file that ends in one of {', '.join(ENDINGS)}")
    return chosen


def write_run(
    run: StoredRun,
    to: ExportFormat,
    sink: IO[bytes],
    *,
    every_column: bool = False,
    inputs: Sequence[str] | None = None,
) -> None:
    """Writes one row per case, also for cases that were not judged; `inputs` as in `events_of_run`."""
    if to == "otel":
        sink.writelines(line + b"\n" for line in events_of_run(run, inputs))
        return
    judged, who = run.judged(), run.manifest.judged_by()

    def records() -> Iterator[Mapping[str, Any]]:
        return with_identity(judged.records(), who)

    if to == "csv":
        from krino.exports.csv_file import write_csv

        write_csv(sink, records, every_column=every_column)
    elif to == "xlsx":
        from krino.exports.excel_file import write_excel

        scales = declared_scales(run.manifest.about.fields_schema)
        write_excel(sink, records, every_column=every_column, scales=scales)
    elif to == "parquet":
        from krino.exports.parquet_file import write_parquet

        write_parquet(sink, records)
    else:
        sink.writelines(orjson.dumps(record) + b"\n" for record in records())


def events_of_run(run: StoredRun, inputs: Sequence[str] | None = None) -> Iterator[bytes]:
    """Yields the run as OTLP/JSON lines.

    They name the traces and spans of the cases if the input is kept in the run's folder, or is given as `inputs`.
    """
    from krino.exports.otel import label_fields, otel_lines

    labels = label_fields(run.manifest.about.fields_schema, run.records)
    return otel_lines(run.manifest, run.folder.resolve().name, _attach_cases(run, inputs), labels)


def _attach_cases(run: StoredRun, inputs: Sequence[str] | None) -> Iterable[Mapping[str, Any]]:
    """Returns the judgements, each with its case if the input is kept in the run's folder or given."""
    plan = run.manifest.plan
    if not inputs:
        kept = kept_inputs(run.folder, plan.inputs)
        inputs = None if kept is None else kept.paths
    if inputs is None:
        return run.records()
    files, judge = inputs, our_judge(plan.judge["name"])

    def cases() -> Iterator[CaseItem]:
        how: Any = {"format": plan.format, "mapping": plan.mapping, "split": plan.split}
        return read_cases(files, **how, judge=judge)

    return with_cases(run.records(), cases, identify_by(judge, run.manifest.about.content_names))
