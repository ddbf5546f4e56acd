"""A scorer for `mlflow.genai.evaluate`: `scorers=[scorer("rag")]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from krino.adapters.cases import make_case
from krino.adapters.packages import needs
from krino.adapters.shared_judge import SharedJudge
from krino.adapters.verdict_fields import status
from krino.api.judging import AnyKindOfJudge, Settings
from krino.contract import Judgement

with needs("mlflow"):
    from mlflow.entities import AssessmentSource, Feedback
    from mlflow.genai.scorers import Scorer
    from mlflow.genai.scorers import scorer as mlflow_scorer


def scorer(
    judge: AnyKindOfJudge,
    fields: Sequence[str] | None = None,
    *,
    case: Callable[..., Mapping[str, Any]] | None = None,
    timeout: float | None = None,
    **settings: Unpack[Settings],
) -> Scorer:
    """A scorer that writes one assessment for each score and label of the judge, with reason and rule.

    A case that was not judged has an error in each of them. MLflow leaves errors out of its means without a word, so
    `judge.judged` is written for every case: its mean is the share of cases that the other means are of.
    `judge.status` says how the case ended. The metadata of each says who judged.

    Args:
        judge: as in `krino.judge`; so are `settings`.
        fields: the fields that are wanted; without them, all that have a value.
        case: makes the case of `inputs`, `outputs`, `expectations` and `trace`. Without it their fields are the case.
        timeout: seconds that MLflow waits for a case (300).
    """
    shared = SharedJudge(judge, fields, **settings)

    @mlflow_scorer(name=shared.name, timeout=timeout)
    def score(inputs: Any = None, outputs: Any = None, expectations: Any = None, trace: Any = None) -> list[Feedback]:
        if case is None:
            made: Mapping[str, Any] = make_case(inputs, outputs, expectations)
        else:
            made = case(inputs=inputs, outputs=outputs, expectations=expectations, trace=trace)
        return feedback_of(shared, shared.decide(made))

    return score


def feedback_of(shared: SharedJudge, judgement: Judgement[Any]) -> list[Feedback]:
    """A feedback for each score and label, then how the case ended, each with who judged in its metadata."""
    source = AssessmentSource(source_type="CODE", source_id=shared.identity)
    who = {f"krino.{name}": value for name, value in shared.judged_by(judgement).items()}
    found = [
        Feedback(
            name=field.name,
            value=field.value,
            error=ValueError(field.problem) if field.problem else None,
            rationale=field.reason,
            source=source,
            metadata=who | ({"rule": field.rule} if field.rule else {}),
        )
        for field in shared.fields(judgement)
    ]
    end = status(judgement)
    is_judged = judgement.status == "ok"
    about: dict[str, Any] = {"rationale": end.reason, "source": source, "metadata": who}
    found.append(Feedback(name=end.name, value=end.value, **about))
    found.append(Feedback(name=f"{shared.name}.judged", value=is_judged, **about))
    return found
