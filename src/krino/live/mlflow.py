"""Reads traces of an MLflow experiment, and writes their scores to them as feedback."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from krino.adapters.cases import make_case
from krino.adapters.mlflow import feedback_of
from krino.adapters.packages import needs
from krino.adapters.shared_judge import SharedJudge
from krino.errors import UsageProblem
from krino.exports.otel import score_uid
from krino.judges.efficiency.traces.content import from_json
from krino.live.interfaces import NotWritten, Scored, SourceDown, WatchedTrace
from krino.live.since import Since

with needs("mlflow"):
    import mlflow
    from mlflow.entities import Trace, TraceState
    from mlflow.exceptions import MlflowException

_UID = "krino.uid"
"""The name under which the metadata of a feedback has its id."""


class MlflowTraces:
    """A `TraceSource`: the experiment of the tracking server that MLflow is set to."""

    at_end = True

    def __init__(self, experiment: str, folder: Path, start: datetime | None, is_known: Callable[[str], bool]) -> None:
        self._client = mlflow.MlflowClient()
        found = self._client.get_experiment_by_name(experiment)
        if found is None:
            raise UsageProblem(
                f"mlflow:{experiment}: there is no experiment of this name at {mlflow.get_tracking_uri()}"
            )
        self._experiment = found.experiment_id
        self._since = Since(folder, start)
        self._is_known = is_known

    async def look(self) -> list[WatchedTrace]:
        """Returns the traces that have ended and are not known yet."""
        self._since.begin_look()
        try:
            found = await asyncio.to_thread(lambda: list(self._read_traces()))
        except MlflowException as fault:
            raise SourceDown(f"MLflow cannot be read: {str(fault)[:300]}") from None
        going_on = [_began(trace) for trace in found if trace.info.state == TraceState.IN_PROGRESS]
        self._since.end_look([_began(trace) for trace in found], min(going_on, default=None))
        ended = (trace for trace in found if trace.info.state != TraceState.IN_PROGRESS)
        return [_make_trace(trace) for trace in ended if not self._is_known(trace.info.trace_id)]

    def _read_traces(self) -> Iterator[Trace]:
        """Yields all traces from the stored time on, the earliest first. Blocks."""
        asked = f"timestamp_ms >= {int(self._since.time.timestamp() * 1000)}"
        token: str | None = None
        while True:
            page = self._client.search_traces(
                [self._experiment], filter_string=asked, order_by=["timestamp_ms ASC"], page_token=token
            )
            yield from page
            token = page.token
            if not token:
                return

    async def aclose(self) -> None:
        """The client keeps nothing open."""


def _began(trace: Trace) -> datetime:
    return datetime.fromtimestamp(trace.info.request_time / 1000, UTC)


def _make_trace(trace: Trace) -> WatchedTrace:
    """Makes the case of a trace; a request or response that is a JSON object gives its fields."""
    name = trace.info.trace_id
    case = make_case(from_json(trace.data.request), from_json(trace.data.response))
    return WatchedTrace(name, {**case, "id": name, "trace_id": name, "trace": orjson.loads(trace.to_json())})


class MlflowScores:
    """A `ScoreTarget`. What a trace has already is not written again."""

    def __init__(self, shared: SharedJudge) -> None:
        self._shared = shared
        self._client = mlflow.MlflowClient()

    async def write(self, scored: Sequence[Scored]) -> int:
        """Writes scores, labels and how the case ended, trace by trace; MLflow refuses none of a batch by itself."""
        for one in scored:
            try:
                await asyncio.to_thread(self._write_feedback, one)
            except MlflowException as fault:
                raise NotWritten(f"MLflow took no feedback: {str(fault)[:300]}") from None
        return 0

    def _write_feedback(self, scored: Scored) -> None:
        """Writes the feedback on one trace, except what the trace has already. Blocks."""
        held = self._client.get_trace(scored.trace_id, display=False).info.assessments
        there = {(each.metadata or {}).get(_UID) for each in held}
        record: dict[str, Any] = {**orjson.loads(scored.judgement.to_json()), "id": scored.trace_id}
        for feedback in feedback_of(self._shared, scored.judgement):
            uid = score_uid(record, feedback.name)
            if uid in there:
                continue
            mlflow.log_feedback(
                trace_id=scored.trace_id,
                name=feedback.name,
                value=feedback.value,
                error=feedback.error,
                rationale=feedback.rationale,
                source=feedback.source,
                metadata={**(feedback.metadata or {}), _UID: uid},
            )

    async def aclose(self) -> None:
        """The client keeps nothing open."""
