"""One request and its reply over HTTP: connections are kept, and a body is read up to a bound.

A proxy that the environment names is used: `https` goes through a tunnel (CONNECT), plain `http` is sent to the proxy.
"""

from __future__ import annotations

import asyncio
import io
import re
import zlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

import aiohttp
from yarl import URL

from krino.labellers.llm.proxies import Proxy, ProxyFailed, proxy_for, trusted_certificates

CONNECT_SECONDS = 30.0
MOST_BYTES = 4 * 1024 * 1024
"""Of a reply, unpacked. The longest useful answer is a small part of it."""
MOST_ERROR_BYTES = 64 * 1024
"""Of a refusal, which nobody reads further than its first sentences."""
PIECE = 64 * 1024
LARGE_BODY = 1024 * 1024
"""Larger ones are handed over in pieces: written at once they would hold up everything else."""
ENCODINGS = "gzip, deflate"
"""What we say we can unpack. We unpack it ourselves, piece by piece: the HTTP library may unpack a bomb in one go."""
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class BadBody(Exception):
    """The body cannot be unpacked."""


class Answered(NamedTuple):
    """What came back; `whole` is False where the body was longer than is read of one."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    whole: bool


class Exchange:
    """Posts bodies to one address, each with the same headers. Made on the loop that it is used on."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        sent = {"Content-Type": "application/json", "Accept-Encoding": ENCODINGS, **headers}
        if any(map(_CONTROL.search, (*sent, *sent.values()))):
            raise ValueError("a header for the endpoint holds a control character")
        self._url = URL(url)
        self._proxy = proxy_for(url)
        self._way: dict[str, Any] = self._proxy.settings() if self._proxy is not None else {}
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60, ssl=trusted_certificates() or True),
            headers=sent,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        )

    async def post(self, body: bytes, seconds: float) -> Answered:
        """Raises what `aiohttp` raises, `BadBody`, and `TimeoutError` after so many seconds."""
        data = body if len(body) <= LARGE_BODY else io.BytesIO(body)
        try:
            async with (
                asyncio.timeout(seconds),
                self.session.post(self._url, data=data, allow_redirects=False, **self._way) as response,
            ):
                most = MOST_BYTES if response.status == 200 else MOST_ERROR_BYTES
                packed = response.headers.get("Content-Encoding")
                content, whole = await read_bounded(response.content.iter_chunked(PIECE), packed, most)
        except aiohttp.ConnectionTimeoutError:  # nothing was sent yet, so this is like a refused connection
            way = f" through the proxy {self._proxy}" if self._proxy else ""
            raise aiohttp.ClientConnectionError(f"no connection within {CONNECT_SECONDS:.3g} s{way}") from None
        except (aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError) as error:
            if self._proxy is None:
                raise
            raise ProxyFailed(proxy_trouble(self._proxy, error)) from error
        if self._proxy is not None and response.status == 407:
            raise ProxyFailed(f"the proxy {self._proxy} refuses its user or password (HTTP 407)")
        return Answered(response.status, response.headers, content, whole)


def proxy_trouble(proxy: Proxy, error: Exception) -> str:
    """What went wrong on the way through a proxy: which proxy, without its password, and why."""
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"cannot connect to the proxy {proxy}: {error.os_error.strerror or error.os_error}"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy {proxy} opens no connection: HTTP {error.status} {error.message}"
    return f"through the proxy {proxy}: {error}"


async def read_bounded(pieces: AsyncIterator[bytes], encoding: str | None, most: int) -> tuple[bytes, bool]:
    """The body as far as `most` bytes, and whether that is all of it. Nothing is unpacked beyond the bound."""
    named = (encoding or "identity").strip().lower()
    if named not in {"identity", "gzip", "deflate"}:
        raise BadBody(f"the reply is packed as {named[:40]!r}, which was not asked for")
    kept = bytearray()
    unpack = None
    async for packed in pieces:
        if named == "identity":
            kept += packed
        else:
            unpack = unpack or _unpacker(named, packed)
            try:
                kept += unpack.decompress(packed, most + 1 - len(kept))
            except zlib.error as error:
                raise BadBody(f"the reply cannot be unpacked: {error}") from None
        if len(kept) > most:
            return bytes(kept[:most]), False
    if unpack is not None and not unpack.eof:
        raise BadBody("the reply ends before it is unpacked")
    return bytes(kept), True


def _unpacker(named: str, first: bytes) -> zlib._Decompress:
    """`deflate` means a zlib stream, but some servers send a bare one: the low half of its first byte tells."""
    if named == "gzip":
        return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    return zlib.decompressobj(wbits=zlib.MAX_WBITS if first[:1] and first[0] & 0x0F == 8 else -zlib.MAX_WBITS)
