"""Writes scores as OpenTelemetry events to an OTLP/HTTP endpoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from krino.errors import UsageProblem
from krino.exports.otel import label_fields, otel_lines
from krino.exports.otlp_send import logs_address, send
from krino.live.interfaces import NotWritten, Scored
from krino.runs.manifest import Manifest


class OtlpEvents:
    """A `ScoreTarget`. An event that is sent twice has the same `log.record.uid`, by which receivers drop it."""

    def __init__(self, endpoint: str, manifest: Manifest, run: str, notify: Callable[[str], None]) -> None:
        self.endpoint = endpoint
        logs_address(endpoint)  # refuses what is no address
        self._manifest, self._run, self._notify = manifest, run, notify
        self._labels = label_fields(manifest.about.fields_schema, lambda: ())

    async def write(self, scored: Sequence[Scored]) -> int:
        """Sends the events of these judgements; returns how many the endpoint rejected."""
        lines = otel_lines(self._manifest, self._run, map(_as_record, scored), self._labels)
        try:
            sent = await send(self.endpoint, lines)
        except UsageProblem as problem:
            raise NotWritten(str(problem)) from None
        if sent.rejected:
            self._notify(f"the endpoint rejected {sent.rejected:,} events: {sent.message}")
        return sent.rejected

    async def aclose(self) -> None:
        """Connections are closed after each request."""


def _as_record(scored: Scored) -> dict[str, Any]:
    """Returns the judgement as in the journal, but under the id of its trace."""
    record: dict[str, Any] = orjson.loads(scored.judgement.to_json())
    case = {"trace_id": scored.trace_id, "span_id": scored.span_id}
    return {**record, "id": scored.trace_id, "case": case}
