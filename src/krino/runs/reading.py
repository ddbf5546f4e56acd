"""A run folder read from Python: its manifest, and its judgements in the order of the input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from krino.contract import Judgement
from krino.errors import UsageProblem
from krino.runs.journal import read_raw_in_order
from krino.runs.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Run:
    """A run on disk, finished or not. Iterating reads the journal: nothing is held in memory."""

    folder: Path
    manifest: Manifest

    def __iter__(self) -> Iterator[Judgement]:
        """The last judgement of every case, in the order of the input."""
        return map(Judgement.model_validate, self.records())

    def __len__(self) -> int:
        """How many cases have a judgement."""
        return self.manifest.counts.total if self.manifest.state == "finished" else sum(1 for _ in self.records())

    def __getitem__(self, case_id: str) -> Judgement:
        """The judgement of a case, by its id (the first, where several share it)."""
        found = next((record for record in self.records() if record["id"] == case_id), None)
        if found is None:
            raise KeyError(case_id)
        return Judgement.model_validate(found)

    def records(self) -> Iterator[dict[str, Any]]:
        """The judgements as plain dicts, for readers of many."""
        return read_raw_in_order(self.journal, self.manifest.cases) if self.journal.exists() else iter(())

    def frame(self, kind: Literal["pandas", "polars", "arrow"] = "pandas") -> Any:
        """The whole run as a data frame; see `krino.frame`."""
        from krino.exports.frame import frame

        return frame(self, kind)

    @property
    def journal(self) -> Path:
        return self.folder / "judgements.jsonl"


def load_run(folder: str | PathLike[str]) -> Run:
    """The run in a folder that `krino judge` has written."""
    path = Path(folder)
    if not path.is_dir():
        raise UsageProblem(f"{path} is no run folder: there is no such folder")
    return Run(path, Manifest.load(path))
