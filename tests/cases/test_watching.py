"""Fields that a judge does not read are told once, with the name that was perhaps meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field

import krino
from krino.cases import CaseItem
from krino.cases.watching import names_read, watched
from krino.judges.registry import load_judge
from toy_judge import ToyJudge


class AliasedCase(BaseModel):
    model_config = ConfigDict(extra="ignore")

    text: str = Field(validation_alias=AliasChoices("body", AliasPath("nested", "text")))


class AliasedJudge(ToyJudge):
    case_model = AliasedCase  # type: ignore[assignment]


def told(judge: Any, *records: Mapping[str, Any] | None) -> list[str]:
    said: list[str] = []
    items = [CaseItem(number, str(number), record) for number, record in enumerate(records)]
    assert list(watched(iter(items), judge, said.append)) == items
    return said


def test_a_mistyped_field_is_told_once_with_the_name_that_was_meant() -> None:
    record = {"id": 1, "question": "q", "contxt": ["c"], "answer": "a", "metadata": {}, "metadata.court": "x"}
    assert told(load_judge("rag"), record, None, record) == ["not read by rag: contxt (did you mean context?)"]


def test_every_name_that_a_judge_knows_a_field_by_is_read() -> None:
    known = {"user_input": "q", "retrieved_contexts": ["c"], "contexts": ["c"], "response": "a", "ground_truths": ["r"]}
    assert told(load_judge("rag"), {**known, "uid": "u", "evaluation_goal": "legal"}) == []
    assert told(AliasedJudge(), {"body": "x", "nested": {}}) == []
    assert told(AliasedJudge(), {"boddy": "x", "text": "x"}) == ["not read by toy: boddy (did you mean body?), text"]


def test_a_judge_that_takes_records_whole_reads_every_field() -> None:
    assert names_read(load_judge("efficiency")) is None
    assert told(load_judge("efficiency"), {"anything": 1}) == []


def test_the_citation_judge_reads_names_in_any_spelling_and_tells_of_others() -> None:
    read = {"citedCourtName": "x", "cited_date": "x", "candidatesList": [], "modelOutput": {}, "groundTruth": "x"}
    assert told(load_judge("citation"), {**read, "id": "1", "metadata": {}}) == []
    (said,) = told(load_judge("citation"), {**read, "citedCaseNumbr": "x", "reviewer": "Anna"})
    assert said == "not read by citation: citedCaseNumbr (did you mean cited_case_number?), reviewer"


@pytest.mark.parametrize("name", ["citation", "rag", "efficiency"])
def test_nothing_in_the_examples_goes_unread(name: str) -> None:
    lines = (Path(krino.__file__).parent / f"examples/{name}.jsonl").read_bytes().splitlines()
    assert told(load_judge(name), *map(orjson.loads, lines)) == []


def test_many_and_hostile_names_are_told_briefly() -> None:
    (said,) = told(load_judge("rag"), {f"\x1b[31mfield {number} " + "x" * 500: 1 for number in range(30)})
    assert said.endswith(" and 20 more") and "\x1b" not in said and len(said) < 1_000


def test_what_went_unread_is_told_before_the_end_of_an_endless_stream() -> None:
    def endless() -> Iterator[CaseItem]:
        while True:
            yield CaseItem(0, "x", {"question": "q", "topic": "t"})

    said: list[str] = []
    items = watched(endless(), load_judge("rag"), said.append)
    for _ in range(150):
        next(items)
    assert said == ["not read by rag: topic"]
