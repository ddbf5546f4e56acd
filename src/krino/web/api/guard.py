"""`POST /v1/guard/JUDGE`: pass or block, by rules that were given when the server was started.

There is one route for each judge that has rules. A case that was not judged is blocked, and so is a request without a
case in it, so that an application that lets through what passes lets nothing through unchecked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from krino.errors import UsageProblem
from krino.results.gates.rules import Rule
from krino.results.gates.single_case import Decision, Outcome, decide_case
from krino.results.gates.validate import refuse_for_judge
from krino.text.guessing import did_you_mean
from krino.web.api.judge import judge_request, make_body
from krino.web.judging.service import JudgingService
from krino.web.metrics import Metrics
from krino.web.strict_requests import StrictRoute

CaseRules = Mapping[str, Sequence[Rule]]
"""The rules of each judge, by its name."""


class Guarded(BaseModel):
    """Response of a guard."""

    decision: Outcome = Field(description="block if any case is blocked")
    cases: list[Decision] = Field(description="one per case, in order: the decision, and the rule that decided")


def guard_router(judging: JudgingService, metrics: Metrics, rules: CaseRules, max_cases: int) -> APIRouter:
    """Makes a router with one route for each judge that has rules; `UsageProblem` for rules that do not fit a judge."""
    router = APIRouter(prefix="/v1", tags=["judging"], route_class=StrictRoute)
    for name, own in rules.items():
        if name not in judging.judges:
            names = ", ".join(judging.judges)
            raise UsageProblem(
                f"--guard: there is no judge `{name}`{did_you_mean(name, judging.judges)}; there are {names}"
            )
        refuse_for_judge(judging.get_judge(name), own)
        _add_route(router, judging, metrics, name, own, max_cases)
    return router


def _add_route(
    router: APIRouter, judging: JudgingService, metrics: Metrics, name: str, rules: Sequence[Rule], max_cases: int
) -> None:
    """Adds the route of one judge: it blocks unless there is a case and every case passes the rules."""
    judge = judging.get_judge(name)
    texts = dict(judge.rules)

    async def endpoint(request: Request, body: Any) -> Response:
        judgements = await judge_request(request, judging, name, body)
        decisions = [decide_case(orjson.loads(judgement.to_json()), rules, texts) for judgement in judgements]
        for decision in decisions:
            metrics.count_decision(name, decision.decision)
        passes = bool(decisions) and all(one.decision == "pass" for one in decisions)
        answer = Guarded(decision="pass" if passes else "block", cases=decisions)
        return Response(answer.model_dump_json(), media_type="application/json")

    endpoint.__annotations__["body"] = make_body(judge, judging.labellers, max_cases)
    endpoint.__doc__ = f"Pass or block by these rules: {'; '.join(map(str, rules))}. Cases as for `/v1/judge/{name}`."
    route = router.post(f"/guard/{name}", name=f"guard_{name}", responses={200: {"model": Guarded}})
    route(endpoint)
