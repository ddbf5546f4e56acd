"""vLLM with `--max-model-len`: a prompt and a reply limit that do not fit the context together are refused.

The newer wording (0.15 on; also seen at Cloudflare, Bedrock, DeepInfra and Nebius) states the input only as "at least"
what is one token too many. Sources: vllm#33418, openrag, reports from Cloudflare and Bedrock; the older wording is that
of 0.8 to 0.14.
"""

from __future__ import annotations

from typing import Any, Literal

from endpoints.base import Refused, count_tokens
from endpoints.chat import ChatEmulator, Written, asks_for_unknown_model, openai_error, prompt_text, stated_limit
from fake_llm.replies import Asked, ReceivedRequest


class VllmEmulator(ChatEmulator):
    """`context` is the length of the model's context; `wording` that of the release; keys are not looked at."""

    def __init__(
        self,
        *,
        context: int = 8192,
        wording: Literal["new", "old"] = "new",
        thinking: int = 0,
        key: str | None = None,
        latency: float = 0.0,
    ) -> None:
        super().__init__(thinking=thinking, key=key, latency=latency)
        self.context = context
        self.wording = wording

    def wrong_key(self) -> Refused:
        return Refused(401, {"error": "Unauthorized"})

    def check(self, request: ReceivedRequest) -> None:
        if asks_for_unknown_model(request):
            message = f"The model `{request.body['model']}` does not exist."
            raise openai_error(404, message, kind="NotFoundError", param="model", code=404)
        prompt = count_tokens(prompt_text(request))
        limit = stated_limit(request, self.limit_names) or 0
        if prompt + limit > self.context or prompt >= self.context:
            raise self._overflow(prompt, limit)

    def _overflow(self, prompt: int, limit: int) -> Refused:
        begin = f"This model's maximum context length is {self.context} tokens"
        if self.wording == "old":
            message = (
                f"'max_tokens' or 'max_completion_tokens' is too large: {limit}. {begin} and your request has {prompt} "
                f"input tokens ({limit} > {self.context} - {prompt}). None"
                if prompt < self.context
                else f"{begin}. However, you requested {prompt + limit} tokens ({prompt} in the messages, {limit} in "
                "the completion). Please reduce the length of the messages or completion. None"
            )
            return openai_error(400, message, kind="BadRequestError", code=400)
        # The prompt is tokenised only as far as shows that it is too long.
        least = self.context - limit + 1 if limit < self.context else prompt
        message = (
            f"{begin}. However, you requested {limit} output tokens and your prompt contains at least {least} input "
            f"tokens, for a total of at least {least + limit} tokens. Please reduce the length of the input prompt or "
            f"the number of requested output tokens. (parameter=input_tokens, value={least})"
        )
        return openai_error(400, message, kind="BadRequestError", param="input_tokens", code=400)

    def prompt_size(self, request: ReceivedRequest, asked: Asked) -> int:
        return count_tokens(prompt_text(request))  # a schema guides the decoding and is no part of the prompt

    def reply_limit(self, request: ReceivedRequest, prompt: int) -> int | None:
        stated = stated_limit(request, self.limit_names)
        return self.context - prompt if stated is None else stated

    def look_up(self, method: str, path: str, body: Any) -> Any:
        if (method, path) != ("GET", "/v1/models"):
            return None
        model = {"id": "emulated", "object": "model", "owned_by": "vllm", "max_model_len": self.context}
        return {"object": "list", "data": [model]}

    def dress(self, payload: dict[str, Any], message: dict[str, Any], written: Written) -> None:
        payload["usage"] = {**payload["usage"], "prompt_tokens_details": None, "completion_tokens_details": None}
        if written.reasoning:
            message["reasoning"] = "…"
