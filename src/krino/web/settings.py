"""Settings of the workbench server. Unsafe combinations are refused."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from krino.contract import Labeller
from krino.errors import UsageProblem
from krino.results.gates.rules import Rule

PORT = 8321
SHORTEST_TOKEN = 16
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings:
    """Checked once and then frozen. Secrets are left out of the `repr`."""

    runs: Path
    """The folder of run folders. No request can reach beyond it."""
    host: str = "127.0.0.1"
    port: int = PORT
    token: str | None = field(default=None, repr=False)
    """The access token. Required on every address that other machines can reach."""
    database: str | None = field(default=None, repr=False)
    """URL of the label database (may contain a password); None means a file in the runs folder."""
    allow_hosts: tuple[str, ...] = ()
    """Host names that browsers may use, beside loopback names and `host`."""
    judges: tuple[str, ...] = ()
    """Judges offered beside Krino's own: `module:Class` or `file.py:Class`."""
    labellers: Mapping[str, Labeller] = field(default_factory=dict, repr=False)
    """Labellers that a request may name, beside `local`."""
    guards: Mapping[str, Sequence[Rule]] = field(default_factory=dict)
    """By judge: the gate rules of `POST /v1/guard/JUDGE`."""
    max_body: int = 10_000_000
    """Most bytes per request."""
    max_cases: int = 1_000
    """Most cases per request, counted after records that hold several were split."""
    max_case_bytes: int = 250_000
    """Most bytes of one case as JSON; long cases delay everyone."""
    body_seconds: float = 30.0
    """Time limit for receiving a request's body."""
    timeout: float = 60.0
    """Time limit until the response starts."""
    in_processes: bool = False
    """Whether the embedded labeller runs in processes of its own, which load their models at start-up. Otherwise it
    runs on threads of this process, which load them with the first case."""

    def __post_init__(self) -> None:
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise UsageProblem(
                f"the token has {len(self.token)} characters, and short tokens can be guessed; use at least "
                f"{SHORTEST_TOKEN} (python -c 'import secrets; print(secrets.token_urlsafe())' makes one)"
            )
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and " " not in self.token):
            raise UsageProblem("the token must be printable ASCII without spaces, because it is sent in a header")
        if self.token is None and not is_loopback(self.host):
            raise UsageProblem(
                f"--host {self.host}: other machines can reach that address, so a token is required. Set KRINO_TOKEN "
                "or --token, or leave out --host to serve this machine only"
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    found = parse_address(host)
    return host == "localhost" or (found is not None and found.is_loopback)


def parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parses an IP address, with or without brackets; None if `host` is a name."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
