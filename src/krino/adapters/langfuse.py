"""Evaluators for Langfuse: `run_experiment(evaluators=evaluators("rag"))`, and for traces that are there already
`run_batched_evaluation(mapper=read_observation, evaluators=evaluators("rag"))`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Unpack

import orjson

from krino.adapters.cases import make_case
from krino.adapters.packages import needs
from krino.adapters.shared_judge import SharedJudge
from krino.adapters.verdict_fields import status
from krino.api.judging import AnyKindOfJudge, Settings
from krino.contract import Judgement
from krino.errors import NotJudged

with needs("langfuse"):
    from langfuse import Evaluation
    from langfuse.batch_evaluation import EvaluatorInputs

Evaluate = Callable[..., Awaitable[list[Any]]]


def evaluators(
    judge: AnyKindOfJudge,
    fields: Sequence[str] | None = None,
    *,
    case: Callable[..., Mapping[str, Any]] | None = None,
    **settings: Unpack[Settings],
) -> list[Evaluate]:
    """Two evaluators that share one verdict a case: its scores and labels, and `judge.status`.

    A case that was not judged is a failure of the first. Langfuse only logs failures, so the second writes a
    categorical score for every case: `ok`, `failed` or `error`, with the reason as its comment. The metadata of each
    score says who judged.

    Args:
        judge: as in `krino.judge`; so are `settings`.
        fields: the fields that are wanted; without them, all that have a value.
        case: makes the case of `input`, `output`, `expected_output` and `metadata`. Without it the fields of the first
            three are the case.
    """
    shared = SharedJudge(judge, fields, **settings)

    async def decide(by: str, given: Mapping[str, Any]) -> Judgement[Any]:
        if case is None:
            made: Mapping[str, Any] = make_case(given.get("input"), given.get("output"), given.get("expected_output"))
        else:
            made = case(**given)
        return await shared.adecide(made, by=by)

    def name_judge(judgement: Judgement[Any]) -> dict[str, str]:
        return {"evaluator": shared.identity, **shared.judged_by(judgement)}

    async def krino_scores(**given: Any) -> list[Evaluation]:
        judgement = await decide("scores", given)
        found, who = shared.fields(judgement), name_judge(judgement)
        if problem := next((item.problem for item in found if item.problem), None):
            raise NotJudged(problem)
        return [
            Evaluation(
                name=item.name,
                value=item.value,
                comment=item.reason,
                metadata={"rule": item.rule, **who},
                data_type="CATEGORICAL" if item.score is None else "NUMERIC",
            )
            for item in found
        ]

    async def krino_status(**given: Any) -> list[Evaluation]:
        judgement = await decide("status", given)
        end, about = status(judgement), name_judge(judgement)
        return [Evaluation(name=end.name, value=end.value, comment=end.reason, metadata=about, data_type="CATEGORICAL")]

    return [krino_scores, krino_status]


def read_observation(*, item: Any, **more: Any) -> EvaluatorInputs:
    """The mapper for live data: input and output of an observation, which the API gives as JSON texts."""
    return EvaluatorInputs(
        input=_decode(item.input), output=_decode(item.output), expected_output=None, metadata=item.metadata
    )


def _decode(text: Any) -> Any:
    try:
        return orjson.loads(text) if isinstance(text, str) else text
    except orjson.JSONDecodeError:
        return text
