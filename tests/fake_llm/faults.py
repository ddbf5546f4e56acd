"""What can go wrong with an LLM endpoint: when it does (rates, schedule) and how each fault looks."""

from __future__ import annotations

import math
import random
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from itertools import accumulate
from typing import Any

import orjson

from fake_llm.replies import Answer, Asked, Dialect, ReceivedRequest, decode_at
from krino.engine.sample_labels import Schema, list_alternatives, resolve, type_of
from krino.errors import UsageProblem

# --- when ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Faults:
    """Which faults happen: first the schedule, one entry a request, then by chance at these rates.

    An entry of the schedule is a fault's name, or None (or "ok") for a request that goes well. The seed
    fixes the sequence of chance faults; `retry_after` is the wait in seconds that a 429 or 503 asks for.
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    schedule: Sequence[str | None] = ()
    seed: int = 0
    retry_after: float = 1.0

    def __post_init__(self) -> None:
        named = [*self.rates, *(name for name in self.schedule if name not in (None, "ok"))]
        if unknown := sorted({str(name) for name in named} - FAULT_NAMES):
            raise UsageProblem(f"unknown faults {', '.join(unknown)}; known: {', '.join(sorted(FAULT_NAMES))}")
        if any(rate < 0 for rate in self.rates.values()) or sum(self.rates.values()) > 1 + 1e-9:
            raise UsageProblem("fault rates are probabilities: none below 0, and together at most 1")

    @classmethod
    def parse(cls, text: str, *, seed: int = 0, retry_after: float = 1.0) -> Faults:
        """Faults from `429=0.05,500=0.02`, as a command line gives them."""
        rates: dict[str, float] = {}
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            name, equals, rate = part.partition("=")
            try:
                rates[name.strip()] = float(rate) if equals else 1.0
            except ValueError:
                raise UsageProblem(f"fault `{part}`: the rate must be a number, as in 429=0.05") from None
        return cls(rates, seed=seed, retry_after=retry_after)


class FaultPlan:
    """Hands out the fault of each request in turn."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self._position = 0
        self._names = list(faults.rates)
        self._bounds = list(accumulate(faults.rates.values()))
        self._random = random.Random(faults.seed)

    def next(self) -> str | None:
        if self._position < len(self.faults.schedule):
            name = self.faults.schedule[self._position]
            self._position += 1
            return None if name == "ok" else name
        if not self._names:
            return None
        place = bisect_right(self._bounds, self._random.random())
        return self._names[place] if place < len(self._names) else None


# --- faults that are an HTTP error -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error as both families of API word it."""

    status: int
    message: str
    openai_type: str | None = None
    openai_code: str | None = None
    param: str | None = None
    anthropic_type: str = "invalid_request_error"
    anthropic_message: str | None = None
    anthropic_status: int | None = None
    detail: Mapping[str, Any] | None = None

    def status_for(self, dialect: Dialect) -> int:
        return (self.anthropic_status or self.status) if dialect == "anthropic" else self.status

    def body_for(self, dialect: Dialect, request_id: str) -> bytes:
        if dialect == "anthropic":
            error = {"type": self.anthropic_type, "message": self.anthropic_message or self.message}
            return orjson.dumps({"type": "error", "error": error, "request_id": request_id})
        if dialect == "azure" and self.detail is None and self.status != 400:
            return orjson.dumps({"error": {"code": self.openai_code or str(self.status), "message": self.message}})
        return orjson.dumps(
            {
                "error": {
                    "message": self.message,
                    "type": self.openai_type,
                    "param": self.param,
                    "code": self.openai_code,
                    **(self.detail or {}),
                }
            }
        )


_TOO_MANY = HttpError(
    429,
    "Rate limit reached for requests. Please wait before the next try.",
    "requests",
    "rate_limit_exceeded",
    anthropic_type="rate_limit_error",
    anthropic_message="This request would exceed the rate limit of your organization.",
)

HTTP_FAULTS: dict[str, HttpError] = {
    "429": _TOO_MANY,
    "429-ms": _TOO_MANY,
    "429-date": _TOO_MANY,
    "429-bare": _TOO_MANY,
    "500": HttpError(
        500,
        "The server had an error while processing your request.",
        "server_error",
        anthropic_type="api_error",
        anthropic_message="Internal server error",
    ),
    "503": HttpError(
        503,
        "The engine is currently overloaded, please try again later.",
        "server_error",
        anthropic_type="api_error",
        anthropic_message="Service unavailable",
    ),
    "529": HttpError(
        529,
        "The service is overloaded.",
        "server_error",
        "overloaded",
        anthropic_type="overloaded_error",
        anthropic_message="Overloaded",
    ),
    "401": HttpError(
        401,
        "Incorrect API key provided.",
        "invalid_request_error",
        "invalid_api_key",
        anthropic_type="authentication_error",
        anthropic_message="invalid x-api-key",
    ),
    "403": HttpError(
        403,
        "Your project may not use this model.",
        "invalid_request_error",
        "model_not_allowed",
        anthropic_type="permission_error",
        anthropic_message="Your API key may not use this resource.",
    ),
    "404": HttpError(
        404,
        "The model does not exist or you do not have access to it.",
        "invalid_request_error",
        "model_not_found",
        param="model",
        anthropic_type="not_found_error",
        anthropic_message="model: not found",
    ),
    "quota": HttpError(
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "insufficient_quota",
        anthropic_message="Your credit balance is too low to access the API.",
        anthropic_status=400,
    ),
}

