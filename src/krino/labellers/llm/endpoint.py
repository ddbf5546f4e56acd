"""Which endpoint a labeller's name means: its dialect, address and key; and how addresses are checked and shown."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from krino.errors import UsageProblem
from krino.labellers.llm.anthropic import AnthropicDialect
from krino.labellers.llm.openai import AzureDialect, OpenAIDialect
from krino.labellers.llm.wire import Dialect, Strength
from krino.text.guessing import guessed

_BLANK = re.compile(r"[\s\x00-\x1f]")
_NO_HOST = re.compile(r"[\\^|`<>{}\"%]")
_SECRET_PARTS = re.compile(r"(?<=://)[^/?#@]*(?:@[^/?#@]*)*@|\?.*", re.DOTALL)
Key = str | Callable[[], str] | None
DIALECTS: dict[str, type[Dialect]] = {
    "openai": OpenAIDialect,
    "azure": AzureDialect,
    "anthropic": AnthropicDialect,
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go. The key is kept out of every printed or stored form."""

    provider: str
    model: str
    dialect: Dialect
    base_url: str
    key: str | None = field(default=None, repr=False)
    api_version: str | None = None
    limit_name: str = "max_tokens"
    strength: Strength = "sized"
    """What it is first asked to take of a schema that is bound to the case."""
    strongest: Strength = "exact"
    """The most that it is ever asked to take of one."""
    reasoning_tokens: int = 0
    """Room for reasoning that is added to the limit of a reply, where models behind this address may reason."""
    key_source: Callable[[], str] | None = field(default=None, repr=False)
    """Where the key came from, if from a function: it is asked again when the endpoint no longer takes the key."""

    @property
    def url(self) -> str:
        return self.dialect.url(self.base_url, self.model, self.api_version)

    @property
    def headers(self) -> dict[str, str]:
        return self.dialect.headers(self.key)


@cache
def providers() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files(__package__).joinpath("providers.toml").read_text("utf-8"))


def find_endpoint(
    name: str,
    *,
    env: Mapping[str, str],
    base_url: str | None = None,
    key: Key = None,
    api_version: str | None = None,
) -> Endpoint:
    """`gpt-4o`, `claude-…`, or `provider:model`; flags win over the environment, that over the table."""
    provider, model = _split(name, addressed=bool(base_url or env.get("OPENAI_BASE_URL")))
    entry = providers()[provider]
    base = _address(name, entry, base_url, env)
    given = read_key(key) if callable(key) else key
    found_key = (given or _first(entry.get("key"), env) or "").strip() or None
    if found_key and urlsplit(base).username is not None:
        raise UsageProblem(
            f"labeller `{name}`: the address {masked(base)!r} holds a user, and there is a key as well; only one of "
            "them can be sent: take the user out of the address, or unset the key"
        )
    own_address = entry.get("base_url") in {None, base}
    if not found_key and not entry.get("keyless") and own_address:
        raise UsageProblem(f"labeller `{name}`: no key; set {' or '.join(entry['key'])} in the environment")
    return Endpoint(
        provider=provider,
        model=model,
        dialect=DIALECTS[entry["dialect"]](),
        base_url=base,
        key=found_key,
        key_source=key if callable(key) else None,
        api_version=api_version or _first(entry.get("api_version_env"), env),
        # Only the provider's own address is sure to know the newer name of the limit.
        limit_name=entry.get("limit_name", "max_tokens") if own_address else "max_tokens",
        strength=entry.get("strength", "sized") if own_address or entry["dialect"] == "anthropic" else "sized",
        strongest=entry.get("strength", "exact") if own_address or entry["dialect"] == "anthropic" else "exact",
        reasoning_tokens=entry.get("reasoning_tokens", 0) if own_address else 0,
    )


def _address(name: str, entry: Mapping[str, Any], base_url: str | None, env: Mapping[str, str]) -> str:
    variables = " / ".join(entry.get("base_url_env", []))
    base = (base_url or _first(entry.get("base_url_env"), env) or entry.get("base_url") or "").strip()
    if not base:
        raise UsageProblem(f"labeller `{name}`: no address; set --base-url or {variables}")
    if problem := address_problem(base):
        set_by = "--base-url" if base_url else variables
        raise UsageProblem(f"labeller `{name}`: the address {masked(base)!r} {problem} ({set_by})")
    return base


def key_variables(names: Iterable[str], base_url: str) -> list[str]:
    """The variables from which keys would be taken for these models, were they asked at an address not their own."""
    entries = [providers()[_split(name, addressed=True)[0]] for name in names if name != "local"]
    foreign = [entry for entry in entries if entry.get("base_url") != base_url.rstrip("/")]
    return [variable for entry in foreign for variable in entry.get("key", [])]


def read_key(source: Callable[[], str]) -> str:
    """The key that a function gives."""
    try:
        key = source()
    except Exception as error:
        raise UsageProblem(f"api_key: the function raised {type(error).__name__}: {error}") from error
    if not isinstance(key, str) or not key.strip():
        raise UsageProblem(f"api_key: the function must return a text that is not empty, not a {type(key).__name__}")
    return key.strip()


def _split(name: str, addressed: bool) -> tuple[str, str]:
    provider, colon, model = name.partition(":")
    if colon and provider in providers():
        if not model:
            raise UsageProblem(f"labeller `{name}`: name a model after the colon, as in `{provider}:MODEL`")
        return provider, model
    for known, entry in providers().items():
        if any(name.startswith(prefix) for prefix in entry.get("prefixes", [])):
            return known, name
    if colon and not addressed:  # with an address given, `llama3:8b` is a model's own name
        known_names = sorted(providers())
        raise UsageProblem(
            f"labeller `{name}`: unknown provider `{provider}`{guessed(provider, known_names)}; "
            f"there are {', '.join(known_names)}"
        )
    return "openai", name


def _first(names: list[str] | None, env: Mapping[str, str]) -> str | None:
    return next((env[name] for name in names or [] if env.get(name)), None)


# --- addresses -------------------------------------------------------------------------------------


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
