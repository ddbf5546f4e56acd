"""Runs by batch file against the fake server, for the tests of the engine and of its parts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import orjson

import krino
from fake_llm import FakeServer, ReceivedRequest
from krino.api.recorded_run import Run
from krino.api.running import Running, RunSettings
from krino.engine.batch import BatchFiles
from krino.labellers.llm.batch.queue import Sizes
from krino.labellers.llm.labeller import LlmLabeller
from krino.runs.inputs import inputs_of
from toy_judge import ToyJudge

Dialect = Literal["openai", "anthropic"]
DIALECTS: tuple[Dialect, ...] = ("openai", "anthropic")
STUBBORN = "case-3-"
"""The case whose first reply is of no use."""


def reply(request: ReceivedRequest) -> dict[str, Any]:
    """Quotes what does not stand in the text, once, where the case is the stubborn one."""
    wrong = STUBBORN in request.text and "cannot be used" not in request.text
    return {"label": "good", "quote": "nowhere to be found" if wrong else "fine"}


def asked(request: ReceivedRequest) -> str:
    """Case and turn: each of these is to be paid once."""
    case = next(word for word in request.user_text.split() if word.startswith("case-"))
    return f"{case}{request.user_text.count('cannot be used')}"


def cases(count: int = 5) -> list[dict[str, str]]:
    return [{"id": f"case-{number}-", "text": f"fine case-{number}-"} for number in range(count)]


ALL = tuple(case["id"] for case in cases())


def expected(ids: Sequence[str] = ALL) -> dict[str, int]:
    """What a server has been paid for when all went well."""
    return {f"{name}0": 1 for name in ids} | ({f"{STUBBORN}1": 1} if STUBBORN in ids else {})


@contextmanager
def batch_server(**more: Any) -> Iterator[FakeServer]:
    with FakeServer(**{"reply": reply, "key": asked, **more}) as server:
        yield server


def model(url: str, dialect: Dialect, **settings: Any) -> LlmLabeller:
    """`url` is that of the fake server without a path."""
    name, address = ("claude-x", url) if dialect == "anthropic" else ("openai:m", f"{url}/v1")
    usual = {"api_key": "a-key", "cache": "off", "env": {}, "backoff": 0.01, "price_in": 10.0, "price_out": 100.0}
    return krino.llm(name, base_url=address, **{**usual, **settings})


def engine(
    *,
    pilot: int = 0,
    requests: int = 2,
    bytes: int = 1_000_000,  # noqa: A002
    longest_pause: float = 0.02,
) -> BatchFiles:
    return BatchFiles(pilot=pilot, sizes=Sizes(requests, bytes), longest_pause=longest_pause)


def judged(
    labeller: krino.Labeller,
    folder: Path,
    records: list[dict[str, str]] | None = None,
    judge: ToyJudge | None = None,
    **more: Any,
) -> Run:
    """A run without the writing of its report."""

    async def carried_out() -> Run:
        with inputs_of(records or cases()) as inputs:
            how = RunSettings(folder)
            running = Running(judge or ToyJudge(), "toy", labeller, inputs, how, make_engine=lambda: engine(**more))
            try:
                return await running.carry_out()
            finally:
                await labeller.aclose()

    return asyncio.run(carried_out())


def lines(folder: Path) -> list[dict[str, Any]]:
    journal = folder / "judgements.jsonl"
    return [orjson.loads(line) for line in journal.read_bytes().splitlines()] if journal.exists() else []


def assert_whole(run: Run, server: FakeServer, ids: Sequence[str] = ALL) -> None:
    """Every case is judged, once; each request was paid for once; nothing is left of what was out."""
    assert (run.manifest.state, run.manifest.stop_reason) == ("finished", None)
    assert sorted(line["id"] for line in lines(run.folder)) == sorted(ids)
    assert {line["status"] for line in lines(run.folder)} == {"ok"}
    assert server.stats().completed_by_key == expected(ids)
    assert not (run.folder / "batches").exists()
