"""What goes to the batch endpoints is what the official SDKs send for the same, and they read what comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anthropic
import openai
import orjson
import pytest

from batch_runs import DIALECTS, Dialect, batch_server, cases, expected, judged, lines, model
from fake_llm import FakeServer
from krino.labellers.llm.batch.client import BatchClient
from krino.labellers.llm.batch.providers import AnthropicBatches, OpenAIBatches, Provider


def files_of(server: FakeServer) -> list[bytes]:
    return [batch.source.read_bytes() for batch in server.batches.batches.values()]


def test_openai_files_and_batches_are_made_as_the_sdk_makes_them(tmp_path: Path) -> None:
    with batch_server() as server:
        judged(model(server.anthropic_url, "openai"), tmp_path / "run", cases(2))
        came = server.batches.uploads[0]
        made = server.batches.creations[0]
        with openai.OpenAI(base_url=server.url, api_key="a-key", max_retries=0) as client:
            body = files_of(server)[0]
            file = client.files.create(file=(came["filename"], body), purpose="batch")
            client.batches.create(
                input_file_id=file.id,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata=made["metadata"],
            )
        assert server.batches.uploads[-1] == came
        assert server.batches.creations[-1] == {**made, "input_file_id": file.id}
        ours, theirs = list(server.batches.batches.values())
        assert ours.headers["authorization"] == theirs.headers["authorization"] == "Bearer a-key"
        assert ours.headers["content-type"] == theirs.headers["content-type"]


def test_a_line_of_an_openai_file_holds_what_the_sdk_would_send_as_a_call(tmp_path: Path) -> None:
    with batch_server() as server:
        judged(model(server.anthropic_url, "openai"), tmp_path / "run", cases(1))
        line = orjson.loads(files_of(server)[0])
        assert set(line) == {"custom_id", "method", "url", "body"}
        assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
        with openai.OpenAI(base_url=server.url, api_key="a-key", max_retries=0) as client:
            reply = client.chat.completions.create(**line["body"])
        assert server.requests[-1].body == line["body"]
        assert orjson.loads(reply.choices[0].message.content or "") == {"label": "good", "quote": "fine"}


def test_an_anthropic_batch_is_made_as_the_sdk_makes_it(tmp_path: Path) -> None:
    with batch_server() as server:
        judged(model(server.anthropic_url, "anthropic"), tmp_path / "run", cases(2))
        wanted: Any = orjson.loads(files_of(server)[0])
        with anthropic.Anthropic(base_url=server.anthropic_url, auth_token="a-key", max_retries=0) as client:
            client.messages.batches.create(requests=wanted["requests"])
        ours, theirs = list(server.batches.batches.values())
        assert orjson.loads(theirs.source.read_bytes()) == wanted
        assert {name: ours.headers[name] for name in ("authorization", "content-type")} == {
            name: theirs.headers[name] for name in ("authorization", "content-type")
        }
        assert "anthropic-version" in ours.headers.keys() & theirs.headers.keys()


def test_the_sdks_read_what_the_fake_endpoints_answer(tmp_path: Path) -> None:
    """Else the tests would hold our reading against endpoints that do not exist."""
    with batch_server() as server:
        for dialect in DIALECTS:
            server.batches.faults = {"work": ["error", "expire"]}
            judged(model(server.anthropic_url, dialect), tmp_path / dialect, cases(4))
        with openai.OpenAI(base_url=server.url, api_key="a-key", max_retries=0) as client:
            first = list(client.batches.list(limit=2))[-1]
            assert (first.status, first.metadata and set(first.metadata)) == ("completed", {"krino"})
            assert first.output_file_id is not None
            text = client.files.content(first.output_file_id).text
            assert orjson.loads(text.splitlines()[0])["response"]["status_code"] == 200
        with anthropic.Anthropic(base_url=server.anthropic_url, auth_token="a-key", max_retries=0) as reader:
            kinds = set()
            for batch in reader.messages.batches.list(limit=2):
                assert batch.processing_status == "ended"
                answer = reader.messages.batches.with_raw_response.retrieve(batch.id)
                assert answer.parse().request_counts.processing == 0
                lines_of = server.batches.batches[batch.id].results["all"].read_bytes().splitlines()
                kinds |= {_read_by_sdk(line) for line in lines_of}
        assert kinds == {"succeeded", "errored", "expired"}


def _read_by_sdk(line: bytes) -> str:
    from anthropic.types.messages import MessageBatchIndividualResponse

    return MessageBatchIndividualResponse.model_validate_json(line).result.type


def providers() -> dict[Dialect, Provider]:
    client: Any = BatchClient.__new__(BatchClient)
    return {
        "openai": OpenAIBatches("http://127.0.0.1/v1", client),
        "anthropic": AnthropicBatches("http://127.0.0.1", client),
    }


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_limits_of_a_file_are_the_provider_s(dialect: Dialect) -> None:
    wanted = {"openai": (50_000, 200_000_000), "anthropic": (100_000, 256_000_000)}
    provider = providers()[dialect]
    assert (provider.most_requests, provider.most_bytes) == wanted[dialect]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("most", [1_500, 2_000, 3_333])
def test_no_file_is_larger_than_is_allowed_and_none_is_smaller_than_it_must_be(
    dialect: Dialect, most: int, tmp_path: Path
) -> None:
    ids = [case["id"] for case in cases(9)]
    with batch_server() as server:
        run = judged(model(server.anthropic_url, dialect), tmp_path / "run", cases(9), requests=99, bytes=most)
        assert (run.manifest.counts.ok, server.stats().completed_by_key) == (9, expected(ids))
        sizes = [len(file) for file in files_of(server)][:-1]  # the last one holds what was asked again
    one = min(len(body) for body in files_of_requests(server))
    assert max(sizes) <= most
    assert all(size + one > most - 100 for size in sizes[:-1]), "another request would have fitted in"


def files_of_requests(server: FakeServer) -> list[bytes]:
    return [orjson.dumps(request.body) for request in server.requests]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_that_no_file_can_hold_is_an_error_of_its_case_alone(dialect: Dialect, tmp_path: Path) -> None:
    records = [*cases(2), {"id": "long", "text": f"fine case-9- {'x' * 5_000}"}]
    with batch_server() as server:
        run = judged(model(server.anthropic_url, dialect), tmp_path / "run", records, bytes=4_000)
    (wrong,) = (line for line in lines(run.folder) if line["status"] == "error")
    assert (wrong["id"], run.manifest.counts.ok) == ("long", 2)
    assert "and a batch file takes 4,000" in wrong["error"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reply_that_says_something_twice_is_no_answer(dialect: Dialect) -> None:
    line = {
        "openai": b'{"custom_id":"a","response":{"status_code":200,"body":{"choices":[],"choices":[]}},"error":null}',
        "anthropic": b'{"custom_id":"a","result":{"type":"succeeded","message":{"content":[],"content":[]}}}',
    }[dialect]
    outcome = providers()[dialect].read(line)
    assert (outcome.status, outcome.body) == (200, line), "handed on as it is: the reading of replies refuses it"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("odd", [rb'"\ud800"', b'"\xff"', b"NaN", b"9" * 400])
def test_a_reply_that_is_no_json_was_billed_and_is_not_lost(dialect: Dialect, odd: bytes) -> None:
    line = {
        "openai": b'{"custom_id":"a","response":{"status_code":200,"body":%b},"error":null}',
        "anthropic": b'{"custom_id":"a","result":{"type":"succeeded","message":%b}}',
    }[dialect] % odd
    assert providers()[dialect].read(line) == ("a", 200, line), "handed on as it is: the reading of replies refuses it"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_refusal_that_is_no_json_keeps_its_status(dialect: Dialect) -> None:
    line = {
        "openai": rb'{"custom_id":"a","response":{"status_code":400,"body":"\ud800"},"error":null}',
        "anthropic": rb'{"custom_id":"a","result":{"error":{"error":{"type":"invalid_request_error"},"a":"\ud800"}}}',
    }[dialect]
    assert providers()[dialect].read(line) == ("a", 400, line)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("line", [b"[" * 100_000, b"[]", b"{}", b'{"custom_id": 3}', b"no", b'{"custom_id"', b"\xff"])
def test_what_is_no_line_of_results_is_none(dialect: Dialect, line: bytes) -> None:
    with pytest.raises(ValueError):
        providers()[dialect].read(line)
