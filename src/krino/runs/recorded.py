"""The labels that a run has recorded, found by the place and content of a case."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from krino.contract import Task
from krino.runs.journal import scan


class RecordedLabels:
    """Looks labels up in a journal on disk; holds no more than a few bytes a case."""

    def __init__(self, journal: Path) -> None:
        self._progress = scan(journal)
        self._file = journal.open("rb")

    def __call__(self, task: Task[Any, Any, Any]) -> Mapping[str, Any] | None:
        if not self._progress.is_done(task.index, task.input_hash):
            return None
        self._file.seek(self._progress.offsets[task.index])
        labels = orjson.loads(self._file.readline())["labels"]
        return labels if isinstance(labels, dict) else None

    def close(self) -> None:
        self._file.close()
