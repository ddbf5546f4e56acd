"""What all dialects share: chat requests, replies, errors, helpers to read them from JSON, and how long to wait."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import orjson

from krino.cases.strict_json import DuplicateKey, check_keys
from krino.contract import Media
from krino.labellers.settings import Channel as Channel

Strength = Literal["plain", "choices", "bounded", "sized", "exact"]
"""How closely a schema is bound to its case. plain: not at all. choices: enumerations. bounded: also numbers of items
and ranges of numbers. sized: also lengths of texts. exact: also single items, and combinations of fields."""
TOOL_NAME = "give_labels"
CUT_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS", "model_length", "model_context_window_exceeded"})
ERROR_SEARCHED = 1_000  # bytes at the start of a reply that are searched for an error
MAX_ERROR_TEXT = 300  # characters of an endpoint's message about its own failure


@dataclass(frozen=True, slots=True)
class Params:
    """Sampling settings; None: not sent, the endpoint decides."""

    temperature: float | None = 0.0
    seed: int | None = None
    effort: str | None = None
    prompt_cache: Literal["explicit"] | None = None
    """Mark the constant part of the prompt for the provider's cache, so that nothing else is written to it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message after the system text."""

    role: Literal["user", "assistant"]
    text: str
    media: tuple[Media, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request to a model, independent of any dialect."""

    model: str
    system: str
    turns: tuple[Turn, ...]
    schema: Any
    """A mapping, or JSON that is already serialised (`orjson.Fragment`)."""
    schema_name: str
    channel: Channel
    params: Params
    completion_limit_name: str | None = "max_tokens"
    """The endpoint's name for the reply limit; None: it supports none."""
    reply_limit: int | None = None
    """The most tokens that the reply may have."""
    strength: Strength = "plain"
    """How far the schema is bound to the case."""
    context: int | None = None
    """The context size that the server must load the model with, where the request can say so (Ollama)."""

    def written_schema(self) -> bytes:
        return orjson.dumps(self.schema)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of our answer tool, with its arguments as the model wrote them."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply. Text and tool calls are kept apart, so that an answer is only taken from its channel."""

    text: str | None
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str | None = None
    stopped: str | None = None
    """The finish reason, if it is not one of a complete reply."""
    refusal: str | None = None
    reasoned: bool = False
    """Whether the model wrote reasoning in a field of its own."""
    broken: str | None = None
    """Why the body is not a valid reply of the dialect; if it cannot be parsed at all, `text` is the raw body."""
    input_tokens: int = 0
    """All input, including what was read from or written to the provider's cache."""
    output_tokens: int = 0
    cached_tokens: int = 0
    """Input that was read from the provider's cache."""
    cache_write_tokens: int = 0
    """Input that was written to the provider's cache, at a separate price."""
    cost: float | None = None
    model: str | None = None

    @property
    def cut_off(self) -> bool:
        return self.finish in CUT_OFF

    def raw(self) -> str:
        """Returns everything the model wrote, to record it and to show it when asking again."""
        if not self.tool_calls:
            return self.text or ""
        parts = [self.text or "", *(call.arguments for call in self.tool_calls)]
        return "\n".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class ApiError:
    """The error in an endpoint's refusal."""

    status: int
    message: str
    code: str | None = None
    param: str | None = None
    kind: str | None = None

    def __str__(self) -> str:
        named = f" ({self.code})" if self.code else ""
        return f"HTTP {self.status}{named}: {self.message}"

    def mentions(self, *words: str) -> bool:
        """Whether message, parameter or code hold one of these words, which are in lower case."""
        text = f"{self.message} {self.param or ''} {self.code or ''}".lower()
        return any(word in text for word in words)


class UnreadableReply(Exception):
    """HTTP 200 with a body that is not a reply of the dialect."""


class Dialect(Protocol):
    """How a family of endpoints formats requests and replies."""

    @property
    def name(self) -> str: ...

    @property
    def channels(self) -> tuple[Channel, ...]: ...

    @property
    def usual_temperature(self) -> float | None:
        """The default: 0 if the parameter is supported, for reproducible answers."""

    def url(self, base_url: str, model: str, api_version: str | None) -> str:
        """Returns the address that requests are posted to."""

    def headers(self, key: str | None) -> dict[str, str]:
        """Returns the headers that carry the key and the API version."""

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """Returns the body of a request."""

    def read(self, body: bytes) -> Reply:
        """Parses the body of a 200 reply; `UnreadableReply` if it is none of this dialect."""

    def context_for(self, tokens: int) -> int | None:
        """Returns the context size to ask the server for; None if requests cannot."""


def read_error(status: int, body: bytes) -> ApiError:
    """Parses an error body. Most endpoints put `message`, `type` and `code` under `error`.

    Google wraps the object in a list, Mistral has the fields at the top, FastAPI servers write `detail`, and OpenRouter
    puts the error of the provider behind it into `error.metadata.raw`.
    """
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        data = None
    if isinstance(data, list) and data:
        data = data[0]
    body_fields = data if isinstance(data, dict) else {}
    error = body_fields.get("error")
    fields = error if isinstance(error, dict) else body_fields
    message = fields.get("message") or fields.get("detail") or (error if isinstance(error, str) else None)
    if not message and not isinstance(error, dict):
        plain = body[:300].decode("utf-8", "replace").strip()
        return ApiError(status, plain or "empty reply")
    return ApiError(
        status,
        " ".join((_text(message) or "no message", *_read_upstream_error(fields))),
        code=_text(fields.get("code")),
        param=_text(fields.get("param")),
        kind=_text(fields.get("type") or fields.get("status")),
    )


def _read_upstream_error(error: Mapping[str, Any]) -> list[str]:
    """Returns the message of the provider behind a router, or all of its text if that is not an error object."""
    raw = as_object(error.get("metadata")).get("raw")
    if not raw:
        return []
    try:
        data = orjson.loads(raw) if isinstance(raw, str) else raw
    except orjson.JSONDecodeError:
        data = None
    inner = as_object(as_object(data).get("error"))
    return [_text(inner.get("message")) or (raw if isinstance(raw, str) else orjson.dumps(raw).decode())]


def status_of(body: bytes) -> int:
    """Returns the real status of an HTTP 200 reply: some routers and servers answer 200 with an error object and its
    code.

    An error beside an answer is not meant here: the dialect reports it as a broken reply.
    """
    if b'"error"' not in body[:ERROR_SEARCHED]:
        return 200
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return 200
    data = data[0] if isinstance(data, list) and data else data
    if not isinstance(data, dict) or not data.get("error") or data.get("choices") or data.get("content"):
        return 200
    code = as_object(data["error"]).get("code")
    try:
        status = int(code)  # type: ignore[arg-type]  # it may be anything
    except (TypeError, ValueError):
        return 400
    return status if 400 <= status <= 599 else 400


_RETRY_DELAY = re.compile(rb'"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d{1,9})?)s"')


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Reads how many seconds the endpoint asks to wait: `retry-after-ms`, `retry-after` in seconds, or as a date; None
    if it does not."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    try:
        moment = email.utils.parsedate_tz(headers.get("retry-after", ""))
        return None if moment is None else max(0.0, email.utils.mktime_tz(moment) - time.time())
    except (ValueError, OverflowError, OSError):  # a date out of range
        return None


def retry_delay(body: bytes) -> float | None:
    """Reads how many seconds Google asks to wait, given in the error details as `"retryDelay": "41s"`."""
    found = _RETRY_DELAY.search(body)
    return None if found is None else float(found[1])


def parse_body(body: bytes) -> dict[str, Any]:
    """Parses the JSON object of a 200 reply; `UnreadableReply` for HTML pages, lists and objects with duplicate
    keys."""
    try:
        data = orjson.loads(body)
        check_keys(body, data)  # orjson silently takes the last of two equal keys
    except DuplicateKey as doubled:
        raise UnreadableReply(f"the endpoint's reply has the key {doubled.key} twice in one object") from None
    except orjson.JSONDecodeError as error:
        raise UnreadableReply(f"the endpoint's reply is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise UnreadableReply("the endpoint's reply is not a JSON object")
    return data


def read_finish(reason: Any, normal: Collection[str]) -> tuple[str | None, str | None]:
    """Returns the finish reason of a reply, and the same again if it is not a normal one; an endpoint may give none."""
    if reason is None:
        return None, None
    finish = reason if isinstance(reason, str) else repr(reason)[:MAX_ERROR_TEXT]
    return finish, None if finish in normal else finish


FAILED_STATES = frozenset({"failed", "failure", "error", "cancelled", "canceled", "incomplete", "expired"})


def find_stated_error(*holders: Mapping[str, Any]) -> str | None:
    """Returns an error stated in fields beside what looks like a reply; None without one.

    Endpoints write `error`, a list `errors`, `object: "error"`, `type: "error"`, or `status: "failed"`.
    """
    for holder in holders:
        listed = holder.get("errors")
        error = holder.get("error") or (listed[0] if isinstance(listed, list) and listed else listed)
        if error:
            message = error.get("message") or error if isinstance(error, dict) else error
            return f"the endpoint reports an error beside its reply: {str(message)[:MAX_ERROR_TEXT]}"
        for name in ("object", "type", "status"):
            state = holder.get(name)
            if isinstance(state, str) and state.lower() in FAILED_STATES:
                return f"the endpoint marks its reply as no answer: `{name}` is `{state}`"
    return None


def find_foreign_role(message: Mapping[str, Any]) -> str | None:
    """Returns the fault of a message whose `role` is not the model's, else None; most servers write `assistant` or
    nothing."""
    role = message.get("role")
    if not role or (isinstance(role, str) and role.lower() in {"assistant", "model"}):
        return None
    return f"the endpoint's reply is a message of the role {repr(role)[:MAX_ERROR_TEXT]}, not of the model"


def read_refusal_field(value: Any) -> str | None:
    """The text of a refusal field of any type; None if it is empty."""
    if isinstance(value, str):
        return value or None
    return f"it said so without words ({repr(value)[:MAX_ERROR_TEXT]})" if value else None


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def count_or_zero(value: Any) -> int:
    """The value if it is a positive integer, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def text_or_none(value: Any) -> str | None:
    """The value if it is a string, else None."""
    return value if isinstance(value, str) else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


@dataclass(slots=True)
class HttpReply:
    """An HTTP reply: status, headers with lower-case names, body."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    whole: bool = True
    """False if the body was longer than the limit."""
