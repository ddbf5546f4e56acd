"""Finds the endpoint for a labeller's name (dialect, address, key); checks addresses and masks their secrets."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from krino.errors import UsageProblem
from krino.labellers.llm.dialects.anthropic import AnthropicDialect, AnthropicGatewayDialect
from krino.labellers.llm.dialects.ollama import OllamaDialect
from krino.labellers.llm.dialects.openai import AzureDialect, OpenAIDialect
from krino.labellers.llm.extras import ExtrasDialect, with_extras
from krino.labellers.llm.wire import Dialect, Strength
from krino.text.guessing import did_you_mean

_BLANK = re.compile(r"[\s\x00-\x1f]")
_NO_HOST = re.compile(r"[\\^|`<>{}\"%]")
_REGION = re.compile(r"[a-z0-9-]+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_VERSION = re.compile(r"/v\d[^/]*(?=/|$)")
OPERATIONS = {
    "openai": ("/chat/completions",),
    "anthropic": ("/v1/messages", "/messages"),
    "azure": (),
    "ollama": ("/api/chat", "/api", "/chat/completions"),
}
"""Paths that requests add to the base address, by dialect; they are removed from an address that has one."""
_SECRET_PARTS = re.compile(r"(?<=://)[^/?#@]*(?:@[^/?#@]*)*@|\?.*", re.DOTALL)
Key = str | Callable[[], str] | None
DIALECTS: dict[str, type[Dialect]] = {
    "openai": OpenAIDialect,
    "azure": AzureDialect,
    "anthropic": AnthropicDialect,
    "ollama": OllamaDialect,
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint and a model. The key does not appear in its `repr`."""

    provider: str
    model: str
    dialect: Dialect
    base_url: str
    key: str | None = field(default=None, repr=False)
    api_version: str | None = None
    limit_name: str = "max_tokens"
    strength: Strength = "sized"
    """How closely schemas are bound to the case at first."""
    strongest: Strength = "exact"
    """How closely they are ever bound."""
    explicit_cache: bool = False
    """Whether a request must mark the part of the prompt that its prompt cache should keep."""
    cached_from: int | None = None
    """The shortest prefix in tokens that the provider's prompt cache keeps; None: no cache is known."""
    reasoning_tokens: int = 0
    """Tokens for reasoning, added to the reply limit where models behind this address may reason."""
    key_source: Callable[[], str] | None = field(default=None, repr=False)
    """The function that gave the key, if any: it is called again when the endpoint refuses the key."""

    @property
    def url(self) -> str:
        return self.dialect.url(self.base_url, self.model, self.api_version)

    @property
    def headers(self) -> dict[str, str]:
        return self.dialect.headers(self.key)


@cache
def providers() -> dict[str, dict[str, Any]]:
    """Reads the table of known providers, by name."""
    return tomllib.loads(files(__package__).joinpath("providers.toml").read_text("utf-8"))


def find_endpoint(
    name: str,
    *,
    env: Mapping[str, str],
    base_url: str | None = None,
    key: Key = None,
    api_version: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
    extra_headers: Mapping[str, str] | None = None,
) -> Endpoint:
    """Finds the endpoint of `gpt-…`, `claude-…` or `provider:model`. Arguments override the environment, which
    overrides the table of providers. Raises `UsageProblem` for an unknown provider, a missing key or an unusable
    address."""
    provider, model = _split_name(name, addressed=bool(base_url or env.get("OPENAI_BASE_URL")))
    entry = providers()[provider]
    base = _choose_address(name, provider, base_url, env)
    given = read_key(key) if callable(key) else key
    found_key = (given or _first_set(entry.get("key"), env) or "").strip() or None
    if found_key and urlsplit(base).username is not None:
        raise UsageProblem(
            f"labeller `{name}`: the address {masked(base)!r} holds a user, and there is a key as well; only one of "
            "them can be sent: take the user out of the address, or unset the key"
        )
    at_home = not entry.get("base_url") or base == _own_address(entry, env)
    if not found_key and not entry.get("keyless") and at_home:
        raise UsageProblem(f"labeller `{name}`: no key; set {' or '.join(entry['key'])} in the environment")
    # An address in a variable belongs to the provider, or to a proxy of it. One from --base-url may be any server of
    # the dialect, which may not know the provider's newer parameters.
    like_home = at_home or not base_url
    strength, strongest = _strengths(entry if like_home or entry["dialect"] == "anthropic" else {}, model)
    dialect = _make_dialect(entry, base)
    if provider == "openai" and (organisation := _find_organisation(base, env)):  # affects the bill but no answer
        dialect = ExtrasDialect(dialect, {}, organisation, {})
    return Endpoint(
        provider=provider,
        model=model,
        dialect=with_extras(dialect, extra_body, extra_headers),
        base_url=base,
        key=found_key,
        key_source=key if callable(key) else None,
        api_version=api_version or _api_version(entry, base, env),
        limit_name=entry.get("limit_name", "max_tokens") if like_home else "max_tokens",
        strength=strength,
        strongest=strongest,
        explicit_cache=like_home and bool(re.match(entry.get("explicit_cache", "(?!)"), model)),
        cached_from=_cached_from(entry, model) if like_home else None,
        reasoning_tokens=entry.get("reasoning_tokens", 0) if like_home else 0,
    )


