"""Cases that are asked in parts, whatever the judge: joined labels are checked, and a judge must say how to join."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import krino
from fake_llm import FakeServer
from parts_judge import InParts, Joining
from toy_judge import ToyJudge


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply={"label": "good", "quote": "fine"}) as running:
        yield running


async def judged(server: FakeServer, judge: ToyJudge, text: str) -> krino.Judgement:
    async with krino.llm("m", base_url=server.url, api_key="k", cache="off", backoff=0.001) as labeller:
        return await krino.ajudge(judge, {"text": text}, labeller=labeller)


async def test_parts_are_joined_as_the_judge_says(server: FakeServer) -> None:
    judgement = await judged(server, Joining(), "fine fine fine")
    assert (judgement.status, judgement.usage.calls) == ("ok", 3)
    assert judgement.labels == {"label": "good", "quote": "fine fine fine"}
    assert "joined 3 parts" in [finding.text for finding in judgement.findings]


async def test_joined_labels_have_to_pass_the_check_of_the_whole_case(server: FakeServer) -> None:
    judgement = await judged(server, Joining(), "fine and fine")
    assert (judgement.status, judgement.verdict, judgement.usage.calls) == ("error", None, 3)
    assert "the joined labels of 3 parts do not fit: quote: 'fine fine fine' does not occur" in (judgement.error or "")


async def test_a_judge_that_does_not_say_how_to_join_is_refused_before_anybody_is_asked(server: FakeServer) -> None:
    with pytest.raises(krino.UsageProblem, match="does not say how their labels are joined"):
        await judged(server, InParts(), "fine fine")
    assert server.stats().calls == 0
