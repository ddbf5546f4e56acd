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
from krino.labellers.llm.labeller import LlmLabeller
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


@pytest.fixture(scope="module")
def asked(address: str) -> Iterator[tuple[LlmLabeller, Recorder]]:
    """One labeller for all judges, as it learns what this model needs."""
    recorder = Recorder(address)
    with OddEndpoint(recorder) as endpoint:
        # On a busy machine replies take long; that nothing goes on for ever is for the limits to see to.
        yield krino.llm("llamacpp:smollm2", base_url=endpoint.url, cache="off", concurrency=1, timeout=600.0), recorder


@pytest.mark.parametrize(
    ("judge", "cases", "wanted"), [("efficiency", TRACES, 4), ("citation", CITATIONS, 1), ("rag", RAG, 8)]
)
def test_a_small_model_gives_labels_in_the_form_that_is_asked_for(
    asked: tuple[LlmLabeller, Recorder],
    judge: str,
    cases: list[dict[str, Any]],
    wanted: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    labeller, recorder = asked
    before = len(recorder.bodies)
    judgements = []
    for judgement in krino.judge_many(judge, cases, labeller=labeller):
        judgements.append(judgement)
        with capsys.disabled():
            print("\n" + told(judgement), end="", flush=True)
    assert len(judgements) == len(cases)
    assert all(krino.Judgement.model_validate_json(one.to_json()) == one for one in judgements)
    assert_limits_kept(recorder)
    assert len(recorder.bodies) > before, "nobody was asked"
    assert sum(judgement.status == "ok" for judgement in judgements) >= wanted


def told(judgement: krino.Judgement) -> str:
    usage, schema = judgement.usage, (judgement.labeller or {}).get("schema", "as usual")
    spent = f"{usage.calls} calls, {usage.input_tokens}+{usage.output_tokens} tokens, {usage.seconds:.0f} s"
    problem = judgement.error or judgement.reason
    return f"{judgement.judge} {judgement.id}: {judgement.status}, {spent}, schema {schema} {(problem or '')[:300]}"


def assert_limits_kept(recorder: Recorder) -> None:
    for body, reply in zip(recorder.bodies, recorder.replies, strict=True):
        assert reply["usage"]["completion_tokens"] <= orjson.loads(body)["max_tokens"], reply
    assert len(set(recorder.bodies)) == len(recorder.bodies), "the same request went out twice"
