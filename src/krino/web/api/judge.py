"""`POST /v1/judge/JUDGE`: one case or a list, judged while the client waits. One route a judge, so that the document of
the API says what each takes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, create_model
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from krino.contract import AnyJudge, Judgement
from krino.errors import UsageProblem
from krino.examples import first_example
from krino.judges.registry import OURS
from krino.web.desk import Desk, TooMuch, plain_options
from krino.web.problems import ONE_CASE, SEVERAL_CASES, Problem
from krino.web.strict import StrictRoute

Done = TypeVar("Done")


class Judged(BaseModel):
    """What judging gives back."""

    judgements: list[Judgement] = Field(
        description="one for each case, in their order (for each trace, where a record holds several); a case that "
        "cannot be judged has a status other than ok, says why, and has no score"
    )


class JudgeEntry(BaseModel):
    name: str
    version: str
    summary: str
    case_schema: dict[str, Any]
    verdict_schema: dict[str, Any]
    rules: dict[str, str] = Field(description="id of a rule to what it says")


class Judges(BaseModel):
    judges: list[JudgeEntry]
    labellers: list[str] = Field(description="who may be asked; `local` is the embedded one, which costs nothing")


def judge_router(desk: Desk, max_cases: int) -> APIRouter:
    """A route for each judge of the desk, and a list of them."""
    router = APIRouter(prefix="/v1", tags=["judging"], route_class=StrictRoute)

    @router.get("/judges")
    def judges() -> Judges:
        """The judges and labellers that this server offers."""
        entries = [_entry(desk.ready(name)) for name in desk.judges]
        return Judges(judges=entries, labellers=desk.labellers)

    for name in desk.judges:
        _add(router, desk, name, max_cases)

    @router.post("/judge/{judge}", include_in_schema=False)
    def unknown(judge: str) -> None:
        desk.ready(judge)

    return router


def _entry(judge: AnyJudge) -> JudgeEntry:
    return JudgeEntry(
        name=judge.name,
        version=judge.version,
        summary=judge.summary,
        case_schema=judge.case_model.model_json_schema(),
        verdict_schema=judge.verdict_model.model_json_schema(),
        rules=dict(judge.rules),
    )


def _add(router: APIRouter, desk: Desk, name: str, max_cases: int) -> None:
    judge = desk.ready(name)
    one, several = _bodies(judge, desk.labellers, max_cases)

    async def endpoint(request: Request, body: Any) -> Response:
        given = body.options.model_dump(exclude_unset=True)
        if given:
            await run_in_threadpool(_refuse_options, desk, name, given)
        listed = hasattr(body, "cases")
        work = desk.judged(name, body.cases if listed else [body.case], options=given, labeller=body.labeller)
        try:
            judgements = await unless_gone(request, work)
        except TooMuch as refused:
            at = "" if refused.record is None else f".{refused.record}"
            where = f"body.cases{at}" if listed else "body.case"
            raise Problem(413, refused.told, where=where, remedy=refused.remedy) from None
        lines = b",".join(judgement.to_json() for judgement in judgements)
        return Response(b'{"judgements":[%b]}' % lines, media_type="application/json")

    endpoint.__annotations__["body"] = Annotated[
        Annotated[one, Tag(ONE_CASE)] | Annotated[several, Tag(SEVERAL_CASES)],
        Discriminator(lambda body: SEVERAL_CASES if isinstance(body, dict) and "cases" in body else ONE_CASE),
    ]
    endpoint.__doc__ = f"{judge.summary} One case as `case`, or several as `cases`."
    route = router.post(f"/judge/{name}", name=f"judge_{name}", responses={200: {"model": Judged}})
    route(endpoint)


def _refuse_options(desk: Desk, name: str, given: dict[str, Any]) -> None:
    """Of the right types, and yet nothing that the judge knows: a goal that there is not."""
    try:
        desk.ready(name, given)
    except UsageProblem as problem:
        remedy = "GET /v1/judges and the judge's card say what there is"
        raise Problem(422, str(problem), where="body.options", remedy=remedy) from None


def _bodies(judge: AnyJudge, labellers: list[str], max_cases: int) -> tuple[type[BaseModel], ...]:
    """What the route of a judge takes: one case, or several."""
    title, options = judge.name.title(), plain_options(type(judge))
    example = first_example(judge.name) if judge.name in OURS else None
    shared: dict[str, Any] = {
        "__config__": ConfigDict(extra="forbid"),
        "options": (options, Field(default_factory=options, description="options of the judge")),
        "labeller": (Literal[tuple(labellers)], Field(default="local", description="who answers what is open")),
    }
    case = Field(description="one case, as in a file of cases", examples=[example] if example else None)
    cases = Field(min_length=1, max_length=max_cases, examples=[[example]] if example else None)
    return (
        create_model(f"{title}Case", case=(dict[str, Any], case), **shared),
        create_model(f"{title}Cases", cases=(list[dict[str, Any]], cases), **shared),
    )


async def unless_gone(request: Request, work: Awaitable[Done]) -> Done:
    """The work's result; if the client goes away first, the work is given up, so that nobody waits behind it."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Problem(499, "the client has gone", where="connection", remedy="wait for the answer")
        return task.result()
    finally:
        task.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
