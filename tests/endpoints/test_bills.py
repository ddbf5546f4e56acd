"""What emulated endpoints bill: prompt caches, reasoning that replies do not show, prompts that are cut."""

from __future__ import annotations

import json
from typing import Any

import pytest

from endpoints import Prices, serve
from endpoints.test_refusals import LONG, SCHEMA, TOOL, ask, bound_to, formed_by, post, saying

RULES = "rule " * 1000
MARK = {"prompt_cache_breakpoint": {"mode": "explicit"}}


def ruled(case: str, *, system: Any = RULES) -> dict[str, Any]:
    return {"messages": [{"role": "system", "content": system}, {"role": "user", "content": case}]}


def test_openai_reads_what_earlier_prompts_began_with_in_steps_of_128() -> None:
    with serve("openai") as server:
        first, second = (ask(server, "openai", **ruled(case)).body["usage"] for case in ("one", "two"))
        assert first["prompt_tokens_details"]["cached_tokens"] == 0
        assert second["prompt_tokens_details"]["cached_tokens"] == 1152
        assert server.cached_share == pytest.approx(1152 / server.stats().input_tokens)


def test_openai_does_not_cache_short_prompts_or_across_schemas() -> None:
    with serve("openai") as server:
        ask(server, "openai", **ruled("one", system="rule " * 700))
        ask(server, "openai", **ruled("two", system="rule " * 700))
        ask(server, "openai", **ruled("three"))
        ask(server, "openai", **ruled("four"), **bound_to(SCHEMA))
        assert server.cached_share == 0


@pytest.mark.parametrize(
    ("options", "system", "written", "read"),
    [
        ({}, RULES, True, False),
        ({"prompt_cache_options": {"mode": "explicit"}}, RULES, False, False),
        (
            {"prompt_cache_options": {"mode": "explicit"}},
            [{"type": "text", "text": RULES, **MARK}],
            True,
            False,
        ),
        (
            {"prompt_cache_options": {"mode": "explicit"}, "prompt_cache_key": "rules"},
            [{"type": "text", "text": RULES, **MARK}],
            True,
            True,
        ),
    ],
)
def test_newer_openai_models_write_whole_prompts_unless_told_where(
    options: dict[str, Any], system: Any, written: bool, read: bool
) -> None:
    with serve("openai") as server:
        for case in ("one", "two"):
            ask(server, "openai", model="gpt-6", **ruled(case, system=system), **options)
        stats = server.stats()
        assert (stats.cache_write_tokens > 0, stats.cached_tokens > 0) == (written, read)
        if not options:
            assert server.bill(Prices(1.0, 0.0)) == pytest.approx(1.25 * stats.input_tokens / 1e6)


def test_anthropic_caches_what_is_marked_until_the_format_changes() -> None:
    marked = [{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}]
    with serve("anthropic") as server:
        asked = [({}, "one"), ({}, "two"), (formed_by(SCHEMA), "three")]
        usage = [ask(server, "anthropic", system=marked, **saying(case), **more).body["usage"] for more, case in asked]
        ask(server, "anthropic", system=RULES, **saying("unmarked"))
        assert [one["cache_creation_input_tokens"] > 0 for one in usage] == [True, False, True]
        assert [one["cache_read_input_tokens"] > 0 for one in usage] == [False, True, False]
        assert server.stats().cache_write_tokens == sum(one["cache_creation_input_tokens"] for one in usage)


def test_reasoning_eats_the_limit_and_is_billed() -> None:
    with serve("openai", thinking=50) as server:
        reply = ask(server, "openai", model="gpt-5", max_completion_tokens=40).body
        assert reply["choices"][0]["finish_reason"] == "length"
        assert reply["usage"]["completion_tokens_details"]["reasoning_tokens"] == 40
        assert server.stats().output_tokens == 40


@pytest.mark.parametrize("name", ["gemini", "xai"])
def test_reasoning_that_is_not_in_completion_tokens_is_billed_all_the_same(name: str) -> None:
    with serve(name, thinking=700) as server:
        usage = ask(server, name).body["usage"]
        output = server.stats().output_tokens
        assert output == usage["completion_tokens"] + 700
        assert usage["total_tokens"] == usage["prompt_tokens"] + output
        assert server.bill(Prices(0.0, 2.0)) == pytest.approx(output * 2.0 / 1e6)


def test_gemini_leaves_the_content_out_where_thoughts_took_all_the_room() -> None:
    with serve("gemini", thinking=700) as server:
        choice = ask(server, "gemini", max_tokens=512).body["choices"][0]
        assert (choice["finish_reason"], "content" in choice["message"]) == ("length", False)


def test_xai_ends_tool_calls_without_a_word() -> None:
    with serve("xai") as server:
        assert ask(server, "xai", **TOOL).body["choices"][0]["finish_reason"] == ""


def test_mistral_thinks_in_parts_of_the_content() -> None:
    with serve("mistral", thinking=5) as server:
        content = ask(server, "mistral").body["choices"][0]["message"]["content"]
        assert [part["type"] for part in content] == ["thinking", "text"]


def test_ollama_cuts_a_long_prompt_and_does_not_say_so() -> None:
    with serve("ollama", context=4096) as server:
        reply = ask(server, "ollama", **saying(LONG))
        assert reply.status == 200
        assert reply.body["usage"]["prompt_tokens"] == 2050
        assert (server.stats().cut_prompts, server.longest_cut) == (1, 10_000)


@pytest.mark.parametrize(
    ("changes", "status", "cut"),
    [
        ({}, 200, 10_000),
        ({"truncate": False}, 400, 0),
        ({"truncate": False, "options": {"num_ctx": 16_384}}, 200, 0),
        ({"options": {"num_ctx": 16_384}}, 200, 0),
    ],
)
def test_ollama_natively_takes_a_context_and_can_be_told_not_to_cut(
    changes: dict[str, Any], status: int, cut: int
) -> None:
    with serve("ollama", most_context=32_768) as server:
        body = {"model": "qwen3:8b", "stream": False, "format": SCHEMA, **saying(LONG), **changes}
        reply = post(server.url.removesuffix("/v1") + "/api/chat", body)
        assert (reply.status, server.longest_cut) == (status, cut)
        if status == 200:
            assert json.loads(reply.body["message"]["content"])["colour"] in ("red", "blue")
            assert reply.body["prompt_eval_count"] == (2050 if cut else 10_000)


def test_ollama_gives_no_more_context_than_the_model_has() -> None:
    with serve("ollama", most_context=8192) as server:
        options = {"options": {"num_ctx": 65_536}, "truncate": False, "stream": False}
        reply = post(server.url.removesuffix("/v1") + "/api/chat", {"model": "q", **saying(LONG), **options})
        assert (reply.status, "8192" in reply.text) == (400, True)


def test_lm_studio_can_answer_an_overflow_with_nothing() -> None:
    with serve("lmstudio", overflow="empty") as server:
        reply = ask(server, "lmstudio", **saying(LONG))
        assert (reply.status, reply.body["choices"][0]["message"]["content"]) == (200, "")
        assert server.longest_cut == 10_000


def test_the_log_tells_what_was_sent_and_what_came_of_it() -> None:
    with serve("mistral") as server:
        ask(server, "mistral", seed=1)
        ask(server, "mistral")
        assert [(entry.status, "seed" in entry.body) for entry in server.log] == [(422, True), (200, False)]
        assert server.stats().refused_before_first_answer == len(server.errors) == 1