def _choose_address(name: str, provider: str, base_url: str | None, env: Mapping[str, str]) -> str:
    """Returns the checked base address: an option comes first, then a variable, then the provider's own address."""
    entry, variables = providers()[provider], address_variables(provider)
    written = base_url or _find_moved_address(variables, env)
    base = (written or _own_address(entry, env) or "").strip()
    if not base:
        regions = entry.get("region_env")
        wanted = f"no region; set {' or '.join(regions)}" if regions else "no address"
        raise UsageProblem(f"labeller `{name}`: {wanted}{',' if regions else '; set'} --base-url or {variables[0]}")
    if problem := address_problem(base):
        set_by = "--base-url" if base_url else " / ".join(variables)
        raise UsageProblem(f"labeller `{name}`: the address {masked(base)!r} {problem} ({set_by})")
    return _base_of(base, entry) if written else base


def address_variables(provider: str) -> list[str]:
    """Environment variables that override a provider's address: those of its own clients, and `PROVIDER_BASE_URL`."""
    return [*providers()[provider].get("base_url_env", []), f"{provider.upper()}_BASE_URL"]


def _find_moved_address(variables: list[str], env: Mapping[str, str]) -> str | None:
    """Returns the address that an environment variable sets, or None."""
    variable = next((name for name in reversed(variables) if env.get(name, "").strip()), None)
    if variable is None:
        return None
    value = env[variable].strip()
    return _ollama_address(value) if variable == "OLLAMA_HOST" else value


def _ollama_address(host: str) -> str:
    """Reads OLLAMA_HOST as Ollama's own clients do, into a URL: `host`, `:port`, `host:port`, with or without a scheme.

    The server uses it as well, as the address to listen on: `0.0.0.0` then means this machine.
    """
    scheme, found, rest = host.rpartition("://")
    place, slash, path = rest.partition("/")
    name, colon, port = place.rpartition(":") if not place.endswith("]") and ":" in place else (place, "", "")
    if not colon:
        port = {"http": "80", "https": "443"}[scheme] if found and scheme in {"http", "https"} else "11434"
    name = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(name, name)  # noqa: S104 - not bound here
    return f"{scheme or 'http'}://{name}:{port}{slash}{path}"


def _own_address(entry: Mapping[str, Any], env: Mapping[str, str]) -> str | None:
    """The provider's own address; None if it has none, or depends on an unknown region."""
    address: str | None = entry.get("base_url")
    if address is None or "region_env" not in entry:
        return address
    region = (_first_set(entry["region_env"], env) or "").strip()
    if region and not _REGION.fullmatch(region):
        raise UsageProblem(f"{region!r} is no region ({' / '.join(entry['region_env'])})")
    return address.format(region=region) if region else None


def _base_of(written: str, entry: Mapping[str, Any]) -> str:
    """Returns an address without the path of an operation. A bare server address of a local provider gets its default
    path."""
    base = written.rstrip("/")
    ending = next((path for path in OPERATIONS[entry["dialect"]] if base.endswith(path)), None)
    base = (base if ending is None else base.removesuffix(ending).rstrip("/")) if "?" not in base else written
    if entry.get("keyless") and urlsplit(base).path in {"", "/"} and "?" not in base:
        return f"{base.rstrip('/')}{urlsplit(entry['base_url']).path}"
    return base if ending else written


def _strengths(entry: Mapping[str, Any], model: str) -> tuple[Strength, Strength]:
    """How closely schemas are bound for a model at first, and how closely they are ever bound."""
    for prefix, strength in entry.get("strength_by_prefix", {}).items():
        if model.startswith(prefix):
            return strength, strength
    first = entry.get("strength", "sized")
    return first, entry.get("strongest", entry.get("strength", "exact"))


def _cached_from(entry: Mapping[str, Any], model: str) -> int | None:
    """The shortest prefix in tokens that the provider's prompt cache keeps for this model."""
    by_prefix = entry.get("cached_from_by_prefix", {}).items()
    tokens: int | None = next((n for prefix, n in by_prefix if model.startswith(prefix)), entry.get("cached_from"))
    return tokens


