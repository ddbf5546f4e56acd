"""Notices that a server has cut the prompt: a verdict on a prompt that the model never saw is none.

Ollama drops the beginning of a prompt that is longer than its context, and answers HTTP 200 as if nothing had happened.
All that shows it is the number of input tokens in the reply.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from krino.errors import LabelFailed
from krino.labellers.llm.wire import Reply, Turn

MOST_CHARS_PER_TOKEN = 6.5
"""Prose has 3 to 5.5 characters per token in every language and tokeniser; a whole prompt never reaches this."""
COUNTS_IN_EARNEST = 16
"""Fewer input tokens than this are no count: the instructions alone have hundreds."""
_RUN = re.compile(r"([\s\W_])\1+")


def refuse_cut_prompt(system: str, turns: Sequence[Turn], reply: Reply) -> None:
    """Raises `LabelFailed` where the endpoint has counted fewer tokens than the text can have."""
    # Some servers count only the input that their cache did not hold.
    counted = reply.input_tokens + (reply.cached_tokens if reply.cached_tokens > reply.input_tokens else 0)
    if counted < COUNTS_IN_EARNEST:
        return
    texts = (system, *(turn.text for turn in turns))
    if sum(map(len, texts)) <= counted * MOST_CHARS_PER_TOKEN:
        return
    # A run of blanks, dashes or dots is few tokens however long it is.
    least = sum(len(_RUN.sub(r"\1", text)) for text in texts) / MOST_CHARS_PER_TOKEN
    if counted < least:
        raise LabelFailed(
            f"the endpoint cut the prompt: it read {counted:,} tokens of at least {least:,.0f}; raise the context "
            "length that the server loads the model with (Ollama: OLLAMA_CONTEXT_LENGTH), or shorten the case"
        )
