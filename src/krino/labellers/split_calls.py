"""Labels a case that is asked in parts: one after another, the labels joined, the money of all of them counted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from krino.contract import CaseT, FactsT, Finding, Labelled, LabelsT, Questions, Task, Usage
from krino.contract.labeller import in_parts
from krino.errors import LabelFailed, RunStopped, Waiting
from krino.text.faults import describe_exception

LabelPiece = Callable[[Task[CaseT, FactsT, LabelsT]], Awaitable[Labelled[LabelsT]]]


async def label_in_parts(
    task: Task[CaseT, FactsT, LabelsT], label_piece: LabelPiece[CaseT, FactsT, LabelsT]
) -> Labelled[LabelsT]:
    """Labels a case part by part and joins the labels. The first part that fails fails the case: no more is spent on
    it, and the failure carries what was spent.

    Parts that go by batch file go together: each would take up to a day.
    """
    pieces = task.pieces()
    usage = Usage()
    done: list[tuple[Questions, LabelsT]] = []
    infos: list[dict[str, Any]] = []
    findings: dict[Finding, None] = {}
    waiting: Waiting | None = None
    for number, piece in enumerate(pieces, 1):
        where = f"part {number} of {len(pieces)}"
        try:
            labelled = await label_piece(piece)
        except Waiting as wait:
            waiting = wait
            continue
        except LabelFailed as failure:
            if waiting is not None:  # the parts that are out are paid for: the case ends when they are back
                raise waiting from None
            usage.add(failure.usage or Usage())
            message = f"{where}: {failure}"
            raise LabelFailed(message, raw_reply=failure.raw_reply, usage=usage, stopped=failure.stopped) from None
        except RunStopped as reason:
            if not usage.calls:
                raise
            # Earlier parts are paid for: their cost is recorded with this case, and the next one stops the run.
            message = f"the run was stopped before {where}: {reason}"
            raise LabelFailed(message, usage=usage, stopped=reason) from None
        usage.add(labelled.usage)
        done.append((piece.questions, labelled.labels))
        infos.append(labelled.info)
        findings.update(dict.fromkeys(labelled.findings))
    if waiting is not None:
        raise waiting
    return _join_parts(task, done, infos, usage, tuple(findings))


def _join_parts(
    task: Task[CaseT, FactsT, LabelsT],
    done: list[tuple[Questions, LabelsT]],
    infos: list[dict[str, Any]],
    usage: Usage,
    findings: tuple[Finding, ...],
) -> Labelled[LabelsT]:
    """Joins the labels of all parts of a case and checks them; a failure carries what the parts cost."""
    try:
        labels, about = in_parts(task.judge).join_parts(task.case, task.facts, done)
    except Exception as fault:  # a fault of the judge's own; what was paid for stays on record
        raise LabelFailed(f"joining {len(done)} parts: {describe_exception(fault)}", usage=usage) from fault
    if problems := task.judge.check(task.case, task.facts, labels):
        raise LabelFailed(f"the joined labels of {len(done)} parts do not fit: {'; '.join(problems)}", usage=usage)
    asked = [info for info in infos if info.get("channel") != "cache"]
    info = {**(asked or infos)[-1], "parts": len(done)}
    return Labelled(labels, info, usage, (*about, *findings))
