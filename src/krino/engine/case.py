"""One case through a judge: read, study, ask, label, settle. Whatever happens, a judgement comes out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from krino.cases.item import CaseItem
from krino.cases.metadata import record_metadata
from krino.contract import (
    Judge,
    Judgement,
    Labelled,
    Labeller,
    Questions,
    Settlement,
    Status,
    Task,
    Usage,
    hash_record,
)
from krino.contract.case_fields import bounded_inputs
from krino.contract.conduct import BrokenContract, questions_of, verdict_of
from krino.contract.places import fault_in
from krino.errors import CannotJudge, LabelFailed, RunStopped, Undecided, UsageProblem

AnyJudge = Judge[Any, Any, Any]


def input_hash(item: CaseItem) -> str:
    """The identity of a case is its content; of one that could not be read, what was wrong with it and where."""
    return hash_record([item.problem, item.raw] if item.record is None else item.record)


async def judge_item(judge: AnyJudge, labeller: Labeller, item: CaseItem, digest: str | None = None) -> Judgement:
    """Only `RunStopped` and `UsageProblem` get out; every other fault is a judgement that says what happened."""
    judgement = await _judged(judge, labeller, item, digest)
    judgement.time = datetime.now(UTC)
    return judgement


async def _judged(judge: AnyJudge, labeller: Labeller, item: CaseItem, digest: str | None) -> Judgement:
    digest = digest or input_hash(item)
    if item.record is None:
        return without_verdict(judge, item, digest, "failed", item.problem or "the case could not be read")
    labelled: Labelled[Any] | None = None
    case: Any = None
    inputs: dict[str, str] = {}
    try:
        case = judge.read(item.record)
        inputs = bounded_inputs(judge.main_inputs(case))  # before anything is paid: a fault in it costs nothing
        facts = judge.study(case)
        questions = open_questions(judge, labeller, case, facts)
        if questions is not None:
            labelled = await labeller.label(Task(judge, case, facts, questions, item.index, digest))
        settlement = judge.settle(case, facts, labelled.labels if labelled else None)
        known = judge.metadata(case) | judge.columns(case, facts, settlement)
        metadata = {**record_metadata(item.record), **known}
        return _with_verdict(judge, item, digest, settlement, labelled, metadata, inputs)
    except Undecided as tie:
        judgement = _paid_for(without_verdict(judge, item, digest, "failed", str(tie)), labeller, tie)
    except CannotJudge as reason:
        judgement = without_verdict(judge, item, digest, "failed", str(reason) or "the judge gave no reason", labelled)
    except LabelFailed as failure:
        judgement = without_verdict(judge, item, digest, "error", str(failure))
        judgement.raw_reply = failure.raw_reply
        judgement = _paid_for(judgement, labeller, failure)
    except (RunStopped, UsageProblem):
        raise
    except Exception as fault:
        judgement = without_verdict(judge, item, digest, "error", describe_fault(fault, judge), labelled)
    judgement.metadata = _known_of(judge, item.record, case)
    judgement.inputs = inputs or _raw_inputs(judge, item.record)
    return judgement


def _known_of(judge: AnyJudge, record: Mapping[str, Any], case: Any) -> dict[str, Any]:
    """What can be known of a case without a verdict, so that failures too are counted where they belong."""
    known = record_metadata(record)
    try:
        known |= {} if case is None else judge.metadata(case)
        orjson.dumps(known)
    except Exception:  # the case has failed already: that is its story, not this
        return record_metadata(record)
    return known


def _raw_inputs(judge: AnyJudge, record: Mapping[str, Any]) -> dict[str, str]:
    """What a case without a verdict can be known by, so that a person finds it again."""
    try:
        return bounded_inputs(judge.raw_inputs(record))
    except Exception:  # the case has failed already: that is its story, not this
        return {}


def open_questions(judge: AnyJudge, labeller: Labeller, case: Any, facts: Any) -> Questions | None:
    """What the labeller is asked; a labeller that reads no questions is spared their writing."""
    if labeller.reads_questions:
        return questions_of(judge, judge.ask(case, facts))
    return Questions((), "") if judge.leaves_open(case, facts) else None


def _paid_for(judgement: Judgement, labeller: Labeller, failure: LabelFailed | Undecided) -> Judgement:
    """Labelling came to nothing, but who was asked, what they said and what it cost is on record."""
    judgement.labeller = labeller.describe()
    judgement.usage, judgement.ballots = failure.usage or Usage(), list(failure.ballots)
    return judgement


def describe_fault(fault: Exception, judge: AnyJudge | None = None) -> str:
    """What went wrong and where in the code, in one line; of a judge's fault, where in the judge's own code."""
    if isinstance(fault, BrokenContract):
        return str(fault)
    return f"{type(fault).__name__}: {fault}{fault_in(type(judge), fault)}"


def _with_verdict(
    judge: AnyJudge,
    item: CaseItem,
    digest: str,
    settlement: Settlement,
    labelled: Labelled[Any] | None,
    metadata: dict[str, Any],
    inputs: dict[str, str],
) -> Judgement:
    orjson.dumps(metadata)  # what cannot be written down must be known here, not when the line is written
    verdict = verdict_of(judge, settlement)
    rulings = settlement.rulings
    rules = {field: ruling.rule for field, ruling in rulings.items()}
    return Judgement(
        index=item.index,
        id=item.id,
        judge=judge.name,
        judge_version=judge.version,
        status="ok",
        verdict=verdict,
        decided_by={field: "labeller" if ruling.from_labels else ruling.rule for field, ruling in rulings.items()},
        rules=rules,
        roll_up=judge.roll_up(verdict, rules),
        evidence={field: list(ruling.evidence) for field, ruling in rulings.items() if ruling.evidence},
        findings=[*settlement.findings, *(labelled.findings if labelled else ())],
        labeller_findings=len(labelled.findings) if labelled else 0,
        labels=labelled.labels.model_dump(mode="json") if labelled else None,
        labeller=labelled.info if labelled else None,
        usage=labelled.usage if labelled else Usage(),
        input_hash=digest,
        source=item.source,
        metadata=metadata,
        inputs=inputs,
        ballots=list(labelled.ballots) if labelled else [],
    )


def without_verdict(
    judge: AnyJudge,
    item: CaseItem,
    digest: str,
    status: Status,
    message: str,
    labelled: Labelled[Any] | None = None,
) -> Judgement:
    """A judgement that explains why there is no verdict; what was paid for before is kept on it."""

    def made(status: Status, message: str, verdict: dict[str, Any] | None) -> Judgement:
        return Judgement(
            index=item.index,
            id=item.id,
            judge=judge.name,
            judge_version=judge.version,
            status=status,
            verdict=verdict,
            reason=message if status == "failed" else None,
            error=message if status == "error" else None,
            labels=labelled.labels.model_dump(mode="json") if labelled else None,
            labeller=labelled.info if labelled else None,
            usage=labelled.usage if labelled else Usage(),
            input_hash=digest,
            source=item.source,
            ballots=list(labelled.ballots) if labelled else [],
        )

    try:
        return made(status, message, judge.failed_form(status, message))
    except Exception as fault:  # the judge's own failed form is no good: say so, and give none
        return made("error", f"{message}; and the judge's failed form: {describe_fault(fault, judge)}", None)
