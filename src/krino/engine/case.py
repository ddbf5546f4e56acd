"""Takes one case through a judge: read, study, ask, label, settle. Whatever happens, there is a judgement."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson

from krino.cases.content import content_hash
from krino.cases.item import CaseItem
from krino.cases.metadata import metadata_with, record_metadata
from krino.contract import (
    AnyJudge,
    Finding,
    Judgement,
    Labelled,
    Labeller,
    Questions,
    Settlement,
    Status,
    Task,
    Unread,
    Usage,
    hash_record,
)
from krino.contract.code_limit import CASE_SECONDS, CodeBroke, CodeLimit
from krino.contract.judge_checks import BrokenContract, check_questions, figures_of, settle_case, verdict_of
from krino.contract.record_fields import bounded_inputs, find_rival_fields
from krino.contract.source_lines import locate_fault
from krino.engine.views import StudiedCase, ViewKeeper
from krino.errors import CannotJudge, LabelFailed, RunStopped, Undecided, UsageProblem, Waiting
from krino.text.clean import cut, sound
from krino.text.faults import describe_exception, fault_message

_MOST_UNREAD = 50
_LONGEST_UNREAD = 300


class Judged(NamedTuple):
    """A judged case. `stop`: why the run must end after it, for example a spent budget."""

    judgement: Judgement
    stop: RunStopped | None = None
    studied: StudiedCase | None = None
    """What a view is made from; None if the judge could not read or study the case."""

    def keep_view(self, judge: AnyJudge, views: ViewKeeper | None, seconds: float = CASE_SECONDS) -> None:
        """Keeps the view of the case, if views are kept. Call it after the judgement was recorded: a paid judgement
        must not wait for a view."""
        if views is not None:
            views.keep(judge, self.studied, self.judgement, seconds)


class Written(NamedTuple):
    """A judgement as its line in the journal, with what a run needs to know of it: what a worker sends back.

    It has the attributes of a judgement that a journal and a `Trial` read, so the process that writes the run never has
    to parse a judgement of a worker.
    """

    line: bytes
    input_hash: str
    status: Status
    usage: Usage
    error: str | None = None
    labels: Mapping[str, Any] | None = None
    """Only of errors, where they show that labels were paid for before the judge broke."""

    def to_json(self) -> bytes:
        return self.line

    def read(self) -> Judgement:
        return Judgement.model_validate_json(self.line)


def written(judge: AnyJudge, item: CaseItem, judgement: Judgement) -> Written:
    """Serialises a judgement; if something in it cannot be written, the case becomes an error and the run goes on."""
    try:
        line = judgement.to_json()
    except ValueError as fault:
        judgement = unwritable(judge, item, judgement, fault)
        line = judgement.to_json()
    labels = judgement.labels if judgement.status == "error" else None
    return Written(line, judgement.input_hash, judgement.status, judgement.usage, judgement.error, labels)


def unwritable(judge: AnyJudge, item: CaseItem, judgement: Judgement | Written, fault: ValueError) -> Judgement:
    """Returns the error that replaces a judgement which cannot be written, with the reason and what was paid."""
    return without_verdict(judge, item, judgement.input_hash, "error", describe_fault(fault), usage=judgement.usage)


def input_hash(item: CaseItem, judge: AnyJudge | None) -> str:
    """Returns the hash of what the judge reads of a case; for a case that cannot be read, of the problem and the raw
    text."""
    if item.record is None:
        return hash_record([item.problem, item.raw])
    return hash_record(item.record) if judge is None else content_hash(judge, item.record)


async def judge_item(
    judge: AnyJudge, labeller: Labeller, item: CaseItem, digest: str | None = None, seconds: float = CASE_SECONDS
) -> Judgement:
    """Judges one case and returns its judgement alone, without the reason to stop the run that may come with it."""
    return (await carry(judge, labeller, item, digest, seconds=seconds)).judgement


async def carry(
    judge: AnyJudge,
    labeller: Labeller,
    item: CaseItem,
    digest: str | None = None,
    seconds: float = CASE_SECONDS,
) -> Judged:
    """Judges one case. Of all faults only `RunStopped`, `UsageProblem` and `Waiting` are raised: others are recorded.

    Args:
        seconds: what the judge's own code may take; see `contract.code_limit`.
    """
    limit = CodeLimit(seconds)
    known = _Known(judge, item, digest or input_hash(item, judge), seconds)
    if item.record is None:
        return known.judged(known.without_verdict("failed", item.problem or "the case could not be read"))
    try:
        with limit:
            known.case = judge.read(item.record)
            known.inputs = bounded_inputs(judge.main_inputs(known.case))  # before anything is paid: it costs nothing
            facts = known.facts = judge.study(known.case)
            known.is_studied = True
            questions = known.questions = open_questions(judge, labeller, known.case, facts)
            known.has_questions = labeller.reads_questions
        if questions is not None:
            task = Task(judge, known.case, facts, questions, item.index, known.digest, seconds=seconds)
            known.labelled = await labeller.label(task)
        # Nothing is awaited from here on: a case that was paid for is recorded even if the run is cancelled.
        labels = known.labelled.labels if known.labelled else None
        with limit:
            settlement = settle_case(judge, known.case, facts, labels)
            known.verdict = verdict_of(judge, settlement)
            known.figures = figures_of(judge, settlement) if judge.figures_model.model_fields else {}
            return known.judged(known.judgement(settlement))
    except Undecided as tie:
        return known.judged(known.without_verdict("failed", fault_message(tie), **_describe_asking(labeller, tie)))
    except CannotJudge as reason:
        return known.judged(known.without_verdict("failed", fault_message(reason) or "the judge gave no reason"))
    except LabelFailed as failure:
        asked = {"raw_reply": failure.raw_reply, **_describe_asking(labeller, failure)}
        return known.judged(known.without_verdict("error", fault_message(failure), **asked), failure.stopped)
    except (RunStopped, UsageProblem, Waiting):
        raise
    except Exception as fault:
        return known.judged(known.without_verdict("error", describe_fault(fault, judge)))
    except (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as fault:  # of a labeller's own code, or in between two steps
        limit.stop()
        return known.judged(known.without_verdict("error", describe_fault(fault, judge)))


def open_questions(judge: AnyJudge, labeller: Labeller, case: Any, facts: Any) -> Questions | None:
    """Returns what the labeller is asked, or None if the facts leave nothing open. A labeller that reads no questions
    gets empty ones."""
    if labeller.reads_questions:
        return check_questions(judge, judge.ask(case, facts))
    return Questions((), "") if judge.leaves_open(case, facts) else None


def describe_fault(fault: BaseException, judge: AnyJudge | None = None) -> str:
    """Returns what went wrong and where, in one line; for a fault of a judge, the place in the judge's own code."""
    if isinstance(fault, BrokenContract):
        return fault_message(fault)
    if isinstance(fault, CodeBroke):
        return f"{fault_message(fault)}{locate_fault(type(judge), fault.__cause__ or fault)}"
    return f"{describe_exception(fault)}{locate_fault(type(judge), fault)}"


