"""One HTTP request and its reply: connections are reused, and a reply body is read up to a limit.

A proxy named in the environment is used: `https` goes through a tunnel (CONNECT), plain `http` is sent to the proxy.
"""

from __future__ import annotations

import asyncio
import base64
import io
import ipaddress
import os
import random
import re
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from krino.errors import RunStopped

# --- proxies and certificates ------------------------------------------------------------------------

CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Files (or folders) of certificates to trust instead of the system's; the first variable that is set wins."""


class Proxy(NamedTuple):
    """A proxy. Its password is kept out of the address, which may be shown."""

    url: URL
    auth: str | None
    """The value of its Authorization header, if a user is named."""
    variable: str

    def settings(self) -> dict[str, Any]:
        """Returns the arguments for an aiohttp request. aiohttp sends this header as Proxy-Authorization, with the
        request or, for https, with the CONNECT that opens the tunnel."""
        return {"proxy": self.url, "proxy_headers": {"Authorization": self.auth} if self.auth else None}

    def __str__(self) -> str:
        return f"{str(self.url).rstrip('/')} ({self.variable})"


class ProxyFailed(aiohttp.ClientConnectionError):
    """The proxy cannot be used, so nothing was sent to the endpoint."""


def proxy_for(url: str) -> Proxy | None:
    """Finds the proxy for an address by HTTP_PROXY, HTTPS_PROXY (also in lower case) and NO_PROXY; None for none.

    A loopback address would mean another machine to a remote proxy, so it is only used with a local one.
    """
    target = URL(url)
    host, port = target.host or "", target.port
    written = getproxies().get(target.scheme, "").strip()
    if not written or proxy_bypass(host) or proxy_bypass(f"{host}:{port}"):
        return None
    variable = f"{target.scheme.upper()}_PROXY"
    try:
        found = URL(written if "://" in written else f"http://{written}")
        usable = found.scheme in {"http", "https"} and bool(found.host)
    except ValueError:
        usable = False
    if not usable:
        raise RunStopped(f"{variable} names no http proxy (http://HOST:PORT)", kind="endpoint")
    if _is_loopback(host) and not _is_loopback(found.host or ""):
        return None
    auth = None
    if found.raw_user is not None:
        named = f"{unquote(found.raw_user)}:{unquote(found.raw_password or '')}"
        auth = f"Basic {base64.b64encode(named.encode()).decode()}"
    return Proxy(URL.build(scheme=found.scheme, host=found.host or "", port=found.port), auth, variable)


def trusted_certificates() -> ssl.SSLContext | None:
    """Makes a context that trusts the certificates in one of `CA_VARIABLES`; None if none of them is set."""
    for variable in CA_VARIABLES:
        if not (named := os.environ.get(variable)):
            continue
        path = Path(named)
        try:
            if path.is_dir():
                return ssl.create_default_context(capath=named)
            return ssl.create_default_context(cafile=named)
        except (OSError, ssl.SSLError) as error:
            reason = error.strerror or str(error)
            raise RunStopped(f"{variable} names {path}, which cannot be used: {reason}", kind="endpoint") from None
    return None


def _is_loopback(host: str) -> bool:
    """Does a host name mean this machine?"""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


# --- requests ----------------------------------------------------------------------------------------

CONNECT_SECONDS = 30.0
MOST_BYTES = 4 * 1024 * 1024
"""The longest reply that is read, unpacked. Useful answers are far shorter."""
MOST_ERROR_BYTES = 64 * 1024
"""The longest error body that is read; only its first sentences are shown."""
PIECE = 64 * 1024
LARGE_BODY = 1024 * 1024
"""Larger request bodies are streamed: writing one at once would block the event loop."""
ENCODINGS = "gzip, deflate"
"""We decompress in pieces ourselves, since aiohttp may inflate a decompression bomb in one step."""
BACKOFF_CAP = 30.0
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class BadBody(Exception):
    """The body cannot be decompressed."""


LOST = (aiohttp.ClientError, TimeoutError, BadBody)
"""Raised when no complete reply arrived."""
MAYBE_BILLED = (aiohttp.ClientPayloadError, TimeoutError, BadBody)
"""The endpoint received the request, and may have written and billed the reply that was lost."""