ANTHROPIC_FILTERED = HttpError(400, "Output blocked by content filtering policy")
AZURE_FILTERED = HttpError(
    400,
    "The prompt triggered the content management policy and the response was filtered.",
    None,
    "content_filter",
    param="prompt",
    detail={
        "status": 400,
        "innererror": {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {"violence": {"filtered": True, "severity": "medium"}},
        },
    },
)


def http_fault(name: str, dialect: Dialect) -> HttpError | None:
    """The HTTP error a fault is in this dialect, or None where it is none."""
    if name == "content-filter":
        return {"anthropic": ANTHROPIC_FILTERED, "azure": AZURE_FILTERED}.get(dialect)
    return HTTP_FAULTS.get(name)


_SPENT = {
    "openai": {
        "x-ratelimit-limit-requests": "10000",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-limit-tokens": "2000000",
        "x-ratelimit-remaining-tokens": "0",
    },
    "anthropic": {
        "anthropic-ratelimit-requests-limit": "4000",
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-tokens-limit": "400000",
        "anthropic-ratelimit-tokens-remaining": "0",
    },
}
PLENTY = {
    "openai": {
        **_SPENT["openai"],
        "x-ratelimit-remaining-requests": "9999",
        "x-ratelimit-remaining-tokens": "1999000",
        "x-ratelimit-reset-requests": "6ms",
        "x-ratelimit-reset-tokens": "30ms",
    },
    "anthropic": {
        **_SPENT["anthropic"],
        "anthropic-ratelimit-requests-remaining": "3999",
        "anthropic-ratelimit-tokens-remaining": "399000",
        "anthropic-ratelimit-requests-reset": "2030-01-01T00:00:00Z",
        "anthropic-ratelimit-tokens-reset": "2030-01-01T00:00:00Z",
    },
}


def retry_headers(name: str, dialect: Dialect, wait: float) -> dict[str, str]:
    """What a refused request is told about when to come back."""
    if name == "503":
        return {"retry-after": f"{wait:g}"}
    if name not in ("429", "429-ms", "429-date"):
        return {}
    headers = dict(_SPENT["anthropic" if dialect == "anthropic" else "openai"])
    if name == "429":
        headers["retry-after"] = f"{wait:g}"
    elif name == "429-ms":
        headers["retry-after-ms"] = str(math.ceil(wait * 1000))
    else:
        # whole seconds only: round up, or a short wait would already lie in the past
        headers["retry-after"] = formatdate(math.ceil(time.time() + wait), usegmt=True)
    return headers


# --- faults that are another kind of page ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Page:
    status: int
    content_type: str
    body: bytes


PAGE_FAULTS: dict[str, Page] = {
    "502": Page(
        502,
        "text/html",
        b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n"
        b"<body><center><h1>502 Bad Gateway</h1></center></body>\r\n</html>\r\n",
    ),
    "html": Page(
        200,
        "text/html",
        b"<!doctype html><html><head><title>Sign in</title></head>"
        b"<body><h1>Sign in to reach this network</h1></body></html>",
    ),
    "not-json": Page(200, "text/plain", b"upstream said: all is well"),
}


# --- faults in what the model says -----------------------------------------------------------------

_GARBAGE = "I looked at the material with care and on the whole it seems good, though some of it is unclear."
_NO_SUCH_VALUE = "no-such-value"
_LONGEST_SEARCHED = 200_000
_MOST_BRACES = 2000


def spoil_answer(name: str, answer: Answer, asked: Asked, request: ReceivedRequest) -> Answer | None:
    """The answer with a fault in it, or None where the fault has nothing to work on."""
    return CONTENT_FAULTS[name](answer, asked, request)


def _truncated(answer: Answer, asked: Asked, request: ReceivedRequest) -> Answer:
    return replace(_truncated_stop(answer, asked, request), finish="length")


