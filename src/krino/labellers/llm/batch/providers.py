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
from krino.labellers.llm.batch.client import BatchClient, Unsure
from krino.labellers.llm.endpoint import Endpoint
from krino.labellers.llm.sending.retrying import RETRIED
from krino.labellers.llm.wire import UnreadableReply, as_object, count_or_zero, parse_body, text_or_none

State = Literal["going", "ended", "cut", "failed"]
"""going: not done. ended: every request has an outcome. cut: it expired or was cancelled, and some have none. failed:
nothing was done."""
MOST_PAGES = 200
SKEW = 15 * 3600.0
"""Seconds by which the provider's clock may differ from ours, as with a wrong time zone: a batch that is not found is
created, and paid, again."""
REFUSALS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
}
"""Anthropic's error types that blame the request; every other error is the provider's own."""


class RequestOutcome(NamedTuple):
    """What became of one request: a reply (200), a refusal (another status), or nothing that was billed (0)."""

    name: str
    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a batch at the provider."""

    state: State
    done: int = 0
    message: str = ""
    """The provider's message about a batch that failed or was cut short."""
    cancelled: bool = False
    too_much: bool = False
    """It failed because too much is queued at the provider: it can be sent again later."""
    files: tuple[str, ...] = ()
    """Addresses of the result files."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is known of a batch that may have been created although no answer confirmed it."""

    label: str
    begun: float
    requests: int
    known: Collection[str]
    """Ids of batches that are known already."""
    holds: Callable[[str], bool]
    """Whether the request of this name is in the batch."""


class Provider(Protocol):
    """One family of batch endpoints. A request file is uploaded exactly as it is."""

    most_requests: int
    most_bytes: int
    head: bytes
    between: bytes
    tail: bytes

    def entry(self, name: str, body: bytes) -> bytes:
        """Serialises one request for a file."""

    async def send(self, path: Path, label: str) -> str:
        """Creates a batch from a file and returns its id; `Unsure` if it may exist without an answer."""

    async def find(self, wanted: Wanted) -> str | None:
        """The id of the wanted batch, if it exists; `Unsure` while that cannot be decided."""

    async def poll(self, batch: str) -> Progress:
        """Asks how far a batch is, and where its results are."""

    def results(self, address: str) -> AsyncIterator[bytes]:
        """The lines of a result file; `Lost` if it breaks off."""

    def read(self, line: bytes) -> RequestOutcome:
        """Parses one line of results; `ValueError` if it is none."""


