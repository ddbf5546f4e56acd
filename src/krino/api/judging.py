"""The Python interface: judge one case or many, with or without an event loop of one's own."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from pydantic import BaseModel

from krino.cases.from_python import plain_record, rows_of_frame
from krino.cases.item import CaseItem, case_id
from krino.cases.mapping import FieldMissing, field_map
from krino.cases.reader import optional_targets, other_names
from krino.cases.splitting import split_items
from krino.cases.watching import looked_for_slips
from krino.contract import AnyJudge, Judge, Judgement, Labeller, VerdictT
from krino.contract.class_checks import make_judge, refuse_faulty
from krino.contract.code_limit import CASE_SECONDS, seconds_of
from krino.engine import sync
from krino.engine.case import judge_item
from krino.engine.pool import LocalPool
from krino.engine.protocol import Assignment, judged_in_order
from krino.engine.rehearsal import rehearse, rehearsed
from krino.errors import UsageProblem
from krino.judges.registry import find_namesake, load_judge
from krino.labellers.factory import labeller_from
from krino.text.guessing import guessed

if TYPE_CHECKING:
    from krino.judges.citation.verdict import CitationVerdict
    from krino.judges.efficiency.verdict import EfficiencyVerdict
    from krino.judges.rag.verdict import RagVerdict

Case = Mapping[str, Any]
AnyKindOfJudge = str | AnyJudge | type[AnyJudge]
JudgeOf = Judge[Any, Any, Any, VerdictT, Any] | type[Judge[Any, Any, Any, VerdictT, Any]]
"""A judge whose verdicts have a known type, or its class."""
_WINDOW = 4  # cases in memory for each one that is being judged, so that a slow case holds nobody up


class Settings(TypedDict, total=False):
    """What can be set for judging."""

    labeller: str | Labeller
    """`local` (the default), a model's name, `a,b,c` for a jury, or a labeller made before."""
    options: Mapping[str, Any] | None
    """Options of the judge."""
    prompt: str | None
    """What a labeller is told, instead of the judge's own prompt."""
    case_timeout: float
    """Seconds that the judge's code may take for a case (300); 0: no limit."""
    mapping: Mapping[str, str] | None
    """Fields of the cases that have other names there, as `--map`: `{"question": "query"}`."""


@overload
async def ajudge(judge: Literal["rag"], case: Case, **settings: Unpack[Settings]) -> Judgement[RagVerdict]: ...
@overload
async def ajudge(
    judge: Literal["citation"], case: Case, **settings: Unpack[Settings]
) -> Judgement[CitationVerdict]: ...
@overload
async def ajudge(
    judge: Literal["efficiency"], case: Case, **settings: Unpack[Settings]
) -> Judgement[EfficiencyVerdict]: ...
@overload
async def ajudge(judge: JudgeOf[VerdictT], case: Case, **settings: Unpack[Settings]) -> Judgement[VerdictT]: ...
@overload
async def ajudge(judge: str, case: Case, **settings: Unpack[Settings]) -> Judgement[Any]: ...
async def ajudge(judge: AnyKindOfJudge, case: Case, **settings: Unpack[Settings]) -> Judgement[Any]:
    """Judge one case; `Settings` says what can be set."""
    _refuse_unknown(settings)
    ready = ready_judge(judge, settings.get("options"), settings.get("prompt"))
    (item,) = looked_for_slips(_mapped(iter([as_item(0, case)]), ready, settings.get("mapping")), ready, _warn)
    seconds = seconds_of(settings.get("case_timeout", CASE_SECONDS))
    rehearse(ready, item, seconds)
    async with closing_ours(settings.get("labeller", "local")) as chosen:
        return await judge_item(ready, chosen, item, seconds=seconds)


