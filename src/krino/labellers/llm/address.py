"""Addresses as they may be shown and stored."""

from __future__ import annotations

from urllib.parse import urlsplit


def clean_address(url: str) -> str:
    """Without user, password or query: any of them may be a secret."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
