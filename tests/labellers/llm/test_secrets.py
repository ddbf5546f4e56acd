"""A key never lands anywhere: struck from whatever an endpoint says, in every dress, before anything reads it."""

from __future__ import annotations

import asyncio
import base64
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from aiohttp import web
from hypothesis import given, settings
from hypothesis import strategies as st

import krino
from command_line import environment, ran
from krino.labellers.llm.sending.secrets import REDACTED, SHORTEST, Secrets, secrets_of
from odd_endpoint import OddEndpoint
from toy_judge import ToyJudge

KEY = "sk-Proj/0aB1+cD2=eF3~gH4_iJ5.kL6"
TOY = f"{Path(__file__).parents[2] / 'toy_judge.py'}:ToyJudge"
GOOD = {"label": "good", "quote": "fine"}


def dresses(key: str) -> dict[str, str]:
    """How an endpoint, a proxy or a log may quote a key."""
    coded = base64.b64encode(key.encode()).decode()
    return {
        "plain": key,
        "bearer": f"Bearer {key}",
        "base64": coded,
        "base64 without padding": coded.rstrip("="),
        "base64 for URLs": base64.urlsafe_b64encode(key.encode()).decode(),
        **{f"basic {user}": base64.b64encode(f"{user}:{key}@end".encode()).decode() for user in ("", "u", "us", "usr")},
        "URL": quote(key, safe=""),
        "URL, every character": "".join(f"%{ord(letter):02x}" for letter in key),
        "URL, every character, upper case": "".join(f"%{ord(letter):02X}" for letter in key),
        "URL, twice": quote(quote(key, safe=""), safe=""),
        "base64 in a URL": quote(coded, safe=""),
        "JSON, every character": "".join(f"\\u{ord(letter):04x}" for letter in key),
        "JSON, slashes": key.replace("/", "\\/"),
        "JSON in JSON": "".join(f"\\\\u{ord(letter):04X}" for letter in key),
        "HTML": "".join(f"&#{ord(letter)};" for letter in key),
        "HTML, hexadecimal": "".join(f"&#x{ord(letter):x};" for letter in key),
    }


def traces(text: bytes, key: str = KEY) -> list[str]:
    """The dresses in which a key, or most of one, stands in a text."""
    found = []
    for name, dress in dresses(key).items():
        middle = dress[4:-4].encode()  # the ends of base64 hold neighbours' bits
        if dress.encode() in text or middle in text:
            found.append(name)
    return found


# --- the striking itself -----------------------------------------------------------------------------


@pytest.mark.parametrize("dress", dresses(KEY).keys())
def test_a_key_is_struck_in_every_dress(dress: str) -> None:
    worn = dresses(KEY)[dress]
    struck = Secrets([KEY]).redact(f"before {worn} after, and {worn}".encode())
    assert struck.count(REDACTED.encode()) == 2
    assert traces(struck) == []
    assert struck.startswith(b"before ")


def test_a_key_is_struck_where_it_is_cut_or_wrapped_or_named_in_html() -> None:
    secrets, third = Secrets([KEY]), len(KEY) // 3
    named = KEY.replace("=", "&equals;").replace("_", "&lowbar;").replace("/", "&sol;").replace("+", "&plus;")
    worn = [KEY[:14] + "\n" + KEY[14:], KEY[:14] + "\\n  " + KEY[14:], named]
    worn += [KEY[: len(KEY) - third], KEY[third:], KEY[:-2], KEY[2:]]
    for text in worn:
        struck = secrets.redact_text(f"the key {text} is wrong")
        assert REDACTED in struck, text
        assert KEY[third:-third] not in struck.replace("\n", "").replace("\\n  ", ""), text
    assert secrets.redact_text(f"the key {KEY[:8]}... is wrong") == f"the key {KEY[:8]}... is wrong"


