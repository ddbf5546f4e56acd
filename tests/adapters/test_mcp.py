"""`krino mcp` works for the official client: it judges, explains and lists, and what was not judged is an error."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import krino
from adapter_cases import FILE, RAG, WITH_FRAMEWORKS
from command_line import environment, ran

pytestmark = WITH_FRAMEWORKS


@asynccontextmanager
async def client(folder: Path, *more: str) -> AsyncIterator[Any]:
    """A client of the command, over its stdin and stdout."""
    from mcp import Client, StdioServerParameters

    command = StdioServerParameters(
        command=sys.executable, args=["-m", "krino", "mcp", *more], env=environment(folder), cwd=folder
    )
    async with Client(command, read_timeout_seconds=120) as connected:
        yield connected


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_verdict_has_krinos_numbers_and_rules(tmp_path: Path, mode: str) -> None:
    from mcp import Client

    from krino.adapters.mcp import make_server

    async with Client(make_server(), mode=mode) as connected:
        for sample in RAG:
            case = {**sample.inputs, "answer": sample.answer}
            found = await connected.call_tool("judge", {"judge": "rag", "case": case})
            expected = krino.judge("rag", case)
            if expected.status == "ok":
                assert not found.is_error and expected.verdict is not None
                assert found.structured_content["verdict"]["faithfulness"] == expected.verdict["faithfulness"]
                assert found.structured_content["rules"] == expected.rules
            else:
                assert found.is_error and found.structured_content is None
                assert "not judged (failed)" in found.content[0].text


async def test_the_command_serves_all_tools_over_stdio(tmp_path: Path) -> None:
    async with client(tmp_path) as connected:
        named = {tool.name: tool for tool in (await connected.list_tools()).tools}
        assert set(named) == {"judge", "explain", "judges", "rules"}
        assert all(tool.description for tool in named.values())
        found = await connected.call_tool("judge", {"judge": "rag", "case": {**RAG[1].inputs, "answer": RAG[1].answer}})
        assert found.structured_content["verdict"]["faithfulness"] == 0.0
        rules = (await connected.call_tool("rules", {"judge": "rag"})).structured_content
        assert set(found.structured_content["rules"].values()) <= set(rules)
        explained = await connected.call_tool("explain", {"what": "ecli", "text": "ECLI:BE:CASS:2019:ARR.20190104.1"})
        assert "CASS" in str(explained.structured_content)
        listed = (await connected.call_tool("judges", {})).structured_content["result"]
        assert {"rag", "efficiency", "citation", "tone"} <= {judge["name"] for judge in listed}


async def test_a_judge_that_was_not_offered_is_refused_and_nothing_is_run(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("open('ran', 'w').close()\n")
    async with client(tmp_path) as connected:
        for name in ("evil.py:Judge", str(tmp_path / "evil.py"), "rubric:Is {text} good? yes=1 no=0", "../x.md"):
            found = await connected.call_tool("judge", {"judge": name, "case": {}})
            assert found.is_error and "there is no judge" in found.content[0].text
    assert not (tmp_path / "ran").exists()


async def test_a_garbage_reply_of_a_model_is_an_error(tmp_path: Path) -> None:
    from fake_llm import FakeServer

    (tmp_path / "kindness.md").write_text(FILE)
    with FakeServer(reply={"nonsense": True}) as model:
        limits = ("--labeller", "m", "--base-url", model.url, "--max-tokens", "100000")
        async with client(tmp_path, "--judge", "kindness.md", *limits) as connected:
            found = await connected.call_tool("judge", {"judge": "kindness", "case": {"text": "Thank you."}})
            assert found.is_error and "not judged (error)" in found.content[0].text
        assert model.stats().calls > 0


def test_a_model_needs_a_limit(tmp_path: Path) -> None:
    done = ran("mcp", "--labeller", "m", cwd=tmp_path, env=environment(tmp_path))
    assert done.returncode == 2
    assert "--max-cost" in done.stderr