@overload
def judge(judge: Literal["rag"], case: Case, **settings: Unpack[Settings]) -> Judgement[RagVerdict]: ...
@overload
def judge(judge: Literal["citation"], case: Case, **settings: Unpack[Settings]) -> Judgement[CitationVerdict]: ...
@overload
def judge(judge: Literal["efficiency"], case: Case, **settings: Unpack[Settings]) -> Judgement[EfficiencyVerdict]: ...
@overload
def judge(judge: JudgeOf[VerdictT], case: Case, **settings: Unpack[Settings]) -> Judgement[VerdictT]: ...
@overload
def judge(judge: str, case: Case, **settings: Unpack[Settings]) -> Judgement[Any]: ...
def judge(judge: AnyKindOfJudge, case: Case, **settings: Unpack[Settings]) -> Judgement[Any]:
    """Judge one case from ordinary code, also where an event loop is running (a notebook).

    `labeller`: `local` (the default), a model's name, or a labeller made before; `options` of the judge; `prompt`: what
    a labeller is told, instead of the judge's own; `mapping`: fields under other names, `{"question": "query"}`. The
    case is a mapping of fields, or a pydantic model of them. The verdict is `judgement.verdict`, a dict, or typed
    `judgement.typed_verdict`, which raises `NotJudged` where there is none.
    """
    sync.remember(settings.get("labeller"))
    return sync.run(ajudge(judge, case, **settings))


@overload
def ajudge_many(
    judge: Literal["rag"], cases: Iterable[Case], **settings: Unpack[Settings]
) -> AsyncGenerator[Judgement[RagVerdict], None]: ...
@overload
def ajudge_many(
    judge: Literal["citation"], cases: Iterable[Case], **settings: Unpack[Settings]
) -> AsyncGenerator[Judgement[CitationVerdict], None]: ...
@overload
def ajudge_many(
    judge: Literal["efficiency"], cases: Iterable[Case], **settings: Unpack[Settings]
) -> AsyncGenerator[Judgement[EfficiencyVerdict], None]: ...
@overload
def ajudge_many(
    judge: JudgeOf[VerdictT], cases: Iterable[Case], **settings: Unpack[Settings]
) -> AsyncGenerator[Judgement[VerdictT], None]: ...
@overload
def ajudge_many(
    judge: str, cases: Iterable[Case], **settings: Unpack[Settings]
) -> AsyncGenerator[Judgement[Any], None]: ...
async def ajudge_many(
    judge: AnyKindOfJudge, cases: Iterable[Case], **settings: Unpack[Settings]
) -> AsyncGenerator[Judgement[Any], None]:
    """Judge many cases at a time; judgements come in the order of the cases, memory stays flat.

    A record that holds several cases (an export with several traces) gives a judgement for each of them.
    """
    rows = rows_of_frame(cases)
    if rows is None and (isinstance(cases, str | bytes | Mapping | BaseModel) or not isinstance(cases, Iterable)):
        raise UsageProblem(
            f"cases must be an iterable of mappings, not a {type(cases).__name__}; "
            "for one case use krino.judge, for files krino.run or the command `krino judge`"
        )
    _refuse_unknown(settings)
    ready = ready_judge(judge, settings.get("options"), settings.get("prompt"))
    seconds = seconds_of(settings.get("case_timeout", CASE_SECONDS))
    taken = (as_item(index, case) for index, case in enumerate(cases if rows is None else rows))
    given = split_items(_mapped(taken, ready, settings.get("mapping"), many=True), ready)
    items = looked_for_slips(given, ready, _warn)  # of the cases as they are judged: a judge may read what holds them
    async with closing_ours(settings.get("labeller", "local")) as chosen:
        window = _WINDOW * chosen.workers
        work = Assignment(ready, chosen, case_seconds=seconds)
        stream = judged_in_order(LocalPool(), work, rehearsed(items, ready, seconds), window)
        async with contextlib.aclosing(stream) as judgements:
            async for judgement in judgements:
                yield judgement


