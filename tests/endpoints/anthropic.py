"""Anthropic's Messages API, version 2026-10-21.

Sources: anthropic-sdk-python 2.10 (types, and the schema keywords that its own transformation removes), the guides on
prompt caching (tools, system, messages; a changed output format makes a new prefix) and errors, and dated reports of
the wording of refusals (anthropic-sdk-python#1185, claude-code#55539). How many enum values are too many
is not documented: reports lie between 160 and 240.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from endpoints.base import KEY, Bill, Emulator, Refused, Served, count_tokens
from endpoints.caches import BreakpointCache, Piece
from endpoints.chat import asks_for_unknown_model, write
from endpoints.labelling import answer_to
from endpoints.schemas import count_enum_values, schema_nodes
from fake_llm.replies import Dialect, ReceivedRequest, Tokens, reply_body, what_is_asked

VERSIONS = ("2023-06-01", "2026-10-21")
THINKING_MODELS = re.compile(r"fable|mythos|(opus|sonnet|haiku)-5")
ALWAYS_THINKING = re.compile(r"fable|mythos|(opus|sonnet)-5-5")
NO_EFFORT = re.compile(r"haiku-4|sonnet-4-5|haiku-5")
SMALL_CACHE_PREFIX = re.compile(r"fable|mythos|opus-5|-5-5")
LARGE_CACHE_PREFIX = re.compile(r"haiku-4|opus-4-[56]")
MOST_ENUM_VALUES = 160
"""The least that reports name."""
MOST_UNIONS = 16
FIELDS = frozenset(
    {"model", "max_tokens", "system", "messages", "output_config", "tools", "tool_choice", "thinking", "metadata"}
    | {"service_tier", "cache_control", "stop_sequences", "stream", "temperature", "top_p", "top_k"}
)
LOW_CREDIT = (
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase "
    "credits."
)
TOO_COMPLEX = (
    "Schema is too complex for compilation. Try reducing the number of enum values, optional parameters or nested "
    "objects."
)


def anthropic_error(status: int, kind: str, message: str) -> Refused:
    return Refused(
        status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_011emulated"}
    )


def invalid_request(message: str) -> Refused:
    return anthropic_error(400, "invalid_request_error", message)


class AnthropicEmulator(Emulator):
    """`thinking` is how many tokens thinking models take before each answer. `refusing`: every answer is a refusal."""

    only_x_api_key = False

    def __init__(
        self,
        *,
        thinking: int = 0,
        refusing: bool = False,
        key: str | None = KEY,
        empty_after: int | None = None,
        latency: float = 0.0,
    ) -> None:
        super().__init__(key=key, empty_after=empty_after, latency=latency)
        self.thinking = thinking
        self.refusing = refusing
        self._caches: dict[str, BreakpointCache] = {}

    def dialect_of(self, path: str) -> Dialect | None:
        return "anthropic" if path == f"{self.base_path}/v1/messages" else None

    def given_key(self, request: ReceivedRequest) -> str | None:
        own = request.headers.get("x-api-key")
        return own if self.only_x_api_key or own else super().given_key(request)

    def wrong_key(self) -> Refused:
        message = "x-api-key header is required" if self.only_x_api_key else "invalid x-api-key"
        return anthropic_error(401, "authentication_error", message)

    def empty_account(self) -> Refused:
        return invalid_request(LOW_CREDIT)

    def not_found(self, method: str, path: str) -> Refused:
        return anthropic_error(404, "not_found_error", "Not Found")

    # --- what is refused ----------------------------------------------------------------------------

    def check(self, request: ReceivedRequest) -> None:
        body, model = request.body, str(request.body.get("model"))
        version = request.headers.get("anthropic-version")
        if version not in VERSIONS:
            raise invalid_request("anthropic-version: header is required")
        if asks_for_unknown_model(request):
            raise anthropic_error(404, "not_found_error", f"model: {model}")
        if "max_tokens" not in body:
            raise invalid_request("max_tokens: Field required")
        most = 64_000 if "haiku-4" in model else 128_000
        if body["max_tokens"] > most:
            raise invalid_request(
                f"max_tokens: {body['max_tokens']} > {most}, which is the maximum allowed number of output tokens for "
                f"{model}"
            )
        if unknown := sorted(body.keys() - FIELDS):
            raise invalid_request(f"{unknown[0]}: Extra inputs are not permitted")
        if version == VERSIONS[-1] or THINKING_MODELS.search(model):
            for name in ("temperature", "top_p", "top_k"):
                if name in body:
                    raise invalid_request(f"{name}: Extra inputs are not permitted")
        config = body.get("output_config") or {}
        if "effort" in config and NO_EFFORT.search(model):
            raise invalid_request("This model does not support the effort parameter.")
        forced = (body.get("tool_choice") or {}).get("type") in ("tool", "any")
        if forced and ALWAYS_THINKING.search(model):
            raise invalid_request("Thinking may not be enabled when tool_choice forces tool use.")
        if body["messages"][-1]["role"] == "assistant":
            raise invalid_request(
                "This model does not support assistant message prefill. The conversation must end with a user message."
            )
        if (form := config.get("format")) and (fault := schema_fault(form["schema"])):
            raise invalid_request(fault)

    # --- the answer ---------------------------------------------------------------------------------

    def serve(self, request: ReceivedRequest, number: int) -> Served:
        body, model = request.body, str(request.body["model"])
        asked = what_is_asked(request)
        pieces = prompt_pieces(request)
        total = count_tokens("".join(piece.text for piece in pieces))
        read, stored = self._cache(model).look(pieces)
        thinking = self.thinking if THINKING_MODELS.search(model) else 0
        written = write(answer_to(request, asked), thinking, body["max_tokens"])
        bill = Bill(total, read, stored, written.total, written.reasoning)
        tokens = Tokens(total, written.total, cached=read, stored=stored)
        payload = orjson.loads(reply_body(request, asked, written.answer, tokens, number))
        if thinking:
            payload["content"].insert(0, {"type": "thinking", "thinking": "", "signature": "c2lnbmVk"})
        if self.refusing:
            payload.update(content=[], stop_reason="refusal")
        return Served(payload, bill, payload["stop_reason"])

    def finish(self, request: ReceivedRequest) -> None:
        self._cache(str(request.body["model"])).store(prompt_pieces(request))

    def _cache(self, model: str) -> BreakpointCache:
        return self._caches.setdefault(model, BreakpointCache(fewest_cached(model)))


class FoundryEmulator(AnthropicEmulator):
    """Claude behind a gateway that reads keys from x-api-key alone (`lib/foundry.py` of the SDK, bifrost#5177)."""

    base_path = "/anthropic"
    only_x_api_key = True


def fewest_cached(model: str) -> int:
    """The shortest prefix that a model caches, in tokens."""
    if SMALL_CACHE_PREFIX.search(model):
        return 512
    return 4096 if LARGE_CACHE_PREFIX.search(model) else 1024


def schema_fault(schema: Any, where: str = "output_config.format.schema") -> str | None:
    """What a schema has that is not taken, in the API's words; None if it is taken."""
    unions = 0
    for _, node in schema_nodes(schema):
        kind = node.get("type")
        if kind == "object" and node.get("additionalProperties") is not False:
            return f"{where}: For 'object' type, 'additionalProperties' must be explicitly set to false"
        number_bounds = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
        shown = next((one for one in kind if one != "null"), "null") if isinstance(kind, list) else kind
        for keywords in (number_bounds, {"minLength", "maxLength"}, {"maxItems", "prefixItems", "uniqueItems"}):
            if refused := sorted(keywords & node.keys()):
                return f"{where}: For '{shown}' type, properties {', '.join(refused)} are not supported"
        if node.get("minItems", 0) > 1:
            return f"{where}: For 'array' type, 'minItems' values other than 0 or 1 are not supported"
        if node.get("enum") == []:
            return f"{where}: 'enum' must not be empty"
        unions += "anyOf" in node or isinstance(kind, list)
    if unions > MOST_UNIONS:
        return (
            f"{where}: Schemas contains too many parameters with union types ({unions} parameters with type arrays or "
            "anyOf). This causes exponential compilation cost. Reduce the number of nullable or union-typed parameters "
            f"(limit: {MOST_UNIONS} parameters with unions)."
        )
    return TOO_COMPLEX if count_enum_values(schema) > MOST_ENUM_VALUES else None


def prompt_pieces(request: ReceivedRequest) -> list[Piece]:
    """The prompt as the cache sees it: output format and tools, system blocks, messages; marks as they are sent."""
    body = request.body
    head = {"format": (body.get("output_config") or {}).get("format"), "tools": body.get("tools")}
    marked_tools = any("cache_control" in tool for tool in body.get("tools") or ())
    pieces = [Piece(orjson.dumps({key: value for key, value in head.items() if value}).decode(), marked_tools)]
    pieces.extend(_blocks(body.get("system") or [], "system"))
    for message in body["messages"]:
        pieces.extend(_blocks(message["content"], message["role"]))
    if "cache_control" in body:
        pieces[-1] = Piece(pieces[-1].text, marked=True)
    return pieces


def _blocks(content: Any, role: str) -> list[Piece]:
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return [
        Piece(
            f"<{role}>" + (block["text"] if block.get("type") == "text" else orjson.dumps(block).decode()),
            "cache_control" in block,
        )
        for block in blocks
    ]
