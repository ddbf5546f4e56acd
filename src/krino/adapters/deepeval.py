"""Metrics for `deepeval.evaluate` and `assert_test`: `metrics=metrics("rag")`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from krino.adapters.packages import needs
from krino.adapters.shared_judge import SharedJudge
from krino.adapters.verdict_fields import Field
from krino.api.judging import AnyKindOfJudge, Settings
from krino.contract import Judgement
from krino.errors import NotJudged, UsageProblem

with needs("deepeval"):
    from deepeval.metrics import BaseMetric

_JUDGED = "judged"


def metrics(
    judge: AnyKindOfJudge,
    fields: Sequence[str] | None = None,
    *,
    threshold: float | Mapping[str, float] = 0.5,
    case: Callable[[Any], Mapping[str, Any]] | None = None,
    **settings: Unpack[Settings],
) -> list[KrinoMetric]:
    """A metric for each score of the judge, and `judge.judged`, which is 1 for a case that has a verdict and 0 else.

    They share one verdict a case. A case that was not judged is an error of each metric but the last: DeepEval ends at
    the first, unless it is called with `ErrorConfig(ignore_errors=True)`. So is a score that is null: choose those that
    your cases can have.

    Args:
        judge: as in `krino.judge`; so are `settings`.
        fields: the scores that are wanted; without them, all of the judge's.
        threshold: at least this is a success; one number, or one for each field.
        case: makes the case of the test case. Without it the fields of the test case are the case.
    """
    shared = SharedJudge(judge, fields, **settings)
    if not shared.score_names:
        raise UsageProblem(f"judge `{shared.name}` has no scores, only labels, and a metric of DeepEval is a number")
    bounds = threshold if isinstance(threshold, Mapping) else dict.fromkeys(shared.score_names, threshold)
    if missing := [name for name in shared.score_names if name not in bounds]:
        raise UsageProblem(f"threshold: there is none for `{missing[0]}`")
    made = [KrinoMetric(shared, name, bounds[name], case) for name in shared.score_names]
    return [*made, KrinoMetric(shared, _JUDGED, 1.0, case)]


class KrinoMetric(BaseMetric):
    """One score of a judge. DeepEval copies metrics by the arguments of `__init__`, so each is an attribute."""

    score: float | None
    reason: str | None
    success: bool | None
    error: str | None

    def __init__(
        self,
        shared: SharedJudge,
        field: str,
        threshold: float,
        case: Callable[[Any], Mapping[str, Any]] | None = None,
    ) -> None:
        self.shared, self.field, self.threshold, self.case = shared, field, threshold, case
        self.evaluation_model = shared.identity
        self.async_mode = True
        self.include_reason = True

    def measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
        """Judges a test case, and returns the score; raises `NotJudged` if there is none."""
        return self._take(self.shared.decide(self._case_of(test_case), by=self.field))

    async def a_measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
        """The same as `measure`, inside an event loop."""
        return self._take(await self.shared.adecide(self._case_of(test_case), by=self.field))

    def _case_of(self, test_case: Any) -> Mapping[str, Any]:
        """Clears the last result, and makes the case of a test case."""
        self.score, self.reason, self.success, self.error = None, None, None, None
        return self.case(test_case) if self.case else read_test_case(test_case)

    def _take(self, judgement: Judgement[Any]) -> float:
        """Sets score, reason and success by a judgement; returns the score, or raises `NotJudged` if it has none."""
        found = self._read(judgement)
        if found.score is None:
            self.error, self.success = found.problem, False
            raise NotJudged(found.problem or f"{found.name} is no number")
        self.score, self.reason = found.score, found.reason or found.rule
        self.success = self.score >= self.threshold
        return self.score

    def _read(self, judgement: Judgement[Any]) -> Field:
        """Reads this metric's field from a judgement; `judged` is 1 if there is a verdict."""
        if self.field == _JUDGED:
            end = judgement.reason or judgement.error
            return Field(self.__name__, float(judgement.status == "ok"), end and f"{judgement.status}: {end}")
        return self.shared.field(judgement, self.field)

    def is_successful(self) -> bool:
        return bool(self.success) and self.error is None

    @property
    def __name__(self) -> str:
        return f"{self.shared.name}.{self.field}"


_NAMES = {
    "input": "input",
    "actual_output": "answer",
    "expected_output": "reference",
    "retrieval_context": "retrieval_context",
    "context": "context",
    "tools_called": "tools_called",
    "additional_metadata": "metadata",
}


def read_test_case(test_case: Any) -> dict[str, Any]:
    """The fields of a test case that are set, those that every judge knows under the names that every judge knows."""
    found = {name: getattr(test_case, own, None) for own, name in _NAMES.items()}
    return {name: value for name, value in found.items() if value is not None}
