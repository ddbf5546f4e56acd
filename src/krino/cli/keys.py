"""Decides which API keys may be sent where.

A `krino.toml` that was found in a folder may come from anybody: it must not send the user's key to an address of its
choice.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import typer

from krino.cli.printing import say
from krino.cli.settings import load_settings, read_toml
from krino.errors import UsageProblem
from krino.labellers.llm.endpoint import address_problem, is_loopback_url, key_variables, masked


@dataclass(frozen=True, slots=True)
class Keys:
    """The key named by the user, and the environment in which the providers' own keys are looked up."""

    named: str | None
    env: Mapping[str, str]


def keys_for(ctx: typer.Context, names: Sequence[str], base_url: str | None, api_key_env: str | None) -> Keys:
    """Returns the keys that may be sent to `base_url`. Without the user's consent it raises `UsageProblem`, or drops a
    key with a message if the address is on this machine.

    Flags, `KRINO_*` variables and the file named by `$KRINO_CONFIG` count as consent. A found file may not set headers
    either: they can redirect a gateway or replace the key.
    """
    if _from_found_file(ctx, "extra_headers", ctx.params.get("extra_headers") or None):
        raise UsageProblem(
            f"{load_settings().path} sets extra_headers, which a file found in a folder may not do; give them "
            "with --extra-header NAME=VALUE, or name the file with KRINO_CONFIG if you trust it"
        )
    if not _from_found_file(ctx, "base_url", base_url) or base_url is None or address_problem(base_url):
        return Keys(key_from(api_key_env), os.environ)
    of_file = _from_found_file(ctx, "api_key_env", api_key_env)
    of_providers = key_variables(names, base_url, os.environ)
    at_stake = [name for name in ([api_key_env] if api_key_env else of_providers) if os.environ.get(name)]
    if (api_key_env and not of_file) or _is_trusted(base_url):
        return Keys(key_from(api_key_env), os.environ)
    where, shown = load_settings().path, masked(base_url)
    if not at_stake:
        if not is_loopback_url(base_url):
            say(f"the cases are sent to {shown}: {where} names that address")
        return Keys(key_from(api_key_env), os.environ)
    if is_loopback_url(base_url):  # local servers seldom need a key, and anybody may listen there
        say(f"{at_stake[0]} is not sent to {shown}: {where} names that address. {_explain_trust(base_url)}")
        return Keys(None, {name: value for name, value in os.environ.items() if name not in of_providers})
    raise UsageProblem(
        f"{where} names the address {shown}, and the key in {at_stake[0]} would be sent there. "
        f"{_explain_trust(base_url)}"
    )


def key_from(variable: str | None) -> str | None:
    """Returns the API key in an environment variable that the user named; raises `UsageProblem` if it is not set. None
    without a name."""
    if variable is None:
        return None
    if not (value := os.environ.get(variable)):
        raise UsageProblem(f"--api-key-env {variable}: that variable is not set")
    return value


def refuse_outside_folder(ctx: typer.Context, name: str, path: Path | None) -> Path | None:
    """Returns the path of a file. Raises `UsageProblem` if a found `krino.toml` names one outside its folder: its text
    would be sent to the model."""
    settings = load_settings()
    if path is None or settings.path is None or not _from_found_file(ctx, name, path):
        return path
    if not path.resolve().is_relative_to(settings.path.resolve().parent):
        raise UsageProblem(
            f"{settings.path}: {name} = {str(path)!r} is outside its folder; name it with --{name} if you want it"
        )
    return path


def user_settings_path() -> Path:
    """Returns the path of the settings that only the user can write."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "krino" / "config.toml"


def _from_found_file(ctx: typer.Context, name: str, value: object) -> bool:
    """Does a value come from a `krino.toml` that was found in a folder?"""
    source = ctx.get_parameter_source(name)
    return value is not None and load_settings().found and source is not None and source.name == "DEFAULT_MAP"


def _explain_trust(base_url: str) -> str:
    """Says how to trust an address that may otherwise not get a key."""
    address = masked(base_url).partition("?")[0]
    return (
        f"If you trust it, add it to {user_settings_path()}:\n"
        f'  [trust]\n  addresses = ["{address}"]\n'
        "or give --base-url (or --api-key-env VARIABLE) on the command line"
    )


def _is_trusted(base_url: str) -> bool:
    """Is an address, or a path above it, among those that the user trusts?"""
    wanted = _split_address(base_url)
    for listed in _trusted_addresses():
        origin, path = _split_address(listed)
        if wanted[0] == origin and (wanted[1] == path or wanted[1].startswith(f"{path}/")):
            return True
    return False


def _split_address(url: str) -> tuple[tuple[str, str, int | None], str]:
    """Splits an address into origin (scheme, host, port) and path."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return (parts.scheme, parts.hostname or "", port), parts.path.rstrip("/")


def _trusted_addresses() -> list[str]:
    """Returns the addresses that the user's settings trust; raises `UsageProblem` if that file has a mistake."""
    path = user_settings_path()
    if not path.is_file():
        return []
    data = read_toml(path)
    if unknown := sorted(data.keys() - {"trust"}):
        raise UsageProblem(f"{path}: unknown section [{unknown[0]}]; there is [trust]")
    trust = data.get("trust", {})
    addresses = trust.get("addresses", []) if isinstance(trust, dict) and trust.keys() <= {"addresses"} else None
    if not isinstance(addresses, list) or not all(isinstance(item, str) for item in addresses):
        raise UsageProblem(f'{path}: [trust] has one key, addresses = ["https://…", …]')
    for address in addresses:
        if problem := address_problem(address):
            raise UsageProblem(f"{path}: [trust] addresses: {address!r} {problem}")
    return addresses
