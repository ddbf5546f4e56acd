"""The ready judges: small, described, and right on their own examples."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import krino
from krino.api.checking import check_file
from krino.contract.judge_checks import find_faults
from krino.judges.file.judge import FileJudge
from krino.judges.reference import JudgeReference
from krino.judges.registry import SHELF, address_of, find_namesake, is_ours, our_judge, shelf_names

LONGEST = 60
"""Lines: somebody who copies one reads it first."""


def made(name: str) -> FileJudge:
    judge = krino.load_judge(name)
    assert isinstance(judge, FileJudge)
    return judge


def test_there_are_at_least_ten() -> None:
    assert len(shelf_names()) >= 10


@pytest.mark.parametrize("name", shelf_names())
def test_a_ready_judge_is_small_described_and_right_on_its_examples(name: str) -> None:
    file = SHELF / f"{name}.md"
    checked = check_file(file)
    assert checked.lines == []
    assert len(checked.tried) >= 2
    assert len(file.read_text("utf-8").splitlines()) < LONGEST
    definition = made(name).definition
    assert definition.card.strip()
    assert definition.summary.endswith("?")
    assert definition.name == name
    assert all(known.about or known.kind == "choice" for known in definition.labels)
    described = [choice for label in definition.labels for choice in label.choices if len(label.choices) > 2]
    assert sum(bool(choice.about) for choice in described) >= len(described) / 2


@pytest.mark.parametrize("name", shelf_names())
def test_every_rule_of_a_ready_judge_is_seen_in_an_example_or_is_a_check(name: str) -> None:
    """A rule that no example shows might as well not be there."""
    from krino.api.checking import GivenLabels

    judge = made(name)
    seen: set[str] = set()
    for example in judge.definition.examples:
        labeller = GivenLabels(judge.definition, example.labels)
        judgement = krino.judge(judge, example.case, labeller=labeller)
        seen |= set(judgement.rules.values())
        seen |= {rule.id for rule in judge.definition.rules if rule.id in labeller.refused}
        notes = " ".join(line for lines in judgement.evidence.values() for line in lines)
        seen |= {rule.id for rule in judge.definition.rules if rule.message in notes}
    unseen = {rule.id for rule in judge.definition.rules if rule.kind != "check"} - seen
    assert not unseen


@pytest.mark.parametrize("name", shelf_names())
def test_a_ready_judge_is_one_of_ours(name: str) -> None:
    judge = made(name)
    assert is_ours(name)
    assert address_of(type(judge)) == name
    assert our_judge(name) is not None
    assert list(find_faults(judge, find_namesake)) == []


def test_the_offline_judge_asks_nobody() -> None:
    case = {"answer": "The tower is 90 metres tall.", "reference": "The tower is 102 metres tall."}
    judgement: Any = krino.judge("close-to-reference", case)
    assert judgement.status == "ok"
    assert judgement.usage.calls == 0
    assert judgement.verdict["score"] <= 0.5
    assert judgement.rules["score"] == "NUMBERS"


@pytest.mark.parametrize("name", shelf_names())
def test_a_ready_judge_can_be_sent_to_another_process(name: str) -> None:
    sent = pickle.dumps(JudgeReference.of(made(name)))
    arrived = pickle.loads(sent).load()
    assert arrived.fingerprint() == made(name).fingerprint()
