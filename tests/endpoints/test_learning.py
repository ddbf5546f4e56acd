"""What an endpoint does not take is found out by one request at a time, once, and kept beside the reply cache."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from endpoints import Emulator, serve
from endpoints.asking import Run, ask_once, labeller_at, simple_cases
from endpoints.chat import is_json_schema, openai_error
from fake_llm import ReceivedRequest

CASES = simple_cases(80)
DAY = 24 * 3600


async def judge(server: Emulator, model: str, tmp_path: Path, cases: list[dict[str, Any]], **settings: Any) -> Run:
    labeller = labeller_at(server, model, concurrency=32, cache=tmp_path / "replies.sqlite", **settings)
    run = await ask_once(labeller, "rag", cases)
    assert run.statuses == ["ok"] * len(cases), run.errors
    return run


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("anthropic", "anthropic:claude-sonnet-5-5"),
        ("azure", "azure:gpt-5"),
        ("deepseek", "deepseek:deepseek-v4"),
        ("gemini", "gemini:gemini-3-pro"),
        ("groq", "groq:openai/gpt-oss-120b"),
        ("groq", "groq:llama-4"),
        ("litellm", "litellm:gpt-5"),
        ("lmstudio", "lmstudio:q"),
        ("mistral", "mistral:mistral-large"),
        ("openai", "openai:gpt-6"),
        ("openrouter", "openrouter:anthropic/claude-sonnet-5-5"),
        ("together", "together:llama-4"),
        ("vllm", "vllm:q"),
        ("xai", "xai:grok-5"),
    ],
)
async def test_lessons_cost_three_refusals_at_most_and_none_in_the_next_run(
    name: str, model: str, tmp_path: Path
) -> None:
    with serve(name, latency=0.02) as server:
        await judge(server, model, tmp_path, CASES[:40], seed=1)
        first = server.stats()
        assert first.refused_before_first_answer <= 3, server.errors
        assert first.refused == first.refused_before_first_answer, "a lesson is learnt once"
        assert first.max_in_flight > 4, "and then requests go side by side"
        server.reset()
        await judge(server, model, tmp_path, CASES[40:80], seed=1)
        assert server.refused == 0, server.errors


# --- servers that change ---------------------------------------------------------------------------------


async def test_a_server_that_takes_less_than_it_did_is_learnt_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve("openai") as server:
        await judge(server, "openai:gpt-4o", tmp_path, CASES[:30])
        taken = server.check

        def check(request: ReceivedRequest) -> None:
            if is_json_schema(request):
                raise openai_error(400, "This model does not support response_format json_schema.")
            taken(request)

        monkeypatch.setattr(server, "check", check)
        server.reset()
        await judge(server, "openai:gpt-4o", tmp_path, CASES[30:55])
        assert 1 <= server.refused <= 3
        server.reset()
        await judge(server, "openai:gpt-4o", tmp_path, CASES[55:])
        assert server.refused == 0, server.errors


async def test_a_server_that_takes_more_than_it_did_is_noticed_after_a_week(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve("groq") as server:
        await judge(server, "groq:llama-4", tmp_path, CASES[:30])
        monkeypatch.setattr(server, "check", lambda request: None)

        server.reset()
        await judge(server, "groq:llama-4", tmp_path, CASES[30:55])
        assert not any(is_schema(entry.body) for entry in server.log)

        later = time.time() + 8 * DAY
        monkeypatch.setattr("krino.labellers.llm.cache.time.time", lambda: later)
        server.reset()
        await judge(server, "groq:llama-4", tmp_path, CASES[55:])
        assert all(is_schema(entry.body) for entry in server.log)


def is_schema(body: dict[str, Any]) -> bool:
    return (body.get("response_format") or {}).get("type") == "json_schema"


async def test_what_one_model_does_not_take_is_not_held_against_another(tmp_path: Path) -> None:
    with serve("groq") as server:
        await judge(server, "groq:llama-4", tmp_path, CASES[:20])
        server.reset()
        await judge(server, "groq:openai/gpt-oss-120b", tmp_path, CASES[:20])
        assert any(is_schema(entry.body) for entry in server.log if entry.error is None)


async def test_what_the_user_insists_on_is_tried_again_in_every_run(tmp_path: Path) -> None:
    with serve("xai") as server:
        await judge(server, "xai:grok-5", tmp_path, CASES[:20], effort="high")
        server.reset()
        labeller = labeller_at(
            server, "xai:grok-5", cache=tmp_path / "replies.sqlite", effort="high", insist=["effort"]
        )
        run = await ask_once(labeller, "rag", CASES[20:40])
        assert run.stopped is not None
        assert (run.stopped.kind, server.answered) == ("settings", 0)
