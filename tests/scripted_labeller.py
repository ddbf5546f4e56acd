"""A labeller that says what it is told to, for tests of judges from files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from krino import LabelFailed, Labelled, Labeller, Task


class Scripted(Labeller):
    """Answers by a function of the passages; `asked` counts, `refused` holds what was wrong with an answer."""

    def __init__(self, answer: Callable[[Mapping[str, str]], Any] | Mapping[str, Any], name: str = "scripted") -> None:
        self._answer = answer
        self._name = name
        self.asked = 0
        self.refused = ""
        self.seen: list[Task[Any, Any, Any]] = []

    def describe(self) -> dict[str, Any]:
        return {"kind": self._name}

    async def label(self, task: Task[Any, Any, Any]) -> Labelled[Any]:
        self.asked += 1
        self.seen.append(task)
        passages = {passage.name: passage.text for passage in task.questions.passages}
        answer = self._answer(passages) if callable(self._answer) else self._answer
        try:
            return Labelled(task.accept(answer), self.describe())
        except ValueError as problem:
            self.refused = str(problem)
            raise LabelFailed(self.refused) from None
