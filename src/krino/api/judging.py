"""The Python interface: judge one case or many, with or without an event loop of your own."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from pydantic import BaseModel

from krino.cases.field_notes import note_misspelt_fields
from krino.cases.from_python import plain_record, rows_of_frame
from krino.cases.item import CaseItem, case_id
from krino.cases.mapping import FieldMissing, field_map
from krino.cases.reader import optional_targets, other_names
from krino.cases.splitting import split_items
from krino.contract import AnyJudge, Judge, Judgement, Labeller, VerdictT
from krino.contract.code_limit import CASE_SECONDS, seconds_of
from krino.contract.judge_checks import make_judge, refuse_faulty
from krino.engine import sync
from krino.engine.case import judge_item
from krino.engine.interface import Assignment, judged_in_order
from krino.engine.pool import LocalPool
from krino.engine.rehearsal import rehearse, rehearsed
from krino.errors import UsageProblem
from krino.judges.registry import find_namesake, load_judge
from krino.labellers.factory import labeller_from

if TYPE_CHECKING:
    from krino.judges.citation.verdict import CitationVerdict
    from krino.judges.efficiency.verdict import EfficiencyVerdict
    from krino.judges.rag.verdict import RagVerdict

Case = Mapping[str, Any]
AnyKindOfJudge = str | AnyJudge | type[AnyJudge]
JudgeOf = Judge[Any, Any, Any, VerdictT, Any] | type[Judge[Any, Any, Any, VerdictT, Any]]
"""A judge whose verdicts have a known type, or its class."""
_WINDOW = 4  # cases in memory for each one being judged, so that a slow case does not delay the others


class Settings(TypedDict, total=False):
    """The keywords of `judge`, `judge_many` and their asynchronous forms, for their overloads."""

    labeller: str | Labeller
    """`local` (the default), a model's name, `a,b,c` for a jury, or a labeller made before."""
    options: Mapping[str, Any] | None
    """Options of the judge."""
    prompt: str | None
    """A prompt to use instead of the judge's own."""
    case_timeout: float
    """Seconds that the judge's code may take for a case (300); 0: no limit."""
    mapping: Mapping[str, str] | None
    """Fields with other names in the cases, as `--map`: `{"question": "query"}`."""


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
async def ajudge(
    judge: AnyKindOfJudge,
    case: Case,
    *,
    labeller: str | Labeller = "local",
    options: Mapping[str, Any] | None = None,
    prompt: str | None = None,
    case_timeout: float = CASE_SECONDS,
    mapping: Mapping[str, str] | None = None,
) -> Judgement[Any]:
    """Judge one case inside a running event loop; the arguments are those of `krino.judge`."""
    ready = ready_judge(judge, options, prompt)
    (item,) = note_misspelt_fields(apply_mapping(iter([make_item(0, case)]), ready, mapping), ready, _warn)
    seconds = seconds_of(case_timeout)
    rehearse(ready, item, seconds)
    async with open_labeller(labeller) as chosen:
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
def judge(
    judge: AnyKindOfJudge,
    case: Case,
    *,
    labeller: str | Labeller = "local",
    options: Mapping[str, Any] | None = None,
    prompt: str | None = None,
    case_timeout: float = CASE_SECONDS,
    mapping: Mapping[str, str] | None = None,
) -> Judgement[Any]:
    """Judge one case. Works in plain code and where an event loop is running (a notebook).

    Args:
        judge: a judge's name (`rag`, `module:Class`, `file.py:Class`), its class, or a judge.
        case: the fields of the case, as a mapping, a pydantic model, a dataclass or a row of a table.
        labeller: `local` (embedded), a model's name, `a,b,c` for a jury, or a labeller.
        options: options of the judge.
        prompt: the prompt to use instead of the judge's own.
        case_timeout: seconds that the judge's code may take for the case; 0: no limit.
        mapping: fields that have other names in the case, as `{"question": "query"}`.

    The verdict is `judgement.verdict`, a dict, or `judgement.typed_verdict`, which raises `NotJudged` if there is none.
    """
    sync.remember(labeller)
    return sync.run(
        ajudge(
            judge,
            case,
            labeller=labeller,
            options=options,
            prompt=prompt,
            case_timeout=case_timeout,
            mapping=mapping,
        )
    )


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
    judge: AnyKindOfJudge,
    cases: Iterable[Case],
    *,
    labeller: str | Labeller = "local",
    options: Mapping[str, Any] | None = None,
    prompt: str | None = None,
    case_timeout: float = CASE_SECONDS,
    mapping: Mapping[str, str] | None = None,
) -> AsyncGenerator[Judgement[Any], None]:
    """Judge many cases inside a running event loop; the arguments are those of `krino.judge`.

    Judgements come in the order of the cases, and memory stays flat. A record that holds several cases (an export with
    several traces) gives a judgement for each of them.
    """
    rows = rows_of_cases(cases)
    ready = ready_judge(judge, options, prompt)
    seconds = seconds_of(case_timeout)
    given = split_items(items_of(rows, ready, mapping), ready)
    items = note_misspelt_fields(given, ready, _warn)  # after splitting: a judge may read what holds cases
    async with open_labeller(labeller) as chosen:
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
def judge_many(
    judge: AnyKindOfJudge,
    cases: Iterable[Case],
    *,
    labeller: str | Labeller = "local",
    options: Mapping[str, Any] | None = None,
    prompt: str | None = None,
    case_timeout: float = CASE_SECONDS,
    mapping: Mapping[str, str] | None = None,
) -> Iterator[Judgement[Any]]:
    """Judge many cases at a time, in constant memory; judgements come in the order of the cases.

    The arguments are those of `krino.judge`. A record that holds several cases (an export with several traces) gives a
    judgement for each of them.
    """
    sync.remember(labeller)
    return sync.pull(
        ajudge_many(
            judge,
            cases,
            labeller=labeller,
            options=options,
            prompt=prompt,
            case_timeout=case_timeout,
            mapping=mapping,
        )
    )


