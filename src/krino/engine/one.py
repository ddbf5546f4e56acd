"""One case through a judge: read, study, ask, label, settle. Whatever happens, a judgement comes out."""

from __future__ import annotations

import traceback
from typing import Any

from krino.cases.item import CaseItem
from krino.contract import (
    FindingRecord,
    Judge,
    Judgement,
    Labelled,
    Labeller,
    Settlement,
    Status,
    Task,
    Usage,
    hash_record,
)
from krino.errors import CannotJudge, LabelFailed, RunStopped, UsageProblem

AnyJudge = Judge[Any, Any, Any]


def input_hash(item: CaseItem) -> str:
    return hash_record(item.raw if item.record is None else item.record)


async def judge_item(judge: AnyJudge, labeller: Labeller, item: CaseItem, digest: str | None = None) -> Judgement:
    """Only `RunStopped` and `UsageProblem` get out; every other fault is a judgement that says what happened."""
    digest = digest or input_hash(item)
    if item.record is None:
        return _without_verdict(judge, item, digest, "failed", item.problem or "the case could not be read")
    try:
        case = judge.read(item.record)
        facts = judge.study(case)
        questions = judge.ask(case, facts)
        labelled: Labelled[Any] | None = None
        if questions is not None:
            labelled = await labeller.label(Task(judge, case, facts, questions, item.index, digest))
        settlement = judge.settle(case, facts, labelled.labels if labelled else None)
        return _with_verdict(judge, item, digest, settlement, labelled, judge.metadata(case))
    except CannotJudge as reason:
        return _without_verdict(judge, item, digest, "failed", str(reason))
    except LabelFailed as failure:
        return _without_verdict(
            judge, item, digest, "error", str(failure), labeller, usage=failure.usage, raw_reply=failure.raw_reply
        )
    except (RunStopped, UsageProblem):
        raise
    except Exception as fault:
        where = traceback.extract_tb(fault.__traceback__)[-1]
        message = f"{type(fault).__name__}: {fault} (in {where.name}, line {where.lineno})"
        return _without_verdict(judge, item, digest, "error", message, labeller)


def _with_verdict(
    judge: AnyJudge,
    item: CaseItem,
    digest: str,
    settlement: Settlement,
    labelled: Labelled[Any] | None,
    metadata: dict[str, Any],
) -> Judgement:
    rulings = settlement.rulings
    if unknown := sorted({ruling.rule for ruling in rulings.values()} - judge.rules.keys()):
        raise ValueError(f"judge `{judge.name}` ruled by {', '.join(unknown)}, which its rules do not list")
    verdict = judge.verdict_model.model_validate({field: ruling.value for field, ruling in rulings.items()})
    findings = [*settlement.findings, *(labelled.findings if labelled else ())]
    return Judgement(
        index=item.index,
        id=item.id,
        judge=judge.name,
        judge_version=judge.version,
        status="ok",
        verdict=verdict.model_dump(mode="json"),
        decided_by={field: "labeller" if ruling.from_labels else ruling.rule for field, ruling in rulings.items()},
        rules={field: ruling.rule for field, ruling in rulings.items()},
        evidence={field: list(ruling.evidence) for field, ruling in rulings.items() if ruling.evidence},
        findings=[FindingRecord(rule=item.rule, text=item.text, where=item.where) for item in findings],
        labels=labelled.labels.model_dump(mode="json") if labelled else None,
        labeller=labelled.info if labelled else None,
        usage=labelled.usage if labelled else Usage(),
        input_hash=digest,
        source=item.source,
        metadata=metadata,
    )


def _without_verdict(
    judge: AnyJudge,
    item: CaseItem,
    digest: str,
    status: Status,
    message: str,
    labeller: Labeller | None = None,
    usage: Usage | None = None,
    raw_reply: str | None = None,
) -> Judgement:
    return Judgement(
        index=item.index,
        id=item.id,
        judge=judge.name,
        judge_version=judge.version,
        status=status,
        verdict=judge.failed_form(status, message),
        reason=message if status == "failed" else None,
        error=message if status == "error" else None,
        labeller=labeller.describe() if labeller else None,
        usage=usage or Usage(),
        input_hash=digest,
        source=item.source,
        raw_reply=raw_reply,
    )
