"""What every wire dialect shares: a chat request, a reply, and an endpoint's error, free of any provider's names."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import orjson

from krino.cases.twice import KeyTwice, check_keys
from krino.contract import Media
from krino.labellers.settings import Channel as Channel

Strength = Literal["plain", "choices", "bounded", "sized", "exact"]
"""What a schema holds of the bounds of its case. plain: nothing. choices: enumerations. bounded: also how many items a
list has, and ranges of numbers. sized: also lengths of texts. exact: also items one by one, and what fields may hold
together."""
TOOL_NAME = "give_labels"
CUT_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS", "model_length", "model_context_window_exceeded"})
ERROR_SEEN = 1_000  # bytes of a reply in which an error that stands alone is looked for
LONGEST_TOLD = 300  # characters of what an endpoint says about its own trouble


@dataclass(frozen=True, slots=True)
class Params:
    """Sampling settings. None means: do not send it, let the endpoint decide."""

    temperature: float | None = 0.0
    seed: int | None = None
    effort: str | None = None
    prompt_cache: Literal["explicit"] | None = None
    """Where the constant part of the prompt is marked for the provider's cache, and nothing else is written to it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message after the system text."""

    role: Literal["user", "assistant"]
    text: str
    media: tuple[Media, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to a model, before it is put into a dialect."""

    model: str
    system: str
    turns: tuple[Turn, ...]
    schema: Any
    """A mapping, or the same written as JSON already (`orjson.Fragment`)."""
    schema_name: str
    channel: Channel
    params: Params
    completion_limit_name: str | None = "max_tokens"
    """What the limit of the reply is called there; None: the endpoint takes none."""
    reply_limit: int | None = None
    """The most tokens that the reply may have."""
    strength: Strength = "plain"
    """How far the schema is bound to the case."""
    context: int | None = None
    """The context size that the server must load the model with, where the request can say so (Ollama)."""

    def written_schema(self) -> bytes:
        return orjson.dumps(self.schema)

    def with_turns(self, turns: tuple[Turn, ...]) -> ChatRequest:
        """The same settings for what is said here."""
        return replace(self, turns=turns)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of our answer tool: its arguments as the text that the model wrote."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: text and tool calls kept apart, so that an answer is only taken from its channel."""

    text: str | None
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str | None = None
    stopped: str | None = None
    """What the endpoint gives as the end of the reply, where that is not the end of a finished one."""
    refusal: str | None = None
    reasoned: bool = False
    """Whether the model wrote reasoning in a field of its own."""
    broken: str | None = None
    """Why the body is no reply of the dialect; where it cannot be read at all, `text` is the body as it came."""
    input_tokens: int = 0
    """All of the input, also what the provider's cache held or took up."""
    output_tokens: int = 0
    cached_tokens: int = 0
    """Input that was read from the provider's cache."""
    cache_write_tokens: int = 0
    """Input that was written to the provider's cache, at a price of its own."""
    cost: float | None = None
    model: str | None = None

    @property
    def cut_off(self) -> bool:
        return self.finish in CUT_OFF

    def raw(self) -> str:
        """Everything the model wrote, for the record and for asking again."""
        if not self.tool_calls:
            return self.text or ""
        parts = [self.text or "", *(call.arguments for call in self.tool_calls)]
        return "\n".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class ApiError:
    """An endpoint's refusal, as far as it says why."""

    status: int
    message: str
    code: str | None = None
    param: str | None = None
    kind: str | None = None

    def __str__(self) -> str:
        named = f" ({self.code})" if self.code else ""
        return f"HTTP {self.status}{named}: {self.message}"

    def mentions(self, *words: str) -> bool:
        text = f"{self.message} {self.param or ''} {self.code or ''}".lower()
        return any(word in text for word in words)


class UnreadableReply(Exception):
    """HTTP said 200, but the body is not the dialect's."""


class Dialect(Protocol):
    """How one family of endpoints writes requests and replies."""

    @property
    def name(self) -> str: ...

    @property
    def channels(self) -> tuple[Channel, ...]: ...

    @property
    def usual_temperature(self) -> float | None:
        """What is sent unless the user says otherwise: 0 where the parameter is taken, for answers that repeat."""

    def url(self, base_url: str, model: str, api_version: str | None) -> str: ...

    def headers(self, key: str | None) -> dict[str, str]: ...

    def body(self, request: ChatRequest) -> dict[str, Any]: ...

    def read(self, body: bytes) -> Reply: ...

    def context_for(self, tokens: int) -> int | None:
        """The context size to ask the server for, where a request can do so."""


def read_error(status: int, body: bytes) -> ApiError:
    """Most endpoints put `message`, `type` and `code` under `error`.

    Google wraps the object in a list, Mistral has the fields at the top, FastAPI servers say `detail`, and OpenRouter
    hides what the provider behind it said in `error.metadata.raw`.
    """
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        data = None
    if isinstance(data, list) and data:
        data = data[0]
    told = data if isinstance(data, dict) else {}
    error = told.get("error")
    fields = error if isinstance(error, dict) else told
    message = fields.get("message") or fields.get("detail") or (error if isinstance(error, str) else None)
    if not message and not isinstance(error, dict):
        plain = body[:300].decode("utf-8", "replace").strip()
        return ApiError(status, plain or "empty reply")
    return ApiError(
        status,
        " ".join((_text(message) or "no message", *_said_upstream(fields))),
        code=_text(fields.get("code")),
        param=_text(fields.get("param")),
        kind=_text(fields.get("type") or fields.get("status")),
    )


def _said_upstream(error: Mapping[str, Any]) -> list[str]:
    """What the provider behind a router said: its message, or all of it where that is no error object."""
    raw = mapping(error.get("metadata")).get("raw")
    if not raw:
        return []
    try:
        data = orjson.loads(raw) if isinstance(raw, str) else raw
    except orjson.JSONDecodeError:
        data = None
    inner = mapping(mapping(data).get("error"))
    return [_text(inner.get("message")) or (raw if isinstance(raw, str) else orjson.dumps(raw).decode())]


def status_of(body: bytes) -> int:
    """The status of a reply that came as HTTP 200: some routers and servers put an error into it, with its code.

    An error beside an answer is none of these: the reader of the dialect reports it as a broken reply.
    """
    if b'"error"' not in body[:ERROR_SEEN]:
        return 200
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        return 200
    data = data[0] if isinstance(data, list) and data else data
    if not isinstance(data, dict) or not data.get("error") or data.get("choices") or data.get("content"):
        return 200
    code = mapping(data["error"]).get("code")
    try:
        status = int(code)  # type: ignore[arg-type]  # it may be anything
    except (TypeError, ValueError):
        return 400
    return status if 400 <= status <= 599 else 400


_RETRY_DELAY = re.compile(rb'"retryDelay"\s*:\s*"(\d{1,9}(?:\.\d{1,9})?)s"')


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the endpoint asks to wait: `retry-after-ms`, `retry-after` in seconds, or as a date."""
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
    except (ValueError, OverflowError, OSError):  # a date beyond every calendar
        return None


def retry_delay(body: bytes) -> float | None:
    """Seconds that Google asks to wait: it says so in the details of the error, as `"retryDelay": "41s"`."""
    found = _RETRY_DELAY.search(body)
    return None if found is None else float(found[1])


def parse_body(body: bytes) -> dict[str, Any]:
    """The JSON object of a 200 reply; a page of HTML or a list is no reply, nor is one that says a thing twice."""
    try:
        data = orjson.loads(body)
        check_keys(body, data)  # of two equal keys orjson takes the last and says nothing
    except KeyTwice as doubled:
        raise UnreadableReply(f"the endpoint's reply has the key {doubled.key} twice in one object") from None
    except orjson.JSONDecodeError as error:
        raise UnreadableReply(f"the endpoint's reply is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise UnreadableReply("the endpoint's reply is not a JSON object")
    return data


def ending(reason: Any, normal: Collection[str]) -> tuple[str | None, str | None]:
    """The reason for the end of a reply, and again where it is not a normal one. An endpoint may give none."""
    if reason is None:
        return None, None
    finish = reason if isinstance(reason, str) else repr(reason)[:LONGEST_TOLD]
    return finish, None if finish in normal else finish


FAILED_STATES = frozenset({"failed", "failure", "error", "cancelled", "canceled", "incomplete", "expired"})


def stated_error(*holders: Mapping[str, Any]) -> str | None:
    """What an endpoint says went wrong, in fields beside what would otherwise be read as its reply.

    Endpoints say it as `error`, as a list `errors`, as `object: "error"` or `type: "error"`, or as `status: "failed"`.
    """
    for holder in holders:
        listed = holder.get("errors")
        error = holder.get("error") or (listed[0] if isinstance(listed, list) and listed else listed)
        if error:
            message = error.get("message") or error if isinstance(error, dict) else error
            return f"the endpoint reports an error beside its reply: {str(message)[:LONGEST_TOLD]}"
        for name in ("object", "type", "status"):
            state = holder.get(name)
            if isinstance(state, str) and state.lower() in FAILED_STATES:
                return f"the endpoint marks its reply as no answer: `{name}` is `{state}`"
    return None


def other_speaker(message: Mapping[str, Any]) -> str | None:
    """That a message is not the model's: some say so in `role`, and most servers say `assistant` or nothing."""
    role = message.get("role")
    if not role or (isinstance(role, str) and role.lower() in {"assistant", "model"}):
        return None
    return f"the endpoint's reply is a message of the role {repr(role)[:LONGEST_TOLD]}, not of the model"


def declined(value: Any) -> str | None:
    """A refusal in words, whatever stands in the field for it; None where nothing does."""
    if isinstance(value, str):
        return value or None
    return f"it said so without words ({repr(value)[:LONGEST_TOLD]})" if value else None


def mapping(value: Any) -> dict[str, Any]:
    """An object of the reply, or an empty one where something else stands."""
    return value if isinstance(value, dict) else {}


def whole(value: Any) -> int:
    """A token count as a non-negative int, whatever stood there."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def words(value: Any) -> str | None:
    """A text of the reply, or None where something else stands."""
    return value if isinstance(value, str) else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


@dataclass(slots=True)
class HttpReply:
    """An answered request: status, headers with lower-case names, body."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    whole: bool = True
    """False where the body was longer than is read of one."""
