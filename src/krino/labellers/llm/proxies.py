"""The proxy and the certificates that the environment names for an address, by the variables that curl uses."""

from __future__ import annotations

import base64
import ipaddress
import os
import ssl
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from krino.errors import RunStopped

CA_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Files (or folders) of certificates to trust instead of the system's; the first variable that is set wins."""


class Proxy(NamedTuple):
    """A proxy. Its password is kept out of the address, which may be shown."""

    url: URL
    auth: str | None
    """The value of its Authorization header, if a user is named."""
    variable: str

    def settings(self) -> dict[str, Any]:
        """The arguments for an aiohttp request. aiohttp sends this header as Proxy-Authorization, with the request or,
        for https, with the CONNECT that opens the tunnel."""
        return {"proxy": self.url, "proxy_headers": {"Authorization": self.auth} if self.auth else None}

    def __str__(self) -> str:
        return f"{str(self.url).rstrip('/')} ({self.variable})"


class ProxyFailed(aiohttp.ClientConnectionError):
    """The proxy cannot be used, so nothing was sent to the endpoint."""


def proxy_for(url: str) -> Proxy | None:
    """The proxy for an address by HTTP_PROXY, HTTPS_PROXY (also in lower case) and NO_PROXY; None for none.

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
    """A context that trusts the certificates in one of `CA_VARIABLES`; None for the default ones."""
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
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