# --- inside ----------------------------------------------------------------------------------------


def _warn(message: str) -> None:
    """Issues a Python warning; a case with a misspelt field would otherwise get a score like any other."""
    warnings.warn_explicit(message, UserWarning, "krino", 1)  # the caller's line is not known here


def ready_judge(judge: AnyKindOfJudge, options: Mapping[str, Any] | None, prompt: str | None) -> AnyJudge:
    """Returns the judge for a name, a class or a judge, with these options and prompt; raises `UsageProblem` for one
    that is faulty. A judge is returned as it is if neither is given."""
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


def rows_of_cases(cases: Any) -> Iterable[Any]:
    """Returns the cases of an iterable or a table; raises `UsageProblem` for anything else."""
    rows = rows_of_frame(cases)
    if rows is None and (isinstance(cases, str | bytes | Mapping | BaseModel) or not isinstance(cases, Iterable)):
        raise UsageProblem(
            "cases must be an iterable of mappings, models or dataclasses, or a table of pandas, Polars or Arrow, not "
            f"a {type(cases).__name__}; for one case use krino.judge, for files krino.run or the command `krino judge`"
        )
    return cases if rows is None else rows


def items_of(rows: Iterable[Any], judge: AnyJudge, mapping: Mapping[str, str] | None) -> Iterator[CaseItem]:
    """Yields the rows as cases, with their fields mapped."""
    items = (make_item(index, row) for index, row in enumerate(rows))
    return apply_mapping(items, judge, mapping, many=True)


def make_item(index: int, case: Any) -> CaseItem:
    """Wraps a case for the engine; its name is its id, or else its number. What is no record becomes a case with a
    problem."""
    try:
        record = plain_record(case, f"case {index + 1}")
    except UsageProblem as problem:
        return CaseItem(index, str(index + 1), None, problem=str(problem), raw=repr(case)[:1000])
    name = record.get("id")
    return CaseItem(index, str(name) if name not in (None, "") else str(index + 1), record)


def apply_mapping(
    items: Iterator[CaseItem], judge: AnyJudge, mapping: Mapping[str, str] | None, *, many: bool = False
) -> Iterator[CaseItem]:
    """Yields the items with their fields mapped; one without a mapped field becomes a case with a problem. `many`:
    optional fields may be missing in some of them, and a warning follows for those that none has."""
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
async def open_labeller(labeller: str | Labeller) -> AsyncIterator[Labeller]:
    """Yields the labeller, and closes it afterwards if it was made here and not given by the caller."""
    chosen = labeller_from(labeller)
    try:
        yield chosen
    finally:
        if chosen is not labeller:
            await chosen.aclose()
