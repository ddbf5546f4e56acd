"""An evaluator for `langsmith.evaluate`: `evaluators=[evaluator("rag")]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from krino.adapters.cases import make_case
from krino.adapters.packages import needs
from krino.adapters.shared_judge import SharedJudge
from krino.adapters.verdict_fields import status
from krino.api.judging import AnyKindOfJudge, Settings

with needs("langsmith"):
    from langsmith.evaluation import EvaluationResult

Evaluate = Callable[..., dict[str, list[Any]]]


def evaluator(
    judge: AnyKindOfJudge,
    fields: Sequence[str] | None = None,
    *,
    case: Callable[..., Mapping[str, Any]] | None = None,
    **settings: Unpack[Settings],
) -> Evaluate:
    """A function that gives a feedback for each score and label, with reason and rule, and one for `judge.status`.

    A case that was not judged has no score and an error in each of them, as LangSmith records an evaluator that raises.

    Args:
        judge: as in `krino.judge`; so are `settings`.
        fields: the fields that are wanted; without them, all that have a value.
        case: makes the case of `inputs`, `outputs` and `reference_outputs`. Without it their fields are the case.
    """
    shared = SharedJudge(judge, fields, **settings)
    about = {"evaluator": shared.identity}

    def krino(
        inputs: dict[str, Any], outputs: dict[str, Any], reference_outputs: dict[str, Any] | None = None
    ) -> dict[str, list[Any]]:
        if case is None:
            made: Mapping[str, Any] = make_case(inputs, outputs, reference_outputs)
        else:
            made = case(inputs=inputs, outputs=outputs, reference_outputs=reference_outputs)
        judgement = shared.decide(made)
        found = [
            EvaluationResult(
                key=field.name,
                score=field.score,
                value=field.label,
                comment=field.problem or field.reason,
                evaluator_info={**about, "rule": field.rule},
                extra={"error": True} if field.problem else None,
            )
            for field in shared.fields(judgement)
        ]
        end = status(judgement)
        found.append(EvaluationResult(key=end.name, value=end.value, comment=end.reason, evaluator_info=about))
        return {"results": found}

    krino.__name__ = f"krino_{shared.name}".replace("-", "_")
    return krino
