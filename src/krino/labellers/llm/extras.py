"""Body fields and headers that the user adds to every request."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from krino.errors import UsageProblem
from krino.labellers.llm.wire import Channel, ChatRequest, Dialect, Reply

# Fields that make up the question and the form of its answer. `stream` and `n` would change what comes back, and the
# budget is computed from the limit of a reply.
RESERVED_FIELDS: dict[tuple[str, ...], str] = {
    ("messages",): "the judge writes it (--prompt changes its words)",
    ("system",): "the judge writes it (--prompt changes its words)",
    ("model",): "name the model with --labeller",
    ("response_format",): "the judge's schema is sent there (--channel chooses how)",
    ("tools",): "the judge's schema is sent there (--channel chooses how)",
    ("tool_choice",): "the judge's schema is sent there (--channel chooses how)",
    ("output_config", "format"): "the judge's schema is sent there (--channel chooses how)",
    ("format",): "the judge's schema is sent there (--channel chooses how)",
    ("truncate",): "a prompt that was cut must not be judged",
    ("stream",): "replies are read whole",
    ("n",): "one answer is read (--repeat asks several times)",
    ("max_tokens",): "use --reply-tokens, from which the budget is computed",
    ("max_completion_tokens",): "use --reply-tokens, from which the budget is computed",
}
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_MESSAGE_HEADERS = frozenset({"host", "content-length", "content-type", "content-encoding", "transfer-encoding"})
_CONNECTION_HEADERS = frozenset({"connection", "accept-encoding", "proxy-authorization"})
_CREDENTIAL = re.compile(r"auth|key|token|secret|cookie|passw|credential|signature|session", re.IGNORECASE)


def with_extras(dialect: Dialect, body: Mapping[str, Any] | None, headers: Mapping[str, str] | None) -> Dialect:
    """The dialect with these added to every request; raises `UsageProblem` for what would change the question."""
    checked, named = check_body(body or {}), check_headers(headers or {})
    return ExtrasDialect(dialect, checked, named, describe_extras(checked, named)) if checked or named else dialect


def check_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields as plain JSON; `UsageProblem` for invalid JSON and for fields that a judge needs itself."""
    if not isinstance(body, Mapping):
        raise UsageProblem(f"extra_body must be an object (a dict), not {type(body).__name__} (--extra-body)")
    try:
        plain: dict[str, Any] = orjson.loads(orjson.dumps(dict(body)))
    except (orjson.JSONEncodeError, orjson.JSONDecodeError) as error:
        raise UsageProblem(f"extra_body cannot be written as JSON: {error} (--extra-body)") from None
    for path, reason in RESERVED_FIELDS.items():
        if _occupies_path(plain, path):
            raise UsageProblem(f"extra_body must not set `{'.'.join(path)}`: {reason} (--extra-body)")
    return plain


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers with their values stripped; `UsageProblem` if they cannot be sent. Values never appear in a
    message."""
    if not isinstance(headers, Mapping):
        raise UsageProblem(f"extra_headers must be a mapping, not {type(headers).__name__} (--extra-header)")
    for name, value in headers.items():
        if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
            raise UsageProblem(f"extra_headers: {name!r} is no name of a header (--extra-header NAME=VALUE)")
        if not isinstance(value, str) or _CONTROL.search(value) or not value.isascii():
            raise UsageProblem(
                f"extra_headers: the value of {name} must be a text of ASCII characters without line breaks "
                "(--extra-header NAME=VALUE)"
            )
        if name.lower() in _MESSAGE_HEADERS | _CONNECTION_HEADERS:
            raise UsageProblem(f"extra_headers: {name} is set by Krino itself (--extra-header)")
    if len({name.lower() for name in headers}) < len(headers):
        raise UsageProblem("extra_headers: a header is named twice (--extra-header)")
    return {name: value.strip() for name, value in headers.items()}


def describe_extras(body: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
    """Returns what a labeller's description, and so every cache key, contains of the extras: no value of a header.

    Headers appear with a short hash of their value, those that may hold a credential by name alone: a renewed token
    must not keep a run from being continued.
    """
    named = {name.lower(): None if _CREDENTIAL.search(name) else _short_hash(value) for name, value in headers.items()}
    record = {"extra_body": dict(body), "extra_headers": dict(sorted(named.items()))}
    return {name: value for name, value in record.items() if value}


def recorded(dialect: Dialect) -> dict[str, Any]:
    """Returns the part of a labeller's description that is about extras; empty without any."""
    return dict(dialect.record) if isinstance(dialect, ExtrasDialect) else {}


def merge(body: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Returns `body` with the fields of `extra`; objects are merged field by field, anything else is replaced."""
    merged = dict(body)
    for name, value in extra.items():
        known = merged.get(name)
        merged[name] = merge(known, value) if isinstance(known, dict) and isinstance(value, Mapping) else value
    return merged


@dataclass(frozen=True)
class ExtrasDialect:
    """Adds fields and headers to the requests of another dialect."""

    plain: Dialect
    extra_body: Mapping[str, Any]
    extra_headers: Mapping[str, str] = field(repr=False)
    record: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.plain.name

    @property
    def channels(self) -> tuple[Channel, ...]:
        return self.plain.channels

    @property
    def usual_temperature(self) -> float | None:
        return self.plain.usual_temperature

    def url(self, base_url: str, model: str, api_version: str | None) -> str:
        return self.plain.url(base_url, model, api_version)

    def headers(self, key: str | None) -> dict[str, str]:
        """Returns the headers of a request; extra ones replace those of the same name, ignoring case."""
        ours = {name.lower() for name in self.extra_headers}
        kept = {name: value for name, value in self.plain.headers(key).items() if name.lower() not in ours}
        return {**kept, **self.extra_headers}

    def body(self, request: ChatRequest) -> dict[str, Any]:
        return merge(self.plain.body(request), self.extra_body)

    def context_for(self, tokens: int) -> int | None:
        return self.plain.context_for(tokens)

    def read(self, body: bytes) -> Reply:
        return self.plain.read(body)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the values of headers: workers write bodies but send nothing."""
        return ExtrasDialect, (self.plain, self.extra_body, {}, self.record)


def _occupies_path(body: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    """Does the body set this path, or replace an object on the way to it?"""
    first, *rest = path
    if first not in body:
        return False
    below = body[first]
    # Anything but an object in place of `output_config` would take its `format` away.
    return not rest or not isinstance(below, Mapping) or _occupies_path(below, tuple(rest))


def _short_hash(value: str) -> str:
    return hashlib.blake2b(value.encode(), digest_size=4, person=b"krino-header").hexdigest()