@settings(deadline=None, max_examples=40)
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=SHORTEST, max_size=60), st.binary())
def test_no_key_in_base64_survives_whatever_stands_before_it(key: str, before: bytes) -> None:
    secrets = Secrets([key])
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        coded = encode(before + key.encode() + b":rest")
        assert secrets.redact(coded) != coded
    assert key.encode() not in secrets.redact(f"x{key}y".encode())


def test_what_holds_no_key_is_left_as_it_is() -> None:
    text = orjson.dumps({"text": 'caf\u00e9 100% "quoted" &#38; \\u0041 a/b ' * 50, "version": "2026-10-21"})
    assert Secrets([KEY]).redact(text) is text
    assert Secrets([]).redact(b"%41 anything") == b"%41 anything"


def test_a_reply_of_backslashes_is_searched_once() -> None:
    """From every backslash again, half a million of them would take hours."""
    text = b"\\" * 500_000
    assert Secrets([KEY]).redact(text) == text
    assert Secrets([KEY]).redact(text + KEY.encode() + text + b"n") == REDACTED.encode() + text + b"n"


def test_a_key_with_backslashes_is_struck_wherever_it_stands() -> None:
    key = "\\pass\\word\\n1234567"
    assert Secrets([key]).redact(key.encode() * 3) == REDACTED.encode() * 3
    assert Secrets([KEY]).redact(b"\\" * 5 + KEY.encode() * 2) == REDACTED.encode() * 2


def test_an_entity_with_thousands_of_digits_is_read() -> None:
    text = b"&#" + b"1" * 5_000 + b";"
    assert Secrets([KEY]).redact(text) == text
    coded = "".join(f"&#{'0' * 5_000}{ord(letter)};" for letter in KEY).encode()
    assert Secrets([KEY]).redact(coded) == REDACTED.encode()


def test_a_stand_in_for_a_key_is_a_word_like_others() -> None:
    assert Secrets(["EMPTY", "x" * (SHORTEST - 1)]).redact(b"the list is EMPTY xxxxxxx") == b"the list is EMPTY xxxxxxx"
    assert Secrets(["x" * SHORTEST]).redact(b"a xxxxxxxx") == b"a ***"


def test_the_secrets_are_the_key_and_what_the_address_holds() -> None:
    headers = {"Authorization": "Bearer the-bearer-key", "anthropic-version": "2026-10-21", "API-Key": "the-azure-key"}
    url = "https://user:p%40ssword1@host/v1?key=in-the-query&api-version=2024-10-21"
    secrets = secrets_of(url, headers)
    for secret in ("the-bearer-key", "the-azure-key", "p%40ssword1", "p@ssword1", "user:p@ssword1", "in-the-query"):
        assert secrets.redact_text(f"<{secret}>") == f"<{REDACTED}>", secret
    coded = base64.b64encode(b"user:p@ssword1").decode()
    assert coded not in secrets.redact_text(f"Basic {coded}")
    assert secrets.redact_text("2026-10-21 2024-10-21 host user") == "2026-10-21 2024-10-21 host user"


def test_a_short_password_is_struck_with_its_user() -> None:
    secrets = secrets_of("https://someone:pw1@host/v1", {})
    assert secrets.redact_text("someone:pw1 and someone alone") == "*** and someone alone"


# --- every field of every reply ----------------------------------------------------------------------

Reply = Callable[[str], web.Response]


def answer(status: int, body: Any, headers: dict[str, str] | None = None) -> web.Response:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    return web.Response(status=status, body=raw, headers={"Content-Type": "application/json", **(headers or {})})


def refusal(status: int) -> Reply:
    def reply(worn: str) -> web.Response:
        fields = {name: f"{name} {worn}" for name in ("message", "code", "param", "type")}
        named = {f"x-{name}": worn for name in ("request-id", "key")}
        headers = {**named, "Location": f"/{worn}", "WWW-Authenticate": worn}
        raw = b'{"error":{' + b",".join(b'"%s":"%s"' % (k.encode(), v.encode()) for k, v in fields.items()) + b"}}"
        return answer(status, raw, headers)

    return reply


