"""What a worker pool and its workers send each other."""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from krino.contract.code_limit import CASE_SECONDS
from krino.engine.case import Written
from krino.engine.interface import OpenCase
from krino.errors import LabelFailed, RunStopped, UsageProblem
from krino.judges.reference import JudgeReference
from krino.labellers.remote import Call, PortableLabeller

REPORT_SECONDS = 0.1
"""How long a worker collects results before it sends them: a message costs more than what is in it."""


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """All that a worker needs to begin. Loading it runs the judge's code, so it is only sent to one's own workers."""

    judge: JudgeReference
    labeller: PortableLabeller
    keys_in: frozenset[str] = frozenset()
    """Variables of the parent's environment that hold keys."""
    report_seconds: float = REPORT_SECONDS
    case_seconds: float = CASE_SECONDS
    with_views: bool = False
    """Whether the views of cases are wanted."""

    def forget_keys(self) -> None:
        """Removes inherited keys from the environment: a worker never needs them, and the judge's code, which is loaded
        next, must not find them."""
        for name in self.keys_in:
            os.environ.pop(name, None)


def pack_cases(cases: Sequence[OpenCase]) -> bytes:
    """Packs cases into one piece of bytes: their objects would take several times the memory while they wait."""
    return pickle.dumps(list(cases), pickle.HIGHEST_PROTOCOL)


def unpack_cases(batch: bytes) -> list[OpenCase]:
    cases: list[OpenCase] = pickle.loads(batch)  # noqa: S301 - packed by Krino itself
    return cases


# --- to a worker ---------------------------------------------------------------------------------------


class Cases(NamedTuple):
    """Judge these. They come in batches as `pack_cases` makes them, and are unpacked one batch after another."""

    how_many: int
    batches: list[bytes]


class CallAnswer(NamedTuple):
    """The result of a gateway call."""

    number: int
    value: Any
    fault: RunStopped | LabelFailed | UsageProblem | None = None


class Stop(NamedTuple):
    """There are no more cases. `now`: do not begin those that the worker has either."""

    now: bool


# --- from a worker -------------------------------------------------------------------------------------


class Ready(NamedTuple):
    """The first message: judge and labeller are built."""


class Done(NamedTuple):
    """Judged cases by their numbers, each with None if the run was stopped before it had a judgement."""

    cases: list[tuple[int, Written | None]]


class Views(NamedTuple):
    """Views of cases that were sent back, as the lines in which they are kept."""

    lines: list[bytes]


class GatewayCall(NamedTuple):
    """A call that the worker's labeller makes to a gateway of the parent."""

    number: int
    call: Call


class Ended(NamedTuple):
    """The last message."""

    reason: RunStopped | UsageProblem | None


ToWorker = Cases | CallAnswer | Stop
FromWorker = Ready | Done | Views | GatewayCall | Ended
