"""All three judges against a real small model: replies have the form that was asked for, and keep to their limits.

Runs with `make test-llm` only: it needs two packages of 100 MB each, and minutes. What the model thinks of the cases is
worth nothing and is not looked at.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web

import krino
from odd_endpoint import OddEndpoint
from small_model.cases import CITATIONS, RAG, TRACES

FOLDER = os.environ.get("KRINO_SMALL_MODEL", "")
TESTS = Path(__file__).parents[1]
pytestmark = [
    pytest.mark.skipif(not FOLDER, reason="a real model is asked by `make test-llm` only"),
]


@dataclass
class Recorder:
    """Passes requests on to the model, and writes down what was asked and what came back."""

    address: str
    bodies: list[bytes] = field(default_factory=list)
    replies: list[dict[str, Any]] = field(default_factory=list)

    async def __call__(self, request: web.BaseRequest, body: bytes) -> web.Response:
        self.bodies.append(body)
        async with aiohttp.ClientSession() as session, session.post(self.address + request.path, data=body) as answer:
            content = await answer.read()
            self.replies.append(orjson.loads(content))
            return web.Response(status=answer.status, body=content, content_type="application/json")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    command = [sys.executable, "-m", "small_model", str(Path(FOLDER).resolve())]
    with subprocess.Popen(command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def judged(
    address: str, judge: str, cases: list[dict[str, Any]], show: pytest.CaptureFixture[str]
) -> tuple[list[krino.Judgement], Recorder]:
    recorder = Recorder(address)
    with OddEndpoint(recorder) as endpoint:
        # A busy machine is slow: what is asked here is that nothing goes on for ever, not that it is quick.
        labeller = krino.llm("llamacpp:smollm2", base_url=endpoint.url, cache="off", concurrency=1, timeout=600.0)
        judgements = list(krino.judge_many(judge, cases, labeller=labeller))
    with show.disabled():
        for judgement in judgements:
            told = judgement.error or judgement.reason or judgement.labeller
            print(f"\n{judge} {judgement.id} {judgement.status} {judgement.usage} {str(told)[:300]}", end="")
        print(f"\n{judge}: {len(recorder.bodies)} requests", end="")
    return judgements, recorder


def assert_limits_kept(recorder: Recorder) -> None:
    for body, reply in zip(recorder.bodies, recorder.replies, strict=True):
        limit = orjson.loads(body)["max_tokens"]
        assert reply["usage"]["completion_tokens"] <= limit, reply
    assert len(set(recorder.bodies)) == len(recorder.bodies), "the same request went out twice"


def assert_records_valid(judgements: list[krino.Judgement]) -> None:
    for judgement in judgements:
        assert krino.Judgement.model_validate_json(judgement.to_json()) == judgement


@pytest.mark.parametrize(
    ("judge", "cases", "wanted"), [("rag", RAG, 8), ("efficiency", TRACES, 4), ("citation", CITATIONS, 1)]
)
def test_a_small_model_gives_labels_in_the_form_that_is_asked_for(
    address: str, judge: str, cases: list[dict[str, Any]], wanted: int, capsys: pytest.CaptureFixture[str]
) -> None:
    judgements, recorder = judged(address, judge, cases, capsys)
    assert len(judgements) == len(cases)
    assert_limits_kept(recorder)
    assert_records_valid(judgements)
    assert sum(judgement.status == "ok" for judgement in judgements) >= wanted
    assert any(judgement.usage.calls for judgement in judgements), "nobody was asked"
