"""Replies are bounded: what is read, what is kept of a bad one, and what is sent back when it is asked again."""

from __future__ import annotations

import asyncio
import gzip
import threading
import zlib
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from aiohttp import web

import krino
from fake_llm import FakeServer
from krino.labellers.llm.labeller import PROBLEM_KEPT, RAW_KEPT, RAW_SENT_BACK, shortened
from krino.labellers.llm.sending.http import MOST_BYTES, MOST_ERROR_BYTES, BadBody, read_bounded
from krino.labellers.llm.sending.pace import Pace
from krino.labellers.llm.sending.retrying import CODE_KEPT, MESSAGE_KEPT, Transport
from odd_endpoint import OddEndpoint
from toy_judge import ToyJudge

GOOD = {"label": "good", "quote": "fine"}
CASE = {"text": "a fine text"}


async def in_pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def chunks(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def packed_as(encoding: str, data: bytes) -> bytes:
    if encoding == "gzip":
        return gzip.compress(data, mtime=0)
    if encoding == "raw deflate":
        packer = zlib.compressobj(wbits=-15)
        return packer.compress(data) + packer.flush()
    return zlib.compress(data) if encoding == "deflate" else data


ENCODINGS = ["identity", "gzip", "deflate", "raw deflate"]

# --- reading -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_a_body_is_read_whole_however_it_is_packed_and_cut(encoding: str, size: int) -> None:
    data = orjson.dumps(list(range(500)))
    pieces = in_pieces(*chunks(packed_as(encoding, data), size))
    assert await read_bounded(pieces, encoding.removeprefix("raw "), len(data)) == (data, True)


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_a_body_that_is_one_byte_too_long_is_cut_there(encoding: str) -> None:
    data = b"x" * 1001
    pieces = in_pieces(packed_as(encoding, data))
    assert await read_bounded(pieces, encoding.removeprefix("raw "), 1000) == (b"x" * 1000, False)


async def test_nothing_is_unpacked_or_asked_for_beyond_the_bound() -> None:
    """A bomb of 64 MB in some 60 kB: counted are the bytes that come out and the pieces that go in."""
    bomb = chunks(gzip.compress(b"\0" * (64 << 20)), 100)
    taken = 0

    async def counted() -> AsyncIterator[bytes]:
        nonlocal taken
        for piece in bomb:
            taken += 1
            yield piece

    kept, whole = await read_bounded(counted(), "gzip", 1 << 20)
    assert (len(kept), whole) == (1 << 20, False)
    assert taken < len(bomb) / 32


@pytest.mark.parametrize(
    ("encoding", "data", "words"),
    [
        ("br", b"x", "packed as 'br', which was not asked for"),
        ("gzip", b"no gzip", "cannot be unpacked"),
        ("deflate", b"\x08no", "cannot be unpacked"),
        ("gzip", gzip.compress(b"x" * 100, mtime=0)[:-9], "ends before it is unpacked"),
    ],
)
async def test_a_body_that_cannot_be_unpacked_is_said_to_be_so(encoding: str, data: bytes, words: str) -> None:
    with pytest.raises(BadBody, match=words):
        await read_bounded(in_pieces(data), encoding, 1000)


@pytest.mark.parametrize("encoding", [None, "", " IDENTITY ", "GZip"])
async def test_the_name_of_the_packing_may_be_missing_or_in_any_case(encoding: str | None) -> None:
    data = gzip.compress(b"x", mtime=0) if encoding == "GZip" else b"x"
    assert await read_bounded(in_pieces(data), encoding, 10) == (b"x", True)


async def test_an_empty_packed_body_is_empty() -> None:
    assert await read_bounded(in_pieces(), "gzip", 10) == (b"", True)


# --- over HTTP ---------------------------------------------------------------------------------------


def completion(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    return orjson.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": {}})


class Sender:
    """Sends a body in pieces, and counts how far it came before the client left."""

    def __init__(self, body: bytes, *, status: int = 200, packed: bool = False) -> None:
        self.pieces = chunks(gzip.compress(body, 1, mtime=0) if packed else body, 1 << 16)
        self.headers = {"Content-Encoding": "gzip"} if packed else {}
        self.status = status
        self.sent = 0

    async def __call__(self, request: web.BaseRequest, body: bytes) -> web.StreamResponse:
        response = web.StreamResponse(status=self.status, headers=self.headers)
        await response.prepare(request)
        try:
            for piece in self.pieces:
                await response.write(piece)
                self.sent += len(piece)
        except (ConnectionError, asyncio.CancelledError):
            pass
        return response


async def judged(endpoint: OddEndpoint, **settings: Any) -> krino.Judgement:
    async with krino.llm("m", base_url=endpoint.url, cache="off", api_key="secret-key", **settings) as labeller:
        return await krino.ajudge(ToyJudge(), CASE, labeller=labeller)


@pytest.mark.parametrize("packed", [False, True])
async def test_a_giant_reply_is_read_up_to_the_bound_and_kept_in_part(packed: bool) -> None:
    sender = Sender(b"\0" * (64 << 20), packed=packed)
    with OddEndpoint(sender) as endpoint:
        judgement = await judged(endpoint, reasks=0)
    assert judgement.status == "error"
    assert f"longer than {MOST_BYTES:,} bytes" in (judgement.error or "")
    assert len(judgement.to_json()) < 100_000
    assert len(judgement.raw_reply or "") == RAW_KEPT + len(f" [… {MOST_BYTES - RAW_KEPT:,} more characters left out]")
    assert judgement.usage.output_tokens == MOST_BYTES // 4, "it was read so far, and is paid for"
    if not packed:
        assert sender.sent < 32 << 20, "what the sockets hold at most"


@pytest.mark.parametrize("packed", [False, True])
async def test_a_reply_of_ordinary_size_comes_through_packed_or_not(packed: bool) -> None:
    padded = orjson.dumps(GOOD).decode() + " " * 200_000
    with OddEndpoint(Sender(completion(padded), packed=packed)) as endpoint:
        assert (await judged(endpoint)).verdict == {"score": 1.0, "note": "labelled good"}


@pytest.mark.parametrize("status", [400, 500])
async def test_a_giant_refusal_is_read_up_to_a_smaller_bound(status: int) -> None:
    refusal = orjson.dumps({"error": {"message": "no " * 10_000_000, "code": "c" * 1_000}})
    sender = Sender(refusal, status=status)
    with OddEndpoint(sender) as endpoint:
        transport = Transport(endpoint.url, {}, Pace(1))
        reply = await transport._exchange(b"{}", 10.0)
        await transport.aclose()
    assert (len(reply.body), reply.whole) == (MOST_ERROR_BYTES, False)
    assert sender.sent < 16 << 20


def test_what_a_refusal_says_is_cut_to_what_a_person_reads() -> None:
    from krino.labellers.llm.wire import HttpReply

    transport = Transport("http://127.0.0.1:9", {}, Pace(1))
    fields = {"message": "m" * 5_000, "code": "c" * 5_000, "param": "p" * 5_000, "type": "t" * 5_000}
    error = transport.read_error(HttpReply(400, body=orjson.dumps({"error": fields})))
    kept = (error.message, error.code, error.param, error.kind)
    assert [len(text or "") for text in kept] == [MESSAGE_KEPT + 1, CODE_KEPT + 1, CODE_KEPT + 1, CODE_KEPT + 1]
    short = transport.read_error(HttpReply(400, body=b'{"error": {"message": "no", "code": "c"}}'))
    assert (short.message, short.code, short.param, short.kind) == ("no", "c", None, None)


async def test_a_reply_packed_in_an_unasked_way_is_tried_again_and_never_read() -> None:
    async def brotli(request: web.BaseRequest, body: bytes) -> web.StreamResponse:
        return web.Response(body=b"\x0b\x02\x80{}\x03", headers={"Content-Encoding": "br"})

    with OddEndpoint(brotli) as endpoint:
        with pytest.raises(krino.RunStopped, match="packed as 'br'"):
            await judged(endpoint, retries=1, backoff=0.001)
        assert endpoint.calls == 2


# --- asking again ------------------------------------------------------------------------------------


async def test_a_long_bad_reply_goes_back_and_on_record_shortened() -> None:
    with FakeServer(reply="I think that " + "it is rather good. " * 20_000) as server:
        async with krino.llm("m", base_url=server.url, cache="off", channel="json_schema", reasks=1) as labeller:
            judgement = await krino.ajudge(ToyJudge(), CASE, labeller=labeller)
        again = server.requests[1].body["messages"]
    assert again[-2]["content"].endswith("more characters left out]")
    assert len(again[-2]["content"]) < RAW_SENT_BACK + 100
    assert RAW_KEPT < len(judgement.raw_reply or "") < RAW_KEPT + 100


async def test_a_long_list_of_faults_is_shortened_too() -> None:
    many = {"label": "good", "quote": "fine", **{f"invented_{number}": number for number in range(5_000)}}
    with FakeServer(reply=many) as server:
        async with krino.llm("m", base_url=server.url, cache="off", reasks=1) as labeller:
            judgement = await krino.ajudge(ToyJudge(), CASE, labeller=labeller)
        again = server.requests[1].body["messages"][-1]["content"]
    assert "invented_3: Extra inputs are not permitted" in again
    assert len(again) < PROBLEM_KEPT + 300
    assert len(judgement.error or "") < PROBLEM_KEPT + 300


def test_a_text_is_shortened_only_when_it_is_longer() -> None:
    assert shortened("12345", 5) == "12345"
    assert shortened("123456", 5) == "12345 [… 1 more characters left out]"


# --- what is done while replies are awaited ----------------------------------------------------------


async def test_the_next_cases_are_made_ready_while_as_many_requests_are_out_as_may_be() -> None:
    studied: list[str] = []
    may_answer = threading.Event()
    out = most_out = 0

    class Noting(ToyJudge):
        def study(self, case: Any) -> int:
            studied.append(case.text)
            return super().study(case)

    async def patient(request: web.BaseRequest, body: bytes) -> web.StreamResponse:
        nonlocal out, most_out
        out += 1
        most_out = max(most_out, out)
        while endpoint.calls > 1 and not may_answer.is_set():  # the first goes out alone, and what it teaches is learnt
            await asyncio.sleep(0.01)
        out -= 1
        return web.Response(body=completion(orjson.dumps(GOOD).decode()), content_type="application/json")

    async def judge_all(labeller: krino.Labeller) -> list[str]:
        cases = [{"text": f"a fine text {number}"} for number in range(20)]
        return [judgement.status async for judgement in krino.ajudge_many(Noting(), cases, labeller=labeller)]

    with OddEndpoint(patient) as endpoint:
        async with krino.llm("m", base_url=endpoint.url, concurrency=4, cache="off") as labeller:
            work = asyncio.create_task(judge_all(labeller))
            async with asyncio.timeout(60):
                while endpoint.calls < 5 or len(studied) < 7:
                    await asyncio.sleep(0.01)
            may_answer.set()
            assert await work == ["ok"] * 20
    assert most_out == 4
