"""Hosted imitators of OpenAI's chat path: Together, Groq, DeepSeek, xAI, Mistral and a LiteLLM proxy."""

from __future__ import annotations

import hashlib
from typing import Any

from endpoints.base import Bill, Refused, count_tokens
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
from endpoints.openai import is_reasoning, schema_fault
from endpoints.schemas import find_keyword
from fake_llm.replies import ReceivedRequest, spoken


class TogetherEmulator(ChatEmulator):
    """Together, and text-generation-inference behind other names: prompt and limit over the context are a 422.

    The wording is from reports of 2023 and 2024.
    """

    def __init__(self, *, context: int = 8192, **settings: Any) -> None:
        super().__init__(**settings)
        self.context = context

    def wrong_key(self) -> Refused:
        return openai_error(401, "Invalid API key provided. You can find your API key at api.together.ai.")

    def empty_account(self) -> Refused:
        message = "Credit limit exceeded, please navigate to https://api.together.ai/settings/billing to add credit."
        return openai_error(402, message, kind="credit_limit")

    def check(self, request: ReceivedRequest) -> None:
        size, limit = count_tokens(prompt_text(request)), stated_limit(request, self.limit_names) or 0
        if size + limit > self.context:
            message = (
                f"Input validation error: `inputs` tokens + `max_new_tokens` must be <= {self.context}. "
                f"Given: {size} `inputs` tokens and {limit} `max_new_tokens`"
            )
            raise openai_error(422, message)


