"""What a judge does not read is no content: it makes no other case, at any depth; what it reads always does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import BaseModel, ConfigDict, model_validator

import krino
from krino.cases.content import content_hash, content_of
from krino.contract import hash_record
from krino.judges.rag.case import RagCase
from krino.judges.rag.judge import RagJudge
from krino.judges.registry import load_judge
from toy_judge import ToyJudge

CITATION: dict[str, Any] = {
    "id": "c1",
    "citedCourtName": "Cour du travail de Liège",
    "cited_date": "2014-05-06",
    "candidates": [
        {
            "id": "d1",
            "court": {"fr": "Cour du travail de Liège"},
            "rolnummer": "2013/AL/12",
            "rank": 1,
            "identifiers": {"ecli": "ECLI:BE:CTLIE:2014:ARR.20140506.1"},
        }
    ],
    "modelOutput": {
        "matches": [{"candidateId": "d1", "reasoning": "same court", "source": {"page": 2}}],
        "tokens": 3,
    },
    "ground_truth": {"decision_id": "d1", "annotator": "An"},
    "metadata": {"topic": "work", "snippet_match_type": "COURT_DATE"},
    "latencyMs": 12,
}


def without(record: dict[str, Any], *path: str | int) -> dict[str, Any]:
    """The record without what lies at the path."""
    copy: dict[str, Any] = orjson.loads(orjson.dumps(record))
    inner: Any = copy
    for part in path[:-1]:
        inner = inner[part]
    del inner[path[-1]]
    return copy


@pytest.mark.parametrize(
    "path",
    [("latencyMs",), ("modelOutput", "tokens"), ("ground_truth", "annotator")],
)
def test_an_unread_field_is_no_content(path: tuple[str | int, ...]) -> None:
    judge = load_judge("citation")
    assert content_hash(judge, without(CITATION, *path)) == content_hash(judge, CITATION)


@pytest.mark.parametrize(
    "path",
    [
        ("id",),
        ("citedCourtName",),
        ("candidates", 0, "rolnummer"),
        ("candidates", 0, "rank"),
        ("candidates", 0, "identifiers", "ecli"),
        ("modelOutput", "matches", 0, "source"),
        ("metadata", "topic"),
        ("candidates", 0, "court", "fr"),
        ("modelOutput", "matches", 0, "candidateId"),
        ("modelOutput", "matches", 0, "reasoning"),
        ("ground_truth", "decision_id"),
    ],
)
def test_a_field_that_is_read_is_content(path: tuple[str | int, ...]) -> None:
    judge = load_judge("citation")
    assert content_hash(judge, without(CITATION, *path)) != content_hash(judge, CITATION)


@pytest.mark.parametrize("name", ["citation", "rag", "efficiency"])
def test_a_case_is_the_same_without_what_is_no_content(name: str) -> None:
    judge = load_judge(name)
    lines = (Path(krino.__file__).parent / f"examples/{name}.jsonl").read_bytes().splitlines()
    for record in map(orjson.loads, lines):
        if name == "efficiency" and "trace" not in record:
            continue  # the record is the trace
        fields = type(judge.read(record)).model_fields
        noisy = {**record, "latency_ms": 5, "steps_of_the_pipeline": [{"a": 1}]}
        if name == "rag":
            for part in noisy.get("context", []):
                if isinstance(part, dict):
                    part["similarity_in_index"] = 0.5
        one, other = judge.read(record), judge.read(content_of(judge, noisy))
        assert content_hash(judge, noisy) == content_hash(judge, record)
        for field in fields:
            kept = [_known(getattr(case, field)) for case in (one, other)]
            assert kept[0] == kept[1], field


def _known(value: Any) -> Any:
    """Without keys that a model keeps and nobody reads."""
    if isinstance(value, BaseModel):
        return {name: _known(getattr(value, name)) for name in type(value).model_fields}
    return [_known(item) for item in value] if isinstance(value, tuple | list) else value


def test_metadata_and_its_columns_stay_content() -> None:
    judge, record = load_judge("rag"), {"question": "q", "answer": "a", "metadata": {"court": "x"}, "metadata.k": 1}
    assert content_of(judge, record) == record


def test_a_passage_keeps_its_title_and_loses_its_rank() -> None:
    record = {"context": [{"page_content": "p", "metadata": {"title": "t", "page": 3}, "rank": 1}, "text"]}
    kept = {"context": [{"page_content": "p", "metadata": {"title": "t"}}, "text"]}
    assert content_of(load_judge("rag"), record) == kept


def test_a_record_that_is_the_trace_is_content_as_a_whole() -> None:
    trace = {"messages": [{"role": "user", "content": "x"}], "anything": 1}
    assert content_of(load_judge("efficiency"), trace) is trace


# --- judges of others ------------------------------------------------------------------------------------


class Peeking(BaseModel):
    text: str

    @model_validator(mode="before")
    @classmethod
    def _any(cls, record: Any) -> Any:
        return {"text": record["other"] if record.get("text") == "see other" else record.get("text", "")}


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str


def test_a_plain_model_reads_its_fields_alone() -> None:
    assert content_hash(ToyJudge(), {"text": "x", "latency": 1}) == content_hash(ToyJudge(), {"text": "x"})


@pytest.mark.parametrize("model", [Peeking, Strict])
def test_where_code_sees_the_record_or_more_fields_matter_all_of_it_is_content(model: type[BaseModel]) -> None:
    class Judge(ToyJudge):
        case_model = model  # type: ignore[assignment]

    record = {"text": "see other", "other": "x"}
    assert content_hash(Judge(), record) == hash_record(record)


def test_what_a_class_declares_does_not_hold_for_a_subclass_that_reads_in_its_own_way() -> None:
    class Mine(RagJudge):
        def read(self, record: Any) -> RagCase:
            return super().read({**record, "answer": record["mine"]})

    record = {"question": "q", "answer": "a", "mine": "b"}
    assert content_of(Mine(), record) is record


# --- runs --------------------------------------------------------------------------------------------------


def test_a_changed_latency_judges_nothing_again_and_is_no_difference(tmp_path: Path) -> None:
    cases = [{"id": str(n), "text": f"fine {n}"} for n in range(3)]
    file = tmp_path / "cases.jsonl"
    write(file, [{**case, "latency": 1} for case in cases])
    first = krino.run(ToyJudge(), str(file), into=tmp_path / "one")
    write(file, [{**case, "latency": 2} for case in cases])
    seen: list[int] = []
    krino.run(ToyJudge(), str(file), into=tmp_path / "one", on_progress=lambda tally: seen.append(tally.counts.total))
    assert seen == []
    other = krino.run(ToyJudge(), str(file), into=tmp_path / "two")
    found = krino.compare(first, other)
    assert found.matching.other_content == 0


def write(file: Path, records: list[dict[str, Any]]) -> None:
    file.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
