"""Detects a prompt that the endpoint cut: it counted fewer input tokens than the prompt can have."""

from __future__ import annotations

import re

from krino.errors import LabelFailed
from krino.labellers.llm.wire import ChatRequest, Reply

MOST_CHARS_PER_TOKEN = 6.5
"""Prose has 3 to 5.5 characters per token in every language and tokeniser; a whole prompt never reaches this."""
FEWEST_COUNTED = 16
"""A smaller count of input tokens is none: the instructions alone have hundreds."""
_RUN = re.compile(r"([\s\W_])\1+")


def refuse_cut_prompt(request: ChatRequest, reply: Reply) -> None:
    """Raises `LabelFailed` if the endpoint counted fewer input tokens than the prompt can have.

    Ollama's OpenAI endpoint drops the beginning of a prompt that exceeds its context and still answers HTTP 200. Only
    the token count in the reply shows it, and labels for a prompt that the model never saw are worth nothing.
    """
    # Some servers count only the input that their cache did not hold.
    counted = reply.input_tokens + (reply.cached_tokens if reply.cached_tokens > reply.input_tokens else 0)
    if counted < FEWEST_COUNTED:
        return
    texts = (request.system, *(turn.text for turn in request.turns))
    if sum(map(len, texts)) <= counted * MOST_CHARS_PER_TOKEN:
        return
    # A run of blanks, dashes or dots is few tokens however long it is.
    fewest = sum(len(_RUN.sub(r"\1", text)) for text in texts) / MOST_CHARS_PER_TOKEN
    if counted < fewest:
        raise LabelFailed(
            f"the endpoint cut the prompt: it read {counted:,} tokens of at least {fewest:,.0f}; raise the context "
            "length that the server loads the model with (Ollama: OLLAMA_CONTEXT_LENGTH), or shorten the case"
        )
