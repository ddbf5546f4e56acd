"""Requests reach an endpoint as the user said: its address, extra fields and headers, proxies, own certificates."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from command_here import krino, own_folder
from endpoints import KEY, Emulator, serve
from endpoints.asking import ask_once, labeller_at, simple_cases
from fake_llm import ReceivedRequest

CASES = simple_cases(6)
MODEL = "openai:gpt-4o"
PASSWORD = "Proxy-Authorization: Basic dXNlcjpwYXNzLXdvcmQ="
"""How a proxy is told `user:pass-word`."""


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "ssl_cert_file", "requests_ca_bundle"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def overheard(server: Emulator, monkeypatch: pytest.MonkeyPatch) -> list[ReceivedRequest]:
    """Every request that the server takes, with its headers."""
    heard: list[ReceivedRequest] = []
    usual = server.check

    def check(request: ReceivedRequest) -> None:
        heard.append(request)
        usual(request)

    monkeypatch.setattr(server, "check", check)
    return heard


# --- addresses -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["", "/", "/chat/completions", "/chat/completions/"])
async def test_an_address_may_be_copied_with_the_path_of_the_operation(ending: str) -> None:
    with serve("openai") as server:
        labeller = labeller_at(server, MODEL, base_url=f"{server.url}{ending}", api_key=KEY)
        run = await ask_once(labeller, "rag", CASES)
        assert run.statuses == ["ok"] * len(CASES), run.stopped or run.errors


@pytest.mark.parametrize("ending", ["", "/v1", "/v1/messages"])
async def test_anthropics_address_is_taken_with_and_without_its_version(ending: str) -> None:
    with serve("anthropic") as server:
        labeller = labeller_at(server, "anthropic:claude-sonnet-5-5", base_url=f"{server.root}{ending}", api_key=KEY)
        run = await ask_once(labeller, "rag", CASES)
        assert run.statuses == ["ok"] * len(CASES), run.stopped or run.errors


@pytest.mark.parametrize("provider", ["vllm", "lmstudio", "llamacpp"])
async def test_a_server_on_this_machine_is_found_without_v1(provider: str) -> None:
    with serve(provider) as server:
        run = await ask_once(labeller_at(server, f"{provider}:q", base_url=server.root), "rag", CASES)
        assert run.statuses == ["ok"] * len(CASES), run.stopped or run.errors


async def test_an_address_without_its_version_says_which_one_to_try() -> None:
    with serve("openai") as server:
        run = await ask_once(labeller_at(server, MODEL, base_url=server.root, api_key=KEY), "rag", CASES)
        assert f"try {server.root}/v1" in str(run.stopped)
        assert server.requests == 0


# --- extra fields and headers ----------------------------------------------------------------------------


def test_extra_fields_and_headers_reach_the_server_and_no_value_of_a_header_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
    with serve("openai") as server, own_folder(tmp_path, monkeypatch, "off"):
        heard = overheard(server, monkeypatch)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        extras = ("--extra-body", '{"service_tier": "flex", "metadata": {"team": "blue"}}')
        headers = ("--extra-header", "X-Team=blue-whale", "--extra-header", "X-Gateway-Token=hush-hush")
        done = krino("judge", "rag", "cases.jsonl", "--run", "r", "-l", MODEL, *extras, *headers)
        assert done.code == 0, done.err
        assert {request.body["service_tier"] for request in heard} == {"flex"}
        assert {request.headers["x-team"] for request in heard} == {"blue-whale"}
        assert {request.headers["x-gateway-token"] for request in heard} == {"hush-hush"}
    labeller = json.loads((tmp_path / "r" / "run.json").read_bytes())["plan"]["labeller"]
    assert labeller["extra_body"] == {"service_tier": "flex", "metadata": {"team": "blue"}}
    assert set(labeller["extra_headers"]) == {"x-team", "x-gateway-token"}
    kept = b"".join(path.read_bytes() for path in (tmp_path / "r").rglob("*") if path.is_file())
    assert b"hush-hush" not in kept
    assert b"blue-whale" not in kept
    assert "hush-hush" not in done.out + done.err


async def test_a_field_that_the_endpoint_does_not_know_fails_openly() -> None:
    """It is the user's own, so it is not dropped in silence."""
    with serve("gemini") as server:
        labeller = labeller_at(server, "gemini:gemini-3-pro", extra_body={"tier": "flex"})
        run = await ask_once(labeller, "rag", CASES)
    assert "ok" not in run.statuses
    assert 'Unknown name "tier"' in f"{run.stopped} {run.errors}"