def without_verdict(
    judge: AnyJudge,
    item: CaseItem,
    digest: str,
    status: Status,
    message: str,
    *,
    seconds: float = CASE_SECONDS,
    **more: Any,
) -> Judgement:
    """Returns a judgement that says why there is no verdict, with the judge's failed form; `more` are its other fields.
    If the failed form itself is faulty, the status becomes `error`."""

    def make(status: Status, message: str, verdict: dict[str, Any] | None) -> Judgement:
        reason = {"reason" if status == "failed" else "error": message}
        return _make_judgement(judge, item, digest, status=status, verdict=verdict, **reason, **more)

    message = sound(message)
    try:
        with CodeLimit(seconds):
            form = judge.failed_form(status, message)
        return make(status, message, form)
    except Exception as fault:  # the judge's own failed form is faulty: say so, and use none
        return make("error", f"{message}; and the judge's failed form: {describe_fault(fault, judge)}", None)


@dataclass(slots=True)
class _Known:
    """What is known of a case so far. The judgement is made from it, at whichever step the case ends."""

    judge: AnyJudge
    item: CaseItem
    digest: str
    seconds: float = CASE_SECONDS
    case: Any = None
    facts: Any = None
    is_studied: bool = False
    questions: Questions | None = None
    has_questions: bool = False
    """Whether `questions` were written; for a labeller that reads none they are not."""
    inputs: dict[str, str] = field(default_factory=dict)
    labelled: Labelled[Any] | None = None
    verdict: dict[str, Any] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)

    def judged(self, judgement: Judgement, stop: RunStopped | None = None) -> Judged:
        """Returns the judgement with the case as it was studied, from which a view is made."""
        studied = StudiedCase(self.case, self.facts, self.questions, self.has_questions) if self.is_studied else None
        return Judged(judgement, stop, studied)

    def rivals(self) -> Iterator[Finding]:
        return find_rival_fields(self.judge, self.item.record or {})

    def judgement(self, settlement: Settlement) -> Judgement:
        """Makes the judgement of a case whose verdict is known; raises if its metadata cannot be written as JSON."""
        judge, labelled = self.judge, self.labelled
        columns = judge.metadata(self.case) | judge.columns(self.case, self.facts, settlement)
        metadata = metadata_with(columns, self.item.record or {})
        orjson.dumps(metadata)  # raises here, where the case becomes an error, and not when the line is written
        rulings = settlement.rulings
        decided = {**rulings, **settlement.figures}
        rules = {field: ruling.rule for field, ruling in decided.items()}
        judgement = _make_judgement(
            judge,
            self.item,
            self.digest,
            status="ok",
            verdict=self.verdict,
            figures=self.figures,
            decided_by={field: "labeller" if ruling.from_labels else ruling.rule for field, ruling in rulings.items()},
            rules=rules,
            roll_up=judge.roll_up(self.verdict, rules),
            evidence={field: list(ruling.evidence) for field, ruling in decided.items() if ruling.evidence},
            findings=[*settlement.findings, *self.rivals(), *(labelled.findings if labelled else ())],
            labeller_findings=len(labelled.findings) if labelled else 0,
            unread=_bound_unread(settlement.unread),
            metadata=metadata,
            inputs=self.inputs,
            **self._paid(),
        )
        return judgement.of_model(judge.verdict_model)

    def without_verdict(self, status: Status, message: str, **more: Any) -> Judgement:
        """Makes a judgement without a verdict. It keeps metadata and inputs, so that failures are found and counted in
        their slices, and what was paid, unless `more` gives that."""
        record = self.item.record
        known = (
            {"metadata": self._metadata(record), "inputs": self.inputs or self._raw_inputs(record)} if record else {}
        )
        fields = {**known, **(more or self._paid())}
        return without_verdict(self.judge, self.item, self.digest, status, message, seconds=self.seconds, **fields)

    def _paid(self) -> dict[str, Any]:
        """Returns the labels, usage and ballots that were paid for before the case failed."""
        labelled = self.labelled
        if labelled is None:
            return {}
        return {
            "labels": labelled.labels.model_dump(mode="json"),
            "labeller": labelled.info,
            "usage": labelled.usage,
            "ballots": list(labelled.ballots),
        }

    def _metadata(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the judge's metadata of a case; if that fails, the record's own."""
        try:
            with CodeLimit(self.seconds):
                known = metadata_with({} if self.case is None else self.judge.metadata(self.case), record)
                orjson.dumps(known)
        except Exception:  # the case has failed already, and the judgement says why
            return record_metadata(record)
        return known

    def _raw_inputs(self, record: Mapping[str, Any]) -> dict[str, str]:
        """Returns the inputs as the judge shows them, or none if that fails."""
        try:
            with CodeLimit(self.seconds):
                return bounded_inputs(self.judge.raw_inputs(record))
        except Exception:  # the case has failed already, and the judgement says why
            return {}


def _bound_unread(unread: Sequence[Unread]) -> list[Unread]:
    """Returns what was left out, cut to a bound: a journal line must not grow with it. A last entry says how many are
    not listed."""
    shown = [replace(left, text=cut(left.text, _LONGEST_UNREAD)) for left in unread[:_MOST_UNREAD]]
    if more := len(unread) - len(shown):
        shown.append(Unread("case", f"{more:,} more pieces of text", f"only the first {_MOST_UNREAD} are listed"))
    return shown


def _make_judgement(judge: AnyJudge, item: CaseItem, digest: str, **fields: Any) -> Judgement:
    """Makes the judgement of a case."""
    return Judgement(
        index=item.index,
        id=item.id,
        judge=judge.name,
        judge_version=judge.version,
        input_hash=digest,
        source=item.source,
        time=datetime.now(UTC),
        **fields,
    )


def _describe_asking(labeller: Labeller, failure: LabelFailed | Undecided) -> dict[str, Any]:
    """Returns what is recorded of labelling that failed: who was asked, what they answered and what it cost."""
    return {
        "labeller": labeller.describe(),
        "usage": failure.usage or Usage(),
        "ballots": list(failure.ballots),
    }
