"""What a workbench is started with; refuses what would lay it open to others."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from krino.contract import Labeller
from krino.errors import UsageProblem

PORT = 8321
SHORTEST_TOKEN = 16
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Frozen: what was checked when it was made holds as long as the server runs. Secrets are not in its `repr`."""

    runs: Path
    """The folder of run folders. No path from outside reaches beyond it."""
    host: str = "127.0.0.1"
    port: int = PORT
    token: str | None = field(default=None, repr=False)
    """Who knows it may enter. Needed on every address that others can reach."""
    database: str | None = field(default=None, repr=False)
    """URL of the label database (it may hold a password); None: a SQLite file in the runs folder."""
    allow_hosts: tuple[str, ...] = ()
    """Names under which browsers may reach the server, beside loopback's and `host`."""
    judges: tuple[str, ...] = ()
    """Judges that may be asked for beside Krino's own: `module:Class` or `file.py:Class`."""
    labellers: Mapping[str, Labeller] = field(default_factory=dict, repr=False)
    """Labellers that a request may name beside `local`."""
    max_body: int = 10_000_000
    """Most bytes of one request."""
    max_cases: int = 1_000
    """Most cases of one request, counted when records that hold several were taken apart."""
    max_case_bytes: int = 250_000
    """Most bytes of one case, as JSON: all wait while the facts of a long one are found."""
    body_seconds: float = 30.0
    """Within so many seconds a request must have been sent in full."""
    timeout: float = 60.0
    """Within so many seconds an answer must begin."""
    apart: bool = False
    """Whether the embedded labeller judges in processes of its own, which load their models at the start; else on
    threads of this process, which load them with the first case."""

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise UsageProblem(
                f"the token has {len(self.token)} characters, and a short one can be guessed: take at least "
                f"{SHORTEST_TOKEN} (python -c 'import secrets; print(secrets.token_urlsafe())' makes one)"
            )
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and " " not in self.token):
            raise UsageProblem("the token may hold printable ASCII characters only, and no space: it goes in a header")
        if self.token is None and not is_loopback(self.host):
            raise UsageProblem(
                f"--host {self.host}: others can reach that address, so a token is needed: set KRINO_TOKEN or --token, "
                "or leave --host out to serve this machine alone"
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    found = address_in(host)
    return host == "localhost" or (found is not None and found.is_loopback)


def address_in(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
