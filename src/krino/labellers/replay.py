"""The replay labeller: answers with labels recorded before, so that new rules can be tried without paying again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from krino.contract import Ballot, CaseT, FactsT, Finding, Labelled, Labeller, LabelsT, Task, Usage
from krino.errors import LabelFailed
from krino.labellers.panel import ABSENT, TIE, Vote, conclude, majority

Recorded = Mapping[str, Mapping[str, Any]] | Callable[[Task[Any, Any, Any]], Mapping[str, Any] | None]
Findings = Callable[[Task[Any, Any, Any]], Sequence[Finding]]


class ReplayLabeller(Labeller):
    """Recorded labels: a mapping from `input_hash` to labels, or a function that finds those of a task.

    `findings` finds what came with the labels (a planted answer, windows that disagreed): it stays with them.
    """

    reads_questions = False

    def __init__(
        self, recorded: Recorded, of: Mapping[str, Any] | None = None, findings: Findings | None = None
    ) -> None:
        self._find = recorded if callable(recorded) else lambda task: recorded.get(task.input_hash)
        self._findings: Findings = findings or _no_findings
        self.of = dict(of or {})

    def describe(self) -> dict[str, Any]:
        return {"kind": "replay", "of": self.of}

    async def label(self, task: Task[CaseT, FactsT, LabelsT]) -> Labelled[LabelsT]:
        """Returns the recorded labels of a case; `LabelFailed` if there are none, or the judge's current checks refuse
        them."""
        labels = self._find(task)
        if labels is None:
            raise LabelFailed("no labels were recorded for this case")
        try:
            return Labelled(task.accept(labels), self.describe(), findings=tuple(self._findings(task)))
        except ValueError as error:
            raise LabelFailed(f"the recorded labels do not fit this version of the judge: {error}") from None


class Unasked(ReplayLabeller):
    """Has nothing on record, and has questions written all the same: for a look at what would be asked."""

    reads_questions = True

    def __init__(self) -> None:
        super().__init__(_no_labels)


class PanelReplay(ReplayLabeller):
    """Recorded ballots: the votes are joined again and each is settled again, under the rules of today."""

    def __init__(
        self,
        recorded: Recorded,
        ballots: Callable[[Task[Any, Any, Any]], Sequence[Ballot]],
        findings: Findings | None = None,
        of: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(recorded, of, findings)
        self._ballots = ballots
        self._quorum = _find_quorum(self.of)

    async def label(self, task: Task[CaseT, FactsT, LabelsT]) -> Labelled[LabelsT]:
        """Joins the recorded ballots of a case again; without ballots, returns its recorded labels."""
        votes = [_cast_again(task, ballot) for ballot in self._ballots(task)]
        if not votes:
            return await super().label(task)
        concluded = conclude(task, votes, self._quorum or majority(len(votes)), self.describe())
        kept = [found for found in self._findings(task) if found.rule not in (ABSENT, TIE)]  # those are found again
        return replace(concluded, findings=(*kept, *concluded.findings))


def _no_labels(task: Task[Any, Any, Any]) -> None:
    return None


def _no_findings(task: Task[Any, Any, Any]) -> Sequence[Finding]:
    return ()


def _cast_again(task: Task[CaseT, FactsT, LabelsT], ballot: Ballot) -> Vote[LabelsT]:
    """Makes a vote from a recorded ballot, at no cost; labels that no longer fit leave their seat empty."""
    again = replace(ballot, verdict=None, roll_up=None, usage=Usage())
    if ballot.labels is None:
        return Vote(again)
    try:
        return Vote(replace(again, problem=None), task.accept(ballot.labels))
    except ValueError as error:
        return Vote(replace(again, problem=f"the recorded labels do not fit this version of the judge: {error}"))


def _find_quorum(described: Mapping[str, Any]) -> int | None:
    """Returns the quorum of the panel that was asked, None if unknown; a replay of a replay looks further back."""
    while isinstance(described.get("of"), Mapping):
        described = described["of"]
    quorum = described.get("quorum")
    return quorum if isinstance(quorum, int) else None
