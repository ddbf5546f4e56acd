"""What a request asks for, a valid answer to it, and that answer in the wire format of its dialect."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import orjson

from krino.engine.sample_labels import Schema, example_of

Dialect = Literal["openai", "azure", "anthropic"]
Finish = Literal["stop", "length", "content_filter", "refusal"]


# --- what came in ----------------------------------------------------------------------------------


@dataclass(slots=True)
class ReceivedRequest:
    """One HTTP request as the server saw it; `status` stays None as long as nothing was answered."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: dict[str, Any]
    dialect: Dialect = "openai"
    status: int | None = None
    fault: str | None = None

    @property
    def schema(self) -> Schema | None:
        """The JSON schema that the answer has to fit, wherever the request states it."""
        return what_is_asked(self).schema

    @property
    def text(self) -> str:
        """All text of the prompt, system part first."""
        return "\n\n".join(text for _, text in spoken(self.body))

    @property
    def user_text(self) -> str:
        """The text of the user's messages only."""
        return "\n\n".join(text for role, text in spoken(self.body) if role == "user")


def spoken(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Role and text of every part of a prompt, in order."""
    if system := body.get("system"):
        yield "system", _plain(system)
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict):
            yield str(message.get("role")), _plain(message.get("content"))


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)


# --- what it asks for ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """The schema an answer must fit and the tool it must be handed over through, where there are any."""

    schema: Schema | None = None
    tool: str | None = None
    tool_is_forced: bool = False
    wants_object: bool = False


def what_is_asked(request: ReceivedRequest) -> Asked:
    body = request.body
    asked = _asked_of_anthropic(body) if request.dialect == "anthropic" else _asked_of_openai(body)
    if asked.schema is not None or asked.tool is not None:
        return asked
    for _, text in spoken(body):
        if schema := quoted_schema(text):
            return Asked(schema=schema, wants_object=True)
    return asked


def _asked_of_openai(body: Mapping[str, Any]) -> Asked:
    choice = body.get("tool_choice")
    functions = [_dict(_dict(tool).get("function")) for tool in _list(body.get("tools"))]
    if functions and choice != "none":
        named = _dict(_dict(choice).get("function")).get("name")
        chosen = next((one for one in functions if one.get("name") == named), functions[0])
        return Asked(_dict(chosen.get("parameters")), str(chosen.get("name")), isinstance(choice, dict))
    wanted = _dict(body.get("response_format"))
    if wanted.get("type") == "json_schema":
        return Asked(_dict(_dict(wanted.get("json_schema")).get("schema")), wants_object=True)
    return Asked(wants_object=wanted.get("type") == "json_object")


def _asked_of_anthropic(body: Mapping[str, Any]) -> Asked:
    choice = _dict(body.get("tool_choice"))
    tools = [_dict(tool) for tool in _list(body.get("tools"))]
    if tools and choice.get("type") != "none":
        chosen = next((tool for tool in tools if tool.get("name") == choice.get("name")), tools[0])
        return Asked(_dict(chosen.get("input_schema")), str(chosen.get("name")), "name" in choice)
    wanted = _dict(_dict(body.get("output_config")).get("format")) or _dict(body.get("output_format"))
    if wanted.get("type") == "json_schema":
        return Asked(_dict(wanted.get("schema")), wants_object=True)
    return Asked()


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


_SCHEMA_WORDS = re.compile(r"json[ _-]schema", re.IGNORECASE)
_SCHEMA_KEYS = frozenset({"type", "properties", "$ref", "anyOf", "oneOf", "allOf", "enum"})
_REACH = 300  # characters between the words "JSON schema" and the brace that opens it
_TRIES = 20
_DECODER = json.JSONDecoder()


@lru_cache(maxsize=128)
def quoted_schema(text: str) -> Schema | None:
    """The JSON schema that stands in a text after the words "JSON schema"."""
    for tries, words in enumerate(_SCHEMA_WORDS.finditer(text)):
        if tries == _TRIES:
            return None
        start = text.find("{", words.end(), words.end() + _REACH)
        found = decode_at(text, start) if start >= 0 else None
        if isinstance(found, dict) and _SCHEMA_KEYS & found.keys():
            return found
    return None


def decode_at(text: str, start: int) -> Any:
    """The JSON value that begins at a position, or None."""
    try:
        return _DECODER.raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


@lru_cache(maxsize=256)
def _example_and_text(schema: bytes) -> tuple[Any, str]:
    value = example_of(orjson.loads(schema))
    return value, orjson.dumps(value).decode()


# --- an answer -------------------------------------------------------------------------------------

NO_SCHEMA_TEXT = "The fake server was asked for no particular shape, so this is plain text."


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says: the text, the object the text stands for (if any), and how it ended."""

    text: str
    value: Any = None
    finish: Finish = "stop"
    through_tool: bool = True
    """False when the model talks although it was given a tool."""


def default_answer(asked: Asked) -> Answer:
    if asked.schema is not None:
        value, text = _example_and_text(orjson.dumps(asked.schema))
        return Answer(text, value)
    return Answer("{}", {}) if asked.wants_object else Answer(NO_SCHEMA_TEXT)


def answer_from(reply: Mapping[str, Any] | str | bytes) -> Answer:
    """The answer a user's own reply stands for; bytes are a whole body, in which nobody has to find an answer."""
    if isinstance(reply, bytes):
        return Answer(reply.decode("utf-8", "replace"))
    if isinstance(reply, str):
        value = decode_at(reply, 0) if reply.startswith("{") else None
        return Answer(reply, value, through_tool=isinstance(value, dict))
    return Answer(orjson.dumps(reply).decode(), dict(reply))


# --- the wire formats ------------------------------------------------------------------------------

_CHARACTERS_PER_TOKEN = 4
_SMALLEST_CACHED_PREFIX = 1024
_PREFIXES_REMEMBERED = 64


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a request cost; `cached` and `stored` are parts of `prompt`."""

    prompt: int
    completion: int
    cached: int = 0
    stored: int = 0


@dataclass(slots=True)
class PromptCache:
    """Remembers the opening messages it saw, as providers do, so that repeated ones count as cached."""

    _seen: OrderedDict[int, None] = field(default_factory=OrderedDict)

    def count(self, request: ReceivedRequest, size: int, answer: Answer) -> Tokens:
        completion = 1 + len(answer.text) // _CHARACTERS_PER_TOKEN
        prompt = max(1, size // _CHARACTERS_PER_TOKEN)
        opening = next(spoken(request.body), ("", ""))[1]
        tokens = min(prompt, len(opening) // _CHARACTERS_PER_TOKEN)
        if tokens < _SMALLEST_CACHED_PREFIX or not self._may_cache(request):
            return Tokens(prompt, completion)
        mark = hash(opening)
        if mark in self._seen:
            return Tokens(prompt, completion, cached=tokens - tokens % 128)
        self._seen[mark] = None
        if len(self._seen) > _PREFIXES_REMEMBERED:
            self._seen.popitem(last=False)
        return Tokens(prompt, completion, stored=tokens - tokens % 128)

    @staticmethod
    def _may_cache(request: ReceivedRequest) -> bool:
        """Anthropic caches only what is marked; the others cache by themselves."""
        if request.dialect != "anthropic":
            return True
        return any("cache_control" in _dict(part) for part in _list(request.body.get("system")))


def reply_body(request: ReceivedRequest, asked: Asked, answer: Answer, tokens: Tokens, serial: int) -> bytes:
    """The body of a 200 in the dialect of the request."""
    build = _anthropic_reply if request.dialect == "anthropic" else _openai_reply
    return orjson.dumps(build(request, asked, answer, tokens, serial))


def _openai_reply(
    request: ReceivedRequest, asked: Asked, answer: Answer, tokens: Tokens, serial: int
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
    finish: str = answer.finish
    if answer.finish == "refusal":
        message["content"], message["refusal"], finish = None, answer.text, "stop"
    elif asked.tool is not None and answer.through_tool:
        function = {"name": asked.tool, "arguments": answer.text}
        message["content"] = None
        message["tool_calls"] = [{"id": f"call_{serial:024d}", "type": "function", "function": function}]
        # a tool forced by name ends with "stop", one the model chose with "tool_calls"
        finish = "tool_calls" if finish == "stop" and not asked.tool_is_forced else finish
    return {
        "id": f"chatcmpl-{serial:029d}",
        "object": "chat.completion",
        "created": 1_700_000_000 + serial,
        "model": request.body.get("model") or "fake-model",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": tokens.prompt,
            "completion_tokens": tokens.completion,
            "total_tokens": tokens.prompt + tokens.completion,
            "prompt_tokens_details": {"cached_tokens": tokens.cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        },
        "service_tier": "default",
        "system_fingerprint": "fp_fake",
    }


_ANTHROPIC_FINISH = {"length": "max_tokens", "refusal": "refusal", "content_filter": "refusal"}


def _anthropic_reply(
    request: ReceivedRequest, asked: Asked, answer: Answer, tokens: Tokens, serial: int
) -> dict[str, Any]:
    stop = _ANTHROPIC_FINISH.get(answer.finish, "end_turn")
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    if answer.finish == "refusal":
        content = []
    elif asked.tool is not None and answer.through_tool and isinstance(answer.value, dict):
        # the API parses tool input itself, so only an object can arrive this way
        use = {"type": "tool_use", "id": f"toolu_{serial:024d}", "name": asked.tool, "input": answer.value}
        content = [use]
        stop = "tool_use" if stop == "end_turn" else stop
    return {
        "id": f"msg_{serial:024d}",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model") or "fake-model",
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens.prompt - tokens.cached - tokens.stored,
            "output_tokens": tokens.completion,
            "cache_creation_input_tokens": tokens.stored,
            "cache_read_input_tokens": tokens.cached,
            "service_tier": "standard",
        },
    }
