"""OpenAI chat completions, as documented for 2026.

Sources: the types of openai-python 3.51 (`PromptCacheOptions`, `prompt_cache_breakpoint`, `cache_write_tokens`), the
guides on structured outputs (which keywords are taken) and prompt caching (1,024 tokens, steps of 128; the schema comes
before the system message; from gpt-5.6 on writes cost 1.25 times the input price, and prefixes are matched reliably
only with a `prompt_cache_key`), and the error code reference.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import orjson

from endpoints.base import KEY, Refused, count_tokens
from endpoints.caches import FEWEST_TOKENS, BlockCache, BreakpointCache, Piece
from endpoints.chat import (
    ChatEmulator,
    Written,
    asks_for_unknown_model,
    format_schema,
    is_json_schema,
    openai_error,
    prompt_text,
    response_format,
    stated_limit,
)
from endpoints.schemas import find_keyword, schema_nodes
from fake_llm.replies import Asked, ReceivedRequest, what_is_asked

REASONING_MODELS = re.compile(r"o\d|gpt-5(?!-chat)|gpt-6")
SILENT_BY_DEFAULT = re.compile(r"gpt-5\.[124]")
"""Reasoning models that do not reason unless an effort is stated."""
MARKED_CACHE_MODELS = re.compile(r"gpt-(5\.[6-9]|6)")
RESPONSES_ONLY = re.compile(r"-(pro|codex|deep-research)\b")
EFFORTS = ("none", "low", "medium", "high", "xhigh")
REFUSED_KEYWORDS = frozenset(
    {"minLength", "maxLength", "uniqueItems", "prefixItems", "contains", "allOf", "oneOf", "not", "if", "then", "else"}
    | {"patternProperties", "default", "examples"}
)
BOUNDS = frozenset({"minItems", "maxItems", "minimum", "maximum", "pattern", "format", "multipleOf"})
"""Refused by fine-tuned models only."""
FIELDS = frozenset(
    {"model", "messages", "temperature", "top_p", "seed", "max_tokens", "max_completion_tokens", "reasoning_effort"}
    | {"response_format", "tools", "tool_choice", "parallel_tool_calls", "service_tier", "prompt_cache_key", "user"}
    | {"prompt_cache_options", "metadata", "store", "verbosity", "safety_identifier", "n", "stop", "logprobs"}
)
NO_TOOLS_WHILE_REASONING = re.compile(r"gpt-(5\.[4-9]|6)")
MOST_PROPERTIES, MOST_ENUM_VALUES, MOST_LETTERS, MOST_LEVELS = 5000, 1000, 120_000, 10
MOST_WRITES = 4
QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
    "read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."
)
INACTIVE = "Your account is not active, please check your billing details on our website."

Trouble = Literal["insufficient_quota", "billing_not_active"]


class OpenAIEmulator(ChatEmulator):
    """`trouble` is what the account says once `empty_after` answers are given. `refusing`: the model declines.

    `most_tokens` is what one request may take of a minute's tokens, limit included: more is a 429 for good.
    """

    def __init__(
        self,
        *,
        thinking: int = 0,
        trouble: Trouble = "insufficient_quota",
        refusing: bool = False,
        most_tokens: int | None = None,
        key: str | None = KEY,
        empty_after: int | None = None,
        latency: float = 0.0,
    ) -> None:
        super().__init__(thinking=thinking, key=key, empty_after=empty_after, latency=latency)
        self.trouble = trouble
        self.refusing = refusing
        self.most_tokens = most_tokens
        self._blocks: dict[str, BlockCache] = {}
        self._marks: dict[tuple[str, Any], BreakpointCache] = {}

    def wrong_key(self) -> Refused:
        message = "Incorrect API key provided: ***. You can find your API key at https://platform.openai.com/account/api-keys."
        return openai_error(401, message, code="invalid_api_key")

    def empty_account(self) -> Refused:
        message = QUOTA if self.trouble == "insufficient_quota" else INACTIVE
        return openai_error(429, message, kind=self.trouble, code=self.trouble)

    def check(self, request: ReceivedRequest) -> None:
        check_openai_request(request)
        size = count_tokens(prompt_text(request)) + (stated_limit(request, self.limit_names) or 0)
        if self.most_tokens is not None and size > self.most_tokens:
            message = (
                f"Request too large for {request.body['model']} in organization org-emulated on tokens per min (TPM): "
                f"Limit {self.most_tokens}, Requested {size}. The input or output tokens must be reduced in order to "
                "run successfully."
            )
            raise openai_error(429, message, kind="tokens", code="rate_limit_exceeded")

    def thinking_for(self, request: ReceivedRequest) -> int:
        return self.thinking if is_reasoning(request) else 0

    # --- the prompt cache ---------------------------------------------------------------------------

    def prompt_size(self, request: ReceivedRequest, asked: Asked) -> int:
        return count_tokens("".join(piece.text for piece in prompt_pieces(request)))

    def prompt_cache(self, request: ReceivedRequest, prompt: int) -> tuple[int, int]:
        model = str(request.body["model"])
        if prompt < FEWEST_TOKENS:
            return 0, 0
        if MARKED_CACHE_MODELS.match(model):
            read, written = self._marked_cache(request).look(prompt_pieces(request))
            return (read, written) if "prompt_cache_key" in request.body else (0, read + written)
        rendered = "".join(piece.text for piece in prompt_pieces(request))
        return self._blocks.setdefault(model, BlockCache()).read(rendered), 0

    def finish(self, request: ReceivedRequest) -> None:
        model, pieces = str(request.body["model"]), prompt_pieces(request)
        if MARKED_CACHE_MODELS.match(model):
            self._marked_cache(request).store(pieces)
        else:
            self._blocks.setdefault(model, BlockCache()).store("".join(piece.text for piece in pieces))

    def _marked_cache(self, request: ReceivedRequest) -> BreakpointCache:
        """Marked prefixes are matched by the key of the request, the strict reading of the guide."""
        owner = str(request.body["model"]), request.body.get("prompt_cache_key")
        return self._marks.setdefault(owner, BreakpointCache())

    def dress(self, payload: dict[str, Any], message: dict[str, Any], written: Written) -> None:
        if self.refusing:
            message.update(content=None, refusal="I'm sorry, I can't assist with that request.")


# --- what is refused ----------------------------------------------------------------------------------


def check_openai_request(request: ReceivedRequest) -> None:
    """Raises what the API answers to a request that it does not take."""
    body, model = request.body, str(request.body.get("model"))
    if asks_for_unknown_model(request):
        message = f"The model `{model}` does not exist or you do not have access to it."
        raise openai_error(404, message, code="model_not_found")
    if RESPONSES_ONLY.search(model):
        message = "This model is only supported in v1/responses and not in v1/chat/completions."
        raise openai_error(404, message, param="model")
    if unknown := sorted(body.keys() - FIELDS):
        raise openai_error(400, f"Unrecognized request argument supplied: {unknown[0]}")
    _check_sampling(request, model)
    _check_cache_options(request, model)
    if is_json_schema(request) and (fault := schema_fault(format_schema(request), model)):
        raise openai_error(400, fault, param="response_format", code="invalid_json_schema")
    if response_format(request) == "json_object" and "json" not in request.text.lower():
        message = (
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
        )
        raise openai_error(400, message, param="messages")
    if body.get("tools") and NO_TOOLS_WHILE_REASONING.match(model) and is_reasoning(request):
        message = (
            "Function tools with reasoning_effort are not supported for this model in /v1/chat/completions. Please use "
            "/v1/responses instead."
        )
        raise openai_error(400, message, param="reasoning_effort")
    for tool in body.get("tools") or ():
        function = tool["function"]
        fault = schema_fault(function["parameters"], model, "function", function["name"])
        if function.get("strict") and fault:
            raise openai_error(400, fault, param="tools", code="invalid_function_parameters")


def is_reasoning(request: ReceivedRequest) -> bool:
    """Whether the model reasons before it answers this request."""
    model = str(request.body.get("model"))
    effort = request.body.get("reasoning_effort") or ("none" if SILENT_BY_DEFAULT.match(model) else "medium")
    return bool(REASONING_MODELS.match(model)) and effort != "none"


def _check_sampling(request: ReceivedRequest, model: str) -> None:
    body = request.body
    effort = body.get("reasoning_effort")
    if not REASONING_MODELS.match(model):
        if effort is not None:
            raise openai_error(400, "Unrecognized request argument supplied: reasoning_effort")
        return
    if "max_tokens" in body:
        message = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        raise openai_error(400, message, param="max_tokens", code="unsupported_parameter")
    if effort is not None and effort not in EFFORTS:
        listed = ", ".join(f"'{name}'" for name in EFFORTS[:-1]) + f", and '{EFFORTS[-1]}'"
        message = f"Unsupported value: 'reasoning_effort' does not support '{effort}' with this model. "
        raise openai_error(
            400, f"{message}Supported values are: {listed}.", param="reasoning_effort", code="unsupported_value"
        )
    if body.get("temperature") not in (None, 1) and is_reasoning(request):
        message = (
            f"Unsupported value: 'temperature' does not support {body['temperature']:g} with this model. "
            "Only the default (1) value is supported."
        )
        raise openai_error(400, message, param="temperature", code="unsupported_value")


def _check_cache_options(request: ReceivedRequest, model: str) -> None:
    if MARKED_CACHE_MODELS.match(model):
        return
    if "prompt_cache_options" in request.body:
        message = "Unsupported parameter: 'prompt_cache_options' is not supported with this model."
        raise openai_error(400, message, param="prompt_cache_options", code="unsupported_parameter")
    for place, message_sent in enumerate(request.body.get("messages", ())):
        parts = message_sent["content"] if isinstance(message_sent.get("content"), list) else ()
        for number, part in enumerate(parts):
            if "prompt_cache_breakpoint" in part:
                where = f"messages[{place}].content[{number}].prompt_cache_breakpoint"
                raise openai_error(400, f"Unknown parameter: '{where}'.", param=where, code="unknown_parameter")


def schema_fault(schema: Any, model: str, where: str = "response_format", name: str = "labels") -> str | None:
    """What a strict schema has that is not taken, in the API's words; None if it is taken."""
    begin = f"Invalid schema for {where} '{name}': "
    refused = REFUSED_KEYWORDS | BOUNDS if model.startswith("ft:") else REFUSED_KEYWORDS
    if found := find_keyword(schema, refused):
        return f"{begin}In context={_context(found[0])}, '{found[1]}' is not permitted."
    properties = enums = letters = 0
    for path, node in schema_nodes(schema):
        context = f"{begin}In context={_context(path)}, "
        if "$ref" in node and len(node) > 1:
            extra = sorted(node.keys() - {"$ref"})
            return f"{context}$ref cannot have keywords {set(extra)}."
        if node.get("type") == "object":
            if node.get("additionalProperties") is not False:
                return f"{context}'additionalProperties' is required to be supplied and to be false."
            if set(node.get("required", ())) != set(node.get("properties", ())):
                return (
                    f"{context}'required' is required to be supplied and to be an array including every key in "
                    "properties."
                )
        if node.get("enum") == []:
            return f"{context}[] should be non-empty"
        if (levels := path.count("properties") + 1) > MOST_LEVELS:
            return f"{begin}{levels} levels of nesting exceeds limit of {MOST_LEVELS}."
        names, values = node.get("properties", ()), node.get("enum", ())
        properties, enums = properties + len(names), enums + len(values)
        letters += sum(len(one) for one in (*names, *values) if isinstance(one, str))
    for what, found_count, most in (
        ("object properties", properties, MOST_PROPERTIES),
        ("enum values", enums, MOST_ENUM_VALUES),
        ("characters in names and values", letters, MOST_LETTERS),
    ):
        if found_count > most:
            return f"{begin}Expected at most {most} {what}, but received {found_count}."
    return None


def _context(path: tuple[str, ...]) -> str:
    return repr(path)


# --- the prompt as the cache sees it ------------------------------------------------------------------


def prompt_pieces(request: ReceivedRequest) -> list[Piece]:
    """The prompt part by part, the schema first; marked where this request writes to the cache."""
    apart = is_json_schema(request) or request.body.get("tools")
    schema = orjson.dumps(what_is_asked(request).schema).decode() if apart else ""
    pieces = [Piece(schema)]
    for message in request.body["messages"]:
        content = message["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for number, part in enumerate(parts):
            opening = f"<{message['role']}>" if number == 0 else ""
            text = part.get("text") if part.get("type") == "text" else orjson.dumps(part).decode()
            pieces.append(Piece(f"{opening}{text}", "prompt_cache_breakpoint" in part))
    explicit = (request.body.get("prompt_cache_options") or {}).get("mode") == "explicit"
    marked = [place for place, piece in enumerate(pieces) if piece.marked]
    written = set(marked[-MOST_WRITES:] if explicit else [*marked[-MOST_WRITES + 1 :], len(pieces) - 1])
    return [Piece(piece.text, place in written) for place, piece in enumerate(pieces)]
