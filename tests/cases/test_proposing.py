"""Which path is proposed for a field: never one of another answer, and of two alike the one among the others."""

from __future__ import annotations

from typing import Any

import pytest

from krino.cases.mapping import FieldMap
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


PASSAGES = [
    ["The shop opens at 9 in the morning."],
    ["A ticket costs 12 euros for grown-ups."],
    ["Anna runs the shop."],
]


def logs(make: Any) -> list[dict[str, Any]]:
    return [make(*row) for row in zip(ASKED, PASSAGES, SAID, strict=True)]


def sources(records: list[dict[str, Any]]) -> dict[str, str]:
    return {target: source for target, (source, _) in proposed("rag", records).items()}


def test_an_object_above_a_text_names_it() -> None:
    def make(asked: str, passages: list[str], said: str) -> dict[str, Any]:
        hits = [{"document": {"docWords": text}} for text in passages]
        return {"customer": {"wrote": asked, "country": "BE"}, "hits": hits, "assistant": {"wrote": said, "seconds": 3}}

    assert sources(logs(make)) == {
        "question": "customer.wrote",
        "context.*.text": "hits.*.document.docWords",
        "answer": "assistant.wrote",
    }


def test_an_id_below_a_known_name_is_not_the_text() -> None:
    def make(asked: str, passages: list[str], said: str) -> dict[str, Any]:
        request, response = (
            {"requestId": f"q-{asked[:4]}", "body": asked},
            {"responseId": f"a-{said[:6]}", "body": said},
        )
        return {"request": request, "response": response, "passages": passages}

    found = sources(logs(make))
    assert (found["question"], found["answer"]) == ("request.body", "response.body")


def test_the_one_text_of_several_words_in_a_passage_needs_no_name_and_the_longer_of_two_is_the_text() -> None:
    def make(asked: str, passages: list[str], said: str) -> dict[str, Any]:
        hits = [{"z": "Shop and its hours", "y": text * 3, "n": 1} for text in passages]
        return {"q": asked, "hits": hits, "a": said}

    found = sources(logs(make))
    assert found["context.*.text"] == "hits.*.y"
    assert "context.*.title" not in found


def test_a_name_of_which_some_records_have_nothing_gives_way_to_one_that_all_have() -> None:
    def make(asked: str, passages: list[str], said: str) -> dict[str, Any]:
        later = {"supervisor": {"reply": f"{said} Kindly."}} if asked == ASKED[0] else {}
        return {"question": asked, "context": passages, "bot": {"answered": said}, **later}

    assert sources(logs(make))["answer"] == "bot.answered"


@pytest.mark.parametrize("name", ["truth", "shouldHaveSaid", "desired", "label"])
def test_a_text_below_a_word_for_truth_is_the_reference(name: str) -> None:
    def make(asked: str, passages: list[str], said: str) -> dict[str, Any]:
        return {"question": asked, "context": passages, "reply": {"said": said}, name: {"response": f"Indeed: {said}"}}

    found = sources(logs(make))
    assert (found["answer"], found["reference"]) == ("reply.said", f"{name}.response")


def test_values_alone_choose_no_judge() -> None:
    """Any log has short numbers and texts: only what a name says counts for the choice between judges."""
    judged = load_judge("citation")
    records = [{"ticket": f"C.20.{n:04d}.N", "remark": text} for n, text in enumerate(SAID)]
    assert propose(judged, records)[1] == set()


def test_a_list_inside_an_object_of_the_same_name_is_taken_from_the_object() -> None:
    record = {"context": {"passages": [{"words": "one"}, {"words": "two"}]}}
    taken = FieldMap((("context.*.text", "context.passages.*.words"),)).apply(record)
    assert taken["context"] == [{"text": "one"}, {"text": "two"}]
