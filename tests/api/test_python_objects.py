"""Frames, models and documents are taken as cases and labels, or refused by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import krino
from krino.cases.from_python import plain_record, rows_of_frame
from krino.errors import UsageProblem

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")


class Document:
    """As a document of LangChain's."""

    def __init__(self, text: str) -> None:
        self.page_content, self.metadata = text, {"title": "Handbook"}


@dataclass
class Node:
    text: str
    extra: dict[str, Any] = field(default_factory=dict)


class Case(BaseModel):
    question: str
    context: list[str]
    answer: str


ROW: dict[str, Any] = {"id": "a", "question": "How long is leave?", "answer": "Leave is 20 days."}
TEXT = "Leave is 20 days."


@pytest.mark.parametrize("context", [[Document(TEXT)], [Node(TEXT)], Document(TEXT), (TEXT,)])
def test_documents_and_dataclasses_are_passages(context: Any) -> None:
    assert krino.judge("rag", {**ROW, "context": context}).verdict["faithfulness"] == 1.0  # type: ignore[index]


def test_a_model_is_a_case() -> None:
    case: Any = Case(question=ROW["question"], context=[TEXT], answer=TEXT)
    assert krino.judge("rag", case).status == "ok"
    assert [judged.status for judged in krino.judge_many("rag", [case])] == ["ok"]


def frames() -> list[Any]:
    rows = [{**ROW, "context": [TEXT], "gap": None}, {**ROW, "id": "b", "context": [TEXT], "gap": 1.5}]
    return [pandas.DataFrame(rows), polars.DataFrame(rows), polars.DataFrame(rows).to_arrow()]


@pytest.mark.parametrize("number", range(3))
def test_a_frame_is_a_list_of_cases(number: int, tmp_path: Path) -> None:
    frame = frames()[number]
    assert [judged.id for judged in krino.judge_many("rag", frame)] == ["a", "b"]
    run = krino.run("rag", frame, into=tmp_path / "run")
    assert run.manifest.counts.ok == 2


def test_a_frame_of_documents_and_a_row_of_it_are_taken(tmp_path: Path) -> None:
    frame = pandas.DataFrame([{**ROW, "docs": [Document(TEXT)]}])
    assert krino.run("rag", frame, into=tmp_path / "run", mapping={"context": "docs"}).manifest.counts.ok == 1
    assert krino.judge("rag", frame.iloc[0], mapping={"context": "docs"}).status == "ok"


def test_what_cannot_be_taken_is_refused_by_its_name(tmp_path: Path) -> None:
    strange = {**ROW, "context": [object()]}
    assert "`context`[0] is a builtins.object" in (krino.judge("rag", strange).reason or "")
    with pytest.raises(krino.UsageProblem, match=r"case 1: `context`\[0\] is a builtins.object"):
        krino.run("rag", [strange], into=tmp_path / "run")
    with pytest.raises(krino.UsageProblem, match="case 1 is a int, not a mapping"):
        krino.run("rag", [1], into=tmp_path / "run")  # type: ignore[arg-type]


def test_labels_may_be_a_frame(tmp_path: Path) -> None:
    run = krino.run("rag", frames()[0], into=tmp_path / "run")
    labels: Any = pandas.DataFrame({"id": ["a", "b"], "faithfulness": [1.0, None]})
    rows: list[dict[str, Any]] = [{"id": "a", "faithfulness": 1.0}, {"id": "b"}]
    assert run.agree(labels).counts == run.agree(rows).counts


def test_a_frame_with_the_same_column_twice_is_refused_by_name() -> None:
    pandas_frame = pandas.DataFrame([["q", "a", "b"]], columns=["question", "answer", "answer"])
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table([["q"], ["a"], ["b"]], names=["question", "answer", "answer"])
    for frame in (pandas_frame, table, table.to_batches()[0]):
        with pytest.raises(UsageProblem, match="two columns named `answer`"):
            rows_of_frame(frame)
    with pytest.raises(UsageProblem, match="two columns named `answer`"):
        plain_record(pandas_frame.iloc[0], "case 1")
