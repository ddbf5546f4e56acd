"""Which path is proposed for a field: never one of another answer, and of two alike the one among the others."""

from __future__ import annotations

from typing import Any

import pytest

from krino.cases.proposing import propose
from krino.judges.registry import load_judge

ASKED = ["When does the shop open?", "What does it cost?", "Who runs it?"]
SAID = ["It opens at 9 in the morning.", "It costs 12 euros.", "Anna Peeters runs the shop."]


def proposed(judge: str, records: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    return {item.target: (item.source, item.why) for item in propose(load_judge(judge), records)[0]}


@pytest.mark.parametrize("name", ["reference", "baseline", "gold", "expected", "previous", "old", "truth"])
def test_what_another_answered_is_never_the_answer(name: str) -> None:
    records = [
        {name: {"answer": text, "response": text}, "log": {"query": asked}}
        for asked, text in zip(ASKED, SAID, strict=True)
    ]
    assert "answer" not in proposed("rag", records)
    steps = [{"type": "tool", "name": "look", "input": "x", "output": "y"}]
    traces = [{"log": {"task": asked}, name: {"trace": steps, "steps": steps}} for asked in ASKED]
    assert "trace" not in proposed("efficiency", traces)


@pytest.mark.parametrize("name", ["baseline", "previous", "reference"])
def test_what_another_matched_is_never_the_match(name: str) -> None:
    records = [
        {
            "candidates": [{"decision_id": f"d{n}"}, {"decision_id": f"e{n}"}],
            name: {"match": {"decision": f"d{n}", "confidence": 0.9}},
        }
        for n in range(3)
    ]
    assert not [target for target in proposed("citation", records) if target.startswith("matches")]


@pytest.mark.parametrize("order", [("other", "run"), ("run", "other")])
def test_of_two_that_fit_alike_the_one_beside_the_others_is_proposed_and_the_rival_named(
    order: tuple[str, str],
) -> None:
    records = []
    for asked, text in zip(ASKED, SAID, strict=True):
        parts = {"run": {"query": asked, "response": text}, "other": {"response": f"{text} So they say."}}
        records.append({name: parts[name] for name in order})
    source, why = proposed("rag", records)["answer"]
    assert source == "run.response"
    assert why.endswith(", or other.response")


def test_a_label_is_the_name_of_a_thing_or_what_is_known_to_be_right() -> None:
    records = [
        {
            "cited": {"court": {"label": "Arbeidshof Gent"}},
            "hits": [{"docKey": f"{n}-{place}", "tribunal": {"label": "Arbeidshof Gent"}} for place in range(2)],
            "pick": {"docKey": f"{n}-0", "sureness": 0.9},
            "label": f"{n}-1",
        }
        for n in range(3)
    ]
    found = {target: source for target, (source, _) in proposed("citation", records).items()}
    assert found["cited_court_name"] == "cited.court.label"
    assert found["candidates.*.court_name"] == "hits.*.tribunal.label"
    assert found["ground_truth"] == "label"
    assert found["matches.*.confidence"] == "pick.*.sureness"


def test_the_label_of_a_record_is_never_its_answer() -> None:
    records = [
        {"asked": {"question": asked}, "label": {"answer": said}} for asked, said in zip(ASKED, SAID, strict=True)
    ]
    assert "answer" not in proposed("rag", records)


def test_a_text_inside_an_object_is_called_as_the_object() -> None:
    records = [
        {"chat": {"userAsks": asked, "agentSays": {"body": said, "lang": "en"}, "logId": f"u{n}"}}
        for n, (asked, said) in enumerate(zip(ASKED, SAID, strict=True))
    ]
    found = {target: source for target, (source, _) in proposed("rag", records).items()}
    assert found == {"id": "chat.logId", "question": "chat.userAsks", "answer": "chat.agentSays.body"}
