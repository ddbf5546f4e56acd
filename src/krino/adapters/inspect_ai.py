"""A scorer for Inspect: `Task(..., scorer=krino_scorer("rag"))`, or `inspect score LOG --scorer krino_scorer`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from krino.adapters.cases import make_case
from krino.adapters.packages import needs
from krino.adapters.shared_judge import SharedJudge
from krino.adapters.verdict_fields import describe_problem
from krino.api.judging import AnyKindOfJudge
from krino.cases.tools.case_parts import as_chat
from krino.contract import Judgement, Labeller
from krino.contract.code_limit import CASE_SECONDS

with needs("inspect-ai"):
    from anyio import to_thread
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState


@scorer(metrics={"*": [mean(), stderr()]})
def krino_scorer(
    judge: AnyKindOfJudge = "rag",
    fields: Sequence[str] | None = None,
    *,
    case: Callable[[Any, Any], Mapping[str, Any]] | None = None,
    labeller: str | Labeller = "local",
    options: Mapping[str, Any] | None = None,
    prompt: str | None = None,
    case_timeout: float = CASE_SECONDS,
    mapping: Mapping[str, str] | None = None,
) -> Scorer:
    """Every score of the judge, with means and errors of its own, and `judge.judged`: 1 for a verdict, 0 for none.

    Without a verdict every score is unscored with the reason, which Inspect counts beside each mean. The rules are in
    the metadata of the score.

    Args:
        judge: as in `krino.judge`; so are `labeller`, `options`, `prompt`, `case_timeout` and `mapping`.
        fields: the scores that are wanted; without them, all of the judge's.
        case: makes the case of `TaskState` and `Target`. Without it the sample's metadata, `input`, `messages`, the
            completion as `answer` and the target as `reference` are the case.
    """
    shared = SharedJudge(
        judge,
        fields,
        labeller=labeller,
        options=options,
        prompt=prompt,
        case_timeout=case_timeout,
        mapping=mapping,
    )

    async def score(state: TaskState, target: Target) -> Score:
        made = (case or read_state)(state, target)
        # Inspect may run on Trio, where asyncio's futures cannot be awaited
        judgement = await to_thread.run_sync(partial(shared.decide, made), abandon_on_cancel=True)
        return _as_score(shared, judgement, state.output.completion)

    return score


def read_state(state: TaskState, target: Target) -> dict[str, Any]:
    """The case that a sample is after it was solved."""
    messages = as_chat([message.model_dump(exclude_none=True) for message in state.messages])
    made = make_case(state.metadata, state.output.completion, target.text or None)
    return {"input": state.input_text, "messages": messages, **made}


def _as_score(shared: SharedJudge, judgement: Judgement[Any], answer: str) -> Score:
    """Makes the Inspect score of a judgement: nan for a score without a value, and `judge.judged` as 1 or 0."""
    found = {item.name: item for item in shared.fields(judgement)}
    names = [f"{shared.name}.{name}" for name in shared.score_names]
    values = {name: found[name].score if name in found else None for name in names}
    is_judged = judgement.status == "ok"
    reasons = [f"{item.name}: {item.reason}" for item in found.values() if item.reason]
    scores = {name: math.nan if value is None else value for name, value in values.items()}
    return Score(
        value={**scores, f"{shared.name}.judged": float(is_judged)},
        answer=answer,
        reason=None if is_judged else f"krino_{judgement.status}",
        explanation="\n".join(reasons) if is_judged else describe_problem(judgement),
        metadata={
            "status": judgement.status,
            "labels": {item.name: item.label for item in found.values() if item.label is not None},
            "rules": {item.name: item.rule for item in found.values() if item.rule},
        },
    )
