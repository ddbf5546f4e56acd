"""Metrics for Ragas: `metrics("rag")`, each with `score`, `ascore` and `abatch_score`, alone or in an `@experiment`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from krino.adapters.cases import make_case
from krino.adapters.packages import needs
from krino.adapters.shared_judge import SharedJudge
from krino.adapters.verdict_fields import status
from krino.api.judging import AnyKindOfJudge, Settings
from krino.contract import Judgement

with needs("ragas"):
    from ragas.metrics.collections.base import BaseMetric
    from ragas.metrics.result import MetricResult

_STATUS = "status"


def metrics(
    judge: AnyKindOfJudge,
    fields: Sequence[str] | None = None,
    *,
    case: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
    **settings: Unpack[Settings],
) -> list[KrinoMetric]:
    """A metric for each score of the judge, and last `judge.status`, whose value is `ok`, `failed` or `error`.

    They share one verdict a case. A case that was not judged has the value None and the reason, as Ragas' own metrics
    have where a model's reply is of no use. An exception would do worse: an experiment drops the whole row.

    Args:
        judge: as in `krino.judge`; so are `settings`.
        fields: the fields that are wanted; without them, all that hold numbers.
        case: makes the case of the arguments. Without it they are the case (`user_input`, `response`,
            `retrieved_contexts`, `reference`), `response` being the answer.
    """
    shared = SharedJudge(judge, fields, **settings)
    return [KrinoMetric(shared, name, case) for name in (*shared.score_names, _STATUS)]


class KrinoMetric(BaseMetric):
    """One field of a verdict."""

    def __init__(
        self, shared: SharedJudge, field: str, case: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    ) -> None:
        super().__init__(name=f"{shared.name}.{field}")
        self.shared, self.field, self.case = shared, field, case

    async def ascore(self, **given: Any) -> MetricResult:
        """Judges a case; the result has the field's value, or None and the reason why there is none."""
        made = self.case(given) if self.case else _case_of_arguments(given)
        return self._take(await self.shared.adecide(made, by=self.field))

    def _take(self, judgement: Judgement[Any]) -> MetricResult:
        """Makes the result of a judgement: the metric's field, or how the case ended."""
        if self.field == _STATUS:
            end = status(judgement)
            return MetricResult(value=end.value, reason=end.reason)
        found = self.shared.field(judgement, self.field)
        return MetricResult(value=found.value, reason=found.problem or found.reason)


def _case_of_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Makes the case of the arguments of a metric, under names that every judge knows."""
    inputs = {name: value for name, value in given.items() if name not in ("user_input", "response", "reference")}
    return make_case(inputs, given.get("response"), given.get("reference"), input=given.get("user_input"))