class OpenAIBatches:
    """Uploads a file and creates a batch from it, with a label in its metadata by which it can be found again."""

    most_requests, most_bytes = 50_000, 200_000_000
    head, between, tail = b"", b"\n", b"\n"

    def __init__(self, base_url: str, client: BatchClient) -> None:
        self._base, self._client = base_url.rstrip("/"), client
        self.results = client.lines

    def entry(self, name: str, body: bytes) -> bytes:
        request = {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": orjson.Fragment(body)}
        return orjson.dumps(request)

    async def send(self, path: Path, label: str) -> str:
        """Uploads a batch file and starts its batch; returns the batch's id."""
        with ExitStack() as opened:

            def multipart() -> dict[str, Any]:
                """Makes a new upload form for each attempt, since a file that was sent has been read to its end."""
                form, source = aiohttp.FormData(), opened.enter_context(path.open("rb"))
                form.add_field("purpose", "batch")
                name = f"krino-{label}.jsonl"
                form.add_field("file", source, filename=name, content_type="application/octet-stream")
                return {"data": form}

            file = text_or_none((await self._client.upload(f"{self._base}/files", multipart)).get("id"))
        wanted = {
            "input_file_id": file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"krino": label},
        }
        return _require_id(await self._client.create(f"{self._base}/batches", lambda: {"json": wanted}))

    async def find(self, wanted: Wanted) -> str | None:
        """Looks for a batch that was sent with this label; returns its id, or None if it never arrived."""
        oldest = wanted.begun - SKEW
        async for entries in _read_pages(self._client, f"{self._base}/batches", "after"):
            for entry in entries:
                if as_object(entry.get("metadata")).get("krino") == wanted.label:
                    return _require_id(entry)
            if entries and 0 < _created(entries[-1]) < oldest:
                return None
        return None

    async def poll(self, batch: str) -> Progress:
        """Asks how far a batch is, and where its results are. One that is complete without a result file is not
        done."""
        data = await self._client.get(f"{self._base}/batches/{quote(batch, safe='')}")
        counts, status = as_object(data.get("request_counts")), text_or_none(data.get("status"))
        names = (text_or_none(data.get(field)) for field in ("output_file_id", "error_file_id"))
        files = tuple(f"{self._base}/files/{quote(name, safe='')}/content" for name in names if name)
        completed = count_or_zero(counts.get("completed"))
        if status == "completed" and completed and not text_or_none(data.get("output_file_id")):
            status = "finalizing"  # the results are not there yet: read now, all of them would seem lost
        problems = as_object(data.get("errors")).get("data")
        first = as_object(problems[0]) if isinstance(problems, list) and problems else {}
        return Progress(
            state={"completed": "ended", "expired": "cut", "cancelled": "cut", "failed": "failed"}.get(  # type: ignore[arg-type]
                status or "", "going"
            ),
            done=completed + count_or_zero(counts.get("failed")),
            message=f"{status}: {first.get('code')}: {first.get('message')}"[:500] if first else str(status),
            cancelled=status == "cancelled",
            too_much=first.get("code") == "token_limit_exceeded",
            files=files,
        )

    def read(self, line: bytes) -> RequestOutcome:
        """Parses one line of a result file. A refusal that does not blame the request has the status 0: it may be sent
        again."""
        data, clean = _parse_line(line)
        name, response, error = text_or_none(data.get("custom_id")), as_object(data.get("response")), data.get("error")
        if name is None:
            raise ValueError("the line names no request")
        status = count_or_zero(response.get("status_code"))
        if status == 200 and not error:
            return RequestOutcome(name, 200, orjson.dumps(response.get("body")) if clean else line)
        if 400 <= status < 500 and status not in RETRIED:
            return RequestOutcome(name, status, orjson.dumps(response.get("body")) if clean else line)
        return RequestOutcome(name, 0, orjson.dumps(error or response) if clean else line)


class AnthropicBatches:
    """Creates a batch with one call that holds all requests. It has no label: the names in its results identify it."""

    most_requests, most_bytes = 100_000, 256_000_000
    head, between, tail = b'{"requests":[', b",\n", b"]}"

    def __init__(self, base_url: str, client: BatchClient) -> None:
        self._url = f"{base_url.rstrip('/').removesuffix('/v1')}/v1/messages/batches"
        self._client = client
        self.results = client.lines

    def entry(self, name: str, body: bytes) -> bytes:
        return orjson.dumps({"custom_id": name, "params": orjson.Fragment(body)})

    async def send(self, path: Path, label: str) -> str:
        """Starts a batch from a file; returns the batch's id."""
        with ExitStack() as opened:

            def body() -> dict[str, Any]:
                headers = {"Content-Type": "application/json"}
                return {"data": opened.enter_context(path.open("rb")), "headers": headers}

            return _require_id(await self._client.create(self._url, body))

    async def find(self, wanted: Wanted) -> str | None:
        """Searches the unknown batches of that time and size; those that have ended are identified by their results."""
        doubtful = False
        async for entry in self._newest(wanted.begun - SKEW):
            name, counts = _require_id(entry), as_object(entry.get("request_counts"))
            if name in wanted.known or sum(map(count_or_zero, counts.values())) != wanted.requests:
                continue
            if entry.get("processing_status") != "ended":
                doubtful = True
            elif await self._is_wanted(name, wanted):
                return name
        if doubtful:
            raise Unsure(
                "a batch of the same size was made at that time, perhaps this one: it is not known before it ends"
            )
        return None

    async def _newest(self, oldest: float) -> AsyncIterator[dict[str, Any]]:
        """Yields batches from the newest to the oldest that was created after `oldest`."""
        async for entries in _read_pages(self._client, self._url, "after_id"):
            for entry in entries:
                if _parse_moment(entry.get("created_at")) < oldest:
                    return
                yield entry

    async def _is_wanted(self, batch: str, wanted: Wanted) -> bool:
        """Whether a batch is the wanted one, by the first name in its results: it may be another batch of ours."""
        async for line in self._client.lines(self._results_url(batch)):
            try:
                return wanted.holds(self.read(line).name)
            except ValueError:
                continue
        return False

    async def poll(self, batch: str) -> Progress:
        """Asks how far a batch is, and where its results are."""
        data = await self._client.get(f"{self._url}/{quote(batch, safe='')}")
        counts = {name: count_or_zero(count) for name, count in as_object(data.get("request_counts")).items()}
        done = sum(counts.values()) - counts.get("processing", 0)
        if data.get("processing_status") != "ended":
            return Progress("going", done)
        cancelled = counts.get("canceled", 0) > 0
        cut = cancelled or counts.get("expired", 0) > 0
        message = "cancelled" if cancelled else "expired" if cut else "ended"
        return Progress("cut" if cut else "ended", done, message, cancelled, files=(self._results_url(batch),))

    def _results_url(self, batch: str) -> str:
        """Returns the address of a batch's results, built from the configured one and not taken from the answer, which
        could send the key elsewhere."""
        return f"{self._url}/{quote(batch, safe='')}/results"

    def read(self, line: bytes) -> RequestOutcome:
        """Parses one line of a result file. An error that does not blame the request has the status 0: it may be sent
        again."""
        data, clean = _parse_line(line)
        name, result = text_or_none(data.get("custom_id")), as_object(data.get("result"))
        if name is None:
            raise ValueError("the line names no request")
        if result.get("type") == "succeeded":
            return RequestOutcome(name, 200, orjson.dumps(result.get("message")) if clean else line)
        problem = as_object(result.get("error"))
        status = REFUSALS.get(str(as_object(problem.get("error")).get("type")), 0)
        return RequestOutcome(name, status, orjson.dumps(problem or result) if clean else line)


