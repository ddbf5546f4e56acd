"""The batch endpoints of OpenAI (and its imitators) and of Anthropic: how files look, go out and come back."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol
from urllib.parse import quote

import aiohttp
import orjson

from krino.errors import UsageProblem
from krino.labellers.llm.batch.calling import Caller, Unsure
from krino.labellers.llm.endpoint import Endpoint
from krino.labellers.llm.transport import RETRIED
from krino.labellers.llm.wire import UnreadableReply, mapping, parse_body, whole, words

State = Literal["going", "ended", "cut", "failed"]
"""going: not done. ended: every request has an outcome. cut: it expired or was cancelled, and some have none. failed:
nothing was done."""
MOST_PAGES = 200
SKEW = 15 * 3600.0
"""Seconds by which the provider's clock may differ from ours: ours may go by the wrong time zone, and a batch that is
not found is made, and paid, again."""
REFUSALS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
}
"""What Anthropic calls the refusals that say something about the request; every other error is the provider's own."""


class Outcome(NamedTuple):
    """What became of one request: a reply (200), a refusal (another status), or nothing that was billed (0)."""

    name: str
    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Look:
    """How a batch is coming along."""

    state: State
    done: int = 0
    told: str = ""
    """What the provider says about one that failed or was cut short."""
    cancelled: bool = False
    too_much: bool = False
    """It failed because too much is waiting there already: it can be sent again later."""
    files: tuple[str, ...] = ()
    """Addresses of the outcomes."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is known of a batch that may have been made without our hearing of it."""

    label: str
    begun: float
    requests: int
    known: Collection[str]
    """Batches that are accounted for."""
    holds: Callable[[str], bool]
    """Whether a request of this name waits in it."""


class Provider(Protocol):
    """One family of batch endpoints. A request file is exactly what is uploaded."""

    most_requests: int
    most_bytes: int
    head: bytes
    between: bytes
    tail: bytes

    def entry(self, name: str, body: bytes) -> bytes:
        """One request in a file."""

    async def send(self, path: Path, label: str) -> str:
        """The id of the batch that was made of a file; `Unsure` where there may be one all the same."""

    async def find(self, wanted: Wanted) -> str | None:
        """The batch that was made, if there is one; `Unsure` while that cannot be told."""

    async def look(self, batch: str) -> Look: ...

    def results(self, address: str) -> AsyncIterator[bytes]:
        """The lines of a file of outcomes; `Lost` where it breaks off."""

    def read(self, line: bytes) -> Outcome:
        """What a line of results says; `ValueError` for what is none."""


class OpenAIBatches:
    """A file is uploaded, a batch is made of it; its label stands in the metadata, by which it is found again."""

    most_requests, most_bytes = 50_000, 200_000_000
    head, between, tail = b"", b"\n", b"\n"

    def __init__(self, base_url: str, caller: Caller) -> None:
        self._base, self._caller = base_url.rstrip("/"), caller
        self.results = caller.lines

    def entry(self, name: str, body: bytes) -> bytes:
        request = {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": orjson.Fragment(body)}
        return orjson.dumps(request)

    async def send(self, path: Path, label: str) -> str:
        with ExitStack() as opened:

            def multipart() -> dict[str, Any]:
                form, source = aiohttp.FormData(), opened.enter_context(path.open("rb"))
                form.add_field("purpose", "batch")
                name = f"krino-{label}.jsonl"
                form.add_field("file", source, filename=name, content_type="application/octet-stream")
                return {"data": form}

            file = words((await self._caller.upload(f"{self._base}/files", multipart)).get("id"))
        wanted = {
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"krino": label},
        }
        return _id(await self._caller.create(f"{self._base}/batches", lambda: {"json": wanted}))

    async def find(self, wanted: Wanted) -> str | None:
        after: dict[str, str] = {}
        for _ in range(MOST_PAGES):
            page = await self._caller.get(f"{self._base}/batches", {"limit": "100", **after})
            entries = [entry for entry in page.get("data") or () if isinstance(entry, dict)]
            for entry in entries:
                if mapping(entry.get("metadata")).get("krino") == wanted.label:
                    return _id(entry)
            if not page.get("has_more") or not entries or whole(entries[-1].get("created_at")) < wanted.begun - SKEW:
                return None
            after = {"after": _id(entries[-1])}
        return None

    async def look(self, batch: str) -> Look:
        data = await self._caller.get(f"{self._base}/batches/{quote(batch, safe='')}")
        counts, status = mapping(data.get("request_counts")), words(data.get("status"))
        names = (words(data.get(field)) for field in ("output_file_id", "error_file_id"))
        files = tuple(f"{self._base}/files/{quote(name, safe='')}/content" for name in names if name)
        if status == "completed" and whole(counts.get("completed")) and not words(data.get("output_file_id")):
            status = "finalizing"  # its results are not there yet: read now, all of them would seem lost
        problems = mapping(data.get("errors")).get("data")
        first = mapping(problems[0]) if isinstance(problems, list) and problems else {}
        return Look(
            state={"completed": "ended", "expired": "cut", "cancelled": "cut", "failed": "failed"}.get(  # type: ignore[arg-type]
                status or "", "going"
            ),
            done=whole(counts.get("completed")) + whole(counts.get("failed")),
            told=f"{status}: {first.get('code')}: {first.get('message')}"[:500] if first else str(status),
            cancelled=status == "cancelled",
            too_much=first.get("code") == "token_limit_exceeded",
            files=files,
        )

    def read(self, line: bytes) -> Outcome:
        data, clean = _parsed(line)
        name, response, error = words(data.get("custom_id")), mapping(data.get("response")), data.get("error")
        if name is None:
            raise ValueError("the line names no request")
        status = whole(response.get("status_code"))
        if status == 200 and not error:
            return Outcome(name, 200, orjson.dumps(response.get("body")) if clean else line)
        if 400 <= status < 500 and status not in RETRIED:
            return Outcome(name, status, orjson.dumps(response.get("body")) if clean else line)
        return Outcome(name, 0, orjson.dumps(error or response) if clean else line)


