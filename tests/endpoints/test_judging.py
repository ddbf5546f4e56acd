"""What users see first: every endpoint judges every case of every judge, or says clearly why it cannot.

The cases are the examples that come with Krino, and those that strain an endpoint: 45 passages, 150 steps, and a case
of 8,000 tokens.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest

from endpoints import serve
from endpoints.asking import JUDGES, ask_once, examples, labeller_at, large, long_case, many_passages, simple_cases

NO_ROOM = re.compile(r"longer context or a shorter case|the endpoint cut the prompt: .* raise the context length")
"""What a user reads where a case does not fit: which setting to raise."""

NO_CASES = {"no-answer": "failed", "no-steps": "failed"}
"""Examples of what no labeller can judge: nothing is asked about them."""


class Way(NamedTuple):
    """One way in which users reach an endpoint."""

    endpoint: str
    model: str
    address: str = "url"
    """The attribute of the emulator that has the address."""
    does_not_fit: tuple[str, ...] = ()
    """Cases that are too long for the model's context there."""

    def __str__(self) -> str:
        return f"{self.model.replace('/', '-')} at {self.endpoint} {self.address}"


WAYS = [
    Way("anthropic", "anthropic:claude-sonnet-5-5"),
    Way("foundry", "anthropic:claude-sonnet-5-5"),
    Way("azure", "azure:gpt-5"),
    Way("azure", "azure:gpt-5", "v1_url"),
    Way("deepseek", "deepseek:deepseek-v4"),
    Way("gemini", "gemini:gemini-3-pro"),
    Way("groq", "groq:openai/gpt-oss-120b"),
    Way("groq", "groq:llama-4"),
    Way("litellm", "litellm:gpt-5"),
    Way("llamacpp", "llamacpp:q", does_not_fit=("long",)),
    Way("lmstudio", "lmstudio:q", does_not_fit=("long",)),
    Way("mistral", "mistral:mistral-large"),
    Way("ollama", "ollama:q", "native_url"),
    Way("ollama", "ollama:q", does_not_fit=("long", "many-steps")),
    Way("openai", "openai:gpt-5"),
    Way("openai", "openai:gpt-6"),
    Way("openrouter", "openrouter:anthropic/claude-sonnet-5-5"),
    Way("openrouter", "openrouter:openai/gpt-5"),
    Way("together", "together:llama-4", does_not_fit=("long",)),
    Way("vllm", "vllm:q", does_not_fit=("long",)),
    Way("xai", "xai:grok-5"),
]


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_every_case_is_judged_or_said_not_to_fit(way: Way, judge: str) -> None:
    cases = examples(judge) + large(judge)
    with serve(way.endpoint) as server:
        run = await ask_once(labeller_at(server, way.model, url=getattr(server, way.address)), judge, cases)
        assert server.refused <= 5, server.errors
    assert run.stopped is None
    wanted = {**NO_CASES, **dict.fromkeys(way.does_not_fit, "error")}
    assert [(judgement.id, judgement.status) for judgement in run.judgements] == [
        (case["id"], wanted.get(case["id"], "ok")) for case in cases
    ], run.errors
    assert all(NO_ROOM.search(error) for error in run.errors), run.errors


# --- prompts that do not fit -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "settings", "address"),
    [
        ("ollama", {"context": 640}, "url"),
        ("ollama", {"context": 2048}, "url"),
        ("lmstudio", {"context": 2048, "overflow": "empty"}, "url"),
    ],
)
async def test_nothing_is_judged_on_a_prompt_that_the_server_cut(
    name: str, settings: dict[str, Any], address: str
) -> None:
    """The answers are made from the whole prompt, so that nothing but the count of tokens gives the cut away."""
    cases = [case for case in examples("rag") if case["answer"]] + [long_case()]
    with serve(name, **settings) as server:
        run = await ask_once(labeller_at(server, f"{name}:q", url=getattr(server, address)), "rag", cases)
        assert server.longest_cut > 0
        assert run.statuses.count("ok") == server.answered - server.stats().cut_prompts


@pytest.mark.parametrize("release", ["0.12", "0.40"])
async def test_ollamas_own_dialect_loads_the_model_with_a_context_that_holds_the_case(release: str) -> None:
    with serve("ollama", context=4096, release=release) as server:
        run = await ask_once(labeller_at(server, "ollama:q", url=server.root), "rag", [long_case(48_000)])
        assert (run.statuses, server.longest_cut) == (["ok"], 0)
    with serve("ollama", context=4096, most_context=8192, release=release) as server:
        run = await ask_once(labeller_at(server, "ollama:q", url=server.root), "rag", [long_case(48_000)])
        assert (run.statuses, server.longest_cut) == (["error"], 0)
        assert NO_ROOM.search(run.errors[0]), run.errors
        assert server.refused <= 2


@pytest.mark.parametrize("wording", ["new", "old"])
async def test_a_reply_is_given_the_room_that_the_context_leaves(wording: str) -> None:
    """A case of 5,500 tokens fits a context of 8,192 if its reply is limited to the rest, thoughts included."""
    with serve("vllm", context=8192, wording=wording, thinking=400) as server:
        run = await ask_once(labeller_at(server, "vllm:q"), "rag", [long_case(10_000 + 100 * n) for n in range(6)])
        assert run.statuses == ["ok"] * 6, run.errors


@pytest.mark.parametrize(("name", "model"), [("groq", "groq:openai/gpt-oss-120b"), ("openai", "openai:gpt-4o")])
async def test_a_reply_is_given_what_is_left_of_a_minutes_tokens(name: str, model: str) -> None:
    """Both refuse for good what takes more than a minute allows, reply limit included, and say both numbers.

    OpenAI does so with the status of a limit that waiting would help against.
    """
    with serve(name, most_tokens=14_000) as server:
        labeller = labeller_at(server, model)
        run = await ask_once(labeller, "rag", [*simple_cases(3), long_case(), {**long_case(), "id": "again"}])
        assert run.statuses == ["ok"] * 5, run.errors
        assert sum("Request too large" in error for error in server.errors) <= 2
    with serve(name, most_tokens=6000) as server:
        run = await ask_once(labeller_at(server, model), "rag", [*simple_cases(3), long_case()])
        assert run.statuses == ["ok"] * 3 + ["error"]
        assert "a shorter case" in run.errors[0]


async def test_a_reply_that_has_no_room_says_so() -> None:
    with serve("vllm", context=2700) as server:
        run = await ask_once(labeller_at(server, "vllm:q"), "rag", [*simple_cases(3), many_passages()])
        assert run.statuses == ["ok"] * 3 + ["error"], run.errors
        assert NO_ROOM.search(run.errors[0]), run.errors
