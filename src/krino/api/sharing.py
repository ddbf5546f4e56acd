"""Cuts an input into shards that are judged anywhere, and merges the runs: for Slurm, Airflow and other schedulers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from krino.api.judging import AnyKindOfJudge, ready_judge
from krino.api.recorded_run import Run
from krino.cases import read_cases
from krino.cases.formats.shard import Cutter, Whole
from krino.cases.item import storable_text
from krino.cases.origin import Format
from krino.engine.case import input_hash
from krino.errors import UsageProblem
from krino.runs.inputs import Source, inputs_of
from krino.runs.merging import merge_runs


def shard(
    judge: AnyKindOfJudge,
    source: Source,
    *,
    into: str | PathLike[str],
    shards: int,
    options: Mapping[str, Any] | None = None,
    mapping: Mapping[str, str] | None = None,
    split: Mapping[str, str] | None = None,
    format: Format = "auto",  # noqa: A002
) -> list[Path]:
    """Cuts the cases of `source` into `shards` files in the folder `into`, and returns their paths.

    Each is judged by `krino judge JUDGE FILE` (or `krino.run`) in a run of its own, anywhere and in any order; then
    `merge` makes one run of them. The judge says what a case is (one record may hold several), so it must be the one
    that judges them. Cutting again gives the same files.
    """
    ready = ready_judge(judge, options, None)
    with inputs_of(source) as inputs:
        names = [storable_text(name) for name in inputs.names]
        whole = Whole(inputs=names, format=format, mapping=dict(mapping or {}), split=dict(split or {}))
        reading: Any = {"format": format, "mapping": mapping, "split": split, "files": inputs.files}
        items = read_cases(inputs.paths, **reading, judge=ready)
        return Cutter(Path(into), shards).write(((item, input_hash(item, ready)) for item in items), whole)


def merge(runs: Iterable[str | PathLike[str] | Run], into: str | PathLike[str]) -> Run:
    """Merges runs into one in the folder `into`, as a run over all their cases would be, except for times.

    Order, overlap and repetition change nothing. If `into` is a run already, it is merged too. Runs of another
    judge, labeller or option are refused (`UsageProblem`). Shards that are missing leave the merged run unfinished.
    """
    folders = [run.folder if isinstance(run, Run) else Path(run) for run in runs]
    if not folders:
        raise UsageProblem("there are no runs to merge: name at least one")
    return Run(Path(into), merge_runs(folders, Path(into)))