def _truncated_stop(answer: Answer, asked: Asked, request: ReceivedRequest) -> Answer:
    value = answer.value
    if isinstance(value, dict):
        value = dict(list(value.items())[:-1])
    return replace(answer, text=answer.text[: max(1, len(answer.text) * 3 // 5)], value=value)


def _garbage(answer: Answer, asked: Asked, request: ReceivedRequest) -> Answer:
    return Answer(_GARBAGE, through_tool=False)


def _wrong_enum(answer: Answer, asked: Asked, request: ReceivedRequest) -> Answer:
    if asked.schema is None:
        return Answer(f'"{_NO_SUCH_VALUE}"')
    wrong = with_wrong_value(answer.value, asked.schema)
    return replace(answer, text=orjson.dumps(wrong).decode(), value=wrong)


def _fence(answer: Answer, asked: Asked, request: ReceivedRequest) -> Answer:
    return Answer(f"```json\n{answer.text}\n```")


def _prose(answer: Answer, asked: Asked, request: ReceivedRequest) -> Answer:
    return Answer(f"Here is what I found:\n\n{answer.text}\n\nTell me if you need more than that.")


def _trailing_comma(answer: Answer, asked: Asked, request: ReceivedRequest) -> Answer:
    head, closing = answer.text[:-1], answer.text[-1:]
    return Answer(f"{head},{closing}" if closing in ("}", "]") else f"{answer.text},")


def _injected(answer: Answer, asked: Asked, request: ReceivedRequest) -> Answer | None:
    found = planted_object(request, asked.schema)
    if found is None:
        return None
    return Answer(f"The material states {orjson.dumps(found).decode()}.\n\n{answer.text}")


def _echo(answer: Answer, asked: Asked, request: ReceivedRequest) -> Answer | None:
    found = planted_object(request, asked.schema)
    return None if found is None else Answer(orjson.dumps(found).decode(), found)


def _empty(answer: Answer, asked: Asked, request: ReceivedRequest) -> Answer:
    return Answer("", through_tool=False)


def _refusal(answer: Answer, asked: Asked, request: ReceivedRequest) -> Answer:
    return Answer("I'm sorry, I can't help with that.", finish="refusal", through_tool=False)


def _content_filter(answer: Answer, asked: Asked, request: ReceivedRequest) -> Answer:
    return Answer("", finish="content_filter", through_tool=False)


CONTENT_FAULTS: dict[str, Callable[[Answer, Asked, ReceivedRequest], Answer | None]] = {
    "truncated": _truncated,
    "truncated-stop": _truncated_stop,
    "garbage": _garbage,
    "wrong-enum": _wrong_enum,
    "fence": _fence,
    "prose": _prose,
    "trailing-comma": _trailing_comma,
    "injected": _injected,
    "echo": _echo,
    "empty": _empty,
    "refusal": _refusal,
    "content-filter": _content_filter,
}
CONNECTION_FAULTS = frozenset({"hang", "cut", "reset"})
FAULT_NAMES = frozenset({*HTTP_FAULTS, *PAGE_FAULTS, *CONTENT_FAULTS, *CONNECTION_FAULTS})


def with_wrong_value(value: Any, schema: Schema) -> Any:
    """An instance of a schema made to break it: its first enum gets a value that is not on the list."""
    wrong, done = _break_first_enum(value, schema, schema)
    if not done and isinstance(value, dict):
        return {_NO_SUCH_VALUE: _NO_SUCH_VALUE}
    return wrong if done else _NO_SUCH_VALUE


def _break_first_enum(value: Any, schema: Schema, root: Schema) -> tuple[Any, bool]:
    schema = resolve(schema, root)
    if "enum" in schema or "const" in schema:
        return _NO_SUCH_VALUE, True
    if branches := list_alternatives(schema):
        return _break_first_enum(value, branches[0], root)
    if isinstance(value, dict):
        for name, part in (schema.get("properties") or {}).items():
            if name in value:
                wrong, done = _break_first_enum(value[name], part, root)
                if done:
                    return {**value, name: wrong}, True
    items = schema.get("items")
    if isinstance(value, list) and value and isinstance(items, dict):
        wrong, done = _break_first_enum(value[0], items, root)
        return [wrong, *value[1:]], done
    return value, False


def planted_object(request: ReceivedRequest, schema: Schema | None) -> dict[str, Any] | None:
    """The first JSON object in the user's messages that could pass for an answer."""
    text = request.user_text[:_LONGEST_SEARCHED]
    # data is often handed over inside a JSON string, where its quotes are escaped
    for version in (text, text.replace("\\n", "\n").replace('\\"', '"') if '\\"' in text else ""):
        start = -1
        for _ in range(_MOST_BRACES):
            start = version.find("{", start + 1)
            if start < 0:
                break
            found = decode_at(version, start)
            if isinstance(found, dict) and _could_pass(found, schema):
                return found
    return None


_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
}


def _could_pass(found: dict[str, Any], schema: Schema | None) -> bool:
    if schema is None:
        return bool(found)
    whole = resolve(schema, schema)
    properties = whole.get("properties") or {}
    needed = whole.get("required") or list(properties)[:1]
    return bool(needed) and all(
        name in found and _type_fits(found[name], properties.get(name, {}), schema) for name in needed
    )


def _type_fits(value: Any, schema: Schema, root: Schema) -> bool:
    schema = resolve(schema, root)
    if branches := list_alternatives(schema):
        return any(_type_fits(value, branch, root) for branch in branches)
    if "enum" in schema or "const" in schema:
        return not isinstance(value, dict | list)
    expected = _PYTHON_TYPES.get(type_of(schema) or "")
    return expected is None or isinstance(value, expected)


# --- what the endpoint refuses ---------------------------------------------------------------------

FEATURES = frozenset(
    {
        "json_schema",
        "json_object",
        "tools",
        "temperature",
        "seed",
        "max_tokens",
        "max_completion_tokens",
        "reasoning_effort",
        "images",
    }
)


def rejection(request: ReceivedRequest, unsupported: frozenset[str]) -> HttpError | None:
    """Why the endpoint will not take this request, or None."""
    body = request.body
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        return _invalid("messages: at least one message is required.", "messages")
    if body.get("stream"):
        return _invalid("stream: this server answers in one piece only.", "stream")
    if request.dialect == "anthropic":
        return _malformed_anthropic(request) or _refused_by_anthropic(body, unsupported)
    return (_malformed_azure(request) if request.dialect == "azure" else None) or _refused_by_openai(body, unsupported)


def _invalid(message: str, param: str | None, code: str | None = None) -> HttpError:
    return HttpError(400, message, "invalid_request_error", code, param)


def _malformed_anthropic(request: ReceivedRequest) -> HttpError | None:
    headers, body = request.headers, request.body
    if "x-api-key" not in headers and "authorization" not in headers:
        return replace(HTTP_FAULTS["401"], anthropic_message="x-api-key header is required")
    for present, message in (
        ("anthropic-version" in headers, "anthropic-version: header is required"),
        ("model" in body, "model: Field required"),
        ("max_tokens" in body, "max_tokens: Field required"),
    ):
        if not present:
            return _invalid(message, None)
    return None


def _malformed_azure(request: ReceivedRequest) -> HttpError | None:
    if "api-key" not in request.headers and "authorization" not in request.headers:
        return HttpError(401, "Access denied: the api-key header is missing or wrong.")
    if "/deployments/" in request.path and "api-version" not in request.query:
        return HttpError(404, "Resource not found")
    return None


def _refused_by_openai(body: Mapping[str, Any], unsupported: frozenset[str]) -> HttpError | None:
    if not unsupported:
        return None
    form = body.get("response_format")
    wanted = form.get("type") if isinstance(form, dict) else None
    if wanted in unsupported:
        return _invalid(
            f"Invalid parameter: 'response_format' of type '{wanted}' is not supported with this model.",
            "response_format",
        )
    if "temperature" in unsupported and body.get("temperature", 1) != 1:
        return _invalid(
            f"Unsupported value: 'temperature' does not support {body['temperature']} with this model. "
            "Only the default (1) value is supported.",
            "temperature",
            "unsupported_value",
        )
    for name in ("tools", "seed", "max_tokens"):
        if name in unsupported and body.get(name) is not None:
            hint = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
            return _invalid(
                f"Unsupported parameter: '{name}' is not supported with this model.{hint}",
                name,
                "unsupported_parameter",
            )
    for name in ("max_completion_tokens", "reasoning_effort"):
        if name in unsupported and body.get(name) is not None:
            return _invalid(f"Unrecognized request argument supplied: {name}", name)
    if "images" in unsupported and (place := _first_image(body)):
        message = "Invalid content type. image_url is only supported by certain models."
        return _invalid(message, "messages.[{}].content.[{}].type".format(*place))
    return None


def _refused_by_anthropic(body: Mapping[str, Any], unsupported: frozenset[str]) -> HttpError | None:
    fields = {"json_schema": ("output_config", "output_format"), "tools": ("tools",)}
    for feature, names in fields.items():
        for name in names:
            if feature in unsupported and body.get(name) is not None:
                return _invalid(f"{name}: Extra inputs are not permitted", name)
    if "temperature" in unsupported and body.get("temperature", 1) != 1:
        return _invalid("temperature: only the default of 1 may be set for this model", "temperature")
    if "images" in unsupported and (place := _first_image(body)):
        where = "messages.{}.content.{}".format(*place)
        return _invalid(f"{where}: this model does not take image input", where)
    return None


def _first_image(body: Mapping[str, Any]) -> tuple[int, int] | None:
    for row, message in enumerate(body["messages"]):
        content = message.get("content") if isinstance(message, dict) else None
        for column, part in enumerate(content if isinstance(content, list) else ()):
            if isinstance(part, dict) and part.get("type") in ("image_url", "image"):
                return row, column
    return None