def page(status: int) -> Reply:
    return lambda worn: answer(status, f"<html>Authorization: {worn}</html>".encode())


def completion(worn: str, **message: Any) -> web.Response:
    """Written by hand: the dress stands in the bytes as it is, escapes and all."""
    content = message.pop("content", f"I was sent {worn}")
    texts = {"content": content, **message}
    inner = ",".join(f'"{name}":"{text}"' for name, text in texts.items())
    choice = f'{{"index":0,"finish_reason":"{message.get("finish", "stop")}","message":{{"role":"assistant",{inner}}}}}'
    body = f'{{"id":"{worn}","model":"m {worn}","system_fingerprint":"{worn}","choices":[{choice}],"usage":{{}}}}'
    return answer(200, body.encode(), {"x-echo": worn})


def labels_with(worn: str) -> web.Response:
    """An answer that is accepted: the case has `***` in it."""
    labels = f'{{\\"label\\": \\"good\\", \\"quote\\": \\"{worn}\\"}}'
    return completion(worn, content=labels)


GOING_ON: dict[str, Reply] = {
    "400": refusal(400),
    "403": refusal(403),
    "413": refusal(413),
    "422": refusal(422),
    "302": refusal(302),
    "a page with 400": page(400),
    "a page with 200": page(200),
    "a 200 that echoes the headers": lambda worn: answer(200, f'{{"headers":{{"authorization":"{worn}"}}}}'.encode()),
    "prose": completion,
    "a refusal": lambda worn: completion(worn, refusal=f"no, {worn}"),
    "a finish reason": lambda worn: completion(worn, finish=f"because {worn}"),
    "labels": labels_with,
}
STOPPING: dict[str, Reply] = {
    "401": refusal(401),
    "404": refusal(404),
    "429": refusal(429),
    "500": refusal(500),
    "a page with 500": page(500),
}


