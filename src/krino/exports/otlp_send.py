"""Sends OTLP/JSON log records to an endpoint (OTLP over HTTP)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import aiohttp
import orjson

from krino.errors import UsageProblem
from krino.labellers.llm.endpoint import clean_address
from krino.labellers.llm.wire import retry_after
from krino.text.clean import clean_line

RETRIED = frozenset({429, 502, 503, 504})  # statuses that OTLP defines as retryable
TRIES = 5
LONGEST_WAIT = 30.0
TIMEOUT = 30.0
HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"


@dataclass(slots=True)
class Sent:
    """Requests that the endpoint accepted, and records that it reported as rejected."""

    requests: int = 0
    rejected: int = 0
    message: str = ""


def logs_address(endpoint: str) -> str:
    """The full address: `http://collector:4318` means its `/v1/logs`, as for every OTLP exporter."""
    parts = urlsplit(endpoint)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageProblem(f"--endpoint {endpoint!r}: write it as http://HOST:4318 or https://HOST/v1/logs")
    path = parts.path.rstrip("/")
    return parts._replace(path=path if path.endswith("/v1/logs") else f"{path}/v1/logs").geturl()


def headers_from(environment: Mapping[str, str]) -> dict[str, str]:
    """Reads headers from `OTEL_EXPORTER_OTLP_HEADERS=name=value,name=value`, so that no key is on the command line."""
    found = {}
    for pair in filter(None, (part.strip() for part in environment.get(HEADERS, "").split(","))):
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageProblem(f"{HEADERS} is not of the form name=value,name=value")
        found[name.strip()] = unquote(value.strip())
    return found


async def send(endpoint: str, lines: Iterable[bytes], backoff: float = 0.5) -> Sent:
    """Sends one request for each line, in order, and returns what was sent and rejected.

    A refusal raises `UsageProblem`; earlier lines stay at the endpoint.
    """
    address, sent = logs_address(endpoint), Sent()
    headers = {"Content-Type": "application/json", **headers_from(os.environ)}
    timeout = aiohttp.ClientTimeout(total=TIMEOUT)
    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        for line in lines:
            _record_reply(sent, await _post(session, address, line, backoff))
    return sent


async def _post(session: aiohttp.ClientSession, address: str, line: bytes, backoff: float) -> bytes:
    """Sends one request, and again after passing faults. Returns the body of the reply; raises `UsageProblem` if it is
    refused."""
    for attempt in range(1, TRIES + 1):
        wait = None
        try:
            async with session.post(address, data=line, allow_redirects=False) as reply:
                body = await reply.content.read(65_536)
                if reply.status == 200:
                    return body
                problem = f"HTTP {reply.status} {clean_line(body.decode('utf-8', 'replace'), 200)}".strip()
                wait = retry_after({key.lower(): value for key, value in reply.headers.items()})
                if reply.status not in RETRIED:
                    break
        except (aiohttp.ClientError, TimeoutError) as fault:
            problem = f"{type(fault).__name__}: {fault}"
        if attempt < TRIES:
            await asyncio.sleep(min(backoff * 2**attempt if wait is None else wait, LONGEST_WAIT))
    raise UsageProblem(f"{clean_address(address)} did not take the events: {problem}")


def _record_reply(sent: Sent, body: bytes) -> None:
    """Counts a request, and what the endpoint reports as rejected in it."""
    sent.requests += 1
    try:
        partial = orjson.loads(body).get("partialSuccess") or {}
        sent.rejected += int(partial.get("rejectedLogRecords") or 0)
        sent.message = sent.message or clean_line(str(partial.get("errorMessage") or ""), 200)
    except (ValueError, AttributeError, TypeError):  # an empty or unexpected body: status 200 is enough
        return
