"""HTTP calls for batch files. Calls that cost nothing are retried; a call that may have cost money raises `Unsure`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import aiohttp
import orjson

from krino.errors import RunStopped
from krino.labellers.llm.endpoint import clean_address
from krino.labellers.llm.sending.http import (
    CONNECT_SECONDS,
    LOST,
    Proxy,
    backoff_seconds,
    describe_connection_fault,
    describe_proxy_fault,
    open_session,
    proxy_for,
)
from krino.labellers.llm.sending.pace import LONGEST_WAIT
from krino.labellers.llm.sending.retrying import RETRIED, Transport
from krino.labellers.llm.wire import ApiError, read_error, retry_after

MOST_JSON = 32 * 1024 * 1024
"""The longest JSON reply: a page of a list has a hundred entries of a few hundred bytes."""
LONGEST_LINE = 8 * 1024 * 1024
"""The longest line of a result file; a longer one is skipped, and its request counts as lost."""
PIECE = 256 * 1024
QUIET_SECONDS = 300.0
"""How long a connection may be silent while a large file is transferred."""
GONE = (
    "the results of a batch are not at {}: providers keep them for some weeks. To send, and pay for, the outstanding \
requests again, delete the folder `batches` of the run"
)
STOPS = {401: "key", 403: "key", 404: "model"}


class Unsure(Exception):
    """A batch may have been created, but the answer that would confirm it was lost."""


class Lost(Exception):
    """A download broke off; repeating it costs nothing."""


HasNewKey = Callable[[Mapping[str, str]], Awaitable[bool]]
"""Whether there is a newer key than the one in these headers, which were refused."""
Body = Callable[[], dict[str, Any]]
"""Makes the request arguments that hold its body, anew for every try: a file is read from its start."""


class BatchClient:
    """Calls the provider with the address, key and retry settings of a transport."""

    def __init__(self, transport: Transport, has_new_key: HasNewKey) -> None:
        self._transport, self._has_new_key = transport, has_new_key
        self._session: aiohttp.ClientSession | None = None
        self._proxy: Proxy | None = None

    async def get(self, url: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Fetches a JSON object; it costs nothing, so it is retried."""
        return await self._send_until_answered("GET", url, lambda: {"params": query or {}})

    async def upload(self, url: str, body: Body) -> dict[str, Any]:
        """Uploads a file and returns the answer. It costs nothing until a batch uses it, so it may be sent twice."""
        return await self._send_until_answered("POST", url, body)

    async def create(self, url: str, body: Body) -> dict[str, Any]:
        """Creates a batch, which costs money: never retried once it may exist; raises `Unsure` then."""
        return await self._send_until_answered("POST", url, body, once=True)

    async def lines(self, url: str) -> AsyncIterator[bytes]:
        """Yields the lines of a file as they arrive, with our secrets redacted. Raises `Lost` if it breaks off, and
        `RunStopped` if it is gone or refused for good."""
        try:
            async with self._make_request("GET", url, {}) as response:
                if response.status == 404:
                    raise RunStopped(GONE.format(clean_address(url)), kind="endpoint")
                if response.status != 200:
                    self._refuse_final(await self._read_error(response), url)
                    raise Lost(f"HTTP {response.status}")
                async for line in _split(response.content.iter_chunked(PIECE)):
                    yield self._transport.secrets.redact(line)
        except LOST as error:
            raise Lost(self._describe_fault(error)) from None

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _send_until_answered(self, method: str, url: str, body: Body, *, once: bool = False) -> dict[str, Any]:
        """Sends a request until it is answered with status 200, and returns the object in the answer.

        Raises `RunStopped` if no retry helps; with `once`, `Unsure` as soon as a try may have been received. A try
        whose key was refused does not count if there is a newer key: the request is sent again with that one.
        """
        retries = self._transport.retries
        tried = renewals = 0
        while True:
            asked: float | None = None
            key = self._transport.headers
            try:
                async with self._make_request(method, url, body()) as response:
                    if response.status == 200:
                        return _parse_object(self._transport.secrets.redact(await _read_all(response)))
                    error, asked = await self._read_error(response), retry_after(_lower_names(response.headers))
                trouble = str(error)
                if error.status == 401 and renewals <= retries and await self._has_new_key(key):
                    renewals += 1  # bounded: a function may give a new key, just as useless, each time
                    continue
                self._refuse_final(error, url)
                if once and error.status != 429:
                    raise Unsure(trouble)
            except LOST as error:
                trouble = self._describe_fault(error)
                if once and not isinstance(error, aiohttp.ClientConnectorError):  # otherwise nothing was sent
                    raise Unsure(trouble) from None
            except ValueError as error:  # a page of HTML instead of an object
                trouble = str(error)
                if once:
                    raise Unsure(trouble) from None
            if tried == retries:
                raise RunStopped(f"no answer from {clean_address(url)}: {trouble}", kind="endpoint")
            await asyncio.sleep(min(LONGEST_WAIT, backoff_seconds(tried, self._transport.backoff, asked)))
            tried += 1

    def _make_request(self, method: str, url: str, given: dict[str, Any]) -> Any:
        """Makes an aiohttp request (a context manager) through the environment's proxy. `trust_env` would also send
        what is in .netrc."""
        if self._session is None:
            self._session = open_session({})
        self._proxy = proxy_for(url)
        headers = {"Accept-Encoding": "identity", **self._transport.headers, **given.pop("headers", {})}
        # No limit for the whole: a file may take long. A connection that is silent for minutes is dead.
        limits = aiohttp.ClientTimeout(
            sock_connect=CONNECT_SECONDS, sock_read=max(self._transport.timeout, QUIET_SECONDS)
        )
        through = self._proxy.settings() if self._proxy else {}
        return self._session.request(
            method, url, timeout=limits, allow_redirects=False, headers=headers, **through, **given
        )

    def _refuse_final(self, error: ApiError, url: str) -> None:
        """Raises `RunStopped` for a refusal that no retry would change; returns for any other."""
        if "insufficient_quota" in (error.code, error.kind):
            raise RunStopped(f"the endpoint says that the quota is used up: {error}", kind="quota")
        if error.status in RETRIED or error.status >= 500:
            return
        refusal = "does not do batch files at this address" if error.status in {404, 405} else "refuses a batch"
        raise RunStopped(
            f"the endpoint {refusal}: {error} ({clean_address(url)})", kind=STOPS.get(error.status, "endpoint")
        )

    async def _read_error(self, response: aiohttp.ClientResponse) -> ApiError:
        """Reads the error of a refusal, with our secrets redacted; one that cannot be read has no message."""
        with contextlib.suppress(*LOST):
            return read_error(response.status, self._transport.secrets.redact(await response.content.read(4_000)))
        return ApiError(response.status, "no message")

    def _describe_fault(self, error: Exception) -> str:
        """Returns a connection fault in words, cut to a readable length and with our secrets redacted."""
        fault = describe_proxy_fault(self._proxy, error) if self._proxy else describe_connection_fault(error)
        return self._transport.secrets.redact_text(fault[:1_000])


def _lower_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


async def _read_all(response: aiohttp.ClientResponse) -> bytes:
    """Reads a whole response body, and refuses one that is longer than the limit."""
    kept = bytearray()
    async for piece in response.content.iter_chunked(PIECE):
        kept += piece
        if len(kept) > MOST_JSON:
            raise ValueError(f"the endpoint's answer is longer than {MOST_JSON:,} bytes")
    return bytes(kept)


def _parse_object(body: bytes) -> dict[str, Any]:
    """Parses a response body that must be a JSON object."""
    data = orjson.loads(body)
    if not isinstance(data, dict):
        raise ValueError("the endpoint's answer is not a JSON object")  # noqa: TRY004 - handled like invalid JSON
    return data


async def _split(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yields whole lines from pieces of a file; drops blank lines and those longer than `LONGEST_LINE`. The last line
    may lack its line break."""
    rest, too_long = b"", False
    async for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.strip() and not too_long:
                yield line
            too_long = False
        if len(rest) > LONGEST_LINE:
            rest, too_long = b"", True
    if rest.strip() and not too_long:
        yield rest