class Echo:
    """Quotes the key in a dress that goes on from request to request, in a kind of reply that the case names."""

    def __init__(self, replies: dict[str, Reply], key: str = KEY) -> None:
        self.replies = list(replies.values())
        self.worn = [text for text in dresses(key).values() if "\n" not in text]
        self.calls = 0

    async def __call__(self, request: web.BaseRequest, body: bytes) -> web.StreamResponse:
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        number, self.calls = self.calls, self.calls + 1
        return self.replies[number % len(self.replies)](self.worn[number // len(self.replies) % len(self.worn)])


def command(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return ran(*args, cwd=cwd, env={**environment(cwd), "OPENAI_API_KEY": KEY, "COLUMNS": "200"})


def everything(folder: Path) -> bytes:
    """Every file below a folder, tables unpacked."""
    import pyarrow.parquet

    parts = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        parts.append(path.read_bytes())
        if path.suffix == ".parquet":
            parts.append(orjson.dumps(pyarrow.parquet.read_table(path).to_pylist(), default=str))
    return b"\n".join(parts)


def test_no_file_and_no_output_holds_the_key_whatever_the_endpoint_quotes(tmp_path: Path) -> None:
    echo = Echo(GOING_ON)
    cases = [{"id": str(n), "text": f"a fine text *** {n}"} for n in range(len(echo.replies) * len(echo.worn))]
    (tmp_path / "cases.jsonl").write_bytes(b"".join(orjson.dumps(case) + b"\n" for case in cases))
    flags = ("--run", "r", "-l", "m", "--reasks", "0", "--concurrency", "1", "--channel", "text")
    with OddEndpoint(echo) as endpoint:
        done = command("judge", TOY, "cases.jsonl", *flags, "--base-url", endpoint.url, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert echo.calls == len(cases)
    assert b"finished" in (tmp_path / "r" / "run.json").read_bytes(), "all kinds of replies were read"
    for kind in ("csv", "jsonl"):
        told = command("export", "r", f"out.{kind}", cwd=tmp_path)
        assert told.returncode == 0, told.stderr
    texts = everything(tmp_path) + (done.stdout + done.stderr + command("show", "r", cwd=tmp_path).stdout).encode()
    assert texts.count(REDACTED.encode()) > len(cases), "they were quoted, and struck"
    assert traces(texts) == []


@pytest.mark.parametrize("kind", STOPPING)
def test_no_reason_to_stop_holds_the_key(tmp_path: Path, kind: str) -> None:
    (tmp_path / "cases.jsonl").write_bytes(b'{"text": "a fine text"}\n')
    flags = ("--run", "r", "-l", "m", "--retries", "0")
    with OddEndpoint(Echo({kind: STOPPING[kind]})) as endpoint:
        done = command("judge", TOY, "cases.jsonl", *flags, "--base-url", endpoint.url, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    texts = everything(tmp_path) + (done.stdout + done.stderr).encode()
    assert REDACTED.encode() in texts
    assert traces(texts) == []


@pytest.mark.parametrize("kinds", [GOING_ON, {"401": refusal(401)}, {"500": refusal(500)}], ids=["any", "401", "500"])
def test_doctor_does_not_tell_the_key(tmp_path: Path, kinds: dict[str, Reply]) -> None:
    with OddEndpoint(Echo(kinds)) as endpoint:
        told = command("doctor", "-l", "m", "--base-url", endpoint.url, cwd=tmp_path)
    assert REDACTED in told.stdout
    assert traces((told.stdout + told.stderr).encode()) == []


@pytest.mark.parametrize("kind", [*GOING_ON, *STOPPING])
async def test_no_judgement_and_no_exception_of_the_python_interface_holds_the_key(kind: str) -> None:
    worn = ""

    async def quote_it(request: web.BaseRequest, body: bytes) -> web.StreamResponse:
        return {**GOING_ON, **STOPPING}[kind](worn)

    with OddEndpoint(quote_it) as endpoint:
        for dress, text in dresses(KEY).items():
            worn = text
            told = await said_of_one_case(endpoint)
            assert traces(told) == [], dress
            assert REDACTED.encode() in told, dress


async def said_of_one_case(endpoint: OddEndpoint) -> bytes:
    settings: dict[str, Any] = {"cache": "off", "retries": 1, "backoff": 0.0, "reasks": 1}
    async with krino.llm("m", base_url=endpoint.url, api_key=KEY, **settings) as labeller:
        try:
            return (await krino.ajudge(ToyJudge(), {"text": "a fine text ***"}, labeller=labeller)).to_json()
        except krino.RunStopped as reason:
            return str(reason).encode()


async def test_a_key_is_not_sent_back_when_asking_again() -> None:
    seen: list[bytes] = []

    async def quote_it(request: web.BaseRequest, body: bytes) -> web.StreamResponse:
        seen.append(body)
        return completion(dresses(KEY)["base64"])

    with OddEndpoint(quote_it) as endpoint:
        async with krino.llm("m", base_url=endpoint.url, api_key=KEY, cache="off", reasks=2) as labeller:
            await krino.ajudge(ToyJudge(), {"text": "a fine text"}, labeller=labeller)
    assert len(seen) == 3
    assert traces(b"".join(seen)) == []


async def test_a_broken_header_that_quotes_the_key_is_struck_from_the_error() -> None:
    """The HTTP library puts what it cannot parse into the text of its exception."""

    async def broken(reader: Any, writer: Any) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 200 OK\r\nx echo {KEY}: \x01\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(broken, "127.0.0.1", 0)
    async with server:
        address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        async with krino.llm("m", base_url=address, api_key=KEY, cache="off", retries=0) as labeller:
            with pytest.raises(krino.RunStopped) as stopped:
                await krino.ajudge(ToyJudge(), {"text": "a fine text"}, labeller=labeller)
    assert REDACTED in str(stopped.value)
    assert traces(str(stopped.value).encode()) == []
