"""`POST /v1/judge/JUDGE`: judges one case or a list while the client waits.

Each judge has a route of its own, so that the OpenAPI document shows what it takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, create_model
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from krino.contract import AnyJudge, Judgement
from krino.engine.case import Written
from krino.errors import UsageProblem
from krino.examples import first_example
from krino.judges.registry import OURS
from krino.web.judging.service import JudgingService, RequestTooLarge, make_safe_options_model
from krino.web.problems import ONE_CASE, SEVERAL_CASES, Problem
from krino.web.strict_requests import StrictRoute

Done = TypeVar("Done")


class Judged(BaseModel):
    """Response of a judge."""

    judgements: list[Judgement] = Field(
        description="one per case, in order (one per trace if a record holds several); a case that cannot be judged "
        "has a status other than ok, a reason, and no score"
    )


class JudgeEntry(BaseModel):
    name: str
    version: str
    summary: str
    case_schema: dict[str, Any]
    verdict_schema: dict[str, Any]
    rules: dict[str, str] = Field(description="rule id to description")


class Judges(BaseModel):
    judges: list[JudgeEntry]
    labellers: list[str] = Field(description="`local` is the embedded one and costs nothing")


def judge_router(judging: JudgingService, max_cases: int) -> APIRouter:
    """Makes a router with one route per judge, and one that lists them."""
    router = APIRouter(prefix="/v1", tags=["judging"], route_class=StrictRoute)

    @router.get("/judges")
    def judges() -> Judges:
        """The judges and labellers that this server offers."""
        entries = [_describe_judge(judging.get_judge(name)) for name in judging.judges]
        return Judges(judges=entries, labellers=judging.labellers)

    for name in judging.judges:
        _add_route(router, judging, name, max_cases)

    @router.post("/judge/{judge}", include_in_schema=False)
    def unknown(judge: str) -> None:
        judging.get_judge(judge)

    return router


def _describe_judge(judge: AnyJudge) -> JudgeEntry:
    """Describes a judge for the list of judges."""
    return JudgeEntry(
        name=judge.name,
        version=judge.version,
        summary=judge.summary,
        case_schema=judge.case_model.model_json_schema(),
        verdict_schema=judge.verdict_model.model_json_schema(),
        rules=dict(judge.rules),
    )


def _add_route(router: APIRouter, judging: JudgingService, name: str, max_cases: int) -> None:
    """Adds the address of one judge, with its own types of cases and options."""
    judge = judging.get_judge(name)

    async def endpoint(request: Request, body: Any) -> Response:
        judgements = await judge_request(request, judging, name, body)
        lines = b",".join(judgement.to_json() for judgement in judgements)
        return Response(b'{"judgements":[%b]}' % lines, media_type="application/json")

    endpoint.__annotations__["body"] = make_body(judge, judging.labellers, max_cases)
    endpoint.__doc__ = f"{judge.summary} One case as `case`, or several as `cases`."
    route = router.post(f"/judge/{name}", name=f"judge_{name}", responses={200: {"model": Judged}})
    route(endpoint)


async def judge_request(request: Request, judging: JudgingService, name: str, body: Any) -> list[Written]:
    """Judges the cases of a request's body; stops if the client disconnects. Raises `Problem` for options and sizes
    that are refused."""
    given = body.options.model_dump(exclude_unset=True)
    if given:
        await run_in_threadpool(_check_options, judging, name, given)
    listed = hasattr(body, "cases")
    work = judging.judge_cases(name, body.cases if listed else [body.case], options=given, labeller=body.labeller)
    try:
        return await cancel_on_disconnect(request, work)
    except RequestTooLarge as refused:
        at = "" if refused.record is None else f".{refused.record}"
        where = f"body.cases{at}" if listed else "body.case"
        raise Problem(413, refused.error, where=where, remedy=refused.remedy) from None


def make_body(judge: AnyJudge, labellers: list[str], max_cases: int) -> Any:
    """Makes the type of a judge's request body: one case or several, distinguished by the name `cases`."""
    one, several = _make_body_models(judge, labellers, max_cases)
    return Annotated[
        Annotated[one, Tag(ONE_CASE)] | Annotated[several, Tag(SEVERAL_CASES)],
        Discriminator(lambda body: SEVERAL_CASES if isinstance(body, dict) and "cases" in body else ONE_CASE),
    ]


def _check_options(judging: JudgingService, name: str, given: dict[str, Any]) -> None:
    """Raises `Problem` if the options have the right types but invalid values, such as an unknown goal."""
    try:
        judging.get_judge(name, given)
    except UsageProblem as problem:
        remedy = "see GET /v1/judges and the judge's card"
        raise Problem(422, str(problem), where="body.options", remedy=remedy) from None


def _make_body_models(judge: AnyJudge, labellers: list[str], max_cases: int) -> tuple[type[BaseModel], ...]:
    """Makes the two models of a judge's request body: one case, and several."""
    title, options = judge.name.title(), make_safe_options_model(type(judge))
    example = first_example(judge.name) if judge.name in OURS else None
    shared: dict[str, Any] = {
        "__config__": ConfigDict(extra="forbid"),
        "options": (options, Field(default_factory=options, description="options of the judge")),
        "labeller": (
            Literal[tuple(labellers)],
            Field(default="local", description="answers what the facts leave open"),
        ),
    }
    case = Field(description="one case, as in a file of cases", examples=[example] if example else None)
    cases = Field(min_length=1, max_length=max_cases, examples=[[example]] if example else None)
    return (
        create_model(f"{title}Case", case=(dict[str, Any], case), **shared),
        create_model(f"{title}Cases", cases=(list[dict[str, Any]], cases), **shared),
    )


async def cancel_on_disconnect(request: Request, work: Awaitable[Done]) -> Done:
    """Returns the result of `work`. If the client disconnects first, the work is cancelled so that nobody waits behind
    it, and `Problem` is raised."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Problem(499, "the client disconnected", where="connection", remedy="wait for the answer")
        return task.result()
    finally:
        task.cancel()
        gone.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
