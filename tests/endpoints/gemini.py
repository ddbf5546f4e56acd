"""Gemini at its OpenAI-compatible address (/v1beta/openai).

Sources: errors come as a JSON array (ComfyUI-NewBie#3, ai-manus#101); a wrong key is HTTP 400; fields it does not know
are refused by name; thoughts are billed, count against the limit of the reply, and show up in `total_tokens` only
(any-llm#1290 and field measurements of 2026-08); a schema can have "too many states" (python-genai#660).
"""

from __future__ import annotations

from typing import Any

from endpoints.base import Bill, Refused
from endpoints.chat import ChatEmulator, Written, asks_for_unknown_model, format_schema, is_json_schema
from endpoints.schemas import schema_nodes
from fake_llm.replies import ReceivedRequest

FIELDS = frozenset(
    {"model", "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens", "n", "stop", "stream", "seed"}
    | {"response_format", "tools", "tool_choice", "reasoning_effort", "extra_body", "presence_penalty", "user"}
    | {"frequency_penalty", "parallel_tool_calls"}
)
BAD_KEY: dict[str, Any] = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "API_KEY_INVALID",
    "domain": "googleapis.com",
    "metadata": {"service": "generativelanguage.googleapis.com"},
}
QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
    "head to: https://ai.google.dev/gemini-api/docs/rate-limits."
)

TOO_MANY_STATES = (
    "The specified schema produces a constraint that has too many states for serving. Typical causes of this error are "
    "schemas with lots of text (for example, very long property or enum names), schemas with long array length limits "
    "(especially when nested), or schemas using complex value matchers (for example, integers or numbers with "
    "minimum/maximum bounds or strings with complex formats like date-time)"
)


def google_error(code: int, message: str, status: str, *details: dict[str, Any]) -> Refused:
    error: dict[str, Any] = {"code": code, "message": message, "status": status}
    if details:
        error["details"] = list(details)
    return Refused(code, [{"error": error}])


class GeminiEmulator(ChatEmulator):
    """Thinks 600 tokens before each answer unless told otherwise.

    `most_states` bounds what a schema may weigh; Google does not say how it counts, so this is a guess by `states`.
    """

    base_path = "/v1beta/openai"
    paths = ("/v1beta/openai/chat/completions",)

    def __init__(self, *, thinking: int = 600, most_states: int | None = None, **settings: Any) -> None:
        super().__init__(thinking=thinking, **settings)
        self.most_states = most_states

    def wrong_key(self) -> Refused:
        message = "API key not valid. Please pass a valid API key."
        return google_error(400, message, "INVALID_ARGUMENT", BAD_KEY)

    def empty_account(self) -> Refused:
        return google_error(429, QUOTA, "RESOURCE_EXHAUSTED")

    def not_found(self, method: str, path: str) -> Refused:
        return google_error(404, "Requested entity was not found.", "NOT_FOUND")

    def check(self, request: ReceivedRequest) -> None:
        if asks_for_unknown_model(request):
            message = (
                f"models/{request.body['model']} is not found for API version v1main, or is not supported for "
                "generateContent. Call ListModels to see the list of available models and their supported methods."
            )
            raise google_error(404, message, "NOT_FOUND")
        if unknown := sorted(request.body.keys() - FIELDS):
            message = f'Invalid JSON payload received. Unknown name "{unknown[0]}": Cannot find field.'
            raise google_error(400, message, "INVALID_ARGUMENT")
        if (
            self.most_states is not None
            and is_json_schema(request)
            and states(format_schema(request)) > self.most_states
        ):
            raise google_error(400, TOO_MANY_STATES, "INVALID_ARGUMENT")

    def thinking_for(self, request: ReceivedRequest) -> int:
        return 0 if request.body.get("reasoning_effort") == "none" else self.thinking

    def usage(self, bill: Bill) -> dict[str, Any]:
        return {
            "prompt_tokens": bill.input,
            "completion_tokens": bill.output - bill.reasoning,
            "total_tokens": bill.input + bill.output,
        }

    def dress(self, payload: dict[str, Any], message: dict[str, Any], written: Written) -> None:
        message.pop("refusal", None)
        if not message.get("content"):
            message.pop("content", None)  # a reply that is all thoughts has no such field


def states(schema: Any) -> int:
    """A weight for a schema: its choices, bounded numbers and limited arrays, which the refusal names as causes."""
    weight = 0
    for _, node in schema_nodes(schema):
        weight += len(node.get("enum", ())) + 2 * node.get("maxItems", 0)
        weight += 10 * len({"minimum", "maximum", "format"} & node.keys())
    return weight
