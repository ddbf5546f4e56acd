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
from krino.cases.content import names_read
from krino.cases.field_notes import UnreadFields, note_odd_fields
from krino.cases.mapping import FieldMap
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
    assert list(note_odd_fields(iter(items), judge, said.append)) == items
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
    expected = ["not read by efficiency: expected"] if name == "efficiency" else []  # the score that its author expects
    assert told(load_judge(name), *map(orjson.loads, lines)) == expected


def test_many_and_hostile_names_are_told_briefly() -> None:
    (said,) = told(load_judge("rag"), {f"\x1b[31mfield {number} " + "x" * 500: 1 for number in range(30)})
    assert said.endswith(" and 20 more") and "\x1b" not in said and len(said) < 1_000


def test_what_went_unread_is_told_before_the_end_of_an_endless_stream() -> None:
    def endless() -> Iterator[CaseItem]:
        while True:
            yield CaseItem(0, "x", {"question": "q", "topic": "t"})

    said: list[str] = []
    items = note_odd_fields(endless(), load_judge("rag"), said.append)
    for _ in range(150):
        next(items)
    assert said == ["not read by rag: topic"]


# --- inside candidates, matches and passages ---------------------------------------------------------


def test_unread_names_inside_lists_are_told_the_misspelt_ones_first() -> None:
    record = {
        "cited_date": "x",
        "shelf": 1,
        "candidates": [{"id": 1, "court": "x", "rank": 1}, {"id": 2, "rolnumber": "x"}],
        "matches": [{"decision_id": 1, "confidnce": 0.9}],
    }
    (said,) = told(load_judge("citation"), record)
    assert said == (
        "not read by citation: candidates.*.rolnumber (did you mean rol_number?), "
        "matches.*.confidnce (did you mean confidence?), shelf, candidates.*.rank"
    )


def test_what_was_mapped_from_is_not_called_unread_but_what_lies_beside_it_is() -> None:
    mapping = {"question": "in.q", "context.*.text": "hits.*.doc.body", "answer": "out"}
    record = {"in": {"q": "q", "lang": "en"}, "hits": [{"doc": {"body": "b", "page": 1}, "sim": 1}], "out": "a"}
    mapped = FieldMap(tuple(mapping.items())).apply(record)
    said: list[str] = []
    list(note_odd_fields(iter([CaseItem(0, "0", mapped)]), load_judge("rag"), said.append, mapping))
    assert said == ["not read by rag: in.lang, context.*.doc.page, context.*.sim"]


def test_the_names_of_a_newcomers_log_are_read() -> None:
    record = {"user_query": "q", "retrieved_docs": ["c"], "bot_answer": "a", "gold": "r"}
    assert told(load_judge("rag"), record) == []
    case = load_judge("rag").read(record)
    assert (case.question, case.answer, case.reference) == ("q", "a", "r")


def test_an_object_of_a_candidate_in_which_its_ecli_is_found_is_read() -> None:
    found = UnreadFields(load_judge("citation"))
    found.add(
        {
            "cited_date": "2014-05-06",
            "candidates": [{"id": 1, "identifiers": {"ecli": "ECLI:BE:CASS:2014:1", "shelf": 3}, "size": {"mb": 1}}],
            "metadata": {"topic": "A", "snippet_match_type": "ECLI"},
        }
    )
    assert set(found.records) == {"candidates.*.identifiers.shelf", "candidates.*.size"}