class RawReply(NamedTuple):
    """A reply; `whole` is False if its body was longer than the limit."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    whole: bool


class HttpClient:
    """Posts bodies to one address, each with the same headers. Must be created on the event loop that uses it."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        sent = {"Content-Type": "application/json", "Accept-Encoding": ENCODINGS, **headers}
        if any(map(_CONTROL.search, (*sent, *sent.values()))):
            raise ValueError("a header for the endpoint holds a control character")
        self._url = URL(url)
        self._proxy = proxy_for(url)
        self._proxy_settings = self._proxy.settings() if self._proxy is not None else {}
        self.session = open_session(sent)

    async def post(self, body: bytes, seconds: float) -> RawReply:
        """Posts a body once and returns the reply, its body cut at a limit. Raises aiohttp's errors, `BadBody`, and
        `TimeoutError` after this many seconds."""
        data = body if len(body) <= LARGE_BODY else io.BytesIO(body)
        try:
            async with (
                asyncio.timeout(seconds),
                self.session.post(self._url, data=data, allow_redirects=False, **self._proxy_settings) as response,
            ):
                most = MOST_BYTES if response.status == 200 else MOST_ERROR_BYTES
                encoding = response.headers.get("Content-Encoding")
                content, whole = await read_bounded(response.content.iter_chunked(PIECE), encoding, most)
        except aiohttp.ConnectionTimeoutError:  # nothing was sent yet, so this is like a refused connection
            way = f" through the proxy {self._proxy}" if self._proxy else ""
            raise aiohttp.ClientConnectionError(f"no connection within {CONNECT_SECONDS:.3g} s{way}") from None
        except (aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError) as error:
            if self._proxy is None:
                raise
            raise ProxyFailed(describe_proxy_fault(self._proxy, error)) from error
        if self._proxy is not None and response.status == 407:
            raise ProxyFailed(f"the proxy {self._proxy} refuses its user or password (HTTP 407)")
        return RawReply(response.status, response.headers, content, whole)


def open_session(headers: Mapping[str, str]) -> aiohttp.ClientSession:
    """Opens a session without cookies and total time-out that trusts the user's certificates."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60, ssl=trusted_certificates() or True),
        headers=headers,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
    )


def backoff_seconds(attempt: int, first: float, asked: float | None) -> float:
    """Returns how long to wait before the next try: what the endpoint asks for, else exponential backoff, with
    jitter."""
    jitter = 0.5 + random.random() / 2  # noqa: S311 - not a secret
    if asked:
        return asked + first * 0.2 * jitter
    # An asked wait of 0 (or a date in the past) must not use up all tries at once, so it counts as none.
    return min(BACKOFF_CAP, first * 2.0 ** min(attempt, 10)) * jitter


def describe_connection_fault(error: Exception) -> str:
    """An exception in words. asyncio's text for a failed connection repeats the address as a Python tuple."""
    if isinstance(error, TimeoutError):
        return str(error)
    if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, aiohttp.ClientSSLError):
        number = error.os_error.errno or 0  # negative numbers are the resolver's, which words them well itself
        reason = os.strerror(number) if number > 0 else error.os_error.strerror or str(error.os_error)
        return f"cannot connect to {error.host}:{error.port} ({reason})"
    return f"{type(error).__name__}: {error}"


def describe_proxy_fault(proxy: Proxy, error: Exception) -> str:
    """What went wrong at a proxy, naming it without its password."""
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"cannot connect to the proxy {proxy}: {error.os_error.strerror or error.os_error}"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy {proxy} opens no connection: HTTP {error.status} {error.message}"
    return f"through the proxy {proxy}: {error}"


async def read_bounded(pieces: AsyncIterator[bytes], encoding: str | None, most: int) -> tuple[bytes, bool]:
    """Returns the first `most` bytes of a body, and whether that is all of it. Nothing is decompressed beyond the
    limit. Raises `BadBody` for a body in another encoding, or one that cannot be decompressed."""
    named = (encoding or "identity").strip().lower()
    if named not in {"identity", "gzip", "deflate"}:
        raise BadBody(f"the reply is packed as {named[:40]!r}, which was not asked for")
    kept = bytearray()
    unpack = None
    async for packed in pieces:
        if named == "identity":
            kept += packed
        else:
            unpack = unpack or _make_decompressor(named, packed)
            try:
                kept += unpack.decompress(packed, most + 1 - len(kept))
            except zlib.error as error:
                raise BadBody(f"the reply cannot be unpacked: {error}") from None
        if len(kept) > most:
            return bytes(kept[:most]), False
    if unpack is not None and not unpack.eof:
        raise BadBody("the reply ends before it is unpacked")
    return bytes(kept), True


def _make_decompressor(named: str, first: bytes) -> zlib._Decompress:
    """Makes a decompressor. `deflate` means a zlib stream, but some servers send a bare one: the low half of the first
    byte shows which."""
    if named == "gzip":
        return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    return zlib.decompressobj(wbits=zlib.MAX_WBITS if first[:1] and first[0] & 0x0F == 8 else -zlib.MAX_WBITS)
