"""The Python interface: judge one case or many, with or without an event loop of one's own."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from krino.cases.item import CaseItem
from krino.cases.splitting import split_items
from krino.contract import Judge, Judgement, Labeller
from krino.contract.soundness import made, refuse_unsound
from krino.engine import sync as portal
from krino.engine.case import AnyJudge, judge_item
from krino.engine.pool import LocalPool
from krino.engine.protocol import Assignment, judged_in_order
from krino.engine.rehearsal import rehearse, rehearsed
from krino.errors import UsageProblem
from krino.judges.registry import load_judge, rival
from krino.labellers.factory import labeller_from

Case = Mapping[str, Any]
_WINDOW = 4  # cases in memory for each one that is being judged, so that a slow case holds nobody up
AnyKindOfJudge = str | AnyJudge | type[AnyJudge]


async def ajudge(
    judge: AnyKindOfJudge,
    case: Case,
    *,
    labeller: str | Labeller = "local",
    options: Mapping[str, Any] | None = None,
    prompt: str | None = None,
) -> Judgement:
    """Judge one case. `labeller`: `local`, a model's name, or a `Labeller`."""
    ready = ready_judge(judge, options, prompt)
    item = _item(0, case)
    rehearse(ready, item)
    async with _closing(labeller) as chosen:
        return await judge_item(ready, chosen, item)


def judge(
    judge: AnyKindOfJudge,
    case: Case,
    *,
    labeller: str | Labeller = "local",
    options: Mapping[str, Any] | None = None,
    prompt: str | None = None,
) -> Judgement:
    """Judge one case from ordinary code, also where an event loop is running (a notebook)."""
    portal.remember(labeller)
    return portal.run(ajudge(judge, case, labeller=labeller, options=options, prompt=prompt))


async def ajudge_many(
    judge: AnyKindOfJudge,
    cases: Iterable[Case],
    *,
    labeller: str | Labeller = "local",
    options: Mapping[str, Any] | None = None,
    prompt: str | None = None,
) -> AsyncGenerator[Judgement, None]:
    """Judge many cases at a time; judgements come in the order of the cases, memory stays flat.

    A record that holds several cases (an export with several traces) gives a judgement for each of them.
    """
    if isinstance(cases, str | bytes | Mapping) or not isinstance(cases, Iterable):
        raise UsageProblem(
            f"cases must be an iterable of mappings, not a {type(cases).__name__}; "
            "for one case use krino.judge, for a file `krino.cases.read_cases` or the command `krino judge`"
        )
    ready = ready_judge(judge, options, prompt)
    items = split_items((_item(index, case) for index, case in enumerate(cases)), ready)
    async with _closing(labeller) as chosen:
        window = _WINDOW * chosen.workers
        stream = judged_in_order(LocalPool(), Assignment(ready, chosen), rehearsed(items, ready), window)
        async with contextlib.aclosing(stream) as judgements:
            async for judgement in judgements:
                yield judgement


def judge_many(
    judge: AnyKindOfJudge,
    cases: Iterable[Case],
    *,
    labeller: str | Labeller = "local",
    options: Mapping[str, Any] | None = None,
    prompt: str | None = None,
) -> Iterator[Judgement]:
    """The same as an ordinary iterator."""
    portal.remember(labeller)
    return portal.pull(ajudge_many(judge, cases, labeller=labeller, options=options, prompt=prompt))


# --- inside ----------------------------------------------------------------------------------------


def ready_judge(judge: AnyKindOfJudge, options: Mapping[str, Any] | None, prompt: str | None) -> AnyJudge:
    """The judge that a name, a class or a judge with other settings means."""
    if isinstance(judge, type) and issubclass(judge, Judge):
        return made(judge, options, prompt, rival)
    if isinstance(judge, Judge):
        refuse_unsound(judge, rival)
        if options is None and prompt is None:
            return judge
        return made(type(judge), judge.options if options is None else options, prompt or judge.prompt, rival)
    return load_judge(judge, options, prompt)


def _item(index: int, case: Any) -> CaseItem:
    if not isinstance(case, Mapping):
        problem = f"case {index + 1} is a {type(case).__name__}, not a mapping of fields"
        return CaseItem(index, str(index + 1), None, problem=problem, raw=repr(case)[:1000])
    name = case.get("id")
    return CaseItem(index, str(name) if name not in (None, "") else str(index + 1), case)


@contextlib.asynccontextmanager
async def _closing(labeller: str | Labeller) -> AsyncIterator[Labeller]:
    """A labeller made here is closed here; one that was handed in belongs to the caller."""
    chosen = labeller_from(labeller)
    try:
        yield chosen
    finally:
        if chosen is not labeller:
            await chosen.aclose()
