"""What goes wrong at endpoints that work: errors in odd places, one case's trouble, a parameter that is not there."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

import orjson
import pytest

from endpoints import KEY, LogEntry, serve
from endpoints.asking import ask_once, labeller_at, many_passages, many_steps, simple_cases
from krino.labellers.llm.abilities import MOSTLY_TOO_COMPLEX

CASES = simple_cases(30)


def form_of(entry: LogEntry) -> bytes:
    """How a request asks for its answer: the channel and the schema."""
    body = entry.body
    return orjson.dumps([body.get("response_format"), body.get("output_config"), body.get("tools")])


# --- errors where nobody expects them ------------------------------------------------------------------


@pytest.mark.parametrize("code", [429, 502])
async def test_an_error_inside_http_200_is_waited_out_and_costs_nothing(code: Literal[429, 502]) -> None:
    with serve("openrouter", hidden_error=code, hidden_every=3) as server:
        labeller = labeller_at(server, "openrouter:openai/gpt-5")
        run = await ask_once(labeller, "rag", CASES)
        stats = server.stats()
    assert run.statuses == ["ok"] * len(CASES), run.errors
    assert stats.refused == labeller.transport.retried > 5
    assert sum(judgement.usage.calls for judgement in run.judgements) == len(CASES)
    assert sum(judgement.usage.input_tokens for judgement in run.judgements) == stats.input_tokens
    assert sum(judgement.usage.output_tokens for judgement in run.judgements) == stats.output_tokens


async def test_what_the_provider_behind_a_router_refuses_is_left_out() -> None:
    """The router says "Provider returned error"; which keyword it was stands in a JSON text inside the error."""
    with serve("openrouter") as server:
        labeller = labeller_at(server, "vllm:anthropic/claude-sonnet-5-5", url=server.url, api_key=KEY)
        run = await ask_once(labeller, "rag", CASES)
        assert run.statuses == ["ok"] * len(CASES), run.errors
        assert all("Provider returned error" in error for error in server.errors)
        assert server.refused == server.stats().refused_before_first_answer == 2
    assert run.judgements[-1].labeller["not_supported"] == ["schema sized", "schema bounded"]


async def test_a_model_that_is_still_loading_is_waited_for() -> None:
    with serve("llamacpp", loading=3) as server:
        run = await ask_once(labeller_at(server, "llamacpp:q"), "rag", CASES)
        assert (run.statuses, server.refused) == (["ok"] * len(CASES), 3)


# --- one case's trouble is one case's ------------------------------------------------------------------


async def test_a_schema_that_one_case_makes_too_large_is_weaker_for_that_case_only() -> None:
    small = [{**many_steps(5), "id": f"small-{number}"} for number in range(12)]
    with serve("openrouter") as server:
        labeller = labeller_at(server, "openrouter:anthropic/claude-sonnet-5-5")
        run = await ask_once(labeller, "efficiency", [*small[:6], many_steps(150), *small[6:]])
        assert run.statuses == ["ok"] * 13, run.errors
        assert server.refused == 1
        forms = Counter(form_of(entry) for entry in server.log if entry.error is None)
    assert sorted(forms.values()) == [1, 12]
    assert "not_supported" not in run.judgements[-1].labeller


@pytest.mark.parametrize(("model", "code"), [("openai/gpt-oss-120b", "json_validate"), ("llama-4", "tool_use")])
async def test_a_generation_that_failed_is_asked_again_more_loosely_and_others_as_before(model: str, code: str) -> None:
    with serve("groq", failing=0.3) as server:
        run = await ask_once(labeller_at(server, f"groq:{model}"), "rag", CASES)
        assert run.statuses == ["ok"] * len(CASES), run.errors
        failed = sum(f"{code}_failed" in error for error in server.errors)
        forms = Counter(form_of(entry) for entry in server.log if entry.error is None)
    assert failed >= 5
    assert sorted(forms.values()) == [failed, len(CASES) - failed]


async def test_a_schema_with_too_many_states_is_weaker_for_the_case_with_many_passages_only() -> None:
    with serve("gemini", most_states=250) as server:
        run = await ask_once(labeller_at(server, "gemini:gemini-3-pro"), "rag", [*CASES, many_passages()])
        assert run.statuses == ["ok"] * (len(CASES) + 1), run.errors
        assert server.refused == 1, server.errors
        forms = Counter(form_of(entry) for entry in server.log if entry.error is None)
    assert sorted(forms.values()) == [1, len(CASES)]


async def test_where_most_schemas_are_too_large_all_are_sent_unbound() -> None:
    """A first small case was accepted, which says nothing of the others: each would be refused once."""
    large = [{**many_passages(), "id": f"large-{number}"} for number in range(60)]
    with serve("gemini", most_states=250, latency=0.005) as server:
        labeller = labeller_at(server, "gemini:gemini-3-pro")
        run = await ask_once(labeller, "rag", [*CASES[:1], *large])
        assert run.statuses == ["ok"] * 61, run.errors
        assert MOSTLY_TOO_COMPLEX <= server.refused <= MOSTLY_TOO_COMPLEX + 8, "8 are in flight at a time"
    assert labeller.abilities.dropped.count("schema bounded") == 1


@pytest.mark.parametrize(("name", "model"), [("openai", "openai:gpt-4o"), ("anthropic", "anthropic:claude-sonnet-5-5")])
async def test_a_model_that_declines_is_asked_once(name: str, model: str) -> None:
    with serve(name, refusing=True) as server:
        run = await ask_once(labeller_at(server, model), "rag", CASES)
        assert (run.statuses, server.requests) == (["error"] * len(CASES), len(CASES))
    assert all("the model declined to answer" in error for error in run.errors)
    assert sum(judgement.usage.cost is None for judgement in run.judgements) == len(CASES)


# --- a parameter that the model does not have ------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "model", "effort"),
    [
        ("xai", "xai:grok-5", "high"),
        ("anthropic", "anthropic:claude-haiku-4-5", "high"),
        ("openai", "openai:gpt-4o", "high"),
        ("openai", "openai:gpt-5", "ultra"),
    ],
)
async def test_an_effort_that_the_model_does_not_have_is_left_out_and_the_record_says_so(
    name: str, model: str, effort: str
) -> None:
    with serve(name) as server:
        run = await ask_once(labeller_at(server, model, effort=effort), "rag", CASES)
        assert run.statuses == ["ok"] * len(CASES), run.errors
        assert server.stats().refused_before_first_answer == server.refused <= 2
    assert "reasoning_effort" in run.judgements[-1].labeller["not_supported"]


async def test_an_effort_that_the_model_has_is_sent_in_every_dialect() -> None:
    def sent(body: dict[str, Any]) -> Any:
        return body.get("reasoning_effort") or body.get("think") or (body.get("output_config") or {}).get("effort")

    for name, model in [
        ("openai", "openai:gpt-5"),
        ("anthropic", "anthropic:claude-sonnet-5-5"),
        ("ollama", "ollama:q"),
    ]:
        with serve(name) as server:
            url = server.root if name == "ollama" else server.url
            await ask_once(labeller_at(server, model, url=url, effort="low", temperature=None), "rag", CASES[:3])
            assert [sent(entry.body) for entry in server.log] == ["low"] * 3, server.errors
