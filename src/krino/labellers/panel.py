"""The panel: several seats label a case, each on its own, and their votes are joined label by label.

A jury seats several labellers; a repeat seats one labeller several times, from the second time on with the parts of
the case whose order must not matter in another order. Each seat's labels, and the verdict they alone would give, are
kept as its ballot.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Generic

from krino.contract import (
    Ballot,
    CaseT,
    FactsT,
    Finding,
    Forecast,
    Joined,
    Labelled,
    Labeller,
    LabelsT,
    SoFar,
    Task,
    Usage,
)
from krino.contract.joining import canonical_labels
from krino.contract.judge_checks import settle_case, verdict_of
from krino.errors import CannotJudge, LabelFailed, RunStopped, Undecided, UsageProblem, Waiting
from krino.labellers.local import LocalLabeller
from krino.text.faults import describe_exception

ABSENT = "KRINO-SEAT-ABSENT"
TIE = "KRINO-SEATS-TIED"
REST = 300.0
"""Seconds for which a member whose endpoint is dead is not asked: finding that out takes up to five minutes."""
MOST_REPEATS = 100
"""Far more than it takes to see how stable a model is; a slip of the keyboard would cost a fortune."""
_SHOWN_TIES = 20


@dataclass(frozen=True, slots=True)
class Seat:
    """A member's place: `repeat` counts the askings of the same member from 1."""

    name: str
    member: Labeller
    repeat: int

    def __str__(self) -> str:
        return self.name if self.repeat == 1 else f"{self.name} (repeat {self.repeat})"


@dataclass(slots=True)
class Vote(Generic[LabelsT]):
    """What came of asking one seat."""

    ballot: Ballot
    labels: LabelsT | None = None
    findings: tuple[Finding, ...] = ()
    raw_reply: str | None = None
    stopped: RunStopped | None = field(default=None)


