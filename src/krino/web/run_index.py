"""The runs of the runs folder, by name."""

from __future__ import annotations

from pathlib import Path

from krino.errors import UsageProblem
from krino.runs.manifest import MANIFEST
from krino.runs.reading import Run, load_run
from krino.web.paths import inside_folder


class RunShelf:
    """Lists runs, newest first, and opens one by its name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        found = [path.parent for path in self.folder.glob(f"*/{MANIFEST}")]
        return [path.name for path in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)]

    def load(self, name: str) -> Run:
        """Raises `UsageProblem` where there is no such run; no name leads out of the folder."""
        folder = inside_folder(self.folder, name)
        if folder is None:
            raise UsageProblem(f"there is no run `{name}`")
        return load_run(folder)

    def close(self) -> None:
        return
