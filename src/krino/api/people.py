"""Labels of people from a workbench, as `krino.agree` and `krino agree --labels` take them."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from krino.errors import UsageProblem
from krino.people import FILE, FOLDER, home_of
from krino.runs.reading import load_run

Rows = list[dict[str, Any]]


def is_workbench(labels: object) -> bool:
    """Whether what was given for labels is a workbench (a folder, a file of SQLite, an address), and no other file."""
    if not isinstance(labels, str | PathLike):
        return False
    path = Path(labels)
    return "://" in str(labels) or path.suffix == ".sqlite" or (home_of(path) / FOLDER / FILE).is_file()


def labels_from(workbench: str | PathLike[str], run: str | PathLike[str], depth: str = "both") -> Rows:
    """What people said of the cases of a run, one row a case and rater."""
    try:
        from krino.people.rows import plain, rows_for_run
    except ModuleNotFoundError as missing:
        raise UsageProblem(f"labels of a workbench need {missing.name}: pip install 'krino[web]'") from None
    return plain(rows_for_run(workbench, load_run(run), depth))
