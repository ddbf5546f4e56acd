"""What every wire dialect shares: a chat request, a reply, and an endpoint's error, free of any provider's names."""

from __future__ import annotations

import email.utils
import math
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
LONGEST_TOLD = 300  # characters of what an endpoint says about its own trouble


@dataclass(frozen=True, slots=True)
class Params:
    """Sampling settings. None means: do not send it, let the endpoint decide."""

    temperature: float | None = 0.0
    seed: int | None = None
    effort: str | None = None


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
    output_tokens: int = 0
    cached_tokens: int = 0
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

    name: str
    channels: tuple[Channel, ...]
    usual_temperature: float | None
    """What is sent unless the user says otherwise: 0 where the parameter is taken, for answers that repeat."""

    def url(self, base_url: str, model: str, api_version: str | None) -> str: ...

    def headers(self, key: str | None) -> dict[str, str]: ...

    def body(self, request: ChatRequest) -> dict[str, Any]: ...

    def read(self, body: bytes) -> Reply: ...


def read_error(status: int, body: bytes) -> ApiError:
    """Both dialects (and most imitators) put `message`, `type` and `code` under `error`."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        data = None
    error = data.get("error") if isinstance(data, dict) else None
    if isinstance(error, dict):
        return ApiError(
            status,
            str(error.get("message") or "no message"),
            code=_text(error.get("code")),
            param=_text(error.get("param")),
            kind=_text(error.get("type")),
        )
    plain = error if isinstance(error, str) else body[:300].decode("utf-8", "replace").strip()
    return ApiError(status, plain or "empty reply")


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
