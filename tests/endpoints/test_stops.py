"""An empty account, a wrong key, an unknown model: the run stops at once and says which of them it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command_here import krino, own_folder
from endpoints import serve
from endpoints.asking import ask_once, labeller_at, simple_cases

CASES = simple_cases(200)
CONCURRENCY = 8
MODELS = {
    "anthropic": "anthropic:claude-sonnet-5-5",
    "azure": "azure:gpt-5",
    "deepseek": "deepseek:deepseek-v4",
    "foundry": "anthropic:claude-sonnet-5-5",
    "gemini": "gemini:gemini-3-pro",
    "groq": "groq:openai/gpt-oss-120b",
    "litellm": "litellm:gpt-5",
    "mistral": "mistral:mistral-large",
    "openai": "openai:gpt-5",
    "openrouter": "openrouter:openai/gpt-5",
    "together": "together:llama-4",
    "vllm": "vllm:q",
    "ollama": "ollama:q",
    "xai": "xai:grok-5",
}
LESSONS = 3
"""Requests that an endpoint may refuse for their form before the first success."""


@pytest.mark.parametrize("answers", [0, 20], ids=["from the start", "in the middle"])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("anthropic", {}),
        ("azure", {}),
        ("deepseek", {}),
        ("foundry", {}),
        ("litellm", {}),
        ("openai", {}),
        ("openai", {"trouble": "billing_not_active"}),
        ("openrouter", {}),
        ("together", {}),
        ("xai", {}),
    ],
)
async def test_an_empty_account_stops_the_run(name: str, settings: dict[str, Any], answers: int) -> None:
    with serve(name, empty_after=answers, latency=0.01, **settings) as server:
        run = await ask_once(labeller_at(server, MODELS[name], concurrency=CONCURRENCY), "rag", CASES)
        assert run.stopped is not None
        assert run.stopped.kind == "quota"
        assert "no money or quota left" in str(run.stopped)
        assert run.errors == [], "cases that an empty account refused stay open for the next run"
        # What was in flight when the first refusal was read may be refused as well, and nothing is sent after it.
        assert server.refused <= LESSONS + CONCURRENCY


async def test_geminis_quota_may_be_that_of_a_minute_so_it_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Google says the same of a minute's quota, of a day's, and of an account that is not paid."""
    monkeypatch.setattr("krino.labellers.llm.sending.retrying.QUOTA_SECONDS", 0.3)
    with serve("gemini", empty_after=20) as server:
        labeller = labeller_at(server, MODELS["gemini"], concurrency=CONCURRENCY, backoff=0.05)
        run = await ask_once(labeller, "rag", CASES)
        assert run.stopped is not None
        assert (run.stopped.kind, server.answered) == ("quota", 20)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in {"vllm", "ollama"}])
async def test_a_wrong_key_stops_the_run(name: str) -> None:
    with serve(name) as server:
        labeller = labeller_at(server, MODELS[name], key="of somebody else", concurrency=CONCURRENCY)
        run = await ask_once(labeller, "rag", CASES)
        assert run.stopped is not None
        assert (run.stopped.kind, run.judgements) == ("key", [])
        assert "the endpoint refuses the key" in str(run.stopped)
        assert "of somebody else" not in str(run.stopped)
        assert server.refused == 1


@pytest.mark.parametrize("name", [name for name in MODELS if name not in {"together"}])
async def test_an_unknown_model_stops_the_run(name: str) -> None:
    with serve(name) as server:
        provider = MODELS[name].partition(":")[0]
        labeller = labeller_at(server, f"{provider}:unknown-7", concurrency=CONCURRENCY)
        run = await ask_once(labeller, "rag", CASES)
        assert run.stopped is not None
        assert (run.stopped.kind, run.judgements) == ("model", [])
        assert "the endpoint knows no such model or address" in str(run.stopped)
        assert server.refused <= LESSONS


# --- the same from the command line --------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
    with own_folder(tmp_path, monkeypatch, "off"):
        yield tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("model", ["xai:grok-5", "xai:grok-5,xai:grok-6"])
def test_the_command_goes_on_without_an_effort_that_the_model_does_not_have(
    monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    Path("few.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES[:5]))
    command = ("judge", "rag", "few.jsonl", "-l", model, "--concurrency", "1")
    with serve("xai") as server:
        monkeypatch.setenv("XAI_BASE_URL", server.url)
        monkeypatch.setenv("XAI_API_KEY", server.key or "")
        done = krino(*command, "--run", "r", "--effort", "low")
        models = model.count(",") + 1
        assert (done.code, server.refused, server.answered) == (0, models, 5 * models), done.err
        assert done.err.count("not sent, because the endpoint does not take it: reasoning_effort") == 1
        assert "not sent" not in krino(*command, "--run", "r2").err


@pytest.mark.usefixtures("folder")
def test_the_command_ends_with_3_and_can_be_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("judge", "rag", "cases.jsonl", "--run", "r", "-l", "deepseek:deepseek-v4", "--concurrency", "8")
    with serve("deepseek", empty_after=20) as server:
        monkeypatch.setenv("DEEPSEEK_BASE_URL", server.url)
        monkeypatch.setenv("DEEPSEEK_API_KEY", server.key or "")
        done = krino(*command)
        assert (done.code, server.answered) == (3, 20), done.err
        assert server.refused <= CONCURRENCY + LESSONS
        assert "no money or quota left" in done.out + done.err
        server.empty_after = None
        done = krino(*command)
        assert (done.code, server.answered) == (0, 200), done.err
