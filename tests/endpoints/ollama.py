"""Ollama: the OpenAI path cuts long prompts and does not say so; the native path can be told not to.

Sources: the context is 4,096 tokens on machines with less than 24 GB of video memory, and a longer prompt loses its
start (ollama#17427, #17889, Stirling-PDF#7770); docs/api.md for /api/chat (`format`, `options.num_ctx`, `truncate`,
`think`, `prompt_eval_count`). The refusal of a prompt that is too long differs by release: 0.12 says it in words, 0.40
passes on the JSON of the llama.cpp server as a text.
"""

from __future__ import annotations

from typing import Any, Literal

import orjson

from endpoints.base import Bill, Refused, Served, count_tokens
from endpoints.chat import ChatEmulator, Written, asks_for_unknown_model, openai_error, prompt_text, write
from endpoints.labelling import answer_to
from fake_llm.replies import Asked, Dialect, ReceivedRequest, what_is_asked

NATIVE = "/api/chat"


class OllamaEmulator(ChatEmulator):
    """`context` is what the server loads a model with; `most_context` what the model was trained for.

    `refusing_long`: the OpenAI path answers 400 to a prompt that is too long, as some models do. Answers are made from
    the whole prompt even where the model saw a part of it: nothing in a reply but its token count gives the cut away.
    """

    def __init__(
        self,
        *,
        context: int = 4096,
        most_context: int = 32_768,
        thinking: int = 0,
        refusing_long: bool = False,
        release: Literal["0.12", "0.40"] = "0.40",
        latency: float = 0.0,
    ) -> None:
        super().__init__(thinking=thinking, key=None, latency=latency)
        self.context = context
        self.most_context = most_context
        self.refusing_long = refusing_long
        self.release = release

    @property
    def native_url(self) -> str:
        """The address without /v1, as native clients are given it."""
        return self.root

    def dialect_of(self, path: str) -> Dialect | None:
        return "openai" if path in (*self.paths, NATIVE) else None

    def look_up(self, method: str, path: str, body: Any) -> Any:
        model = {"name": "emulated:8b", "model": "emulated:8b"}
        match method, path:
            case "GET", "/api/version":
                return {"version": f"{self.release}.0"}
            case "GET", "/api/tags":
                return {"models": [model]}
            case "GET", "/api/ps":
                return {"models": [{**model, "context_length": self.context}]}
            case "POST", "/api/show":
                return {"model_info": {"general.architecture": "qwen3", "qwen3.context_length": self.most_context}}
            case "GET", "/v1/models":
                return {"object": "list", "data": [{"id": "emulated:8b", "object": "model", "owned_by": "library"}]}
        return None

    def check(self, request: ReceivedRequest) -> None:
        native = request.path == NATIVE
        if asks_for_unknown_model(request):
            message = f"model '{request.body['model']}' not found"
            raise Refused(404, {"error": message}) if native else openai_error(404, message, kind="not_found_error")
        size, context = count_tokens(prompt_text(request)), self._context_of(request)
        if size <= context:
            return
        if native and request.body.get("truncate") is False:
            raise Refused(400, {"error": self._too_long(size, context)})
        if not native and self.refusing_long:
            raise openai_error(400, _exceeds(size, context))

    def _context_of(self, request: ReceivedRequest) -> int:
        """Only the native path takes a context with the request, and never a longer one than the model has."""
        options = request.body.get("options") if request.path == NATIVE else None
        stated = options.get("num_ctx") if isinstance(options, dict) else None
        return min(stated or self.context, self.most_context)

    def _too_long(self, size: int, context: int) -> str:
        if self.release == "0.12":
            return "the input length exceeds the context length"
        error = {"code": 400, "message": _exceeds(size, context), "type": "exceed_context_size_error"}
        return orjson.dumps({"error": {**error, "n_prompt_tokens": size, "n_ctx": context}}).decode()

    # --- the answer ---------------------------------------------------------------------------------

    def serve(self, request: ReceivedRequest, number: int) -> Served:
        size, context = count_tokens(prompt_text(request)), self._context_of(request)
        cut = size > context
        seen = context // 2 + 2 if cut else size
        if request.path == NATIVE:
            return self._serve_native(request, seen, context, size if cut else 0)
        served = super().serve(request, number)
        bill = Bill(seen, output=served.bill.output, reasoning=served.bill.reasoning)
        served.payload["usage"] = {
            "prompt_tokens": seen,
            "completion_tokens": bill.output,
            "total_tokens": seen + bill.output,
        }
        return Served(served.payload, bill, served.finish, cut_from=size if cut else 0)

    def reply_limit(self, request: ReceivedRequest, prompt: int) -> int | None:
        """LengthLimits left in the context ends a reply as a limit does."""
        size, context = count_tokens(prompt_text(request)), self._context_of(request)
        room = context - (context // 2 + 2 if size > context else size)
        stated = super().reply_limit(request, prompt)
        return room if stated is None else min(stated, room)

    def dress(self, payload: dict[str, Any], message: dict[str, Any], written: Written) -> None:
        message.pop("refusal", None)
        if written.reasoning:
            message["reasoning"] = "…"

    def _serve_native(self, request: ReceivedRequest, seen: int, context: int, cut_from: int) -> Served:
        body = request.body
        asked = _asked_natively(request)
        options = body.get("options") or {}
        limit = options.get("num_predict")
        room = context - seen if limit is None or limit < 0 else min(limit, context - seen)
        thinking = 0 if body.get("think") is False else self.thinking
        written = write(answer_to(request, asked), thinking, room)
        bill = Bill(seen, output=written.total, reasoning=written.reasoning)
        finish = "length" if written.cut_off else "stop"
        message: dict[str, Any] = {"role": "assistant", "content": written.answer.text}
        if thinking:
            message["thinking"] = "…"
        ending = {
            "model": body.get("model"),
            "created_at": "2026-11-18T12:00:00Z",
            "message": message,
            "done": True,
            "done_reason": finish,
            "total_duration": 1_000_000,
            "load_duration": 1_000,
            "prompt_eval_count": seen,
            "eval_count": written.total,
        }
        if body.get("stream") is False:
            return Served(ending, bill, finish, cut_from=cut_from)
        first = {**{key: ending[key] for key in ("model", "created_at", "message")}, "done": False}
        last = {**ending, "message": {"role": "assistant", "content": ""}}
        lines = orjson.dumps(first) + b"\n" + orjson.dumps(last) + b"\n"
        return Served(lines, bill, finish, cut_from=cut_from, content_type="application/x-ndjson")


def _exceeds(size: int, context: int) -> str:
    return f"request ({size} tokens) exceeds the available context size ({context} tokens), try increasing it"


def _asked_natively(request: ReceivedRequest) -> Asked:
    """`format` holds a schema, or the word json for any object."""
    form = request.body.get("format")
    if isinstance(form, dict):
        return Asked(form, wants_object=True)
    found = what_is_asked(request)
    return Asked(found.schema, wants_object=form == "json" or found.wants_object)
