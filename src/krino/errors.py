"""Every exception that Krino raises on purpose.

KrinoError
├── UsageProblem       the command, a setting or a file is wrong: says where and what to do (exit code 2)
│   └── JudgeBroke     a judge's own code breaks on labels that a model may give (exit code 70)
├── NotJudged          the verdict of a case that has none was requested
├── CannotJudge        this case cannot be judged: the judgement is `failed`, with this reason
│   └── Undecided      the seats of a panel are evenly split, and no label says so; ballots and cost are kept
├── LabelFailed        no valid labels were obtained: the judgement is `error`, the raw reply is kept
├── Waiting            the reply will come in a batch file: the case is judged when it has arrived
└── RunStopped         the whole run must stop now (refused key, spent budget); it can be continued

KeyboardInterrupt
└── UserInterrupt      somebody wants the command to end
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from krino.contract import Ballot, Usage


class KrinoError(Exception):
    """Base of all of them."""


class UsageProblem(KrinoError):
    """Something the user can put right: a flag, a setting, a file."""


class JudgeBroke(UsageProblem):
    """The code of a judge raises on labels that it accepts: a fault in it, found before anybody was paid."""


class NotJudged(KrinoError):
    """The verdict of a case that was not judged; the message says why it was not."""


class CannotJudge(KrinoError):
    """The case itself makes judging impossible (missing answer, unreadable trace)."""


class Undecided(CannotJudge):
    """A panel was asked and is split so that nothing follows from its ballots."""

    def __init__(self, message: str, *, usage: Usage, ballots: Sequence[Ballot]) -> None:
        super().__init__(message)
        self.usage = usage
        self.ballots = ballots


class LabelFailed(KrinoError):
    """The labeller gave nothing that can be used, after every allowed try."""

    def __init__(
        self,
        message: str,
        *,
        raw_reply: str | None = None,
        usage: Usage | None = None,
        ballots: Sequence[Ballot] = (),
        stopped: RunStopped | None = None,
    ) -> None:
        super().__init__(message)
        self.raw_reply = raw_reply
        self.usage = usage
        self.ballots = ballots
        self.stopped = stopped
        """Why the whole run must stop, where that cut a case short that was paid for in part."""


class Waiting(KrinoError):
    """No fault: the model was asked by batch file, and the file is not back. `batch` is its number."""

    def __init__(self, batch: int) -> None:
        super().__init__(f"the reply comes with batch {batch}")
        self.batch = batch


class Limit(NamedTuple):
    """A limit that the user has set: the name of the setting (`max_tokens`, `max_cost`) and its value."""

    setting: str
    value: float


class RunStopped(KrinoError):
    """Going on would only waste money or time; what is finished is kept.

    `kind` says what stopped it, for code; the message is for people. `limit` is the one that was reached, if any.
    """

    def __init__(self, message: str, *, kind: str, limit: Limit | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.limit = limit

    def __reduce__(self) -> tuple[partial[RunStopped], tuple[str]]:
        """Makes the exception picklable for other processes; those with keyword-only arguments are not by default."""
        return partial(RunStopped, kind=self.kind, limit=self.limit), (str(self),)


class UserInterrupt(KeyboardInterrupt):
    """Ctrl-C or a request to end, as Krino's commands raise it; not a `KeyboardInterrupt` that a judge raises."""
