"""Classifies an endpoint's refusal: no money, a wrong key, no room in the context, a failed generation.

Endpoints share no error codes for these, so we match wordings. A message may quote the case, which is untrusted: a
refusal stops the run only because of its code, its status, or the beginning of its message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from krino.errors import RunStopped
from krino.labellers.llm.wire import ApiError

Final = Literal["quota", "key", "model"]
BEGINNING = 120  # characters of a message that are matched
NO_MONEY_CODES = frozenset({"insufficient_quota", "billing_not_active", "budget_exceeded", "credit_limit"})
# A message that begins like this is the endpoint's own, with no words of a case before it. Anthropic (400), xAI (403).
OWN_NO_MONEY = re.compile(
    r"your credit balance is too low|your (?:newly created )?teams? .{0,60}"
    r"(?:used all available credits|doesn't have any credits|reached its monthly spending limit)",
    re.I,
)
# The same and others, handed on by a router or proxy that may also quote the case.
NO_MONEY = re.compile(
    r"credit balance is too low|insufficient (?:credits|balance|funds)|budget has been exceeded"
    r"|used all available credits",
    re.I,
)
# Google refuses a wrong key with 400; Mistral, LiteLLM's proxy, DeepSeek and OpenRouter an unknown model.
BAD_KEY = re.compile(r"api key not valid|api_key_invalid|invalid api key|incorrect api key", re.I)
BAD_MODEL = re.compile(r"(?:/\S+: )?invalid model\b|model not exist|\S+ is not a valid model id", re.I)
FAILED_GENERATION = frozenset({"json_validate_failed", "tool_use_failed"})
"""Groq validates what its models write, and fails the request if it does not fit the schema."""
TOO_COMPLEX = ("too complex", "too many states", "too many parameters", "schema is too large", "exceeds limit of")
"""Errors for a schema that became too large with this case; other cases may be accepted."""

_PER_MINUTE = ("on tokens per minute (tpm): limit ", "on tokens per min (tpm): limit ")
"""Groq (413) and OpenAI (429): prompt and reply limit together may exceed the allowance of a whole minute."""
_CONTEXT_WORDS = ("context length", "context window", "context size", "context limit", "max_new_tokens", *_PER_MINUTE)
_CONTEXT = (  # the size of the context, as it is stated
    re.compile(r"(?:maximum context length is|context (?:length|window|size) (?:of|is)) (\d[\d,]*)", re.I),
    re.compile(r"context size \((\d[\d,]*) tokens\)", re.I),
    re.compile(r"must be <= (\d[\d,]*)"),
    re.compile(r"context limit: \d+ \+ \d+ > (\d+)", re.I),
    re.compile(r"per min(?:ute)? \(TPM\): Limit (\d+), Requested"),
)
_TOTAL = (re.compile(r"per min(?:ute)? \(TPM\): Limit \d+, Requested (\d+)"),)  # prompt and reply limit together
_INPUT = (  # how long the prompt is, where that is stated exactly
    re.compile(r"request \((\d+) tokens\) exceeds"),
    re.compile(r"(\d+) `inputs` tokens"),
    re.compile(r"\((\d+) in the messages"),
    re.compile(r"request has (\d+) input tokens"),
    re.compile(r"context limit: (\d+) \+ \d+ >", re.I),
)
_PROMPT_TOO_LONG = ("the input length exceeds the context length", "tokens to keep from the initial prompt is greater")
"""Ollama and LM Studio: the prompt has no room, however short the reply."""
_MOST_OUTPUT = (  # the most that the model writes, whatever the prompt
    re.compile(r"supports at most (\d+) (?:completion|output) tokens", re.I),
    re.compile(r"> (\d+), which is the maximum allowed number of output tokens", re.I),
)


@dataclass(frozen=True, slots=True)
class LengthLimits:
    """The lengths stated in a refusal, in tokens."""

    context: int | None = None
    prompt: int | None = None
    total: int | None = None
    """The prompt and the limit of the reply together."""
    most_output: int | None = None
    prompt_alone: bool = False
    """The prompt is too long without any reply."""

    def for_reply(self, estimated_prompt: int, limit: int) -> int | None:
        """Computes the longest possible reply, after `limit` was refused; 0 or less if the prompt has no room, None if
        the refusal states too little."""
        if self.most_output is not None:
            return self.most_output
        if self.prompt_alone:
            return 0
        if self.context is None:
            return None
        if self.total is not None:
            return self.context - (self.total - limit)
        return self.context - (self.prompt if self.prompt is not None else estimated_prompt)


def read_length_limits(error: ApiError) -> LengthLimits | None:
    """Reads the lengths stated in a refusal; None if it is about something else."""
    message = error.message
    if (most := _find_number(_MOST_OUTPUT, message)) is not None:
        return LengthLimits(most_output=most)
    if not error.mentions(*_CONTEXT_WORDS):
        return None
    return LengthLimits(
        context=_find_number(_CONTEXT, message),
        prompt=_find_number(_INPUT, message),
        total=_find_number(_TOTAL, message),
        prompt_alone=error.mentions(*_PROMPT_TOO_LONG),
    )


def find_final_reason(error: ApiError) -> Final | None:
    """Returns why no further request can succeed (quota, key or model); None if one may."""
    beginning = error.message[:BEGINNING]
    if is_surely_out_of_money(error) or (error.status in {400, 403, 429} and NO_MONEY.search(beginning)):
        return "quota"
    if error.status == 400 and BAD_KEY.search(beginning):
        return "key"
    return "model" if error.status == 400 and BAD_MODEL.match(beginning) else None


def is_surely_out_of_money(error: ApiError) -> bool:
    """Whether the endpoint itself says that the account is empty, in a way that no case can bring about."""
    if error.status == 402 or NO_MONEY_CODES & {error.code, error.kind}:
        return True
    return error.status in {400, 403, 429} and OWN_NO_MONEY.match(error.message) is not None


def is_larger_than_a_minute(error: ApiError) -> bool:
    """Whether one request exceeds the tokens that the account may use in a minute: then waiting does not help."""
    return error.status == 429 and error.message.lower().startswith("request too large")


def is_quota(error: ApiError) -> bool:
    """Whether Google reports an exhausted quota; its wording is the same for that of a minute, a day or an account."""
    return error.status == 429 and error.message.lower().startswith("you exceeded your current quota")


def out_of_money(error: ApiError) -> RunStopped:
    """Makes the error that stops a run whose account is empty."""
    return RunStopped(f"the endpoint says that the account has no money or quota left: {error}", kind="quota")


def is_failed_generation(error: ApiError) -> bool:
    """Whether the model's output was refused and not the request: then it is worth asking again."""
    return error.status == 400 and error.code in FAILED_GENERATION


def is_too_complex(error: ApiError) -> bool:
    return error.status == 400 and error.mentions(*TOO_COMPLEX)


def _find_number(patterns: tuple[re.Pattern[str], ...], message: str) -> int | None:
    """Returns the first number that one of the patterns finds in a message."""
    for pattern in patterns:
        if found := pattern.search(message):
            return int(found[1].replace(",", ""))
    return None
