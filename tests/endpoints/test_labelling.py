"""The answers of emulated endpoints pass the judges' own checks at the first try, through every channel."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Literal

import orjson
import pytest

import krino
from endpoints import KEY, serve


def examples_of(judge: str) -> list[dict[str, Any]]:
    lines = (files("krino") / "examples" / f"{judge}.jsonl").read_bytes().splitlines()
    return [orjson.loads(line) for line in lines]


@pytest.mark.parametrize("judge", ["rag", "citation", "efficiency"])
@pytest.mark.parametrize("channel", ["json_schema", "tool", "json_object", "text"])
def test_every_judge_accepts_the_answers(
    judge: str, channel: Literal["json_schema", "tool", "json_object", "text"]
) -> None:
    cases = examples_of(judge)
    with serve("together", context=100_000) as server:
        labeller = krino.llm("m", base_url=server.url, api_key=KEY, cache="off", channel=channel)
        judgements = list(krino.judge_many(judge, cases, labeller=labeller))
        assert [one.error for one in judgements if one.error] == []
        assert 0 < server.answered == server.requests <= len(cases)
