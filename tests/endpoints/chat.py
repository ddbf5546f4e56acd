"""What endpoints with OpenAI's chat-completions path share: prompt size, hidden reasoning, reply limit, usage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from endpoints.base import KEY, Bill, Emulator, Refused, Served, count_tokens
from endpoints.labelling import answer_to
from fake_llm.replies import Answer, Asked, Dialect, ReceivedRequest, Tokens, reply_body, spoken, what_is_asked


def openai_error(
    status: int,
    message: str,
    *,
    kind: str | None = "invalid_request_error",
    param: str | None = None,
    code: str | int | None = None,
) -> Refused:
    """OpenAI's shape of an error, which most imitators have as well."""
    return Refused(status, {"error": {"message": message, "type": kind, "param": param, "code": code}})


@dataclass(frozen=True, slots=True)
class Written:
    """What the model wrote within its limit, in tokens and as text."""

    answer: Answer
    visible: int
    reasoning: int
    cut_off: bool

    @property
    def total(self) -> int:
        return self.visible + self.reasoning


class ChatEmulator(Emulator):
    """`thinking` is how many tokens the model reasons before each answer; they count against the reply limit."""

    base_path = "/v1"
    paths: tuple[str, ...] = ("/v1/chat/completions",)
    limit_names: tuple[str, ...] = ("max_completion_tokens", "max_tokens")

    def __init__(
        self, *, thinking: int = 0, key: str | None = KEY, empty_after: int | None = None, latency: float = 0.0
    ) -> None:
        super().__init__(key=key, empty_after=empty_after, latency=latency)
        self.thinking = thinking

    def dialect_of(self, path: str) -> Dialect | None:
        return "openai" if path in self.paths else None

    def wrong_key(self) -> Refused:
        return openai_error(401, "Incorrect API key provided.", code="invalid_api_key")

    # --- hooks --------------------------------------------------------------------------------------

    def thinking_for(self, request: ReceivedRequest) -> int:
        return self.thinking

    def reply_limit(self, request: ReceivedRequest, prompt: int) -> int | None:
        """The most tokens the model may write, reasoning included; None: as many as it likes."""
        return stated_limit(request, self.limit_names)

    def prompt_size(self, request: ReceivedRequest, asked: Asked) -> int:
        return prompt_tokens(request, asked)

    def prompt_cache(self, request: ReceivedRequest, prompt: int) -> tuple[int, int]:
        """Tokens read from the prompt cache and tokens written to it."""
        return 0, 0

    def usage(self, bill: Bill) -> dict[str, Any]:
        """What the reply says about its cost; the true bill is `bill`."""
        return {
            "prompt_tokens": bill.input,
            "completion_tokens": bill.output,
            "total_tokens": bill.input + bill.output,
            "prompt_tokens_details": {"cached_tokens": bill.cached, "cache_write_tokens": bill.written},
            "completion_tokens_details": {"reasoning_tokens": bill.reasoning},
        }

    def dress(self, payload: dict[str, Any], message: dict[str, Any], written: Written) -> None:
        """Changes to the body of a reply that are this endpoint's own."""

    # --- one reply ----------------------------------------------------------------------------------

    def serve(self, request: ReceivedRequest, number: int) -> Served:
        asked = what_is_asked(request)
        prompt = self.prompt_size(request, asked)
        read, stored = self.prompt_cache(request, prompt)
        written = write(answer_to(request, asked), self.thinking_for(request), self.reply_limit(request, prompt))
        bill = Bill(prompt, read, stored, written.total, written.reasoning)
        answer = written.answer
        payload = orjson.loads(reply_body(request, asked, answer, Tokens(prompt, written.total), number))
        payload["usage"] = self.usage(bill)
        self.dress(payload, payload["choices"][0]["message"], written)
        return Served(payload, bill, payload["choices"][0]["finish_reason"])


def write(answer: Answer, thinking: int, limit: int | None) -> Written:
    """The answer as far as the limit lets it be written, after the reasoning."""
    visible = count_tokens(answer.text)
    if limit is None or thinking + visible <= limit:
        return Written(answer, visible, thinking, cut_off=False)
    reasoning = min(thinking, limit)
    text = answer.text[: (limit - reasoning) * 4]
    return Written(Answer(text, None, "length", through_tool=False), limit - reasoning, reasoning, cut_off=True)


def stated_limit(request: ReceivedRequest, names: tuple[str, ...]) -> int | None:
    """The reply limit of a request, under whichever of these names it is given."""
    found = [request.body[name] for name in names if isinstance(request.body.get(name), int)]
    return found[0] if found else None


def prompt_text(request: ReceivedRequest) -> str:
    """The messages as one text."""
    return "\n".join(text for _, text in spoken(request.body))


def prompt_tokens(request: ReceivedRequest, asked: Asked) -> int:
    """Input tokens: the messages, and the schema where it is sent apart from them."""
    apart = bool(request.body.get("tools") or request.body.get("response_format") or request.body.get("output_config"))
    schema = orjson.dumps(asked.schema).decode() if apart and asked.schema and not _is_quoted(request) else ""
    return count_tokens(schema + prompt_text(request))


def _is_quoted(request: ReceivedRequest) -> bool:
    wanted = request.body.get("response_format")
    return isinstance(wanted, dict) and wanted.get("type") == "json_object"


def response_format(request: ReceivedRequest) -> str | None:
    """The type of the response format: json_schema, json_object, text or none."""
    wanted = request.body.get("response_format")
    return wanted.get("type") if isinstance(wanted, dict) else None


def format_schema(request: ReceivedRequest) -> Any:
    """The schema of a json_schema response format."""
    return request.body["response_format"]["json_schema"]["schema"] if is_json_schema(request) else None


def is_json_schema(request: ReceivedRequest) -> bool:
    return response_format(request) == "json_schema"


def asks_for_unknown_model(request: ReceivedRequest) -> bool:
    """By agreement every model exists whose name does not say otherwise."""
    return "unknown" in str(request.body.get("model"))