PROVIDERS: dict[str, type[OpenAIBatches] | type[AnthropicBatches]] = {
    "openai": OpenAIBatches,
    "anthropic": AnthropicBatches,
}


def refuse_without_batches(endpoint: Endpoint) -> None:
    """Raises `UsageProblem` for an endpoint without a known batch format."""
    if endpoint.dialect.name not in PROVIDERS:
        raise UsageProblem(
            f"--engine batch: the batch format of {endpoint.provider} is not known; those of OpenAI and Anthropic are"
        )


def provider_of(endpoint: Endpoint, client: BatchClient) -> Provider:
    return PROVIDERS[endpoint.dialect.name](endpoint.base_url, client)


def _parse_line(line: bytes) -> tuple[dict[str, Any], bool]:
    """Parses a line; returns its object, and whether it passes the strict parser of live replies.

    One that does not (a duplicate key, half a character) is passed on unchanged and refused later: it was billed, so
    it must not count as a lost request.
    """
    try:
        return parse_body(line), True
    except UnreadableReply as problem:
        try:
            data = json.loads(line.decode("utf-8-sig", "replace"))
        except RecursionError:
            data = None
        if not isinstance(data, dict):
            raise ValueError(str(problem)) from None  # noqa: TRY004 - handled like the other faults
        return data, False


def _require_id(data: dict[str, Any]) -> str:
    """Returns the id of a batch, or raises `Unsure` if the answer holds none."""
    name = text_or_none(data.get("id"))
    if not name:
        raise Unsure("the endpoint's answer names no batch")
    return name


async def _read_pages(client: BatchClient, url: str, cursor: str) -> AsyncIterator[list[dict[str, Any]]]:
    """Yields the pages of a provider's list of batches, the newest first.

    Raises `Unsure` where the list goes on and cannot be read further: a batch further down would count as missing, and
    be sent and paid again. `cursor` is the parameter that says after which batch a page begins.
    """
    after: dict[str, str] = {}
    for _ in range(MOST_PAGES):
        page = await client.get(url, {"limit": "100", **after})
        if not isinstance(page.get("data"), list):
            raise Unsure("the endpoint's list of batches cannot be read")
        entries = [entry for entry in page["data"] if isinstance(entry, dict)]
        yield entries
        if not page.get("has_more"):
            return
        if not entries:
            raise Unsure("the endpoint's list of batches breaks off before its end")
        after = {cursor: _require_id(entries[-1])}
    raise Unsure(f"it is not among the newest {MOST_PAGES * 100:,} batches, and older ones were not searched")


def _created(entry: dict[str, Any]) -> int:
    """Returns when a batch was created, in Unix seconds; 0 if that is not known."""
    return count_or_zero(entry.get("created_at"))


def _parse_moment(value: Any) -> float:
    """Converts an ISO time into seconds; a time that cannot be read counts as the latest possible."""
    try:
        return datetime.fromisoformat(str(value).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return float("inf")  # not known: look at it
