"""Evaluators for Phoenix: `evaluate_dataframe(df, evaluators=evaluators("rag"), exit_on_error=False)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from pydantic import BaseModel, ConfigDict

from krino.adapters.cases import make_case
from krino.adapters.packages import needs
from krino.adapters.shared_judge import SharedJudge
from krino.adapters.verdict_fields import status
from krino.api.judging import AnyKindOfJudge, Settings
from krino.contract import Judgement
from krino.errors import NotJudged

with needs("phoenix"):
    from phoenix.evals.evaluators import Evaluator, Score
    from phoenix.evals.exceptions import PhoenixException


class RowNotJudged(NotJudged, PhoenixException):
    """A row without a verdict. Phoenix would try other exceptions again ten times, and Krino has tried enough."""


class Row(BaseModel):
    """Any row of a data frame: which fields a judge needs is for the judge to say."""

    model_config = ConfigDict(extra="allow")


def evaluators(
    judge: AnyKindOfJudge,
    fields: Sequence[str] | None = None,
    *,
    case: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
    **settings: Unpack[Settings],
) -> list[Evaluator]:
    """Two evaluators that share one verdict a row: its scores and labels, and `judge.status`.

    A row that was not judged is an exception of the first in its execution details, and has no score. The second gives
    a label to every row: `ok`, `failed` or `error`.

    Args:
        judge: as in `krino.judge`; so are `settings`.
        fields: the fields that are wanted; without them, all that have a value.
        case: makes the case of a row. Without it the row is the case, and its `output` is also taken for the answer.
    """
    shared = SharedJudge(judge, fields, **settings)
    return [KrinoScores(f"krino_{shared.name}", shared, case), KrinoStatus(f"krino_{shared.name}_status", shared, case)]


class KrinoScores(Evaluator):
    """The scores and labels of a verdict."""

    def __init__(
        self, name: str, shared: SharedJudge, case: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None
    ) -> None:
        super().__init__(name=name, kind="code", input_schema=Row)
        self.shared, self.case = shared, case

    def _evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return self._take(self.shared.decide(self._case_of(eval_input), by=self.name))

    async def _async_evaluate(self, eval_input: dict[str, Any]) -> list[Score]:
        return self._take(await self.shared.adecide(self._case_of(eval_input), by=self.name))

    def _case_of(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.case(row) if self.case else make_case(row, None, answer=row.get("output"))

    def _take(self, judgement: Judgement[Any]) -> list[Score]:
        """Makes the scores of a judgement; raises `RowNotJudged` if a field has no value."""
        found = self.shared.fields(judgement)
        if problem := next((item.problem for item in found if item.problem), None):
            raise RowNotJudged(problem)
        return [
            Score(
                name=item.name,
                score=item.score,
                label=item.label,
                explanation=item.reason,
                metadata={"rule": item.rule, "evaluator": self.shared.identity},
                kind="code",
            )
            for item in found
        ]


class KrinoStatus(KrinoScores):
    """How a row ended: a label, whatever happened."""

    def _take(self, judgement: Judgement[Any]) -> list[Score]:
        end = status(judgement)
        return [Score(name=end.name, label=end.label, explanation=end.reason, kind="code", direction="neutral")]
