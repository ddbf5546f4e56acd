"""A run as OpenTelemetry events: one `gen_ai.evaluation.result` for each score and label, as OTLP/JSON log records.

Attributes follow the GenAI semantic conventions: `gen_ai.evaluation.name` (`judge.field`), `.score.value`,
`.score.label`, `.explanation`, `gen_ai.response.id`; a case that was not judged has `error.type` instead of a score or
label. The conventions do not yet say who evaluated: `.evaluator.version` and `.evaluator.source` (JSON with `name` and
`arguments`) are named and written as pydantic-evals does. `log.record.uid` is the same each time that a score is sent.
Other attributes begin with `krino.`. Each line of the file
is one `LogsData` object (OTLP file format).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import orjson

from krino import __version__
from krino.contract.identity import JudgedBy
from krino.exports.columns import Record
from krino.judges.efficiency.case import EfficiencyCase
from krino.judges.efficiency.traces.spans import read_spans
from krino.judges.efficiency.traces.steps import TRACE_NAMES
from krino.results.explanations import find_explanation as explained
from krino.results.field_kinds import as_number, own_fields
from krino.results.verdict_schema import Schema, closed_labels
from krino.runs.manifest import Manifest

EVENT = "gen_ai.evaluation.result"
ERROR_TYPES = {"failed": "cannot_judge", "error": "judging_failed"}
EVALUATOR_ATTRIBUTES = {
    "krino.judge.fingerprint": "judge_fingerprint",
    "krino.prompt_hash": "prompt_hash",
    "krino.labeller_kind": "labeller",
    "krino.labeller_model": "model",
    "krino.agreement": "agreement",
}
"""Attributes of an event by the field of `JudgedBy` that they hold."""
SEVERITIES = {"ok": (9, "INFO"), "failed": (13, "WARN"), "error": (17, "ERROR")}
RECORDS = 500  # in one line or request: well below the 4 MB that collectors take
_LONGEST_EXPLANATION = 4_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Attribute = dict[str, Any]


def otel_lines(manifest: Manifest, run: str, judgements: Iterable[Record], labels: Sequence[str]) -> Iterator[bytes]:
    """Yields the run as lines of OTLP/JSON, some hundred events each.

    `labels` has the verdict fields whose values are labels of a closed list.
    """
    resource, who = _describe_resource(manifest, run), manifest.judged_by()
    records = (
        record
        for judgement in judgements
        for record in judgement_events(judgement, labels, _finish_time(judgement) or manifest.updated, who)
    )
    while batch := list(islice(records, RECORDS)):
        scope = {"scope": {"name": "krino", "version": __version__}, "logRecords": batch}
        yield orjson.dumps({"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]})


def _finish_time(judgement: Record) -> datetime | None:
    """When the case was finished; None in runs made before times were recorded."""
    try:
        time = datetime.fromisoformat(judgement.get("time") or "")
    except (TypeError, ValueError):
        return None
    return time if time.tzinfo is not None else None


def judgement_events(
    judgement: Record, labels: Sequence[str], time: datetime, who: JudgedBy
) -> Iterator[dict[str, Any]]:
    """Yields one event for each score or label; for a case without a verdict, a single event with the reason."""
    nanoseconds = (time - _EPOCH) // timedelta(microseconds=1) * 1_000
    evaluator = _describe_evaluator(who.with_labeller(judgement.get("labeller")))
    event = partial(_make_event, judgement, find_origin(judgement.get("case")), evaluator, str(nanoseconds))
    if judgement["status"] != "ok":
        message = judgement.get("reason") or judgement.get("error")
        yield event("", {"error.type": ERROR_TYPES[judgement["status"]]}, explanation=message)
        return
    if judgement.get("roll_up"):
        yield event("roll_up", {"gen_ai.evaluation.score.label": judgement["roll_up"]})
    for name, value in own_fields(judgement).items():
        score = as_number(value)
        if score is not None:
            yield event(name, {"gen_ai.evaluation.score.value": score}, explanation=explained(judgement, name))
        elif name in labels and value is not None:
            yield event(
                name, {"gen_ai.evaluation.score.label": _label_text(value)}, explanation=explained(judgement, name)
            )


def _make_event(
    judgement: Record,
    origin: Origin,
    evaluator: Mapping[str, Any],
    moment: str,
    field: str,
    outcome: Mapping[str, Any],
    explanation: str | None = None,
) -> dict[str, Any]:
    """Returns one evaluation event as a log record."""
    number, word = SEVERITIES[judgement["status"]]
    attributes = {
        "log.record.uid": score_uid(judgement, field),
        "gen_ai.evaluation.name": f"{judgement['judge']}.{field}" if field else judgement["judge"],
        **outcome,
        "gen_ai.evaluation.explanation": explanation[:_LONGEST_EXPLANATION] if explanation else None,
        "gen_ai.response.id": origin.response_id,
        **evaluator,
        "krino.case.id": judgement["id"],
        "krino.status": judgement["status"],
        "krino.rule": (judgement.get("rules") or {}).get(field),
        "krino.decided_by": (judgement.get("decided_by") or {}).get(field),
    }
    record = {
        "timeUnixNano": moment,
        "observedTimeUnixNano": moment,
        "severityNumber": number,
        "severityText": word,
        "eventName": EVENT,
        "attributes": _attributes(attributes),
    }
    if origin.trace_id:
        record["traceId"] = origin.trace_id
        if origin.span_id:
            record["spanId"] = origin.span_id
    return record


def score_uid(judgement: Record, field: str) -> str:
    """The same id each time that this score is sent, so that a receiver can drop one that it was sent twice."""
    parts = (judgement["id"], judgement["input_hash"], judgement.get("time"), judgement["judge"], field)
    return hashlib.blake2b("\0".join(map(str, parts)).encode("utf-8", "replace"), digest_size=16).hexdigest()


def _describe_evaluator(who: JudgedBy) -> dict[str, str | None]:
    """Attributes that say who judged; the name and version of a judge do not tell an edited one apart."""
    named = who.named()
    arguments = {name: value for name, value in named.items() if name not in ("judge", "judge_version")}
    return {
        "gen_ai.evaluation.evaluator.version": who.judge_version,
        "gen_ai.evaluation.evaluator.source": orjson.dumps({"name": who.judge, "arguments": arguments}).decode(),
        **{key: named.get(name) for key, name in EVALUATOR_ATTRIBUTES.items()},
    }


def _label_text(value: Any) -> str:
    """A label as text: a boolean as `true` or `false`, a list joined with commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _describe_resource(manifest: Manifest, run: str) -> dict[str, Any]:
    """Returns the resource of the events: version, run, judge and labeller."""
    judge, labeller = manifest.plan.judge, manifest.plan.labeller
    known = {
        "service.name": "krino",
        "service.version": manifest.krino_version,
        "krino.run": run,
        "krino.judge.name": judge.get("name"),
        "krino.judge.version": judge.get("version"),
        "krino.labeller": labeller.get("model") or ",".join(labeller.get("members", ())) or labeller.get("kind"),
    }
    return {"attributes": _attributes(known)}