class Panel(Labeller):
    """Asks every seat at the same time. A quorum must answer: more than half of the seats, unless another is stated.

    A member whose endpoint does not answer at all rests for some minutes, as long as the others make a quorum. Every
    other reason to stop the run (a refused key, a spent budget) stops it: it can be continued with the whole panel.
    """

    def __init__(self, members: Mapping[str, Labeller], *, repeat: int = 1, quorum: int | None = None) -> None:
        if not 1 <= repeat <= MOST_REPEATS:
            raise UsageProblem(f"each model is asked 1 to {MOST_REPEATS} times about a case (--repeat), not {repeat:,}")
        self.members = dict(members)
        self.repeat = repeat
        self.seats = [Seat(name, member, n) for n in range(1, repeat + 1) for name, member in self.members.items()]
        self.quorum = majority(len(self.seats)) if quorum is None else quorum
        if len(self.seats) < 2:
            raise UsageProblem("a panel needs two seats at least: name several labellers, or repeat one")
        if repeat > 1 and any(isinstance(member, LocalLabeller) for member in self.members.values()):
            raise UsageProblem(
                "the embedded labeller says the same each time, so there is nothing to repeat: "
                "name a model (--labeller MODEL), or leave out --repeat"
            )
        if not 1 <= self.quorum <= len(self.seats):
            raise UsageProblem(f"quorum must be 1 to {len(self.seats)} (the seats), not {self.quorum}")
        self.workers = max(member.workers for member in self.members.values())
        self.reads_questions = any(member.reads_questions for member in self.members.values())
        self._described = {name: member.describe() for name, member in self.members.items()}
        descriptions = list(self._described.values())
        if twice := [name for name, own in self._described.items() if descriptions.count(own) > 1]:
            raise UsageProblem(f"`{twice[0]}` sits on the jury twice: to ask it more than once, repeat it (--repeat N)")
        self._resting: dict[str, tuple[RunStopped, float]] = {}

    def describe(self) -> dict[str, Any]:
        return {"kind": "panel", "members": self._described, "repeat": self.repeat, "quorum": self.quorum}

    async def label(self, task: Task[CaseT, FactsT, LabelsT]) -> Labelled[LabelsT]:
        """Asks all seats at once, and joins their votes; a reason to stop the run is raised after all have answered."""
        votes = await asyncio.gather(*(self._ask(seat, task) for seat in self.seats))
        if stop := self._find_stop_reason(votes):
            raise self._choose_stop_error(stop, votes)
        return conclude(task, votes, self.quorum, self.describe())

    def _choose_stop_error(self, stop: RunStopped, votes: Sequence[Vote[LabelsT]]) -> RunStopped | LabelFailed:
        """Returns what to raise when the run must stop: the stop itself, or a failure that records the cost and the
        ballots of a case that is paid for in part; the run stops after it."""
        usage = _sum_usage(votes)
        if not usage.calls:
            return stop
        ballots = [vote.ballot for vote in votes]
        message = f"the run was stopped before every seat had answered: {stop}"
        return LabelFailed(message, usage=usage, ballots=ballots, stopped=stop)

    def forecast(self, task: Task[Any, Any, Any]) -> Forecast:
        return Forecast.total(seat.member.forecast(self._task_for_seat(seat, task)[0]) for seat in self.seats)

    def already_spent(self, usage: Usage) -> None:
        """Passes what the run has spent on to every member."""
        for member in self.members.values():
            member.already_spent(usage)

    def waiting_for(self) -> str | None:
        """Returns what the members wait for, each reason once; None if none waits."""
        reasons = dict.fromkeys(filter(None, (member.waiting_for() for member in self.members.values())))
        return "; ".join(reasons) or None

    def so_far(self) -> SoFar | None:
        """Returns what all members have used so far, or None if no member counts."""
        known = [done for member in self.members.values() if (done := member.so_far()) is not None]
        usage = Usage()
        for done in known:
            usage.add(done.usage)
        if not known:
            return None
        left_out = tuple(dict.fromkeys(name for done in known for name in done.left_out))
        return SoFar(usage, sum(done.retries for done in known), sum(done.timeouts for done in known), left_out)

    def stop(self) -> None:
        for member in self.members.values():
            member.stop()

    async def aclose(self) -> None:
        for member in self.members.values():
            await member.aclose()

    # --- one seat ----------------------------------------------------------------------------------

    async def _ask(self, seat: Seat, task: Task[CaseT, FactsT, LabelsT]) -> Vote[LabelsT]:
        """Asks one seat and returns its vote. A fault, whatever it is, makes a vote without labels: the quorum decides
        what that means. Only `UsageProblem` and `Waiting` are raised."""
        ballot = Ballot(seat.name, seat.repeat)
        if (dead := self._find_rest_reason(seat)) is not None:
            ballot.problem = f"not asked: {dead}"
            return Vote(ballot, stopped=dead)
        shown, restored = self._task_for_seat(seat, task)
        ballot.order = None if restored is None else list(restored.order)
        try:
            labelled = await seat.member.label(shown)
            given = labelled.labels if restored is None else restored.restore(labelled.labels)
            labels = task.accept(given.model_dump(mode="json"))  # any member, as strictly as a reply
        except LabelFailed as failure:
            ballot.problem, ballot.usage = str(failure), failure.usage or Usage()
            return Vote(ballot, raw_reply=failure.raw_reply, stopped=self._note_dead(seat, failure.stopped))
        except RunStopped as reason:
            ballot.problem = str(reason)
            return Vote(ballot, stopped=self._note_dead(seat, reason))
        except (UsageProblem, Waiting):  # while one seat waits for a batch file, the others have been asked too
            raise
        except Exception as fault:
            ballot.problem = describe_exception(fault)
            return Vote(ballot)
        described = self._described[seat.name]
        ballot.labeller = {key: value for key, value in labelled.info.items() if described.get(key) != value}
        ballot.usage, ballot.labels = labelled.usage, labels.model_dump(mode="json")
        return Vote(ballot, labels, labelled.findings)

    def _task_for_seat(
        self, seat: Seat, task: Task[CaseT, FactsT, LabelsT]
    ) -> tuple[Task[CaseT, FactsT, LabelsT], Any]:
        """Returns the task as this seat sees it, and the reordering by which its labels are read back. The first asking
        sees the case as it is: None."""
        own = replace(task, repeat=seat.repeat)
        if seat.repeat == 1:
            return own, None
        draw = Random(f"{task.input_hash} {seat.repeat}")  # noqa: S311 - the same order again when a run goes on
        moved = task.judge.reorder(task.case, task.facts, draw)
        questions = None if moved is None else task.judge.ask(moved.case, moved.facts)
        if moved is None or questions is None:
            return own, None
        return replace(own, case=moved.case, facts=moved.facts, questions=questions), moved

    def _find_stop_reason(self, votes: Sequence[Vote[LabelsT]]) -> RunStopped | None:
        """Returns why the run must stop; None if it goes on. A dead endpoint stops it only if the seats that are left
        make no quorum, any other reason always."""
        stops = [vote.stopped for vote in votes if vote.stopped is not None]
        for_all = [stop for stop in stops if stop.kind != "endpoint"]
        if for_all:
            return for_all[0]
        left = sum(self._find_rest_reason(seat) is None for seat in self.seats)
        return stops[0] if stops and left < self.quorum else None

    def _note_dead(self, seat: Seat, reason: RunStopped | None) -> RunStopped | None:
        """Returns `reason` as it is; if it is a dead endpoint, the seat's member is not asked for some minutes."""
        if reason is not None and reason.kind == "endpoint":
            self._resting[seat.name] = reason, time.monotonic() + REST
        return reason

    def _find_rest_reason(self, seat: Seat) -> RunStopped | None:
        """Returns why the member of a seat is not asked at the moment; None if it is asked."""
        reason, until = self._resting.get(seat.name, (None, 0.0))
        return reason if time.monotonic() < until else None


