"""Cases that are asked in parts, whatever the judge: joined labels are checked, and a judge must say how to join."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

import krino
from fake_llm import FakeServer
from krino import Finding, Passage, Questions
from krino.contract import AsksInParts
from toy_judge import ToyCase, ToyJudge, ToyLabels


class InParts(ToyJudge):
    """One part a word; how their labels are joined is left open."""

    def ask(self, case: ToyCase, facts: int) -> Questions | None:
        parts = [Questions((Passage("word", word),), "Good?", covers=(word,)) for word in case.text.split()]
        return Questions((), "", parts=tuple(parts))


class Joining(InParts, AsksInParts[ToyCase, int, ToyLabels]):
    def check_part(self, case: ToyCase, facts: int, part: Questions, labels: ToyLabels) -> list[str]:
        return []

    def join_parts(
        self, case: ToyCase, facts: int, labelled: Sequence[tuple[Questions, ToyLabels]]
    ) -> tuple[ToyLabels, tuple[Finding, ...]]:
        quote = " ".join(labels.quote for _, labels in labelled)
        return ToyLabels(label="good", quote=quote), (Finding("TOY-LABEL", f"joined {len(labelled)} parts"),)


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
