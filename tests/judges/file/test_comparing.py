"""A comparison is asked in both orders: a label that turns with the order is a tie, and is counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import krino
from fake_llm import FakeServer
from fake_llm.replies import ReceivedRequest
from krino import Labelled, Labeller, Task
from krino.api.ranking import rank_systems
from krino.judges.file.judge import class_of_text
from krino.labellers.split_calls import label_in_parts

PAIR = """---
compare: [mine, theirs]
rules:
  SAME: {fact: mine == theirs, set: {label: tie}, message: They are the same.}
  SAID: {check: "label == 'tie' || size(quote) > 3", message: Quote more.}
---
Which is better? {mine} {theirs}
"""
CASE = {"mine": "A good answer.", "theirs": "Another good answer of more words."}


class Reads(Labeller):
    """Labels each order by a function of the two texts, in the order in which they are shown."""

    def __init__(self, choose: Any) -> None:
        self.choose = choose
        self.shown: list[tuple[str, ...]] = []

    def describe(self) -> dict[str, Any]:
        return {"kind": "reads"}

    async def label(self, task: Task[Any, Any, Any]) -> Labelled[Any]:
        async def one(piece: Task[Any, Any, Any]) -> Labelled[Any]:
            texts = {passage.name: passage.text for passage in piece.questions.passages}
            self.shown.append(tuple(texts))
            label = self.choose(texts["first"], texts["second"])
            quote = "" if label == "tie" else texts[label]
            return Labelled(piece.accept({"reason": "r", "quote": quote, "label": label}), {"kind": "reads"})

        return await label_in_parts(task, one)


def judged(choose: Any, case: dict[str, Any] = CASE) -> Any:
    return krino.judge(class_of_text(PAIR, "pair", "pair.md"), case, labeller=Reads(choose))


def test_one_that_wins_in_both_orders_wins() -> None:
    judgement = judged(lambda one, other: "first" if len(one) > len(other) else "second")
    assert judgement.verdict == {
        "winner": "theirs",
        "score": 0.0,
        "position_bias": False,
        "longer_won": True,
        "reason": "r",
    }
    assert judgement.rules == {
        "winner": "LABEL",
        "score": "TABLE",
        "position_bias": "BOTH-ORDERS",
        "longer_won": "LENGTH",
        "reason": "FREE-TEXT",
    }
    assert judgement.labels["other_order"] == "second"


@pytest.mark.parametrize("always", ["first", "second"])
def test_a_label_that_turns_with_the_order_is_a_tie_and_counted(always: str) -> None:
    judgement = judged(lambda one, other: always)
    assert judgement.verdict["winner"] == "tie"
    assert judgement.verdict["score"] == 0.5
    assert judgement.verdict["position_bias"] is True
    assert judgement.verdict["longer_won"] is None
    assert judgement.rules["winner"] == judgement.rules["score"] == "TURNED"
    assert [finding.rule for finding in judgement.findings] == ["TURNED"]


def test_a_tie_in_both_orders_is_a_tie_without_bias() -> None:
    judgement = judged(lambda one, other: "tie")
    assert (judgement.verdict["winner"], judgement.verdict["position_bias"]) == ("tie", False)
    assert judgement.rules["winner"] == "LABEL"


def test_a_tie_in_one_order_only_turned() -> None:
    judgement = judged(lambda one, other: "tie" if one == CASE["mine"] else "first")
    assert (judgement.verdict["winner"], judgement.verdict["position_bias"]) == ("tie", True)


def test_a_fact_saves_both_calls() -> None:
    judgement = judged(lambda one, other: "first", {"mine": "Same.", "theirs": "Same."})
    assert judgement.verdict["winner"] == "tie"
    assert judgement.verdict["position_bias"] is None
    assert judgement.labels is None
    assert judgement.decided_by["score"] == "SAME"


def test_a_labeller_is_not_shown_which_is_which() -> None:
    kind = class_of_text(PAIR, "pair", "pair.md")
    assert "mine" not in kind.default_prompt
    assert "theirs" not in kind.default_prompt
    labeller = Reads(lambda one, other: "tie")
    krino.judge(kind, CASE, labeller=labeller)
    assert labeller.shown == [("first", "second")] * 2


def test_rules_and_quotations_are_held_against_the_order_that_was_shown() -> None:
    judgement = judged(lambda one, other: "first", {"mine": "Abc.", "theirs": "Abcde fgh."})
    assert judgement.verdict["position_bias"] is True

    class Wrong(Reads):
        async def label(self, task: Task[Any, Any, Any]) -> Labelled[Any]:
            async def one(piece: Task[Any, Any, Any]) -> Labelled[Any]:
                try:
                    answer = {"reason": "r", "quote": "nowhere in it", "label": "first"}
                    return Labelled(piece.accept(answer), {})
                except ValueError as problem:
                    raise krino.LabelFailed(str(problem)) from None

            return await label_in_parts(task, one)

    refused = krino.judge(class_of_text(PAIR, "pair", "pair.md"), CASE, labeller=Wrong(None))
    assert refused.verdict is None
    assert "does not occur in `first` or `second`" in (refused.error or "")


@pytest.mark.parametrize(
    ("front", "told"),
    [
        ("compare: [a]", "names two inputs"),
        ("compare: [a, a]", "names two inputs"),
        ("compare: [a, c]", "names `c`"),
        ("inputs: {a: text, b: optional text}\ncompare: [a, b]", "names `b`"),
        ("compare: [a, b]\nlabels: {x: 1, y: 0}", "one label (`first`, `second`, `tie`)"),
    ],
)
def test_a_comparison_that_cannot_be_is_refused(front: str, told: str) -> None:
    with pytest.raises(krino.UsageProblem) as found:
        class_of_text(f"---\n{front}\n---\n{{a}} {{b}}\n", "pair", "pair.md")
    assert told in str(found.value)


# --- a run, and the table of it ----------------------------------------------------------------------

STRENGTH = {"best": 3, "good": 2, "also-good": 2, "weak": 1}


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    rows = []
    for number in range(15):
        for one, other in (
            ("best", "good"),
            ("good", "weak"),
            ("weak", "best"),
            ("good", "also-good"),
            ("also-good", "best"),
        ):
            answers = {"answer_a": f"{one} answer {number}", "answer_b": f"{other} answer {number}"}
            rows.append({"question": f"Which? {number}", **answers, "system_a": one, "system_b": other})
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def always_first() -> Iterator[FakeServer]:
    def reply(request: ReceivedRequest) -> dict[str, Any]:
        return {"reason": "It comes first.", "quote": "answer", "label": "first"}

    with FakeServer(reply=reply) as server:
        yield server


def test_a_model_that_always_prefers_the_first_gives_ties_and_bias_and_no_wins(
    tmp_path: Path, cases: Path, always_first: FakeServer
) -> None:
    labeller = krino.llm("fake", base_url=always_first.url, api_key="k", cache="off")
    run = krino.run("pairwise", cases, labeller=labeller, into=tmp_path / "run")
    verdicts = [judgement.verdict for judgement in run]
    assert len(verdicts) == 75
    assert all(verdict is not None and verdict["winner"] == "tie" for verdict in verdicts)
    assert all(verdict is not None and verdict["position_bias"] is True for verdict in verdicts)
    assert sum(judgement.usage.calls for judgement in run) == 150
    ranking = rank_systems(run)
    assert (ranking.ties, ranking.turned, ranking.decided) == (75, 75, 0)
    assert all(len(ranked.level_with) == 3 for ranked in ranking.systems)


def test_systems_are_ranked_with_intervals_and_those_alike_are_said_to_be(tmp_path: Path, cases: Path) -> None:
    def choose(one: str, other: str) -> str:
        first, second = STRENGTH[one.split()[0]], STRENGTH[other.split()[0]]
        return "first" if first > second else "second" if second > first else "tie"

    run = krino.run("pairwise", cases, labeller=Reads(choose), into=tmp_path / "run")
    ranking = rank_systems(run)
    assert ranking.systems[0].name == "best"
    assert ranking.systems[-1].name == "weak"
    named = {ranked.name: ranked for ranked in ranking.systems}
    assert "also-good" in named["good"].level_with
    assert "weak" not in named["best"].level_with
    assert named["best"].won == 45
    assert named["good"].tied == 15
    for ranked in ranking.systems:
        assert 0 < ranked.low <= ranked.strength <= ranked.high < 1


def test_a_run_without_names_of_systems_cannot_be_ranked(tmp_path: Path) -> None:
    run = krino.run("pairwise", [{"question": "q", "answer_a": "x", "answer_b": "x"}], into=tmp_path / "run")
    with pytest.raises(krino.UsageProblem, match="no two systems to rank"):
        rank_systems(run)
