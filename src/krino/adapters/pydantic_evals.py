"""Evaluators for `pydantic_evals.Dataset`: `evaluators=evaluators("rag")`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

from krino.adapters.cases import make_case
from krino.adapters.packages import needs
from krino.adapters.shared_judge import SharedJudge
from krino.adapters.verdict_fields import status
from krino.api.judging import AnyKindOfJudge, Settings
from krino.contract import Judgement
from krino.errors import NotJudged

with needs("pydantic-evals"):
    from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

CaseOfContext = Callable[[Any], Mapping[str, Any]]


def evaluators(
    judge: AnyKindOfJudge,
    fields: Sequence[str] | None = None,
    *,
    case: CaseOfContext | None = None,
    **settings: Unpack[Settings],
) -> list[Evaluator[Any, Any, Any]]:
    """Two evaluators that share one verdict a case: its scores and labels, and `judge.status`.

    A case that was not judged is a failure of the first. Failures leave the averages without a word, so the second
    counts how the cases ended.

    Args:
        judge: as in `krino.judge`; so are `settings`.
        fields: the fields that are wanted; without them, all that have a value.
        case: makes the case of the `EvaluatorContext`. Without it inputs, output and expected output are the case.
    """
    shared = SharedJudge(judge, fields, **settings)
    return [KrinoScores(shared.identity, shared, case), KrinoStatus(shared.identity, shared, case)]


@dataclass(repr=False, eq=False)
class KrinoScores(Evaluator[Any, Any, Any]):
    """The scores and labels of a verdict."""

    identity: str
    shared: SharedJudge
    case: CaseOfContext | None = None

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, EvaluationReason]:
        """Judges a case; returns its scores and labels by name. Raises `NotJudged` where there is no verdict."""
        found = self.shared.fields(await self.decide(ctx))
        if problem := next((item.problem for item in found if item.problem), None):
            raise NotJudged(problem)
        return {item.name: EvaluationReason(value=item.value, reason=item.reason or item.rule) for item in found}

    async def decide(self, ctx: EvaluatorContext[Any, Any, Any]) -> Judgement[Any]:
        """The verdict that all evaluators of this judge share."""
        made = self.case(ctx) if self.case else make_case(ctx.inputs, ctx.output, ctx.expected_output)
        return await self.shared.adecide(made, by=type(self).__name__)

    def get_evaluator_version(self) -> str:
        return self.identity

    def build_serialization_arguments(self) -> dict[str, Any]:
        """Only the identity is written into a report: keys of a labeller have no place there."""
        return {"identity": self.identity}


@dataclass(repr=False, eq=False)
class KrinoStatus(KrinoScores):
    """How a case ended: a label, whatever happened."""

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, EvaluationReason]:
        """Judges a case; returns how it ended."""
        end = status(await self.decide(ctx))
        return {end.name: EvaluationReason(value=end.value, reason=end.reason)}
