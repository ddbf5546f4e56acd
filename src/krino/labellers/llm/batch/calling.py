"""HTTP for batch files: calls that may be repeated are; of one that may not be, it is said when nobody knows."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import aiohttp
import orjson

from krino.errors import RunStopped
from krino.labellers.llm.endpoint import clean_address
from krino.labellers.llm.exchange import CONNECT_SECONDS, proxy_trouble
from krino.labellers.llm.pace import LONGEST_WAIT
from krino.labellers.llm.proxies import Proxy, proxy_for, trusted_certificates
from krino.labellers.llm.transport import BACKOFF_CAP, LOST, RETRIED, Transport
from krino.labellers.llm.wire import ApiError, read_error, retry_after

MOST_JSON = 32 * 1024 * 1024
"""Of an answer that is read as a whole: a page of a list has a hundred entries of a few hundred bytes."""
LONGEST_LINE = 8 * 1024 * 1024
"""Of a file of replies; what is longer is passed over, and its request counts as lost."""
PIECE = 256 * 1024
QUIET_SECONDS = 300.0
"""How long a connection may be silent while a large file goes up or comes down."""
GONE = (
    "the results of a batch are not at {}: providers keep them for some weeks. To ask, and pay, again for what is out, \
delete the folder `batches` of the run"
)
STOPS = {401: "key", 403: "key", 404: "model"}


class Unsure(Exception):
    """Something may have been made at the provider, and the answer that would say so did not come."""


class Lost(Exception):
    """What was to be read broke off; reading it again costs nothing."""


HasNewKey = Callable[[Mapping[str, str]], Awaitable[bool]]
"""Whether there is a newer key than the one in these headers, which were refused."""
Body = Callable[[], dict[str, Any]]
"""Makes the arguments of a request that hold its body, anew for every try: a file is read from its start."""


class Caller:
    """Calls the provider that a transport leads to, with its key and its patience."""

    def __init__(self, transport: Transport, has_new_key: HasNewKey) -> None:
        self._transport, self._has_new_key = transport, has_new_key
        self._session: aiohttp.ClientSession | None = None
        self._proxy: Proxy | None = None

    async def get(self, url: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        return await self._until_answered("GET", url, lambda: {"params": query or {}})

    async def upload(self, url: str, body: Body) -> dict[str, Any]:
        """A file that costs nothing as long as it only lies there: it may be sent twice."""
        return await self._until_answered("POST", url, body)

    async def create(self, url: str, body: Body) -> dict[str, Any]:
        """What costs money. `Unsure` where it may have been made all the same; never tried again by itself then."""
        return await self._until_answered("POST", url, body, once=True)

    async def lines(self, url: str) -> AsyncIterator[bytes]:
        """The lines of a file, as they come; `Lost` where the file breaks off."""
        try:
            async with self._opened().request(
                "GET", url, timeout=self._limits(), allow_redirects=False, **self._way(url, self._sent())
            ) as response:
                if response.status == 404:
                    raise RunStopped(GONE.format(clean_address(url)), kind="endpoint")
                if response.status != 200:
                    self._refuse_final(await self._error(response), url)
                    raise Lost(f"HTTP {response.status}")
                async for line in _split(response.content.iter_chunked(PIECE)):
                    yield self._transport.secrets.strike(line)
        except LOST as error:
            raise Lost(self._described(error)) from None

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _until_answered(self, method: str, url: str, body: Body, *, once: bool = False) -> dict[str, Any]:
        trouble = ""
        for tried in range(self._transport.retries + 1):
            asked: float | None = None
            given, key = body(), self._transport.headers
            headers = {**self._sent(), **given.pop("headers", {})}
            try:
                async with self._opened().request(
                    method,
                    url,
                    timeout=self._limits(),
                    allow_redirects=False,
                    **self._way(url, headers),
                    **given,
                ) as response:
                    if response.status == 200:
                        return _object(self._transport.secrets.strike(await _bounded(response)))
                    error, asked = await self._error(response), retry_after(_lower(response.headers))
                trouble = str(error)
                if error.status == 401 and await self._has_new_key(key):
                    continue
                self._refuse_final(error, url)
                if once and error.status != 429:
                    raise Unsure(trouble)
            except LOST as error:
                trouble = self._described(error)
                if once and not isinstance(error, aiohttp.ClientConnectorError):  # else nothing was sent
                    raise Unsure(trouble) from None
            except ValueError as error:  # a page of HTML where an object should be
                trouble = str(error)
                if once:
                    raise Unsure(trouble) from None
            await asyncio.sleep(self._pause(tried, asked))
        raise RunStopped(f"no answer from {clean_address(url)}: {trouble}", kind="endpoint")

    def _refuse_final(self, error: ApiError, url: str) -> None:
        """What no second try would change."""
        if "insufficient_quota" in (error.code, error.kind):
            raise RunStopped(f"the endpoint says that the quota is used up: {error}", kind="quota")
        if error.status in RETRIED or error.status >= 500:
            return
        told = "does not do batch files at this address" if error.status in {404, 405} else "refuses a batch"
        raise RunStopped(
            f"the endpoint {told}: {error} ({clean_address(url)})", kind=STOPS.get(error.status, "endpoint")
        )

    async def _error(self, response: aiohttp.ClientResponse) -> ApiError:
        with contextlib.suppress(*LOST):
            return read_error(response.status, self._transport.secrets.strike(await response.content.read(4_000)))
        return ApiError(response.status, "no message")

    def _pause(self, tried: int, asked: float | None) -> float:
        own = min(BACKOFF_CAP, self._transport.backoff * 2.0 ** min(tried, 10)) * (0.5 + random.random() / 2)  # noqa: S311
        return own if asked is None else min(LONGEST_WAIT, max(asked, self._transport.backoff * 0.2))

    def _sent(self) -> dict[str, str]:
        return {"Accept-Encoding": "identity", **self._transport.headers}

    def _limits(self) -> aiohttp.ClientTimeout:
        """No limit for the whole: a file may take long. A connection that says nothing for minutes is dead."""
        return aiohttp.ClientTimeout(
            sock_connect=CONNECT_SECONDS, sock_read=max(self._transport.timeout, QUIET_SECONDS)
        )

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=trusted_certificates() or True),
                timeout=aiohttp.ClientTimeout(total=None),
            )
        return self._session

    def _way(self, url: str, headers: dict[str, str]) -> dict[str, Any]:
        """With the proxy that the environment names. `trust_env` would send what is in .netrc as well."""
        self._proxy = proxy_for(url)
        return {"headers": headers, **(self._proxy.settings() if self._proxy else {})}

    def _described(self, error: Exception) -> str:
        what = proxy_trouble(self._proxy, error) if self._proxy else str(error)
        return self._transport.secrets.strike_text(f"{type(error).__name__}: {what}"[:1_000])


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    kept = bytearray()
    async for piece in response.content.iter_chunked(PIECE):
        kept += piece
        if len(kept) > MOST_JSON:
            raise ValueError(f"the endpoint's answer is longer than {MOST_JSON:,} bytes")
    return bytes(kept)


def _object(body: bytes) -> dict[str, Any]:
    """`ValueError` for what is none."""
    data = orjson.loads(body)
    if not isinstance(data, dict):
        raise ValueError("the endpoint's answer is not a JSON object")  # noqa: TRY004 - told like JSON that is none
    return data


async def _split(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Whole lines; memory holds one piece of the file. The last line may lack its break."""
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
