"""What is watched and where scores go: a complete trace, the sources of traces, and the targets of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from krino.contract import Judgement
from krino.errors import KrinoError


class WatchedTrace(NamedTuple):
    """A trace that is complete, as the case that a judge reads."""

    id: str
    case: Mapping[str, Any]
    """Has `trace_id` and, if the root is known, `span_id`, beside the fields for the judge."""


class TraceSource(Protocol):
    """Gives traces that are complete. After a restart it gives earlier ones again; the watch knows them by id."""

    @property
    def at_end(self) -> bool:
        """Whether the last look read all that was there."""

    async def look(self) -> list[WatchedTrace]:
        """Returns the traces that have become complete since the last look; raises `SourceDown` if none can be read."""

    async def aclose(self) -> None: ...


class Scored(NamedTuple):
    """A judged trace, whose scores are to be written."""

    trace_id: str
    span_id: str | None
    judgement: Judgement[Any]


class ScoreTarget(Protocol):
    """Takes scores. Writing the same judgement twice must leave each score there once, by an id of its own."""

    async def write(self, scored: Sequence[Scored]) -> int:
        """Writes the scores, or raises `NotWritten`; then all of them are written again later.

        Returns how many scores the target refused for good.
        """

    async def aclose(self) -> None: ...


class SourceDown(KrinoError):
    """The source cannot be read now; it is tried again."""


class NotWritten(KrinoError):
    """The scores could not be written now; they are written later."""
