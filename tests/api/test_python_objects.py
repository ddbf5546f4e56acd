"""Frames, models and documents are taken as cases and labels, or refused by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import krino
from krino.api.attacking import attack
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


ARROW = pytest.importorskip("pyarrow")
CASES: list[dict[str, Any]] = [{**ROW, "context": [TEXT]}, {**ROW, "id": "b", "context": [TEXT]}]
LABELS: list[dict[str, Any]] = [{"id": "a", "faithfulness": 1.0}, {"id": "b", "faithfulness": 0.5}]


@dataclass
class Label:
    id: str
    faithfulness: float | None


class LabelModel(BaseModel):
    id: str
    faithfulness: float | None


def tables(rows: list[dict[str, Any]]) -> dict[str, Any]:
    frame, other = pandas.DataFrame(rows), polars.DataFrame(rows)
    table = other.to_arrow()
    return {
        "pandas": frame,
        "pandas with the id as index": frame.set_index("id"),
        "rows of pandas": list(frame.itertuples(index=False)),
        "polars": other,
        "a query of polars": other.lazy(),
        "arrow": table,
        "arrow batch": table.to_batches()[0],
        "arrow reader": ARROW.RecordBatchReader.from_batches(table.schema, table.to_batches()),
    }


TABLES = list(tables(CASES))


@pytest.mark.parametrize("kind", TABLES)
def test_every_kind_of_table_is_taken_by_judge_many_run_and_estimate(kind: str, tmp_path: Path) -> None:
    assert [judged.id for judged in krino.judge_many("rag", tables(CASES)[kind])] == ["a", "b"]
    run = krino.run("rag", tables(CASES)[kind], into=tmp_path / "run")
    assert ([judged.id for judged in run], run.manifest.counts.ok) == (["a", "b"], 2)
    assert krino.estimate("rag", tables(CASES)[kind]).cases == 2


@pytest.mark.parametrize("kind", TABLES)
def test_every_kind_of_table_is_taken_with_a_mapping(kind: str, tmp_path: Path) -> None:
    renamed = [{**case, "asked": case["question"]} for case in CASES]
    for case in renamed:
        del case["question"]
    mapping = {"question": "asked"}
    given = [tables(renamed)[kind] for _ in range(3)]
    assert [judged.status for judged in krino.judge_many("rag", given[0], mapping=mapping)] == ["ok", "ok"]
    assert krino.run("rag", given[1], into=tmp_path / "run", mapping=mapping).manifest.counts.ok == 2
    assert krino.estimate("rag", given[2], mapping=mapping).cannot_be_judged == 0


@pytest.mark.parametrize("kind", TABLES)
def test_every_kind_of_table_holds_labels(kind: str, labelled_run: krino.Run) -> None:
    wanted = krino.agree(labelled_run, LABELS)
    assert wanted.counts.labelled == 2
    assert krino.agree(labelled_run, tables(LABELS)[kind]) == wanted
    objects: tuple[Any, Any] = [Label(**row) for row in LABELS], [LabelModel(**row) for row in LABELS]
    assert all(krino.agree(labelled_run, given) == wanted for given in objects)


@pytest.fixture(name="labelled_run", scope="module")
def _labelled_run(tmp_path_factory: pytest.TempPathFactory) -> krino.Run:
    many = [{**CASES[0], "id": name} for name in ("a", "b", *map(str, range(12)))]
    return krino.run("rag", many, into=tmp_path_factory.mktemp("labels") / "run")


def test_labels_with_other_names_are_mapped(labelled_run: krino.Run, tmp_path: Path) -> None:
    mapping = {"id": "case", "faithfulness": "score"}
    rows = [{"case": row["id"], "score": row["faithfulness"]} for row in LABELS]
    wanted = krino.agree(labelled_run, LABELS)
    (tmp_path / "labels.csv").write_text("case,score\na,1.0\nb,0.5\n")
    for given in (rows, pandas.DataFrame(rows), polars.DataFrame(rows), tmp_path / "labels.csv"):
        assert krino.agree(labelled_run, given, mapping=mapping).counts == wanted.counts
        assert labelled_run.agree(given, mapping=mapping).counts == wanted.counts
    with pytest.raises(UsageProblem, match="mapping `faithfulness=scores`: no row of the labels has `scores`"):
        krino.agree(labelled_run, rows, mapping={"id": "case", "faithfulness": "scores"})
    with pytest.raises(UsageProblem, match="row 1 of the labels: field `number`"):
        krino.agree(labelled_run, rows, mapping={"id": "number"})


def test_a_label_that_one_row_lacks_is_no_label_and_null_is_one(labelled_run: krino.Run) -> None:
    mapping = {"faithfulness": "score"}
    lacking: list[dict[str, Any]] = [{"id": "a", "score": 1.0}, {"id": "b"}]
    null: list[dict[str, Any]] = [{"id": "a", "score": 1.0}, {"id": "b", "score": None}]
    plain: list[dict[str, Any]] = [{"id": "a", "faithfulness": 1.0}, {"id": "b", "faithfulness": None}]
    assert krino.agree(labelled_run, lacking, mapping=mapping) == krino.agree(labelled_run, [*plain[:1], {"id": "b"}])
    assert krino.agree(labelled_run, null, mapping=mapping) == krino.agree(labelled_run, plain)
    objects: Any = [Label("a", 1.0), Label("b", None)]
    assert krino.agree(labelled_run, objects) == krino.agree(labelled_run, plain)


def test_a_true_rate_is_estimated_from_any_table_with_any_names(labelled_run: krino.Run) -> None:
    rows = [{"id": str(number), "faithfulness": 1.0 if number % 3 else 0.5} for number in range(12)]
    renamed = [{"case": row["id"], "score": row["faithfulness"]} for row in rows]
    wanted = krino.true_rate(labelled_run, rows, "faithfulness")
    for table in tables(rows).values():
        assert krino.true_rate(labelled_run, table, "faithfulness") == wanted
    mapping = {"id": "case", "faithfulness": "score"}
    assert krino.true_rate(labelled_run, pandas.DataFrame(renamed), "faithfulness", mapping=mapping) == wanted


@pytest.mark.parametrize(
    "context",
    [
        *(pandas.Series([TEXT]), polars.Series([TEXT]), ARROW.array([TEXT]), ARROW.chunked_array([[TEXT]])),
        *(pandas.DataFrame({"text": [TEXT]}), polars.DataFrame({"text": [TEXT]}), ARROW.table({"text": [TEXT]})),
        *(pandas.Series([TEXT]).to_numpy(), [ARROW.scalar(TEXT)]),
    ],
    ids=lambda value: f"{type(value).__module__}.{type(value).__name__}",
)
def test_columns_arrays_and_tables_are_passages(context: Any) -> None:
    assert krino.judge("rag", {**ROW, "context": context}).verdict["faithfulness"] == 1.0  # type: ignore[index]


@pytest.mark.parametrize("number", range(3))
def test_a_table_where_one_case_is_wanted_is_refused_with_what_takes_it(number: int) -> None:
    case: Any = frames()[number]
    assert "a table of cases: give it to krino.judge_many or krino.run" in (krino.judge("rag", case).reason or "")


@pytest.mark.parametrize("given", [7, {"id": "a"}, LabelModel(id="a", faithfulness=1.0), b"id"])
def test_labels_that_are_no_rows_are_refused_by_their_type(given: Any, labelled_run: krino.Run) -> None:
    with pytest.raises(UsageProblem, match=f"table of pandas, Polars or Arrow, not a {type(given).__name__}"):
        krino.agree(labelled_run, given)


@pytest.mark.parametrize("given", [7, Node(TEXT), Case(question="q", context=[], answer="a")])
def test_cases_that_are_no_rows_are_refused_by_their_type(given: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=f"or a table of pandas, Polars or Arrow, not a {type(given).__name__}"):
        list(krino.judge_many("rag", given))
    with pytest.raises(UsageProblem, match=f"or a table of pandas, Polars or Arrow, not a {type(given).__name__}"):
        krino.run("rag", given, into=tmp_path / "run")


def test_attacks_and_alignment_take_tables_and_a_mapping(tmp_path: Path) -> None:
    rows = [{"id": case["id"], "ask": "How long?", "context": [TEXT], "answer": TEXT} for case in CASES]
    mapping = {"question": "ask"}
    tried = attack("rag", CASES).tried
    assert attack("rag", pandas.DataFrame(rows), mapping=mapping).tried == tried > 0
    with pytest.raises(UsageProblem, match="case 1 is a int, not a mapping"):
        attack("rag", [1])  # type: ignore[list-item]
    with pytest.raises(UsageProblem, match="field `asked`"):
        krino.align("rag", LABELS, polars.DataFrame(rows), of="faithfulness", mapping={"question": "asked"})
