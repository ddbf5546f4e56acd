"""Labels that people give, in a database. Every label, skip and undo is a row that is never changed."""

from pathlib import Path

from krino.runs.manifest import MANIFEST

FOLDER = ".workbench"
FILE = "labels.sqlite"
"""Default place of the labels inside a folder of runs."""


def find_runs_folder(folder: Path) -> Path:
    """The folder of runs that keeps the labels: the parent if `folder` is itself a run.

    Nothing is written into a run folder, which may come from anyone. So a run served alone and the folder around it
    share one set of labels.
    """
    return folder.resolve().parent if (folder / MANIFEST).is_file() else folder