def _attributes(values: Mapping[str, Any]) -> list[Attribute]:
    return [{"key": key, "value": _attribute_value(value)} for key, value in values.items() if value is not None]


def _attribute_value(value: Any) -> dict[str, Any]:
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}


# --- which fields are labels -----------------------------------------------------------------------


def label_fields(schema: Schema, judgements: Callable[[], Iterable[Record]]) -> list[str]:
    """The verdict fields with a closed list of labels by their schema; for a run without a schema, by their values."""
    from krino.results.summary import summarise

    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return [item.name for item in summarise(judgements()).codes]
    return [name for name in properties if closed_labels(schema, name) is not None]


_TRACE = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN = re.compile(r"(?!0{16})[0-9a-f]{16}")
_SPAN_FIELDS = frozenset({*TRACE_NAMES, "resourceSpans", "resource_spans", "spans"})
_LONGEST_RESPONSE_ID = 200


class Origin(NamedTuple):
    trace_id: str | None = None
    span_id: str | None = None
    response_id: str | None = None


NOWHERE = Origin()


def find_origin(record: Any) -> Origin:
    """The `trace_id`, `span_id` and `response_id` of a record, or those of the root span of its trace.

    Invalid ids are left out: a wrong link is worse than none.
    """
    if not isinstance(record, Mapping):
        return NOWHERE
    response = _text(record, "response_id", "responseId", "gen_ai.response.id")
    trace = _match_id(_TRACE, _text(record, "trace_id", "traceId"))
    if trace is not None:
        return Origin(trace, _match_id(_SPAN, _text(record, "span_id", "spanId")), response)
    if record.keys().isdisjoint(_SPAN_FIELDS):
        return Origin(response_id=response)
    return _origin_of_trace(record, response)


def _origin_of_trace(record: Mapping[str, Any], response: str | None) -> Origin:
    """The origin of a case that is a trace: the ids of its root span; `response` alone without a valid trace id."""
    try:
        spans = read_spans(EfficiencyCase.model_validate(record).trace)
    except Exception:  # no trace, or one in an unknown format
        return Origin(response_id=response)
    root = next((span for span in spans if not span.parent), None)
    if root is None or (trace := _match_id(_TRACE, root.trace)) is None:
        return Origin(response_id=response)
    return Origin(trace, _match_id(_SPAN, root.id), response)


def _match_id(pattern: re.Pattern[str], text: str | None) -> str | None:
    found = (text or "").lower().removeprefix("0x")
    return found if pattern.fullmatch(found) else None


def _text(record: Mapping[str, Any], *names: str) -> str | None:
    found = next((record[name] for name in names if isinstance(record.get(name), str)), "")
    return found if 0 < len(found) <= _LONGEST_RESPONSE_ID else None
