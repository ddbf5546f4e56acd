"""OpenTelemetry events: valid OTLP, one a score or label, and an error without a score for what was not judged."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from krino.errors import UsageProblem
from krino.exports import otlp_send
from krino.exports.otel import EVENT, NOWHERE, RECORDS, Origin, find_origin, label_fields, otel_lines
from krino.exports.otlp_send import headers_from, logs_address, send
from krino.judges.registry import load_judge
from krino.runs.manifest import JudgeCard
from made_judgements import HOSTILE, error, failed, manifest, many, ok

TRACE, SPAN = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"


def lines_of(*judgements: dict[str, Any], labels: Sequence[str] = ()) -> list[bytes]:
    return list(otel_lines(manifest(), "my-run", judgements, labels))


def parsed(line: bytes) -> LogsData:
    """By the official schema, where an unknown field is an error. Protobuf would write ids as base64, OTLP has hex."""
    data = orjson.loads(line)
    for record in data["resourceLogs"][0]["scopeLogs"][0]["logRecords"]:
        for name in ("traceId", "spanId"):
            if name in record:
                record[name] = base64.b64encode(bytes.fromhex(record[name])).decode()
    logs = LogsData()
    ParseDict(data, logs)
    return logs


def events_of(*judgements: dict[str, Any], labels: Sequence[str] = ()) -> list[dict[str, Any]]:
    found = []
    for line in lines_of(*judgements, labels=labels):
        for record in parsed(line).resource_logs[0].scope_logs[0].log_records:
            assert record.event_name == EVENT
            values = {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in record.attributes}
            found.append({**values, "severity": record.severity_text, "trace": record.trace_id.hex()})
    return found


def test_a_score_is_an_event_with_its_explanation_and_who_decided() -> None:
    (event,) = events_of(ok(0, labelled=True, score=0.25, score_explanation="one of four"))
    assert event["gen_ai.evaluation.name"] == "toy.score"
    assert event["gen_ai.evaluation.score.value"] == 0.25
    assert event["gen_ai.evaluation.explanation"] == "one of four"
    assert (event["krino.case.id"], event["krino.rule"], event["krino.decided_by"]) == ("case-0", "R1", "labeller")
    assert "gen_ai.evaluation.score.label" not in event and "error.type" not in event


def test_a_score_without_words_of_its_own_is_explained_by_its_evidence() -> None:
    (event,) = events_of(ok(0, score=1))
    assert event["gen_ai.evaluation.explanation"] == "seen in passage 1"


def test_labels_are_those_of_a_closed_list_and_free_text_is_none() -> None:
    events = events_of(
        {**ok(0, kind="A", tags=["x", "y"], fine=True, note="free text", gone=None), "roll_up": "review"},
        labels=("kind", "tags", "fine", "gone"),
    )
    found = {event["gen_ai.evaluation.name"]: event["gen_ai.evaluation.score.label"] for event in events}
    assert found == {"toy.roll_up": "review", "toy.kind": "A", "toy.tags": "x,y", "toy.fine": "true"}


@pytest.mark.parametrize(
    ("judgement", "kind", "severity"),
    [(failed(0, "no answer"), "cannot_judge", "WARN"), (error(0, "no reply"), "judging_failed", "ERROR")],
)
def test_a_case_that_was_not_judged_is_an_event_with_an_error_type_and_no_score(
    judgement: dict[str, Any], kind: str, severity: str
) -> None:
    failed_form = {**judgement, "verdict": {"evaluation_status": "failed"}}
    (event,) = events_of(failed_form, labels=("evaluation_status",))
    assert (event["gen_ai.evaluation.name"], event["error.type"], event["severity"]) == ("toy", kind, severity)
    assert event["gen_ai.evaluation.explanation"] in ("no answer", "no reply")
    assert not [key for key in event if "score" in key]


def test_events_say_which_run_they_are_of() -> None:
    resource = parsed(lines_of(ok(0, score=1.0))[0]).resource_logs[0].resource
    values = {item.key: item.value.string_value for item in resource.attributes}
    assert values["service.name"] == "krino"
    assert (values["krino.run"], values["krino.judge.name"], values["krino.labeller"]) == ("my-run", "toy", "local")


def test_every_event_says_who_evaluated() -> None:
    parts = {"prompt_hash": "p1", "source": "s", "schemas": "c", "rules": "r", "data": "d"}
    run = manifest()
    run.plan.judge = {"name": "toy", "version": "1.0", **parts}
    asked = {**ok(0, score=1.0, labelled=True), "labeller": {"kind": "llm", "model": "small-1"}}
    line = next(otel_lines(run, "r", [asked, failed(1), ok(2, score=0.5)], ()))
    records = parsed(line).resource_logs[0].scope_logs[0].log_records
    first, not_judged, by_facts = ({item.key: item.value.string_value for item in one.attributes} for one in records)
    assert first["gen_ai.evaluation.evaluator.version"] == "1.0"
    source = orjson.loads(first["gen_ai.evaluation.evaluator.source"])
    assert source["name"] == "toy"
    assert source["arguments"] == {
        "judge_fingerprint": run.judged_by().judge_fingerprint,
        "prompt_hash": "p1",
        "labeller": "llm",
        "model": "small-1",
    }
    assert first["krino.judge.fingerprint"] == run.judged_by().judge_fingerprint
    assert (first["krino.labeller_kind"], first["krino.labeller_model"]) == ("llm", "small-1")
    assert not_judged["gen_ai.evaluation.evaluator.version"] == "1.0"
    assert "krino.labeller_model" not in by_facts and by_facts["krino.prompt_hash"] == "p1"


def test_the_members_of_a_jury_are_named() -> None:
    run = manifest()
    run.plan.labeller = {"kind": "panel", "members": {"a": {}, "local": {}}}
    resource = parsed(next(otel_lines(run, "r", [ok(0, score=1.0)], ()))).resource_logs[0].resource
    assert {item.key: item.value.string_value for item in resource.attributes}["krino.labeller"] == "a,local"


def test_the_same_run_gives_the_same_bytes() -> None:
    same = manifest(updated="2025-03-01T12:30:00Z")
    first, second = (list(otel_lines(same, "r", [ok(0, score=0.5)], ())) for _ in range(2))
    assert first == second
    (record,) = parsed(first[0]).resource_logs[0].scope_logs[0].log_records
    assert record.time_unix_nano == 1740832200 * 10**9


def test_every_event_has_the_time_at_which_its_case_was_finished() -> None:
    timed = [{**ok(0, score=0.5), "time": "2025-03-01T12:00:00.000123Z"}, {**ok(1, score=1), "time": None}]
    odd = {**failed(2, "r"), "time": "2025-03-01T12:00:00"}  # without a zone it is no moment
    run = manifest(updated="2025-03-01T12:30:00Z")
    records = parsed(next(otel_lines(run, "r", [*timed, odd], ()))).resource_logs[0].scope_logs[0].log_records
    times = [record.time_unix_nano for record in records]
    assert times == [1740830400 * 10**9 + 123_000, 1740832200 * 10**9, 1740832200 * 10**9]


def test_many_events_come_in_lines_of_bounded_size() -> None:
    lines = lines_of(*many(RECORDS * 2 + 1))
    sizes = [len(parsed(line).resource_logs[0].scope_logs[0].log_records) for line in lines]
    assert sizes == [RECORDS, RECORDS, 1]


def test_hostile_text_stays_a_value() -> None:
    (event,) = events_of(failed(0, HOSTILE))
    assert event["gen_ai.evaluation.explanation"] == HOSTILE


@pytest.mark.parametrize(
    ("record", "origin"),
    [
        ({"trace_id": TRACE, "span_id": SPAN.upper(), "response_id": "r-1"}, Origin(TRACE, SPAN, "r-1")),
        ({"traceId": TRACE}, Origin(TRACE)),
        ({"trace_id": "0" * 32, "response_id": "r-1"}, Origin(None, None, "r-1")),
        ({"trace_id": "nonsense", "span_id": SPAN}, NOWHERE),
        ({"trace": {"resourceSpans": [{"scopeSpans": [{"spans": [
            {"traceId": TRACE, "spanId": "1" * 16, "parentSpanId": SPAN}, {"traceId": TRACE, "spanId": SPAN},
        ]}]}]}}, Origin(TRACE, SPAN)),
        ({"trace": "no spans here"}, NOWHERE),
        (None, NOWHERE),
    ],
    ids=["ids", "trace alone", "zeros", "nonsense", "otlp trace", "plain trace", "no case"],
)  # fmt: skip
def test_an_event_points_at_the_span_that_the_case_names(record: Any, origin: Origin) -> None:
    assert find_origin(record) == origin


def test_ids_are_hex_in_the_record() -> None:
    case = {"trace_id": TRACE, "span_id": SPAN}
    record = orjson.loads(lines_of({**ok(0, score=1.0), "case": case})[0])["resourceLogs"][0]["scopeLogs"][0]
    assert (record["logRecords"][0]["traceId"], record["logRecords"][0]["spanId"]) == (TRACE, SPAN)


def test_the_judges_schema_says_which_fields_are_labels() -> None:
    assert label_fields(JudgeCard.of(load_judge("citation")).verdict_schema, list) == [
        *("match_correctness", "court_alignment_handling", "cited_court_classification", "confidence_calibration"),
        "errors",
    ]
    assert label_fields(JudgeCard.of(load_judge("rag")).verdict_schema, list) == ["evaluation_status"]


@pytest.mark.parametrize("schema", [{}, {"properties": 3}, {"properties": []}])
def test_without_a_schema_what_looks_like_a_label_is_one(schema: dict[str, Any]) -> None:
    judgements = [ok(n, kind="AB"[n % 2], note=f"a long and always different text {n}") for n in range(20)]
    assert label_fields(schema, lambda: judgements) == ["kind"]


@pytest.mark.parametrize(
    "part", [{"$ref": "#/$defs/gone"}, {"$ref": "#/$defs/me"}, {"anyOf": 3}, {"anyOf": [3]}, {"enum": None}]
)
def test_a_schema_that_is_none_names_no_labels(part: dict[str, Any]) -> None:
    schema = {"properties": {"kind": part}, "$defs": {"me": {"$ref": "#/$defs/me"}}}
    assert label_fields(schema, list) == []


# --- sending ---------------------------------------------------------------------------------------


class Collector:
    """An OTLP endpoint on loopback that answers as it is told, then with 200."""

    def __init__(self, *answers: tuple[int, dict[str, Any]]) -> None:
        self.answers = list(answers)
        self.bodies: list[bytes] = []
        self.paths: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.read())
        self.paths.append(request.path)
        self.headers.append(request.headers)
        status, body = self.answers.pop(0) if self.answers else (200, {})
        return web.json_response(body, status=status, headers={"Retry-After": "0"} if status in {429, 503} else {})


@asynccontextmanager
async def listening(collector: Collector) -> AsyncIterator[Collector]:
    app = web.Application()
    app.router.add_post("/{path:.*}", collector.take)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        collector.url = f"http://127.0.0.1:{port}"
        yield collector
    finally:
        await runner.cleanup()


async def test_events_reach_the_endpoint_that_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc,x-team=eval")
    async with listening(Collector()) as collector:
        sent = await send(collector.url, lines_of(ok(0, score=0.5), failed(1)))
    assert (sent.requests, sent.rejected) == (1, 0)
    assert collector.paths == ["/v1/logs"]
    assert collector.headers[0]["Content-Type"] == "application/json"
    assert (collector.headers[0]["authorization"], collector.headers[0]["x-team"]) == ("Bearer abc", "eval")
    assert len(parsed(collector.bodies[0]).resource_logs[0].scope_logs[0].log_records) == 2


async def test_a_busy_endpoint_is_asked_again() -> None:
    async with listening(Collector((503, {}), (429, {}))) as collector:
        assert (await send(collector.url, [b"{}"], backoff=0)).requests == 1
    assert len(collector.bodies) == 3


async def test_a_refusal_ends_the_export_with_what_the_endpoint_said() -> None:
    async with listening(Collector((401, {"message": "no\x1b[31m key"}))) as collector:
        with pytest.raises(UsageProblem, match=r"/v1/logs did not take the events: HTTP 401 .*no") as raised:
            await send(collector.url, [b"{}"], backoff=0)
    assert "\x1b" not in str(raised.value) and len(collector.bodies) == 1


async def test_rejected_records_are_counted() -> None:
    answer = {"partialSuccess": {"rejectedLogRecords": "3", "errorMessage": "too old"}}
    async with listening(Collector((200, answer))) as collector:
        sent = await send(collector.url, [b"{}", b"{}"])
    assert (sent.requests, sent.rejected, sent.message) == (2, 3, "too old")


async def test_an_endpoint_that_is_not_there_is_a_clear_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_send, "TRIES", 2)
    with pytest.raises(UsageProblem, match=r"http://127.0.0.1:9/v1/logs did not take the events"):
        await send("http://user:secret@127.0.0.1:9", [b"{}"], backoff=0)


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("http://collector:4318", "http://collector:4318/v1/logs"),
        ("https://otlp.example/otlp/", "https://otlp.example/otlp/v1/logs"),
        ("https://otlp.example/v1/logs", "https://otlp.example/v1/logs"),
    ],
)
def test_an_endpoint_is_taken_as_other_exporters_take_it(given: str, address: str) -> None:
    assert logs_address(given) == address


@pytest.mark.parametrize("wrong", ["collector:4318", "ftp://collector", "http://"])
def test_what_is_no_address_is_refused(wrong: str) -> None:
    with pytest.raises(UsageProblem, match="write it as http://HOST:4318"):
        logs_address(wrong)


def test_headers_that_cannot_be_read_are_refused_without_being_repeated() -> None:
    with pytest.raises(UsageProblem, match="name=value") as raised:
        headers_from({"OTEL_EXPORTER_OTLP_HEADERS": "sk-secret"})
    assert "sk-secret" not in str(raised.value)


# --- the command -----------------------------------------------------------------------------------


def test_the_command_writes_and_sends(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from krino.cli import app

    cases = tmp_path / "cases.jsonl"
    cases.write_bytes(orjson.dumps({"id": "a", "text": "good", "trace_id": TRACE}) + b"\n")
    judge = f"{Path(__file__).parents[1] / 'toy_judge.py'}:ToyJudge"
    run = str(tmp_path / "run")
    assert CliRunner().invoke(app, ["judge", judge, str(cases), "--run", run]).exit_code == 0
    file = tmp_path / "events.jsonl"
    export = ["export", run, str(file), "--to", "otel"]
    assert CliRunner().invoke(app, export).exit_code == 0
    (record,) = parsed(file.read_bytes()).resource_logs[0].scope_logs[0].log_records
    assert record.trace_id == b"", "the run names the file of its cases, but only the user may have it opened"
    assert CliRunner().invoke(app, [*export, "--inputs", str(cases)]).exit_code == 0
    (line,) = file.read_bytes().splitlines()
    (record,) = parsed(line).resource_logs[0].scope_logs[0].log_records
    assert record.trace_id.hex() == TRACE

    async def sent() -> Any:
        async with listening(Collector((200, {"partialSuccess": {"rejectedLogRecords": 1}}))) as collector:
            arguments = ["export", run, "--endpoint", collector.url, "--inputs", str(cases)]
            done = await asyncio.to_thread(CliRunner().invoke, app, arguments)
            return done.exit_code, collector.bodies

    code, bodies = asyncio.run(sent())
    assert (code, bodies) == (3, [line])  # what an endpoint rejects must not pass for exported
