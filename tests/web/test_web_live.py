"""A real server on loopback: what only shows with real connections, slow, endless, cut off or killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import httpx2
import orjson
import pytest

from krino.web import server as web_server
from krino.web.judging.workers import ThreadWorker
from made_runs import make_run, row
from waiting import children, ended, is_alive
from workbench_making import TOKEN, free_port, running, until

SMALL = 20_000
CASE = {"question": "How tall?", "context": ["It stands 102 metres tall."], "answer": "It stands 102 metres tall."}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    with running(tmp_path_factory.mktemp("runs"), max_body=SMALL, body_seconds=2.0, timeout=60.0) as address:
        yield address


def exchange(address: tuple[str, int], *pieces: bytes, pause: float = 0.0) -> bytes:
    """Send the pieces with a pause after each, and give back all that comes until the server closes."""
    with socket.create_connection(address, timeout=30) as line:
        with contextlib.suppress(ConnectionError):  # it may close before we are done: that is what is tested
            for piece in pieces:
                line.sendall(piece)
                time.sleep(pause)
        said = b""
        with contextlib.suppress(ConnectionError):
            while piece := line.recv(65_536):
                said += piece
        return said


def head(length: str, path: str = "/v1/judge/rag") -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", length, "", "")
    return "\r\n".join(lines).encode()


def refusal(said: bytes, status: int) -> dict[str, str]:
    assert said.startswith(b"HTTP/1.1 %d " % status), said[:300]
    told: dict[str, str] = orjson.loads(said.partition(b"\r\n\r\n")[2])
    assert told.keys() == {"error", "where", "remedy"}
    return told


# --- limits -------------------------------------------------------------------------------------------


def test_a_body_that_states_too_great_a_length_is_refused_before_it_is_sent(address: tuple[str, int]) -> None:
    refusal(exchange(address, head("Content-Length: 10000000000")), 413)


def test_a_body_that_grows_past_the_limit_is_refused_on_the_way(address: tuple[str, int]) -> None:
    piece = b"%x\r\n%b\r\n" % (4_000, b" " * 4_000)
    refusal(exchange(address, head("Transfer-Encoding: chunked"), *[piece] * 50), 413)


def test_a_form_that_grows_past_the_limit_is_refused_on_the_way(address: tuple[str, int]) -> None:
    piece = b"%x\r\n%b\r\n" % (4_000, b"a" * 4_000)
    form = head("Transfer-Encoding: chunked", "/login").replace(
        b"application/json", b"application/x-www-form-urlencoded"
    )
    refusal(exchange(address, form, *[piece] * 50), 413)


def test_a_body_that_does_not_come_to_its_end_is_given_up(address: tuple[str, int]) -> None:
    told = refusal(exchange(address, head("Content-Length: 1000"), *[b" "] * 14, pause=0.2), 408)
    assert "2 seconds" in told["error"]


def test_a_body_in_slow_chunks_is_given_up_too(address: tuple[str, int]) -> None:
    refusal(exchange(address, head("Transfer-Encoding: chunked"), *[b"1\r\n \r\n"] * 14, pause=0.2), 408)


def test_a_request_whose_headers_never_end_is_closed(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "HEADER_SECONDS", 0.5)
    begun = time.monotonic()
    said = exchange(address, b"GET /health HTTP/1.1\r\nHost: localhost\r\n", *[b"X: y\r\n"] * 8, pause=0.2)
    assert said == b""
    assert time.monotonic() - begun < 20


def test_slow_headers_of_a_second_request_are_closed_too(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_server, "HEADER_SECONDS", 0.5)
    whole = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    said = exchange(
        address, whole, b"GET /health HTTP/1.1\r\n", *[b"X: y\r\n"] * 8, b"Host: localhost\r\n\r\n", pause=0.2
    )
    assert said.count(b"HTTP/1.1 200") == 1


def test_endless_headers_are_refused(address: tuple[str, int]) -> None:
    said = exchange(address, b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 200_000)
    assert b" 200 " not in said[:20]


def test_an_answer_that_takes_too_long_is_given_up_and_the_server_goes_on(tmp_path: Path) -> None:
    with running(tmp_path, timeout=0.001) as (host, port), httpx2.Client(base_url=f"http://{host}:{port}") as client:
        answer = client.post("/v1/judge/rag", json={"cases": [CASE] * 50})
        assert answer.status_code == 503
        assert answer.headers["retry-after"]
        assert "0.001 seconds" in answer.json()["error"]
        until(lambda: client.get("/metrics").status_code in (200, 503))


def test_two_host_headers_are_refused(address: tuple[str, int]) -> None:
    said = exchange(
        address, b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    )
    assert said.startswith((b"HTTP/1.1 400", b"HTTP/1.1 421"))


def test_a_length_and_chunks_together_are_not_read_as_two_requests(address: tuple[str, int]) -> None:
    """The second request hides in what one of the two ways of reading takes for the body."""
    hidden = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    lines = head(f"Content-Length: {len(hidden) + 5}\r\nTransfer-Encoding: chunked\r\nConnection: close")
    said = exchange(address, lines + b"0\r\n\r\n" + hidden)
    assert said.count(b"HTTP/1.1") == 1


def test_a_connection_is_used_again_after_an_answer_and_after_a_refusal(address: tuple[str, int]) -> None:
    pieces = [
        b"GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    ]
    said = exchange(address, *pieces, pause=0.3)
    assert re.findall(rb"HTTP/1\.1 (\d+)", said) == [b"404", b"421", b"200"]


def test_a_websocket_is_refused(address: tuple[str, int]) -> None:
    said = exchange(
        address,
        b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
    )
    assert b" 101 " not in said


def test_a_client_that_goes_away_leaves_nothing_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go, judged = threading.Event(), ThreadWorker.judge
    monkeypatch.setattr(ThreadWorker, "judge", lambda worker, cases: judged(worker, cases) if go.wait(90) else [])
    body = orjson.dumps({"cases": [CASE] * 60})
    with running(tmp_path) as address:
        with socket.create_connection(address) as line:
            line.sendall(head(f"Content-Length: {len(body)}") + body)
            until(lambda: under_way(address) == 60)
        until(lambda: under_way(address) == 0)  # while nobody has judged a single one
        go.set()
        with httpx2.Client(base_url=f"http://{address[0]}:{address[1]}") as client:
            assert client.post("/v1/judge/rag", json={"case": CASE}).status_code == 200
            assert 'krino_cases_total{judge="rag",status="ok"} 1.0\n' in client.get("/metrics").text


def under_way(address: tuple[str, int]) -> int:
    text = httpx2.get(f"http://{address[0]}:{address[1]}/metrics").text
    return int(float(text.rpartition("krino_cases_under_way ")[2]))


async def test_many_clients_at_once_each_get_their_own_verdict(address: tuple[str, int]) -> None:
    async with httpx2.AsyncClient(base_url=f"http://{address[0]}:{address[1]}", timeout=60) as client:

        async def one(number: int) -> None:
            case = {**CASE, "id": f"case-{number}"}
            answer = await client.post("/v1/judge/rag", json={"case": case})
            assert [found["id"] for found in answer.json()["judgements"]] == [f"case-{number}"]

        await asyncio.gather(*(one(number) for number in range(40)))


# --- the command --------------------------------------------------------------------------------------


@contextlib.contextmanager
def started(runs: Path, port: int, *more: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], IO[str]]]:
    """The command once it listens, and what it says after that."""
    command = [sys.executable, "-m", "krino", "serve", str(runs), "--port", str(port), *more]
    begun = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
    with ended(begun) as process:
        assert process.stderr is not None
        assert f"localhost:{port}" in process.stderr.readline()
        yield process, process.stderr


def test_the_command_serves_survives_a_kill_and_ends_when_it_is_told_to(tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    headers = {"authorization": f"Bearer {TOKEN}"}
    with started(tmp_path, port, KRINO_TOKEN=TOKEN) as (first, said):
        assert httpx2.get(f"{url}/v1/runs").status_code == 401
        assert httpx2.get(f"{url}/v1/runs", headers=headers).json() == {"runs": []}
        until(lambda: bool(children(first.pid)))
        judging = children(first.pid)
        first.kill()
        first.wait()
        until(lambda: not any(map(is_alive, judging)))
        assert TOKEN not in said.read()
    with started(tmp_path, port, KRINO_TOKEN=TOKEN) as (second, said):
        assert httpx2.get(f"{url}/v1/runs", headers=headers).status_code == 200
        second.send_signal(signal.SIGINT)
        assert second.wait(60) in (0, 130)
        assert TOKEN not in said.read()


def test_one_run_that_is_served_by_itself_says_where_its_labels_are_kept(tmp_path: Path) -> None:
    make_run(tmp_path / "mine", [row("a", score=1.0)])
    with started(tmp_path / "mine", free_port()) as (_, said):
        told = said.readline()
    assert f"kept beside it, in {tmp_path / '.workbench'} (--database names another place)" in told


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--host", "0.0.0.0"], "token"),
        (["--token", "short"], "characters"),
        (["--labeller", "gpt-x"], "--max-cost"),
        (["--judge", "nowhere.py:Judge"], "nowhere.py"),
    ],
)
def test_the_command_says_what_is_wrong_with_its_flags(tmp_path: Path, flags: list[str], told: str) -> None:
    command = [sys.executable, "-m", "krino", "serve", str(tmp_path), *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert told in done.stderr


def test_the_command_says_when_the_port_or_the_folder_is_not_to_be_had(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        command = [sys.executable, "-m", "krino", "serve", str(tmp_path), "--port", str(taken.getsockname()[1])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "another --port" in done.stderr
    command = [sys.executable, "-m", "krino", "serve", str(tmp_path / "none")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "is not a folder" in done.stderr


def test_without_the_extra_the_command_says_what_to_install() -> None:
    code = "import sys, krino.cli; sys.modules['fastapi'] = None; sys.argv[1:] = ['serve', '.']; krino.cli.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "pip install 'krino[web]'" in done.stderr
