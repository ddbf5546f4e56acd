"""A run or judgements as a data frame of pandas, Polars or Arrow, each imported only when requested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from os import PathLike
from typing import Any, Literal

from krino.contract import Judgement
from krino.errors import UsageProblem
from krino.exports.columns import Kind, Record, column_values, convert_column, find_columns, with_identity
from krino.runs.stored_run import StoredRun, load_stored_run

FrameKind = Literal["pandas", "polars", "arrow"]
PACKAGES: Mapping[str, tuple[str, str]] = {
    "pandas": ("pandas", "pip install pandas"),
    "polars": ("polars", "pip install polars"),
    "arrow": ("pyarrow", "pip install 'krino[parquet]'"),
}
# Nullable types: a missing score is neither 0 nor false.
_PANDAS: Mapping[Kind, str] = {"bool": "boolean", "int": "Int64", "float": "Float64", "text": "string"}
"""Other kinds are lists, which pandas keeps as objects."""


def frame(
    judgements: str | PathLike[str] | StoredRun | Iterable[Judgement | Record], kind: FrameKind = "pandas"
) -> Any:
    """One row for each judgement, with the columns of `krino export --all`.

    `judgements` is a run folder, a run, or judgements. A case that was not judged has a row with status and reason.
    """
    if kind not in PACKAGES:
        raise UsageProblem(f"krino.frame has no kind `{kind}`; there are {', '.join(PACKAGES)}")
    package, how = PACKAGES[kind]
    try:
        library = import_module(package)
    except ImportError:
        raise UsageProblem(f"krino.frame(..., kind={kind!r}) needs {package}: {how}") from None
    records = list(_records(judgements))
    kinds = find_columns(records)
    columns = {name: convert_column(kinds[name], values) for name, values in column_values(records, kinds).items()}
    if kind == "pandas":
        return library.DataFrame(
            {name: library.Series(columns[name], dtype=_PANDAS.get(kinds[name], "object")) for name in columns}
        )
    if kind == "polars":
        types = {"bool": library.Boolean, "int": library.Int64, "float": library.Float64, "text": library.String}
        types |= {"texts": library.List(types["text"]), "ints": library.List(types["int"])}
        types["floats"] = library.List(types["float"])
        return library.DataFrame(columns, schema={name: types[kinds[name]] for name in kinds})
    from krino.exports.parquet_file import arrow_schema

    return library.table(columns, schema=arrow_schema(kinds))


def _records(judgements: str | PathLike[str] | StoredRun | Iterable[Judgement | Record]) -> Iterable[Record]:
    """The records of a folder, a run or an iterable of judgements; refuses a single judgement."""
    if isinstance(judgements, str | PathLike):
        judgements = load_stored_run(judgements)
    if isinstance(judgements, StoredRun):
        return with_identity(judgements.records(), judgements.manifest.judged_by())
    if isinstance(judgements, Judgement | Mapping) or not isinstance(judgements, Iterable):
        raise UsageProblem(
            f"krino.frame takes a run folder, a run or an iterable of judgements, not a {type(judgements).__name__}; "
            "put a single judgement into a list"
        )
    return (item.model_dump(mode="json") if isinstance(item, Judgement) else item for item in judgements)
