"""Krino asks an emulated endpoint as its users do: by its name, with the address moved by the environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

import krino
from endpoints.base import KEY, Emulator
from krino.examples import EXAMPLES

JUDGES = ("rag", "citation", "efficiency")
KEYS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "groq": "GROQ_API_KEY",
    "litellm": "LITELLM_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "together": "TOGETHER_API_KEY",
    "xai": "XAI_API_KEY",
}
"""Where each provider's key is looked for; the others want none."""


def labeller_at(server: Emulator, model: str, *, url: str | None = None, key: str = KEY, **settings: Any) -> Any:
    """The labeller `provider:model`, whose provider's address is the emulator's."""
    provider = model.partition(":")[0]
    env = {f"{provider.upper()}_BASE_URL": url or server.url}
    if provider in KEYS:
        env[KEYS[provider]] = key
    return krino.llm(model, **{"env": env, "cache": "off", "backoff": 0.001, "concurrency": 8, **settings})


class Run(NamedTuple):
    """What came of some cases; `stopped`: why the run ended before the last of them."""

    judgements: list[Any]
    stopped: krino.RunStopped | None = None

    @property
    def statuses(self) -> list[str]:
        return [judgement.status for judgement in self.judgements]

    @property
    def errors(self) -> list[str]:
        return [f"{judgement.id}: {judgement.error}" for judgement in self.judgements if judgement.status == "error"]

    @property
    def verdicts(self) -> list[Any]:
        return [judgement.verdict for judgement in self.judgements]


async def ask(labeller: Any, judge: str, cases: Iterable[Mapping[str, Any]]) -> Run:
    """The judgements of a labeller, which stays open."""
    judgements: list[Any] = []
    try:
        async for judgement in krino.ajudge_many(judge, cases, labeller=labeller):
            judgements.append(judgement)
    except krino.RunStopped as reason:
        return Run(judgements, reason)
    return Run(judgements)


async def ask_once(labeller: Any, judge: str, cases: Iterable[Mapping[str, Any]]) -> Run:
    async with labeller:
        return await ask(labeller, judge, cases)


# --- cases -------------------------------------------------------------------------------------------


def examples(judge: str) -> list[dict[str, Any]]:
    """Those that come with Krino."""
    with (EXAMPLES / f"{judge}.jsonl").open("rb") as lines:
        return [orjson.loads(line) for line in lines]


def simple_cases(count: int) -> list[dict[str, Any]]:
    """RAG cases of one shape."""
    return [
        {
            "id": f"c{number}",
            "question": f"What does shelf {number} hold?",
            "context": [f"Shelf {number} holds the letters of {1800 + number}."],
            "answer": f"Shelf {number} holds maps.",
        }
        for number in range(count)
    ]


def many_passages(count: int = 45) -> dict[str, Any]:
    passages = [f"LengthLimits {number} of the archive holds the maps of {1700 + number}." for number in range(count)]
    answer = "LengthLimits 7 holds maps. LengthLimits 9 holds stamps."
    return {"id": "many-passages", "question": "What does room 7 hold?", "context": passages, "answer": answer}


def long_case(characters: int = 32_000) -> dict[str, Any]:
    """About `characters` / 4 tokens of text."""
    rows: list[str] = []
    while sum(map(len, rows)) < characters:
        rows.append(" ".join(f"Crate {len(rows)}-{place} weighs {7 * place + len(rows)} kg." for place in range(40)))
    answer = "Crate 2-3 weighs 90 kg."
    return {"id": "long", "question": "How heavy is crate 2-3?", "context": rows, "answer": answer}


def many_steps(count: int = 150) -> dict[str, Any]:
    trace = [
        {"id": f"s{number}", "type": "tool", "name": "weigh", "input": {"crate": number}, "output": f"{7 * number} kg"}
        for number in range(count)
    ]
    return {"id": "many-steps", "task": "Weigh every crate.", "trace": trace}


def large(judge: str) -> list[dict[str, Any]]:
    """Cases that strain an endpoint: of its schemas, or of its context."""
    return {"rag": [many_passages(), long_case()], "citation": [], "efficiency": [many_steps()]}[judge]
