"""One request and its reply over HTTP: a connection of aiohttp's pool, and a body that is read up to a bound.

aiohttp's connector and its protocol do the work: addresses, TLS, connections that are kept, reading HTTP. Its session
is passed by. For each request it merges headers, looks for cookies, follows redirects and starts a task that writes the
body; an endpoint of a model has no use for any of it, and it costs as much as all the rest of a request.

A proxy that the environment names is used: `https` goes through a tunnel that the connector opens (CONNECT), plain
`http` is sent to the proxy with the whole address in its first line.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import AsyncIterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from krino.labellers.llm.proxies import Proxy, ProxyFailed, proxy_for, trusted_certificates

CONNECT_SECONDS = 30.0
MOST_BYTES = 4 * 1024 * 1024
"""Of a reply, unpacked. The longest useful answer is a small part of it."""
MOST_ERROR_BYTES = 64 * 1024
"""Of a refusal, which nobody reads further than its first sentences."""
PIECE = 64 * 1024
ENCODINGS = "gzip, deflate"
"""What we say we can unpack. We unpack it ourselves, piece by piece: the HTTP library may unpack a bomb in one go."""
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_OF_THE_BODY = frozenset({"content-length", "transfer-encoding"})


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
        self._proxy = proxy_for(url)
        self._asks_proxy = self._proxy is not None and URL(url).scheme == "http"
        """Whether the proxy reads the requests itself, and does not only open a tunnel."""
        for_proxy = self._proxy.own_headers() if self._proxy is not None else {}
        if self._asks_proxy:
            sent.update(for_proxy)
        self._connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60, ssl=trusted_certificates() or True)
        self.session = aiohttp.ClientSession(connector=self._connector)
        self._request = aiohttp.ClientRequest(
            "POST",
            URL(url),
            headers=sent,
            loop=asyncio.get_running_loop(),
            session=self.session,
            proxy=self._proxy and self._proxy.url,
            proxy_headers=None if self._asks_proxy else for_proxy or None,
        )
        """Says where to connect to, and which headers go with the body. It is never sent itself."""
        self._head = _head_of(self._request, whole_address=self._asks_proxy)

    async def post(self, body: bytes, seconds: float) -> Answered:
        """Raises what `aiohttp` raises, `BadBody`, and `TimeoutError` after so many seconds."""
        async with asyncio.timeout(seconds):
            connection = await self._connect(seconds)
            try:
                message, stream = await self._send(connection, body)
                most = MOST_BYTES if message.code == 200 else MOST_ERROR_BYTES
                packed = message.headers.get("Content-Encoding")
                if packed is None and stream.is_eof():  # all of it came with the head, as short replies do
                    content = stream.read_nowait()
                    content, whole = content[:most], len(content) <= most
                else:
                    content, whole = await read_bounded(stream.iter_chunked(PIECE), packed, most)
                if connection.transport is None or connection.transport.get_write_buffer_size():
                    connection.close()  # answered before it had read all: the rest must not meet the next request
            except BaseException:
                connection.close()
                raise
            connection.release()  # it is kept, unless the reply was not read to its end
            if self._asks_proxy and message.code == 407:
                raise ProxyFailed(f"the proxy {self._proxy} refuses its user or password (HTTP 407)")
            return Answered(message.code, message.headers, content, whole)

    async def _connect(self, seconds: float) -> aiohttp.connector.Connection:
        try:
            return await self._connector.connect(self._request, [], _time_limit(seconds))
        except TimeoutError:  # nothing was sent yet, so this is like a refused connection
            way = f" through the proxy {self._proxy}" if self._proxy else ""
            raise aiohttp.ClientConnectionError(f"no connection within {CONNECT_SECONDS:.3g} s{way}") from None
        except aiohttp.ClientError as error:
            if self._proxy is None:
                raise
            raise ProxyFailed(proxy_trouble(self._proxy, error)) from error

    async def _send(
        self, connection: aiohttp.connector.Connection, body: bytes
    ) -> tuple[aiohttp.http.RawResponseMessage, aiohttp.StreamReader]:
        """Write the request; gives the head of the reply, and the stream that the body will come from."""
        protocol, transport = connection.protocol, connection.transport
        if protocol is None or transport is None or transport.is_closing():
            raise aiohttp.ClientConnectionError("the connection was closed before anything was sent")
        protocol.set_response_params(read_until_eof=True, auto_decompress=False)
        transport.write(b"".join((self._head, b"%d\r\n\r\n" % len(body), body)))
        while True:
            try:
                message, stream = await protocol.read()
            except HttpProcessingError as bad:
                raise aiohttp.ClientResponseError(
                    self._request.request_info, (), status=bad.code, message=bad.message, headers=bad.headers
                ) from bad
            if not 100 <= message.code <= 199 or message.code == 101:  # the others only say that a reply will come
                return message, stream


def proxy_trouble(proxy: Proxy, error: Exception) -> str:
    """What went wrong on the way through a proxy: which proxy, without its password, and why."""
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"cannot connect to the proxy {proxy}: {error.os_error.strerror or error.os_error}"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy {proxy} opens no connection: HTTP {error.status} {error.message}"
    return f"through the proxy {proxy}: {error}"


def _head_of(request: aiohttp.ClientRequest, *, whole_address: bool) -> bytes:
    """The first line and the headers of every request, as far as the number that says how long its body is."""
    kept = [f"{name}: {value}" for name, value in request.headers.items() if name.lower() not in _OF_THE_BODY]
    bare = request.url.with_user(None).with_fragment(None)
    place = str(bare) if whole_address else request.url.raw_path_qs
    return "\r\n".join([f"POST {place} HTTP/1.1", *kept, "Content-Length: "]).encode()


@lru_cache(maxsize=16)
def _time_limit(seconds: float) -> aiohttp.ClientTimeout:
    """Of connecting. Nearly every request has the same one."""
    return aiohttp.ClientTimeout(total=seconds, sock_connect=min(seconds, CONNECT_SECONDS))


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
