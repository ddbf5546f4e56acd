"""What the server remembers, how it is steered, and how it lives and ends."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import aiohttp
import pytest

from fake_llm import FakeServer, Faults
from krino.errors import UsageProblem
from waiting import ended


async def ask(session: aiohttp.ClientSession, url: str, case: str = "case-1") -> int:
    body = {"model": "m", "messages": [{"role": "user", "content": f"Judge {case}."}]}
    async with session.post(f"{url}/chat/completions", json=body) as response:
        await response.read()
        return response.status


async def test_a_request_is_recorded_with_what_was_answered() -> None:
    with FakeServer(faults=Faults(schedule=["500"])) as server:
        async with aiohttp.ClientSession(headers={"Authorization": "Bearer x"}) as session:
            await ask(session, server.url)
            await ask(session, server.url)
        failed, sound = server.requests
    assert (failed.method, failed.path, failed.query) == ("POST", "/v1/chat/completions", {})
    assert failed.headers["authorization"] == "Bearer x"
    assert failed.body["messages"][0]["content"] == failed.user_text == "Judge case-1."
    assert (failed.status, failed.fault) == (500, "500")
    assert (sound.status, sound.fault) == (200, None)


async def test_only_the_latest_requests_are_kept_but_all_are_counted() -> None:
    with FakeServer(keep=2) as server:
        async with aiohttp.ClientSession() as session:
            for number in range(5):
                await ask(session, server.url, f"case-{number}")
        assert [request.user_text for request in server.requests] == ["Judge case-3.", "Judge case-4."]
        assert server.stats().calls == 5


async def test_calls_and_completed_replies_are_counted_by_case() -> None:
    with FakeServer(key=r"case-\d+", faults=Faults(schedule=["500", "garbage"])) as server:
        async with aiohttp.ClientSession() as session:
            for case in ("case-1", "case-2", "case-1", "case-3", "none"):
                await ask(session, server.url, case)
        stats = server.stats()
    assert stats.calls_by_key == {"case-1": 2, "case-2": 1, "case-3": 1}
    assert stats.completed_by_key == {"case-1": 1, "case-3": 1}
    assert (stats.calls, stats.completed, stats.faults) == (5, 3, {"500": 1, "garbage": 1})


async def test_a_key_may_be_a_function_of_the_request() -> None:
    with FakeServer(key=lambda request: request.user_text.upper()) as server:
        async with aiohttp.ClientSession() as session:
            await ask(session, server.url)
        assert server.stats().calls_by_key == {"JUDGE CASE-1.": 1}


async def test_latency_is_waited_and_the_peak_in_flight_is_seen() -> None:
    with FakeServer(latency=0.2) as server:
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with aiohttp.ClientSession() as session:
            await asyncio.gather(*(ask(session, server.url) for _ in range(8)))
        assert 0.19 < loop.time() - began < 1.6, "eight in a row would take 1.6 s"
        assert server.stats().max_in_flight == 8
        assert server.stats().in_flight == 0


async def test_a_client_that_leaves_early_has_no_completed_reply() -> None:
    with FakeServer(latency=1.0) as server:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=0.4)) as session:
            with pytest.raises(TimeoutError):
                await ask(session, server.url)
        while server.stats().in_flight:
            await asyncio.sleep(0.01)
        assert (server.stats().calls, server.stats().completed) == (1, 0)


async def test_it_works_as_an_async_context_and_ends_with_requests_open() -> None:
    before = {thread.ident for thread in threading.enumerate()}
    async with aiohttp.ClientSession() as session:
        async with FakeServer(latency=30) as server:
            waiting = asyncio.create_task(ask(session, server.url))
            while server.stats().calls == 0:
                await asyncio.sleep(0.01)
        with pytest.raises(aiohttp.ClientError):
            await waiting
    left = [thread for thread in threading.enumerate() if thread.ident not in before]
    assert not [thread for thread in left if thread.name == "krino-fake-server"]


def test_it_can_be_started_again_but_not_twice_at_once() -> None:
    server = FakeServer()
    with server, pytest.raises(UsageProblem, match="already running"):
        server.start()
    with pytest.raises(UsageProblem, match="not running"):
        _ = server.url
    with server:
        assert server.url.endswith("/v1")
    server.stop()


def test_a_taken_port_is_reported() -> None:
    with FakeServer() as server, pytest.raises(OSError, match="in use"):
        FakeServer(port=server.port).start()


def test_unknown_features_are_refused() -> None:
    with pytest.raises(UsageProblem, match="telepathy"):
        FakeServer(unsupported={"telepathy"})


# --- from another process --------------------------------------------------------------------------

TESTS = Path(__file__).parents[1]  # from here `python -m fake_llm` finds the package


def call(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, data=data, headers={"Content-Type": "application/json"}), timeout=60) as response:
        return json.load(response)


def test_a_server_process_is_steered_over_http_and_ends_on_sigterm() -> None:
    command = [sys.executable, "-m", "fake_llm", "--port", "0", "--latency-ms", "1"]
    options = ["--faults", "garbage=1.0", "--key-pattern", r"case-\d+"]
    chat = {"messages": [{"role": "user", "content": "case-7"}]}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with ended(subprocess.Popen([*command, *options], cwd=TESTS, **pipes)) as server:
        try:
            assert server.stdout is not None
            where = json.loads(server.stdout.readline())
            root = f"http://127.0.0.1:{where['port']}"
            assert where["url"] == f"{root}/v1"
            assert "seems good" in call(f"{root}/v1/chat/completions", chat)["choices"][0]["message"]["content"]
            assert call(f"{root}/__stats")["faults"] == {"garbage": 1}
            call(f"{root}/__configure", {"faults": {"rates": {}}, "reply": {"a": 1}, "latency_ms": 0})
            call(f"{root}/__reset", {})
            assert call(f"{root}/v1/chat/completions", chat)["choices"][0]["message"]["content"] == '{"a":1}'
            stats = call(f"{root}/__stats")
            assert (stats["calls"], stats["completed_by_key"]) == (1, {"case-7": 1})
        finally:
            server.send_signal(signal.SIGTERM)
            _, complaints = server.communicate(timeout=60)
    assert (server.returncode, complaints) == (0, "")


async def test_a_configuration_that_makes_no_sense_is_refused() -> None:
    with FakeServer() as server:
        async with aiohttp.ClientSession() as session:
            for body in (b"{", b"[]", b'{"faults": {"rates": {"418": 1}}}', b'{"colour": "red"}'):
                async with session.post(f"{server.anthropic_url}/__configure", data=body) as response:
                    assert response.status == 400
                    assert "not understood" in (await response.json())["error"]["message"]


def test_the_process_refuses_faults_it_does_not_know() -> None:
    command = [sys.executable, "-m", "fake_llm", "--faults", "418=1"]
    ended = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, timeout=10, check=False)
    assert ended.returncode == 2
    assert "418" in ended.stderr
