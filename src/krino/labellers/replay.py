"""The replay labeller: answers with labels recorded before, so that new rules can be tried without paying again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from krino.contract import CaseT, FactsT, Labelled, Labeller, LabelsT, Task
from krino.errors import LabelFailed

Recorded = Mapping[str, Mapping[str, Any]] | Callable[[Task[Any, Any, Any]], Mapping[str, Any] | None]


class ReplayLabeller(Labeller):
    """Recorded labels: a mapping from `input_hash` to labels, or a function that finds those of a task."""

    reads_questions = False

    def __init__(self, recorded: Recorded, of: Mapping[str, Any] | None = None) -> None:
        self._find = recorded if callable(recorded) else lambda task: recorded.get(task.input_hash)
        self.of = dict(of or {})

    def describe(self) -> dict[str, Any]:
        return {"kind": "replay", "of": self.of}

    async def label(self, task: Task[CaseT, FactsT, LabelsT]) -> Labelled[LabelsT]:
        labels = self._find(task)
        if labels is None:
            raise LabelFailed("no labels were recorded for this case")
        try:
            return Labelled(task.accept(labels), self.describe())
        except ValueError as error:
            raise LabelFailed(f"the recorded labels do not fit this version of the judge: {error}") from None
