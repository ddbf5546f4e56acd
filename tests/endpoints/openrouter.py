"""OpenRouter: what the upstream refuses is hidden in `error.metadata.raw`, and some errors come with HTTP 200.

Sources: openrouter.ai/docs on errors; outlines#1666, go-openrouter#21, OmniRoute#3044 (the wrapping);
the-llm-council#55 (schemas are passed on untouched).
"""

from __future__ import annotations

from typing import Any, Literal

import orjson

from endpoints import anthropic, openai
from endpoints.base import Bill, Refused
from endpoints.chat import ChatEmulator, Written, asks_for_unknown_model, format_schema, is_json_schema
from fake_llm.replies import ReceivedRequest

PRICE_IN, PRICE_OUT = 1.0, 5.0
"""Money per million tokens, for the `cost` that each reply states."""


def openrouter_error(status: int, message: str, code: int | None = None, **metadata: Any) -> Refused:
    error: dict[str, Any] = {"message": message, "code": code or status}
    if metadata:
        error["metadata"] = metadata
    return Refused(status, {"error": error, "user_id": "user_emulated"})


class OpenRouterEmulator(ChatEmulator):
    """`hidden_error`: every `hidden_every`-th request is answered 200 with an error of this code in the body."""

    base_path = "/api/v1"
    paths = ("/api/v1/chat/completions",)

    def __init__(
        self,
        *,
        thinking: int = 0,
        hidden_error: Literal[429, 502] | None = None,
        hidden_every: int = 3,
        **settings: Any,
    ) -> None:
        super().__init__(thinking=thinking, **settings)
        self.hidden_error = hidden_error
        self.hidden_every = hidden_every
        self._seen = 0

    def wrong_key(self) -> Refused:
        return openrouter_error(401, "User not found.")

    def empty_account(self) -> Refused:
        return openrouter_error(402, "Insufficient credits. Add more using https://openrouter.ai/settings/credits")

    def check(self, request: ReceivedRequest) -> None:
        model = str(request.body.get("model"))
        if asks_for_unknown_model(request):
            raise openrouter_error(400, f"{model} is not a valid model ID")
        self._seen += 1
        if self.hidden_error is not None and self._seen % self.hidden_every == 0:
            raise self._hidden(self.hidden_error)
        if is_json_schema(request):
            _check_upstream_schema(format_schema(request), model)

    def _hidden(self, code: int) -> Refused:
        what = "rate limited, please retry shortly" if code == 429 else "the provider closed the connection"
        return openrouter_error(200, f"Upstream error from DeepInfra: {what}", code, provider_name="DeepInfra")

    def usage(self, bill: Bill) -> dict[str, Any]:
        cost = (bill.input * PRICE_IN + bill.output * PRICE_OUT) / 1e6
        return {**super().usage(bill), "cost": cost}

    def dress(self, payload: dict[str, Any], message: dict[str, Any], written: Written) -> None:
        payload["provider"] = "Emulated"
        if written.reasoning:
            message["reasoning"] = "…"


def _check_upstream_schema(schema: Any, model: str) -> None:
    if model.startswith("anthropic/") and (fault := anthropic.schema_fault(schema)):
        raw = {"type": "error", "error": {"type": "invalid_request_error", "message": fault}}
        raise _wrap(400, raw, "Anthropic")
    if model.startswith("openai/") and (fault := openai.schema_fault(schema, model.removeprefix("openai/"))):
        error = {"message": fault, "type": "invalid_request_error", "param": "response_format", "code": None}
        raise _wrap(400, {"error": error}, "OpenAI")


def _wrap(status: int, raw: dict[str, Any], provider: str) -> Refused:
    written = orjson.dumps(raw, option=orjson.OPT_INDENT_2).decode()
    return openrouter_error(status, "Provider returned error", raw=written, provider_name=provider, is_byok=False)
