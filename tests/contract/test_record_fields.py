"""What a case is known by travels with its judgement: of every judge, of failures too, whole, and bounded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from pydantic import AliasChoices, BaseModel, Field

import krino
from krino.cases.item import CaseItem
from krino.contract import Judgement, Labelled, Labeller, Task
from krino.contract.record_fields import LONGEST_INPUT, list_names, text_names
from krino.engine.case import judge_item
from krino.labellers.local import LocalLabeller
from toy_judge import ToyCase, ToyJudge

CITED = {"citedCourtName": "Cass.", "cited_date": "2016-05-12", "cited_case_number": "C.15.0311.F"}
MATCH = {"decision_id": "ECLI:BE:CASS:2016:ARR.20160512.3", "court_name": "Cour de cassation", "confidence": 0.9}
SPAN = {"id": "s1", "type": "tool", "name": "search", "input": "x"}


@pytest.mark.parametrize(
    ("judge", "case", "inputs"),
    [
        (
            "rag",
            {"query": "How tall?", "response": "99 m.", "contexts": ["It is 99 m tall."], "reference": "99"},
            {"question": "How tall?", "answer": "99 m."},
        ),
        (
            "citation",
            {**CITED, "candidates": [], "matches": [MATCH, {**MATCH, "decision_id": "other"}]},
            {
                "citation": "Cass., 2016-05-12, C.15.0311.F",
                "matched": "ECLI:BE:CASS:2016:ARR.20160512.3, Cour de cassation (and 1 more)",
            },
        ),
        (
            "citation",
            {"citation_snippet": "see Cass. 12 May", "matches": []},
            {"citation": "see Cass. 12 May", "matched": "no match"},
        ),
        ("efficiency", {"instruction": "Book room 4.", "trace": [SPAN]}, {"task": "Book room 4."}),
    ],
)
def test_each_judge_names_what_its_cases_are_known_by(judge: str, case: dict[str, Any], inputs: dict[str, str]) -> None:
    judgement = krino.judge(judge, case)
    assert judgement.inputs == inputs
    assert json.loads(judgement.to_json())["inputs"] == inputs


def test_a_task_that_only_the_trace_states_is_found_there() -> None:
    messages = [{"role": "user", "content": "Is there a train?"}, {"role": "assistant", "content": "Yes, at ten."}]
    assert krino.judge("efficiency", {"messages": messages}).inputs == {"task": "Is there a train?"}


@pytest.mark.parametrize(
    ("judge", "case", "inputs"),
    [
        ("rag", {"query": "How tall?"}, {"question": "How tall?"}),
        ("rag", {"question": "How tall?", "answer": ["no", "text"]}, {"question": "How tall?"}),
        (
            "rag",
            {"question": "How tall?", "answer": "99 m.", "context": 7},
            {"question": "How tall?", "answer": "99 m."},
        ),
        ("citation", {**CITED, "model_output": "no JSON"}, {"citation": "Cass., 2016-05-12, C.15.0311.F"}),
        ("efficiency", {"task": "Say hello.", "trace": []}, {"task": "Say hello."}),
        ("efficiency", {"task": "Say hello.", "trace": "prose"}, {"task": "Say hello."}),
    ],
)
def test_a_case_that_failed_can_be_recognised(judge: str, case: dict[str, Any], inputs: dict[str, str]) -> None:
    judgement = krino.judge(judge, case)
    assert (judgement.status, judgement.inputs) == ("failed", inputs)


# --- judges of one's own ---------------------------------------------------------------------------


async def judged(judge: ToyJudge, labeller: Labeller | None = None, **record: Any) -> Judgement:
    return await judge_item(judge, labeller or LocalLabeller(), CaseItem(0, "c", record))


@pytest.mark.parametrize("text", ["fine", "unjudgeable", "explode", "label-explode"])
async def test_a_judge_that_says_nothing_gives_its_text_fields_whatever_becomes_of_the_case(text: str) -> None:
    assert (await judged(ToyJudge(), id="7", text=text)).inputs == {"text": text}


async def test_a_picture_as_text_is_nothing_to_read() -> None:
    for picture in ("data:image/png;base64,iVBORw0", "iVBORw0KGgoA" * 100):
        assert (await judged(ToyJudge(), text="fine", picture=picture)).inputs == {"text": "fine"}


class _Prompted(BaseModel):
    text: str = Field(validation_alias=AliasChoices("text", "body"))
    tags: list[str] = []
    title: Annotated[str | None, Field()] = None
    score: float = 0.0


class _AliasJudge(ToyJudge):
    case_model = _Prompted  # type: ignore[assignment]


async def test_aliases_are_found_in_a_record_that_could_not_be_typed() -> None:
    judgement = await judged(_AliasJudge(), body="fine", title="A title", score="high")
    assert (judgement.status, judgement.inputs) == ("failed", {"text": "fine", "title": "A title"})
    assert text_names(_AliasJudge()) == {"text", "body", "title"} and list_names(_AliasJudge()) == {"tags"}


class _Telling(ToyJudge):
    told: Any = None

    def main_inputs(self, case: ToyCase) -> dict[str, str]:
        if isinstance(self.told, Exception):
            raise self.told
        return self.told  # type: ignore[no-any-return]


async def test_long_texts_are_bounded_and_say_so_and_half_a_character_can_be_written() -> None:
    judge = _Telling()
    judge.told = {"long": "x" * 30_000, "half": "a\ud800b", "blank": "  ", **{f"n{n}": "more" for n in range(20)}}
    judgement = await judged(judge, text="fine")
    assert judgement.status == "ok" and len(judgement.inputs) == 8 and "blank" not in judgement.inputs
    assert judgement.inputs["long"] == "x" * LONGEST_INPUT + "… (cut: 20,000 of 30,000 characters)"
    assert json.loads(judgement.to_json())["inputs"]["half"] == "a?b"


class _Counting(LocalLabeller):
    asked = 0

    async def label(self, task: Task[Any, Any, Any]) -> Labelled[Any]:
        self.asked += 1
        return await super().label(task)


@pytest.mark.parametrize("told", [ValueError("a fault of its own"), {"text": 7}, ["text"]])
async def test_a_fault_in_main_inputs_is_an_error_before_anybody_is_asked(told: Any) -> None:
    judge, labeller = _Telling(), _Counting()
    judge.told = told
    judgement = await judged(judge, labeller, text="fine")
    assert judgement.status == "error" and labeller.asked == 0
    assert ("a fault of its own" in str(judgement.error)) or ("main_inputs" in str(judgement.error))
    assert judgement.inputs == {"text": "fine"}, "what the record says is still known"
    judge.told = {"text": "fine"}
    assert (await judged(judge, labeller, text="fine")).status == "ok" and labeller.asked == 1


def test_the_published_schema_knows_the_inputs_and_a_journal_without_them_is_read() -> None:
    assert Judgement.model_json_schema()["properties"]["inputs"]["additionalProperties"] == {"type": "string"}
    old: Mapping[str, Any] = {"id": "a", "judge": "toy", "judge_version": "1", "status": "failed", "verdict": None}
    assert Judgement.model_validate({**old, "reason": "no text", "input_hash": "0"}).inputs == {}
