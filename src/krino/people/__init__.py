"""What people said of cases, in a database: every label, skip and undo is a line that is never changed."""

from pathlib import Path

from krino.runs.manifest import MANIFEST

FOLDER = ".workbench"
FILE = "labels.sqlite"
"""Where a folder of runs keeps them, unless another database is named."""


def home_of(folder: Path) -> Path:
    """The folder of runs whose labels are meant. A run by itself may be anyone's and nothing is written into it: its
    labels are with those of the runs beside it, whichever way the workbench was started."""
    return folder.resolve().parent if (folder / MANIFEST).is_file() else folder
