"""Addresses: what is wrong with one, and how they may be shown and stored."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

_BLANK = re.compile(r"[\s\x00-\x1f]")
_NO_HOST = re.compile(r"[\\^|`<>{}\"%]")
_SECRET_PARTS = re.compile(r"(?<=://)[^/?#@]*(?:@[^/?#@]*)*@|\?.*", re.DOTALL)


def clean_address(url: str) -> str:
    """Without user, password or query: any of them may be a secret."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path}"


def masked(text: str) -> str:
    """The same for what may be no address at all: `***` for everything that could be a password."""
    return _SECRET_PARTS.sub(lambda found: "***@" if found[0].endswith("@") else "?***", text)


def address_problem(url: str) -> str | None:
    """What is wrong with the address of an endpoint; None if requests can be sent there."""
    if _BLANK.search(url):
        return "holds a blank"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:  # a port that is none, a bracket that is not closed
        return f"is no address ({error})"
    if parts.scheme not in {"http", "https"}:
        return "is no http(s) URL"
    if not parts.hostname or _NO_HOST.search(parts.netloc.rpartition("@")[2]):
        return "names no host"
    return "has port 0, where nobody listens" if port == 0 else None


def is_loopback(url: str) -> bool:
    """Whether requests stay on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