def _make_dialect(entry: Mapping[str, Any], base: str) -> Dialect:
    """Makes the dialect for an address: of a gateway if it is not Anthropic's own, and for Ollama OpenAI's if it ends
    in `/v1`; else the provider's."""
    if entry["dialect"] == "anthropic" and urlsplit(base).hostname != urlsplit(entry["base_url"]).hostname:
        return AnthropicGatewayDialect()
    if entry["dialect"] == "ollama" and base.rstrip("/").endswith("/v1"):
        return OpenAIDialect()
    return DIALECTS[entry["dialect"]]()


def _find_organisation(base: str, env: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers of OpenAI's SDK for the billed account, from the environment; none for other addresses than
    OpenAI's own."""
    host = urlsplit(base).hostname or ""
    if host != "api.openai.com" and not host.endswith(".api.openai.com"):
        return {}
    found = {
        "OpenAI-Organization": _first_set(["OPENAI_ORG_ID", "OPENAI_ORGANIZATION"], env),
        "OpenAI-Project": _first_set(["OPENAI_PROJECT_ID", "OPENAI_PROJECT"], env),
    }
    return {name: value.strip() for name, value in found.items() if value}


def _api_version(entry: Mapping[str, Any], base: str, env: Mapping[str, str]) -> str | None:
    """Returns the API version in the environment; None without one, and for a dated one at Azure's v1 API, which
    refuses those."""
    version = _first_set(entry.get("api_version_env"), env)
    return None if version and "/openai/v1" in urlsplit(base).path and _DATE.match(version) else version


def key_variables(names: Iterable[str], base_url: str, env: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """The variables whose keys would be sent to `base_url` for these models, if that is not their own address."""
    entries = [providers()[_split_name(name, addressed=True)[0]] for name in names if name != "local"]
    foreign = [
        entry for entry in entries if _base_of(base_url.strip(), entry).rstrip("/") != (_own_address(entry, env) or "")
    ]
    return [variable for entry in foreign for variable in entry.get("key", [])]


def read_key(source: Callable[[], str]) -> str:
    """Calls a function for the key and returns the key; `UsageProblem` if the function raises or returns no text."""
    try:
        key = source()
    except Exception as error:
        raise UsageProblem(f"api_key: the function raised {type(error).__name__}: {error}") from error
    if not isinstance(key, str) or not key.strip():
        raise UsageProblem(f"api_key: the function must return a text that is not empty, not a {type(key).__name__}")
    return key.strip()


def _split_name(name: str, addressed: bool) -> tuple[str, str]:
    """Splits a labeller's name into provider and model; `UsageProblem` for an unknown provider. A name without one is
    found by its prefix, else it is a model of OpenAI's dialect (one with a colon only if an address is given)."""
    provider, colon, model = name.partition(":")
    if colon and provider in providers():
        if not model:
            raise UsageProblem(f"labeller `{name}`: name a model after the colon, as in `{provider}:MODEL`")
        return provider, model
    for known, entry in providers().items():
        # At a custom address any server may have a model of that name, and `deepseek-r1:8b` is a model of Ollama.
        elsewhere = entry["dialect"] == "openai" and (addressed or bool(colon))
        prefixes = [prefix for prefix in entry.get("prefixes", []) if not elsewhere or ":" in prefix]
        if name.startswith(tuple(prefixes)):
            return known, name
    if colon and not addressed:  # with an address given, `llama3:8b` is a model's own name
        known_names = sorted(providers())
        raise UsageProblem(
            f"labeller `{name}`: unknown provider `{provider}`{did_you_mean(provider, known_names)}; "
            f"there are {', '.join(known_names)}"
        )
    return "openai", name


def _first_set(names: list[str] | None, env: Mapping[str, str]) -> str | None:
    """Returns the value of the first of these variables that is set."""
    return next((env[name] for name in names or [] if env.get(name)), None)


# --- addresses -------------------------------------------------------------------------------------


def clean_address(url: str) -> str:
    """Returns the address without user, password or query, any of which may be secret."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path}"


def masked(text: str) -> str:
    """Replaces user, password and query in an address with `***`, even if it is not a valid address."""
    return _SECRET_PARTS.sub(lambda found: "***@" if found[0].endswith("@") else "?***", text)


def missing_version(url: str) -> str:
    """Returns a hint for HTTP 404 at an OpenAI-style address without a version in its path; else an empty text."""
    base = clean_address(url)
    if not base.endswith("/chat/completions") or _VERSION.search(urlsplit(base).path) or "/deployments/" in base:
        return ""
    return f" (the address has no version: try {base.removesuffix('/chat/completions')}/v1)"


def address_problem(url: str) -> str | None:
    """What is wrong with an address; None if requests can be sent there."""
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


def is_loopback_url(url: str) -> bool:
    """Whether requests stay on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