@overload
def judge_many(
    judge: Literal["rag"], cases: Iterable[Case], **settings: Unpack[Settings]
) -> Iterator[Judgement[RagVerdict]]: ...
@overload
def judge_many(
    judge: Literal["citation"], cases: Iterable[Case], **settings: Unpack[Settings]
) -> Iterator[Judgement[CitationVerdict]]: ...
@overload
def judge_many(
    judge: Literal["efficiency"], cases: Iterable[Case], **settings: Unpack[Settings]
) -> Iterator[Judgement[EfficiencyVerdict]]: ...
@overload
def judge_many(
    judge: JudgeOf[VerdictT], cases: Iterable[Case], **settings: Unpack[Settings]
) -> Iterator[Judgement[VerdictT]]: ...
@overload
def judge_many(judge: str, cases: Iterable[Case], **settings: Unpack[Settings]) -> Iterator[Judgement[Any]]: ...
def judge_many(judge: AnyKindOfJudge, cases: Iterable[Case], **settings: Unpack[Settings]) -> Iterator[Judgement[Any]]:
    """The same as an ordinary iterator."""
    sync.remember(settings.get("labeller"))
    return sync.pull(ajudge_many(judge, cases, **settings))


# --- inside ----------------------------------------------------------------------------------------


def _refuse_unknown(settings: Mapping[str, Any]) -> None:
    """A misspelt setting would leave the judging to another labeller than was meant, and nobody would know."""
    known = Settings.__annotations__
    if unknown := sorted(settings.keys() - known.keys()):
        guess = guessed(unknown[0], known)
        raise TypeError(f"{unknown[0]!r} is not a setting of judging{guess}; there are {', '.join(known)}")


def _warn(told: str) -> None:
    """A misspelt field leaves a case without it, and a score that looks like any other."""
    warnings.warn_explicit(told, UserWarning, "krino", 1)  # no line of the caller's is known here


def ready_judge(judge: AnyKindOfJudge, options: Mapping[str, Any] | None, prompt: str | None) -> AnyJudge:
    """The judge that a name, a class or a judge with other settings means."""
    if isinstance(judge, type) and issubclass(judge, Judge):
        return make_judge(judge, options, prompt, find_namesake)
    if isinstance(judge, Judge):
        refuse_faulty(judge, find_namesake)
        if options is None and prompt is None:
            return judge
        return make_judge(
            type(judge), judge.options if options is None else options, prompt or judge.prompt, find_namesake
        )
    return load_judge(judge, options, prompt)


def as_item(index: int, case: Any) -> CaseItem:
    """A case that was handed over as the engine takes it; its id, or else its number, names it."""
    try:
        record = plain_record(case, f"case {index + 1}")
    except UsageProblem as problem:
        return CaseItem(index, str(index + 1), None, problem=str(problem), raw=repr(case)[:1000])
    name = record.get("id")
    return CaseItem(index, str(name) if name not in (None, "") else str(index + 1), record)


def _mapped(
    items: Iterator[CaseItem], judge: AnyJudge, mapping: Mapping[str, str] | None, *, many: bool = False
) -> Iterator[CaseItem]:
    """The items with their fields mapped. Of many, which come one by one, an optional field may be absent in some."""
    fields = field_map(mapping)
    if fields is None:
        yield from items
        return
    optional = frozenset(optional_targets(fields, judge)) if many else frozenset()
    fields = replace(fields, others=frozenset(other_names(fields, judge)), may_be_absent=optional)
    unmet = {target for target, _ in fields.pairs}
    for item in items:
        if item.record is None:
            yield item
            continue
        unmet -= set(fields.found_in(dict(item.record)))
        try:
            record = fields.apply(dict(item.record))
            yield replace(item, record=record, id=case_id(record) or item.id)
        except FieldMissing as missing:
            yield replace(item, record=None, problem=str(missing))
    for target, source in fields.pairs:
        if target in unmet and target in optional:
            _warn(f"mapping `{target}={source}`: no case has `{source}`")


@contextlib.asynccontextmanager
async def closing_ours(labeller: str | Labeller) -> AsyncIterator[Labeller]:
    """A labeller made here is closed here; one that was handed in belongs to the caller."""
    chosen = labeller_from(labeller)
    try:
        yield chosen
    finally:
        if chosen is not labeller:
            await chosen.aclose()
