"""One request over HTTP, against a server that writes its bytes by hand: what is sent, kept, refused."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from krino.labellers.llm.sending.http import HttpClient

REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class ByHand:
    """Answers each request with the next of its replies, each time as whole bytes; keeps what it was sent."""

    def __init__(self, *replies: bytes, reads_body: bool = True) -> None:
        self.replies, self.reads_body = list(replies), reads_body
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while self.replies:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                if self.reads_body:
                    length = re.search(r"Content-Length: (\d+)", head)
                    assert length is not None
                    self.bodies.append(await reader.readexactly(int(length[1])))
                writer.write(self.replies.pop(0))
                await writer.drain()
                if not self.reads_body:
                    await asyncio.sleep(3600)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def exchange_with(server: ByHand, headers: dict[str, str] | None = None) -> AsyncIterator[HttpClient]:
    listening = await asyncio.start_server(server, "127.0.0.1", 0, limit=1 << 20)
    port = listening.sockets[0].getsockname()[1]
    exchange = HttpClient(f"http://127.0.0.1:{port}/v1/chat?api-version=1", headers or {})
    try:
        yield exchange
    finally:
        await exchange.session.close()
        listening.close()


async def test_one_connection_serves_requests_that_follow_each_other() -> None:
    server = ByHand(REPLY, REPLY, REPLY)
    async with exchange_with(server, {"Authorization": "Bearer secret-key"}) as exchange:
        answers = [await exchange.post(b"body %d" % number, 10) for number in range(3)]
    assert [(answer.status, answer.body, answer.whole) for answer in answers] == [(200, b"{}", True)] * 3
    assert server.connections == 1
    assert server.bodies == [b"body 0", b"body 1", b"body 2"]
    assert server.heads[0] == server.heads[2]
    lines = server.heads[0].split("\r\n")
    assert lines[0] == "POST /v1/chat?api-version=1 HTTP/1.1"
    names = [line.partition(":")[0].lower() for line in lines[1:] if line]
    assert len(names) == len(set(names))
    assert {"host", "authorization", "content-type", "accept-encoding", "content-length"} <= set(names)


async def test_a_word_that_the_reply_will_come_is_passed_over() -> None:
    early = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    async with exchange_with(ByHand(early + REPLY)) as exchange:
        assert (await exchange.post(b"{}", 10)).body == b"{}"


async def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    moved = b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"
    async with exchange_with(ByHand(moved)) as exchange:
        answer = await exchange.post(b"{}", 10)
    assert (answer.status, answer.headers["location"]) == (307, "http://127.0.0.1:9/")


async def test_a_connection_whose_request_was_not_read_to_its_end_is_not_used_again() -> None:
    """What is left of the body would be taken for the beginning of the next request."""
    server = ByHand(REPLY, REPLY, reads_body=False)
    async with exchange_with(server) as exchange:
        for _ in range(2):
            assert (await exchange.post(b"x" * (32 << 20), 30)).status == 200
    assert server.connections == 2


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}", aiohttp.ClientPayloadError),
        (b"no HTTP at all\r\n\r\n", aiohttp.ClientResponseError),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", aiohttp.ClientResponseError),
        (b"", aiohttp.ServerDisconnectedError),
    ],
)
async def test_what_is_no_whole_reply_is_told_as_the_library_tells_it(reply: bytes, fault: type[Exception]) -> None:
    async with exchange_with(ByHand(reply)) as exchange:
        with pytest.raises(fault):
            await exchange.post(b"{}", 10)


async def test_a_reply_that_does_not_end_in_time_is_a_time_out_and_its_connection_is_closed() -> None:
    server = ByHand(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{}", REPLY)
    async with exchange_with(server) as exchange:
        with pytest.raises(TimeoutError):
            await exchange.post(b"{}", 0.05)
        assert (await exchange.post(b"{}", 10)).body == b"{}"
    assert server.connections == 2


async def test_a_header_that_would_begin_another_line_is_refused() -> None:
    with pytest.raises(ValueError, match="control character"):
        HttpClient("http://127.0.0.1:9/v1", {"Authorization": "Bearer a\r\nX-Other: b"})
