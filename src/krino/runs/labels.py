"""The labels that a run has recorded, found by the content of a case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import TypeAdapter

from krino.contract import Ballot, Finding, Task
from krino.runs.contents import Contents
from krino.runs.inside import inside
from krino.runs.reading import Run

_BALLOT = TypeAdapter(Ballot)
_FINDING = TypeAdapter(Finding)


class RecordedLabels:
    """Looks labels up in the journal of a run; holds no more than a few bytes a case."""

    def __init__(self, run: Run) -> None:
        self._offsets = Contents()
        for line in run.lines():
            if line.data["status"] != "error" and self._offsets.get(line.data["input_hash"]) is None:
                self._offsets.set(line.data["input_hash"], line.offset)
        self._file = inside(run.journal).open("rb")

    def __call__(self, task: Task[Any, Any, Any]) -> Mapping[str, Any] | None:
        labels = self._line(task).get("labels")
        return labels if isinstance(labels, dict) else None

    def ballots(self, task: Task[Any, Any, Any]) -> list[Ballot]:
        """What each seat of a panel said; empty where one labeller was asked."""
        return [_BALLOT.validate_python(ballot) for ballot in self._line(task).get("ballots") or ()]

    def findings(self, task: Task[Any, Any, Any]) -> list[Finding]:
        """What came with the labels: the rules of today find their own again, these nobody would."""
        line = self._line(task)
        count = line.get("labeller_findings") or 0
        return [_FINDING.validate_python(found) for found in (line.get("findings") or [])[-count:]] if count else []

    def _line(self, task: Task[Any, Any, Any]) -> Mapping[str, Any]:
        offset = self._offsets.get(task.input_hash)
        if offset is None:
            return {}
        self._file.seek(offset)
        line: dict[str, Any] = orjson.loads(self._file.readline())
        return line

    def close(self) -> None:
        self._file.close()
