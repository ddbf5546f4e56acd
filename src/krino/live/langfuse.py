"""Reads traces from Langfuse, and writes their scores to them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from krino.adapters.packages import needs
from krino.adapters.shared_judge import SharedJudge
from krino.adapters.verdict_fields import Field, status
from krino.exports.otel import score_uid
from krino.live.interfaces import NotWritten, Scored, SourceDown, WatchedTrace
from krino.live.open_traces import OpenTraces, describe_late_spans, make_trace
from krino.live.since import Since

with needs("langfuse"):
    from langfuse import Langfuse
    from langfuse.api.scores.types.create_score_request import CreateScoreRequest

_PAGE = 1000


class LangfuseTraces:
    """A `TraceSource`: observations of the project whose keys are in LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY."""

    at_end = True

    def __init__(
        self,
        folder: Path,
        start: datetime | None,
        quiet: float,
        is_known: Callable[[str], bool],
        notify: Callable[[str], None],
    ) -> None:
        self._client = Langfuse(tracing_enabled=False)
        self._since = Since(folder, start)
        self._traces = OpenTraces(quiet, is_known)
        self._is_known, self._notify = is_known, notify
        self._read: set[str] | None = None
        """The ids of the observations of the last look; the next one reads most of them again."""

    async def look(self) -> list[WatchedTrace]:
        """Reads the observations since the last look, and returns the traces that are complete."""
        self._since.begin_look()
        try:
            found = await asyncio.to_thread(self._read_observations)
        except Exception as fault:  # of the client, which raises many kinds
            raise SourceDown(f"Langfuse cannot be read: {type(fault).__name__}: {str(fault)[:300]}") from None
        if late := self._count_late(found):
            self._notify(describe_late_spans(late))
        for observation in found:
            self._traces.add(observation, time.time())
        ready = self._traces.take_complete(time.time())
        self._since.end_look([datetime.fromisoformat(each["startTime"]) for each in found], self._open_since())
        self.at_end = not self._traces.any_ended
        return [make_trace(spans) for spans in ready]

    def _read_observations(self) -> list[dict[str, Any]]:
        """Reads all observations from the stored time on, page by page. Blocks."""
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            page = self._client.api.observations.get_many(
                fields="core,basic,io,usage", limit=_PAGE, cursor=cursor, from_start_time=self._since.time
            )
            found += [orjson.loads(item.json()) for item in page.data]
            cursor = page.meta.cursor
            if not cursor:
                return found

    def _count_late(self, found: Sequence[dict[str, Any]]) -> int:
        """Counts the observations that are new although their trace was judged; none at the first look, which reads
        the traces that an earlier watch judged."""
        before, self._read = self._read, {each["id"] for each in found}
        if before is None:
            return 0
        return sum(each["id"] not in before and self._is_known(each.get("traceId") or "") for each in found)

    def _open_since(self) -> datetime | None:
        """Returns when the earliest span of the traces that are not complete began; None without such traces."""
        return min((datetime.fromisoformat(span["startTime"]) for span in self._traces.spans()), default=None)

    async def aclose(self) -> None:
        await asyncio.to_thread(self._client.shutdown)


class LangfuseScores:
    """A `ScoreTarget`. Each score has an id of its own, so one that is sent twice is there once."""

    def __init__(self, shared: SharedJudge, notify: Callable[[str], None]) -> None:
        self._shared, self._notify = shared, notify
        self._client = Langfuse(tracing_enabled=False)

    async def write(self, scored: Sequence[Scored]) -> int:
        """Sends scores, labels and a status for each trace; returns how many Langfuse rejected."""
        requests = [request for one in scored for request in self._make_requests(one)]
        try:
            reply = await asyncio.to_thread(self._client.api.scores.create, request=requests)
        except Exception as fault:  # of the client, which raises many kinds
            raise NotWritten(f"Langfuse took no scores: {type(fault).__name__}: {str(fault)[:300]}") from None
        rejected = int(getattr(reply, "rejected", 0) or 0)
        if rejected:
            self._notify(f"Langfuse rejected {rejected:,} scores: {str(getattr(reply, 'errors', ''))[:300]}")
        return rejected

    def _make_requests(self, scored: Scored) -> list[CreateScoreRequest]:
        """Makes a score for each verdict field that has a value, and one for the status of the case."""
        found = [field for field in self._shared.fields(scored.judgement) if field.value is not None]
        return [self._make_request(scored, field) for field in (*found, status(scored.judgement))]

    def _make_request(self, scored: Scored, field: Field) -> CreateScoreRequest:
        """Makes one score, with an id that is the same whenever it is sent again."""
        record = {**orjson.loads(scored.judgement.to_json()), "id": scored.trace_id}
        return CreateScoreRequest(
            id=score_uid(record, field.name),
            trace_id=scored.trace_id,
            name=field.name,
            value=field.value,
            comment=field.reason,
            metadata={"rule": field.rule, "evaluator": self._shared.identity},
            data_type="CATEGORICAL" if field.score is None else "NUMERIC",
        )

    async def aclose(self) -> None:
        await asyncio.to_thread(self._client.shutdown)
