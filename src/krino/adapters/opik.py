"""A metric for `opik.evaluate`: `scoring_metrics=[KrinoMetric("rag")]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from krino.adapters.cases import make_case
from krino.adapters.packages import needs
from krino.adapters.shared_judge import SharedJudge
from krino.adapters.verdict_fields import Field, describe_problem
from krino.api.judging import AnyKindOfJudge, Settings
from krino.contract import Judgement

with needs("opik"):
    from opik.evaluation.metrics.base_metric import BaseMetric
    from opik.evaluation.metrics.score_result import ScoreResult

_NO_INPUTS = ("output", "task_span", "trace_tool_context")
"""What Opik gives beside the fields of the item."""


class KrinoMetric(BaseMetric):
    """Every score of a judge, with reason and rule, and `judge.judged`: 1 for a verdict, 0 for none.

    A case that was not judged is a failed score in each of them. Opik wants a number there too, writes 0, and leaves it
    out of every mean because the score failed.
    """

    def __init__(
        self,
        judge: AnyKindOfJudge,
        fields: Sequence[str] | None = None,
        *,
        case: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
        track: bool = True,
        project_name: str | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Prepare the judge.

        Args:
            judge: as in `krino.judge`; so are `settings`.
            fields: the scores that are wanted; without them, all that have a value.
            case: makes the case of the item's fields and the task's. Without it they are the case, and `output` is the
                answer.
            track, project_name: as in every metric of Opik's.
        """
        self.shared, self.case = SharedJudge(judge, fields, **settings), case
        super().__init__(name=self.shared.name, track=track, project_name=project_name)

    def score(self, **given: Any) -> list[ScoreResult]:
        """Judges a case; returns a result for each score, and `judge.judged`."""
        return self._take(self.shared.decide(self._case_of(given)))

    async def ascore(self, **given: Any) -> list[ScoreResult]:
        """The same as `score`, inside an event loop."""
        return self._take(await self.shared.adecide(self._case_of(given)))

    def _case_of(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.case:
            return self.case(given)
        inputs = {name: value for name, value in given.items() if name not in _NO_INPUTS}
        return make_case(inputs, given.get("output"))

    def _take(self, judgement: Judgement[Any]) -> list[ScoreResult]:
        """Makes the results of a judgement, without its labels: Opik wants numbers."""
        is_judged = judgement.status == "ok"
        return [
            *(self._result(item) for item in self.shared.fields(judgement) if item.label is None),
            ScoreResult(
                name=f"{self.shared.name}.judged",
                value=float(is_judged),
                reason=None if is_judged else describe_problem(judgement),
                metadata={"status": judgement.status, "evaluator": self.shared.identity},
            ),
        ]

    def _result(self, field: Field) -> ScoreResult:
        """Makes the result of a field; one without a score is a failed 0."""
        return ScoreResult(
            name=field.name,
            value=0.0 if field.score is None else field.score,
            reason=field.problem or field.reason,
            metadata={"rule": field.rule, "evaluator": self.shared.identity},
            scoring_failed=field.score is None,
        )