# --- the doctor ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "flags", "said"),
    [
        ("gemini", ("-l", "gemini:gemini-3-pro"), "usable: gemini-3-pro can judge, short cases and long ones"),
        ("deepseek", ("-l", "deepseek:deepseek-v4"), "json_object: the endpoint enforces JSON of any form"),
        ("xai", ("-l", "xai:grok-5", "--effort", "high"), "left out: the endpoint does not take reasoning_effort"),
        ("vllm", ("-l", "vllm:q"), "usable: q can judge, but no long cases: raise the context length"),
        ("ollama", ("-l", "ollama:q"), "usable: q can judge, but no long cases: raise the context length"),
    ],
)
def test_doctor_ends_with_whether_an_endpoint_can_be_used(
    name: str, flags: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(name) as server, own_folder(tmp_path, monkeypatch, "off"):
        monkeypatch.setenv(f"{name.upper()}_BASE_URL", server.url)
        monkeypatch.setenv(f"{name.upper()}_API_KEY", KEY)
        done = krino("doctor", *flags)
        assert (done.code, said in done.out) == (0, True), done.out


# --- proxies and certificates ----------------------------------------------------------------------------


@dataclass
class TinyProxy:
    """Forwards plain HTTP, one request after the other, and opens tunnels; keeps the head of what it was asked."""

    port: int = 0
    heads: list[str] = field(default_factory=list)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                self.heads.append(head)
                method, target = head.split(" ")[:2]
                host, port = re.sub(r"^http://|/.*", "", target).split(":")
                there, back = await asyncio.open_connection(host, int(port))
                if method == "CONNECT":
                    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                    await asyncio.gather(_pump(reader, back), _pump(there, writer))
                    return
                back.write(head.replace(f"http://{host}:{port}", "", 1).encode() + await _body(reader, head))
                answer = await there.readuntil(b"\r\n\r\n")
                writer.write(answer + await _body(there, answer.decode()))
                back.close()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def _body(reader: asyncio.StreamReader, head: str) -> bytes:
    length = re.search(r"Content-Length: (\d+)", head, re.IGNORECASE)
    return await reader.readexactly(int(length[1])) if length else b""


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(1 << 16):
        writer.write(chunk)
    writer.close()


@asynccontextmanager
async def proxy() -> AsyncIterator[TinyProxy]:
    tiny = TinyProxy()
    listening = await asyncio.start_server(tiny, "127.0.0.1", 0, limit=1 << 20)
    tiny.port = listening.sockets[0].getsockname()[1]
    try:
        yield tiny
    finally:
        listening.close()


async def test_requests_go_through_the_proxy_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxy() as tiny:
        monkeypatch.setenv("HTTP_PROXY", f"http://user:pass-word@127.0.0.1:{tiny.port}")
        with serve("openai") as server:
            run = await ask_once(labeller_at(server, MODEL), "rag", CASES)
            assert run.statuses == ["ok"] * len(CASES), run.stopped or run.errors
            assert len(tiny.heads) == server.requests == len(CASES)
            assert all(head.startswith(f"POST {server.url}/chat/completions") for head in tiny.heads)
    assert all(PASSWORD in head for head in tiny.heads)


async def test_no_proxy_excepts_hosts_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxy() as tiny:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{tiny.port}")
        monkeypatch.setenv("NO_PROXY", "example.org,127.0.0.1")
        with serve("openai") as server:
            run = await ask_once(labeller_at(server, MODEL), "rag", CASES)
            assert run.statuses == ["ok"] * len(CASES), run.stopped or run.errors
    assert tiny.heads == []


async def test_a_proxy_that_is_not_there_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://user:pass-word@127.0.0.1:9")
    with serve("openai") as server:
        run = await ask_once(labeller_at(server, MODEL), "rag", CASES)
        assert server.requests == 0
    assert "cannot connect to the proxy http://127.0.0.1:9 (HTTP_PROXY)" in str(run.stopped)
    assert "pass-word" not in str(run.stopped)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One for 127.0.0.1 that nobody but its own file vouches for, with its key beside it."""
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("needs the command openssl")
    folder = tmp_path_factory.mktemp("certificate")
    made = folder / "own.pem"
    asked = (
        f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=emulated -addext subjectAltName=IP:127.0.0.1 -out {made}"
    )
    subprocess.run([openssl, *asked.split(), "-keyout", str(folder / "key.pem")], check=True, capture_output=True)
    yield made


@asynccontextmanager
async def encrypted(server: Emulator, certificate: Path) -> AsyncIterator[str]:
    """The server's address behind TLS."""
    port = int(server.root.rpartition(":")[2])

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pump(reader, back), _pump(there, writer), return_exceptions=True)

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    listening = await asyncio.start_server(forward, "127.0.0.1", 0, ssl=context)
    try:
        yield f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    finally:
        listening.close()


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
@pytest.mark.parametrize("tunnelled", [False, True], ids=["directly", "through a proxy"])
async def test_an_own_certificate_is_trusted_where_the_environment_names_it(
    certificate: Path, variable: str, tunnelled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with proxy() as tiny:
        with serve("openai") as server:
            async with encrypted(server, certificate) as url:
                if tunnelled:
                    monkeypatch.setenv("HTTPS_PROXY", f"http://user:pass-word@127.0.0.1:{tiny.port}")
                refused = await ask_once(labeller_at(server, MODEL, url=url, retries=0), "rag", CASES)
                monkeypatch.setenv(variable, str(certificate))
                run = await ask_once(labeller_at(server, MODEL, url=url), "rag", CASES)
        assert "certificate" in str(refused.stopped).lower()
        assert run.statuses == ["ok"] * len(CASES), run.stopped or run.errors
        assert all(head.startswith("CONNECT 127.0.0.1:") and PASSWORD in head for head in tiny.heads)
        assert bool(tiny.heads) == tunnelled


async def test_a_file_of_certificates_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "gone.pem"))
    with serve("openai") as server:
        run = await ask_once(labeller_at(server, MODEL), "rag", CASES)
        assert server.requests == 0
    assert "SSL_CERT_FILE names" in str(run.stopped)