class GroqEmulator(ChatEmulator):
    """Groq: a generation that misses the schema is an HTTP 400. Sources: beeai-framework#1215, evalite#384.

    `most_tokens` is what one request may take of a minute's tokens, limit included: more is a 413. `failing` is the
    share of cases whose first generation fails; which ones they are depends on their text only.
    """

    base_path = "/openai/v1"
    paths = ("/openai/v1/chat/completions",)

    def __init__(self, *, failing: float = 0.0, most_tokens: int | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        self.most_tokens = most_tokens
        self.failing = failing
        self._failed: set[str] = set()

    def wrong_key(self) -> Refused:
        return openai_error(401, "Invalid API Key", code="invalid_api_key")

    def check(self, request: ReceivedRequest) -> None:
        model = str(request.body.get("model"))
        if asks_for_unknown_model(request):
            message = f"The model `{model}` does not exist or you do not have access to it."
            raise openai_error(404, message, code="model_not_found")
        size = count_tokens(prompt_text(request)) + (stated_limit(request, self.limit_names) or 0)
        if self.most_tokens is not None and size > self.most_tokens:
            message = (
                f"Request too large for model `{model}` in organization `org_emulated` service tier `on_demand` on "
                f"tokens per minute (TPM): Limit {self.most_tokens}, Requested {size}, please reduce your message size "
                "and try again."
            )
            raise openai_error(413, message, kind="tokens", code="rate_limit_exceeded")
        if is_json_schema(request):
            self._check_schema(request, model)
        if self._fails(request):
            raise self._failed_generation(request)

    def _check_schema(self, request: ReceivedRequest, model: str) -> None:
        if "gpt-oss" not in model and "kimi" not in model:
            message = (
                "This model does not support response format `json_schema`. See supported models at "
                "https://console.groq.com/docs/structured-outputs#supported-models"
            )
            raise openai_error(400, message, param="response_format")
        refused = frozenset({"minItems", "maxItems", "minLength", "maxLength"})
        if found := find_keyword(format_schema(request), refused):
            where = "/".join(("response_format", "json_schema", *found[0]))
            message = f"invalid schema for response format: {where}: {found[1]} is not supported"
            raise openai_error(400, message)

    def _fails(self, request: ReceivedRequest) -> bool:
        first = next((text for role, text in spoken(request.body) if role == "user"), "")
        tag, _, case = first.partition("\n")
        mark = hashlib.blake2b(case.replace(tag.split()[-1].strip("."), "").encode() or b"-", digest_size=4).hexdigest()
        if mark in self._failed or int(mark, 16) / 0x1_0000_0000 >= self.failing:
            return False
        self._failed.add(mark)
        return True

    @staticmethod
    def _failed_generation(request: ReceivedRequest) -> Refused:
        code, what = "json_validate_failed", "Failed to generate JSON."
        if request.body.get("tools"):
            code, what = "tool_use_failed", "Failed to call a function."
        message = f"{what} Please adjust your prompt. See 'failed_generation' for more details."
        error = {"message": message, "type": "invalid_request_error", "code": code, "failed_generation": "{"}
        return Refused(400, {"error": error})

    def dress(self, payload: dict[str, Any], message: dict[str, Any], written: Written) -> None:
        payload["x_groq"] = {"id": "req_emulated"}
        if written.reasoning:
            message["reasoning"] = "…"


class DeepSeekEmulator(ChatEmulator):
    """DeepSeek V4, which thinks by default: no json_schema, and no forced tool while it thinks.

    Sources: llm-exe#662, DeepSeek-V3#1376, api-docs on error codes.
    """

    base_path = ""
    paths = ("/chat/completions", "/v1/chat/completions")
    limit_names = ("max_tokens",)

    def __init__(self, *, thinking: int = 400, **settings: Any) -> None:
        super().__init__(thinking=thinking, **settings)

    def wrong_key(self) -> Refused:
        message = "Authentication Fails, Your api key: **** is invalid"
        return openai_error(401, message, kind="authentication_error", code="invalid_request_error")

    def empty_account(self) -> Refused:
        return openai_error(402, "Insufficient Balance", kind="unknown_error", code="invalid_request_error")

    def check(self, request: ReceivedRequest) -> None:
        if asks_for_unknown_model(request):
            raise openai_error(400, "Model Not Exist", code="invalid_request_error")
        form = response_format(request)
        if form == "json_schema":
            message = "This response_format type is unavailable now"
            raise openai_error(400, message, code="invalid_request_error")
        if isinstance(request.body.get("tool_choice"), dict) and self.thinking_for(request):
            message = "Thinking mode does not support this tool_choice"
            raise openai_error(400, message, code="invalid_request_error")
        if form == "json_object" and "json" not in request.text.lower():
            message = "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'."
            raise openai_error(400, message, code="invalid_request_error")

    def thinking_for(self, request: ReceivedRequest) -> int:
        return 0 if (request.body.get("thinking") or {}).get("type") == "disabled" else self.thinking

    def dress(self, payload: dict[str, Any], message: dict[str, Any], written: Written) -> None:
        if written.reasoning:
            message["reasoning_content"] = "…"


class XaiEmulator(ChatEmulator):
    """xAI: reasoning is billed beside `completion_tokens` and no limit holds for it; tool calls end with "".

    Source: the corrections that litellm 1.109 makes (`fold_reasoning_tokens_into_completion`).
    """

    def __init__(self, *, thinking: int = 500, **settings: Any) -> None:
        super().__init__(thinking=thinking, **settings)

    def wrong_key(self) -> Refused:
        message = "Incorrect API key provided: ***. You can obtain an API key from https://console.x.ai."
        return Refused(400, {"code": "Client specified an invalid argument", "error": message})

    def empty_account(self) -> Refused:
        code = "The caller does not have permission to execute the specified operation"
        message = "Your team has either used all available credits or reached its monthly spending limit."
        return Refused(403, {"code": code, "error": message})

    def check(self, request: ReceivedRequest) -> None:
        model = str(request.body.get("model"))
        if asks_for_unknown_model(request):
            message = f"The model {model} does not exist or your team does not have access to it."
            raise Refused(404, {"code": "Some requested entity was not found", "error": message})
        if "reasoning_effort" in request.body and "mini" not in model:
            message = f"Model {model} does not support parameter reasoningEffort."
            raise Refused(400, {"code": "Client specified an invalid argument", "error": message})

    def reply_limit(self, request: ReceivedRequest, prompt: int) -> int | None:
        stated = super().reply_limit(request, prompt)
        return None if stated is None else stated + self.thinking

    def usage(self, bill: Bill) -> dict[str, Any]:
        return {**super().usage(bill), "completion_tokens": bill.output - bill.reasoning}

    def dress(self, payload: dict[str, Any], message: dict[str, Any], written: Written) -> None:
        if message.get("tool_calls"):
            payload["choices"][0]["finish_reason"] = ""


def mistral_error(status: int, message: Any, kind: str, code: str | None = None) -> Refused:
    return Refused(status, {"object": "error", "message": message, "type": kind, "param": None, "code": code})


class MistralEmulator(ChatEmulator):
    """Mistral: every field that it does not know is a 422 (eca#231); `seed` is called `random_seed` there."""

    fields = frozenset(
        {"model", "messages", "temperature", "top_p", "max_tokens", "stream", "stop", "random_seed", "response_format"}
        | {"tools", "tool_choice", "presence_penalty", "frequency_penalty", "n", "prediction", "parallel_tool_calls"}
        | {"prompt_mode", "reasoning_effort", "safe_prompt", "metadata", "prompt_cache_key", "guardrails"}
    )

    def wrong_key(self) -> Refused:
        return Refused(401, {"detail": "Unauthorized"})

    def check(self, request: ReceivedRequest) -> None:
        if unknown := [name for name in request.body if name not in self.fields]:
            detail = [
                {
                    "type": "extra_forbidden",
                    "loc": ["body", name],
                    "msg": "Extra inputs are not permitted",
                    "input": request.body[name],
                }
                for name in unknown
            ]
            raise mistral_error(422, {"detail": detail}, "invalid_request_error")
        if asks_for_unknown_model(request):
            message = f"Invalid model: {request.body['model']}"
            raise mistral_error(400, message, "invalid_model", "1500")

    def dress(self, payload: dict[str, Any], message: dict[str, Any], written: Written) -> None:
        if written.reasoning and isinstance(message.get("content"), str):
            thought = {"type": "thinking", "thinking": [{"type": "text", "text": "…"}]}
            message["content"] = [thought, {"type": "text", "text": message["content"]}]


class LiteLLMEmulator(ChatEmulator):
    """A LiteLLM proxy in front of OpenAI models, with `drop_params` off: errors carry its own prefix."""

    paths = ("/v1/chat/completions", "/chat/completions")

    def wrong_key(self) -> Refused:
        message = "Authentication Error, LiteLLM Virtual Key expected. Received=***, expected to start with 'sk-'."
        return openai_error(401, message, kind="auth_error", param="None", code="401")

    def empty_account(self) -> Refused:
        message = "Budget has been exceeded! Current cost: 10.02, Max budget: 10.0"
        return openai_error(429, message, kind="budget_exceeded", code="429")

    def check(self, request: ReceivedRequest) -> None:
        model, temperature = str(request.body.get("model")), request.body.get("temperature")
        group = f". Received Model Group={model}\nAvailable Model Group Fallbacks=None"
        if asks_for_unknown_model(request):
            message = f"/chat/completions: Invalid model name passed in model={model}. Call `/v1/models` to view models"
            raise openai_error(400, message, kind="None", param="None", code="400")
        if temperature not in (None, 1) and is_reasoning(request):
            message = (
                f"litellm.UnsupportedParamsError: {model} models don't support temperature={temperature:g}. Only "
                "temperature=1 is supported. To drop unsupported params set `litellm.drop_params = True`"
            )
            raise openai_error(400, message + group, kind=None, code="400")
        if is_json_schema(request) and (fault := schema_fault(format_schema(request), model)):
            message = f"litellm.BadRequestError: OpenAIException - {fault}{group}"
            raise openai_error(400, message, param="response_format", code="400")
