"""The limits by themselves, before an application that does what no route of ours does."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from krino.web.limits import MOST_AT_LOGIN, Limits
from krino.web.problems import Problem
from workbench_making import settings_of

START: Message = {"type": "http.response.start", "status": 200, "headers": []}


async def sent_through(
    app: ASGIApp, folder: Path, *given: Message, headers: Any = (), path: str = "/x", **limits: Any
) -> list[Message]:
    """What an application behind the limits answers to a request; after `given` nothing more comes."""
    messages, answers = list(given), []

    async def receive() -> Message:
        if messages:
            return messages.pop(0)
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        answers.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": list(headers)}
    await asyncio.wait_for(Limits(app, settings_of(folder, **limits))(scope, receive, send), 20)
    return answers


def piece(body: bytes, more: bool = True) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


async def reads_all(_: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    await send(START)


@pytest.mark.parametrize(("sizes", "fits"), [((10,), True), ((5, 5), True), ((11,), False), ((5, 6), False)])
async def test_bytes_are_counted_as_they_come(tmp_path: Path, sizes: tuple[int, ...], fits: bool) -> None:
    parts = [piece(b"x" * size, more=place < len(sizes) - 1) for place, size in enumerate(sizes)]
    if fits:
        assert await sent_through(reads_all, tmp_path, *parts, max_body=10) == [START]
        return
    with pytest.raises(Problem) as refused:
        await sent_through(reads_all, tmp_path, *parts, max_body=10)
    assert refused.value.status_code == 413
    assert (refused.value.headers or {})["Connection"] == "close"


@pytest.mark.parametrize(
    ("stated", "status"),
    [(b"10", None), (b"11", 413), (b"9" * 400, 413), (b"-1", 400), (b"1e3", 400), ("²".encode(), 400), (b"", 400)],
)
async def test_a_stated_length_is_believed_only_where_it_is_too_great(
    tmp_path: Path, stated: bytes, status: int | None
) -> None:
    asked = sent_through(reads_all, tmp_path, piece(b"", False), headers=[(b"content-length", stated)], max_body=10)
    if status is None:
        assert await asked == [START]
        return
    with pytest.raises(Problem) as refused:
        await asked
    assert refused.value.status_code == status


async def test_a_body_that_stops_coming_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(Problem) as refused:
        await sent_through(reads_all, tmp_path, piece(b"x"), body_seconds=0.05)
    assert refused.value.status_code == 408


async def test_waiting_for_the_client_to_go_is_not_waiting_for_its_body(tmp_path: Path) -> None:
    async def waits(_: Scope, receive: Receive, send: Send) -> None:
        await receive()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(receive(), 0.2)
        await send(START)

    assert await sent_through(waits, tmp_path, piece(b"x", more=False), body_seconds=0.05) == [START]


async def test_work_that_takes_too_long_is_given_up_in_a_thread_too(tmp_path: Path) -> None:
    go, given_up = threading.Event(), []

    async def awaits(*_: Any) -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            given_up.append("loop")
            raise

    async def works(*_: Any) -> None:
        await run_in_threadpool(go.wait, 30)

    try:
        for app in (awaits, works):
            with pytest.raises(Problem) as refused:
                await sent_through(app, tmp_path, timeout=0.05)
            assert refused.value.status_code == 503
    finally:
        go.set()
    assert given_up == ["loop"]


async def test_an_answer_that_has_begun_may_take_its_time(tmp_path: Path) -> None:
    async def streams(_: Scope, __: Receive, send: Send) -> None:
        await send(START)
        await asyncio.sleep(1.5)
        await send({"type": "http.response.body", "body": b"late"})

    assert len(await sent_through(streams, tmp_path, timeout=1.0)) == 2


async def test_a_timeout_of_the_application_s_own_is_not_told_as_ours(tmp_path: Path) -> None:
    async def fails(*_: Any) -> None:
        raise TimeoutError("of a database, say")

    with pytest.raises(TimeoutError, match="database"):
        await sent_through(fails, tmp_path)


async def test_what_is_no_request_passes(tmp_path: Path) -> None:
    seen = []

    async def app(scope: Scope, _: Receive, __: Send) -> None:
        seen.append(scope["type"])

    async def never(*_: Any) -> Any:
        raise AssertionError

    await Limits(app, settings_of(tmp_path))({"type": "lifespan"}, never, never)
    assert seen == ["lifespan"]


async def test_who_has_not_shown_the_token_may_send_little(tmp_path: Path) -> None:
    body = piece(b"x" * (MOST_AT_LOGIN + 1), more=False)
    assert await sent_through(reads_all, tmp_path, body) == [START]
    with pytest.raises(Problem) as refused:
        await sent_through(reads_all, tmp_path, body, path="/login")
    assert refused.value.status_code == 413