def majority(seats: int) -> int:
    return seats // 2 + 1


# --- from votes to labels --------------------------------------------------------------------------


def conclude(
    task: Task[CaseT, FactsT, LabelsT], votes: Sequence[Vote[LabelsT]], quorum: int, info: dict[str, Any]
) -> Labelled[LabelsT]:
    """Joins the votes into labels, and settles each ballot by itself. Raises `LabelFailed` without a quorum,
    `Undecided` on a hopeless tie; both carry every ballot."""
    given = [vote for vote in votes if vote.labels is not None]
    for vote in given:
        _settle_vote(task, vote)
    ballots, usage = tuple(vote.ballot for vote in votes), _sum_usage(votes)
    absent = [vote for vote in votes if vote.labels is None]
    if len(given) < quorum:
        problems = "; ".join(f"{vote.ballot.member}: {vote.ballot.problem}" for vote in absent)
        raw = next((vote.raw_reply for vote in absent if vote.raw_reply is not None), None)
        message = f"{len(given)} of {len(votes)} seats gave valid labels, and {quorum} must: {problems}"
        raise LabelFailed(message, raw_reply=raw, usage=usage, ballots=ballots)
    try:
        joined = join(task, [vote.labels for vote in given if vote.labels is not None])
    except CannotJudge as tie:
        raise Undecided(str(tie), usage=usage, ballots=ballots) from None
    findings = (
        *dict.fromkeys(finding for vote in given for finding in vote.findings),
        *_describe_absent_and_ties(absent, joined.ties),
    )
    return Labelled(joined.labels, info, usage, findings, ballots)


def join(task: Task[CaseT, FactsT, LabelsT], given: Sequence[LabelsT]) -> Joined[LabelsT]:
    """Joins the labels of all seats, whatever their order. Raises `CannotJudge` on a hopeless tie, or if the result
    does not fit the case."""
    ballots = sorted(given, key=canonical_labels)
    if all(labels == ballots[0] for labels in ballots):
        return Joined(ballots[0])
    joined = task.judge.join_votes(task.case, task.facts, ballots)
    try:
        return replace(joined, labels=task.accept(joined.labels.model_dump(mode="json")))
    except ValueError as misfit:
        raise CannotJudge(f"the votes of the seats make no labels that fit the case: {misfit}") from None


def _settle_vote(task: Task[CaseT, FactsT, LabelsT], vote: Vote[LabelsT]) -> None:
    """Writes the verdict that this seat alone would have given, and its roll-up, into the ballot; a fault is noted
    there as its problem."""
    assert vote.labels is not None
    ballot, judge = vote.ballot, task.judge
    try:
        settlement = settle_case(judge, task.case, task.facts, vote.labels)
        rules = {name: ruling.rule for name, ruling in settlement.rulings.items()}
        ballot.verdict = verdict_of(judge, settlement)
        ballot.roll_up = judge.roll_up(ballot.verdict, rules)
    except Exception as fault:  # its labels still vote; the joined ones are settled with all care
        ballot.verdict, ballot.problem = None, f"no verdict from these labels alone: {describe_exception(fault)}"


def _describe_absent_and_ties(absent: Sequence[Vote[Any]], ties: Sequence[str]) -> Iterator[Finding]:
    """Yields a finding for each vote that is missing and each label that was tied, up to a limit for ties."""
    for vote in absent:
        yield Finding(
            ABSENT, f"no labels from {vote.ballot.member}: {vote.ballot.problem}", f"repeat {vote.ballot.repeat}"
        )
    for tie in ties[:_SHOWN_TIES]:
        yield Finding(TIE, tie)
    if len(ties) > _SHOWN_TIES:
        yield Finding(TIE, f"and {len(ties) - _SHOWN_TIES} more")


def _sum_usage(votes: Sequence[Vote[Any]]) -> Usage:
    """Returns what all votes together cost."""
    total = Usage()
    for vote in votes:
        total.add(vote.ballot.usage)
    return total