class AnthropicBatches:
    """A batch is made by one call with all requests in it. It has no label: names in its results tell whose it is."""

    most_requests, most_bytes = 100_000, 256_000_000
    head, between, tail = b'{"requests":[', b",\n", b"]}"

    def __init__(self, base_url: str, caller: Caller) -> None:
        self._url = f"{base_url.rstrip('/').removesuffix('/v1')}/v1/messages/batches"
        self._caller = caller
        self.results = caller.lines

    def entry(self, name: str, body: bytes) -> bytes:
        return orjson.dumps({"custom_id": name, "params": orjson.Fragment(body)})

    async def send(self, path: Path, label: str) -> str:
        with ExitStack() as opened:

            def body() -> dict[str, Any]:
                headers = {"Content-Type": "application/json"}
                return {"data": opened.enter_context(path.open("rb")), "headers": headers}

            return _id(await self._caller.create(self._url, body))

    async def find(self, wanted: Wanted) -> str | None:
        """Of the batches of that time and size those that are no other one's: one that has ended is looked into."""
        doubtful = False
        async for entry in self._newest(wanted.begun - SKEW):
            name, counts = _id(entry), mapping(entry.get("request_counts"))
            if name in wanted.known or sum(map(whole, counts.values())) != wanted.requests:
                continue
            if entry.get("processing_status") != "ended":
                doubtful = True
            elif await self._is_it(name, wanted):
                return name
        if doubtful:
            raise Unsure(
                "a batch of the same size was made at that time, perhaps this one: it is not known before it ends"
            )
        return None

    async def _newest(self, oldest: float) -> AsyncIterator[dict[str, Any]]:
        after: dict[str, str] = {}
        for _ in range(MOST_PAGES):
            page = await self._caller.get(self._url, {"limit": "100", **after})
            entries = [entry for entry in page.get("data") or () if isinstance(entry, dict)]
            for entry in entries:
                if _moment(entry.get("created_at")) < oldest:
                    return
                yield entry
            if not page.get("has_more") or not entries:
                return
            after = {"after_id": _id(entries[-1])}

    async def _is_it(self, batch: str, wanted: Wanted) -> bool:
        """By the name in the first line of its results: it may be another one of ours, too."""
        async for line in self._caller.lines(self._outcomes(batch)):
            try:
                return wanted.holds(self.read(line).name)
            except ValueError:
                continue
        return False

    async def look(self, batch: str) -> Look:
        data = await self._caller.get(f"{self._url}/{quote(batch, safe='')}")
        counts = {name: whole(count) for name, count in mapping(data.get("request_counts")).items()}
        done = sum(counts.values()) - counts.get("processing", 0)
        if data.get("processing_status") != "ended":
            return Look("going", done)
        cancelled = counts.get("canceled", 0) > 0
        cut = cancelled or counts.get("expired", 0) > 0
        told = "cancelled" if cancelled else "expired" if cut else "ended"
        return Look("cut" if cut else "ended", done, told, cancelled, files=(self._outcomes(batch),))

    def _outcomes(self, batch: str) -> str:
        """Not the address that the answer gives: the key goes nowhere but where the user has sent it."""
        return f"{self._url}/{quote(batch, safe='')}/results"

    def read(self, line: bytes) -> Outcome:
        data, clean = _parsed(line)
        name, result = words(data.get("custom_id")), mapping(data.get("result"))
        if name is None:
            raise ValueError("the line names no request")
        if result.get("type") == "succeeded":
            return Outcome(name, 200, orjson.dumps(result.get("message")) if clean else line)
        problem = mapping(result.get("error"))
        status = REFUSALS.get(str(mapping(problem.get("error")).get("type")), 0)
        return Outcome(name, status, orjson.dumps(problem or result) if clean else line)


PROVIDERS: dict[str, type[OpenAIBatches] | type[AnthropicBatches]] = {
    "openai": OpenAIBatches,
    "anthropic": AnthropicBatches,
}


def refuse_without_batches(endpoint: Endpoint) -> None:
    """Before anything is asked."""
    if endpoint.dialect.name not in PROVIDERS:
        raise UsageProblem(
            f"--engine batch: {endpoint.provider} takes batches otherwise; OpenAI and Anthropic are known"
        )


def provider_of(endpoint: Endpoint, caller: Caller) -> Provider:
    return PROVIDERS[endpoint.dialect.name](endpoint.base_url, caller)


def _parsed(line: bytes) -> tuple[dict[str, Any], bool]:
    """The object of a line, and whether it can be read as strictly as the reply to a call.

    One that cannot (it says something twice, or holds half a character) is handed on as it is, to be refused: it was
    billed, so that it is no lost request.
    """
    try:
        return parse_body(line), True
    except UnreadableReply as problem:
        try:
            data = json.loads(line.decode("utf-8-sig", "replace"))
        except RecursionError:
            data = None
        if not isinstance(data, dict):
            raise ValueError(str(problem)) from None  # noqa: TRY004 - told like the other faults
        return data, False


def _id(data: dict[str, Any]) -> str:
    name = words(data.get("id"))
    if not name:
        raise Unsure("the endpoint's answer names no batch")
    return name


def _moment(value: Any) -> float:
    try:
        return datetime.fromisoformat(str(value).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return float("inf")  # not known: look at it
