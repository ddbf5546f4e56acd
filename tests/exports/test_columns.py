"""A run as a table: the same columns in CSV, Parquet and data frames, and nothing that a spreadsheet could run."""

from __future__ import annotations

import builtins
import csv
import io
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import krino
from krino.contract import Ballot, Judgement
from krino.contract.identity import JudgedBy
from krino.exports.columns import FIRST, NESTED, column_values, find_columns, with_identity
from krino.exports.csv_file import write_csv
from krino.exports.parquet_file import ParquetBeside, write_parquet
from krino.text.formulas import RUNS_AS_FORMULA
from made_judgements import failed, manifest, many, ok
from made_runs import store_run


def csv_rows(*judgements: dict[str, Any], every_column: bool = True) -> list[dict[str, str]]:
    sink = io.BytesIO()
    write_csv(sink, lambda: judgements, every_column=every_column)
    rows = list(csv.DictReader(io.StringIO(sink.getvalue().decode(), newline="")))
    assert len(rows) == len(judgements)
    return rows


def parquet_rows(*judgements: dict[str, Any]) -> Any:
    sink = io.BytesIO()
    write_parquet(sink, lambda: judgements)
    return pq.read_table(io.BytesIO(sink.getvalue()))


def test_columns_begin_with_what_a_reader_looks_for_and_end_with_what_is_nested() -> None:
    asked = {"inputs": {"question": "How tall?", "answer": "99 m."}}
    names = list(find_columns([{**ok(0, score=0.5), **asked}, failed(1)]))
    assert names[:4] == [*FIRST, "inputs_question", "inputs_answer"]
    assert names[4:9] == ["roll_up", "verdict_score", "reason", "error", "notes"]
    assert tuple(names[-len(NESTED) :]) == NESTED


def test_a_person_gets_the_columns_that_are_for_people_and_everybody_gets_the_case() -> None:
    judgement = {**ok(0, ("N1",), score=0.5), "inputs": {"question": "How tall?"}, "metadata": {"court": "CASS"}}
    (row,) = csv_rows(judgement, every_column=False)
    assert row == {
        "id": "case-0",
        "status": "ok",
        "inputs_question": "How tall?",
        "roll_up": "",
        "verdict_score": "0.5",
        "reason": "",
        "error": "",
        "notes": "look here [N1]",
        "metadata_court": "CASS",
        "judge": "toy",
        "judge_version": "1.0",
        "judge_fingerprint": "",
        "prompt_hash": "",
        "labelled_by": "",
        "agreement": "",
    }
    assert {"usage_cost", "labels", "evidence", "index"} <= csv_rows(judgement)[0].keys()
    assert parquet_rows(judgement)["inputs_question"].to_pylist() == ["How tall?"]
    assert list(krino.frame([judgement])["inputs_question"]) == ["How tall?"]


def test_every_row_says_who_judged_it() -> None:
    parts = {"prompt_hash": "p1", "source": "s", "schemas": "c", "rules": "r", "data": "d"}
    who = JudgedBy.of({"name": "toy", "version": "1.0", **parts}, agreement="kappa 0.8")
    asked = {**ok(0, score=0.5, labelled=True), "labeller": {"kind": "llm", "model": "small-1"}}
    first, second = csv_rows(*map(dict, with_identity([asked, ok(1, score=1.0)], who)), every_column=False)
    assert (first["judge_fingerprint"], first["prompt_hash"]) == (who.judge_fingerprint, "p1")
    assert (first["labelled_by"], first["agreement"]) == ("small-1", "kappa 0.8")
    assert second["labelled_by"] == "", "facts alone decided it"
    assert second["judge_fingerprint"] == who.judge_fingerprint


def test_an_input_cannot_take_the_name_of_a_column_of_ours() -> None:
    inputs = {"hash": "mine", "score": "not the verdict's", "id": "not the case's"}
    row = csv_rows({**ok(0, score=0.5), "inputs": inputs})[0]
    assert (row["input_hash"], row["verdict_score"], row["id"]) == ("0" * 32, "0.5", "case-0")
    assert [row[f"inputs_{name}"] for name in inputs] == list(inputs.values())


def test_the_ballots_of_a_panel_are_kept_and_none_is_null_however_written() -> None:
    ballot = Ballot("a", labels={"label": "good"}, verdict={"score": 1.0})
    with_ballots = {**ok(0, score=1.0), "ballots": [asdict(ballot)]}
    unwritten = {name: value for name, value in ok(2, score=1.0).items() if name != "ballots"}
    told, empty, left_out = column_values([with_ballots, ok(1, score=1.0), unwritten], {"ballots": "text"})["ballots"]
    assert [(seat["member"], seat["verdict"]) for seat in json.loads(str(told))] == [("a", {"score": 1.0})]
    assert (empty, left_out) == (None, None)


def test_verdict_fields_that_only_later_cases_have_stand_with_their_kin() -> None:
    first, second = ok(0, score=0.5), {**ok(1, score=0.5, extra="x"), "metadata": {"court": "CASS"}}
    names = list(find_columns([first, second]))
    assert names.index("verdict_extra") == names.index("verdict_score") + 1
    assert names.index("error") < names.index("metadata_court") < names.index("usage_seconds") < names.index("judge")


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "int"),
        ([1, 2.5], "float"),
        ([True, None], "bool"),
        ([True, 1], "text"),
        (["a", 1], "text"),
        ([None], "text"),
        ([2**70], "text"),
        ([[1, 2]], "ints"),
        ([[1, "a"]], "text"),
    ],
)
def test_a_column_has_the_one_kind_that_all_its_values_have(values: list[Any], kind: str) -> None:
    judgements = [ok(n, field=value) for n, value in enumerate(values)]
    assert find_columns(judgements)["verdict_field"] == kind
    assert parquet_rows(*judgements).num_rows == len(values)


def test_our_own_columns_keep_their_kind_whatever_a_run_holds() -> None:
    kinds = find_columns([failed(0)])
    assert kinds["usage_cost"] == "float" and kinds["error"] == "text" and kinds["index"] == "int"


def test_csv_has_a_row_for_every_case_and_no_number_beside_a_failure() -> None:
    good, bad = csv_rows(ok(0, score=0.25, fine=True), failed(1, "answer: missing"))
    assert (good["id"], good["verdict_score"], good["verdict_fine"]) == ("case-0", "0.25", "true")
    assert (bad["status"], bad["verdict_score"], bad["reason"]) == ("failed", "", "answer: missing")
    assert json.loads(good["evidence"]) == {"score": ["seen in passage 1"], "fine": ["seen in passage 1"]}


@pytest.mark.parametrize("first", RUNS_AS_FORMULA)
def test_no_text_of_a_case_can_run_as_a_formula(first: str) -> None:
    formula = f'{first}HYPERLINK("http://evil","x")'
    judgement = {**ok(0, note=formula), "id": formula, "metadata": {formula: formula}}
    sink = io.BytesIO()
    write_csv(sink, lambda: [judgement])
    head, row = csv.reader(io.StringIO(sink.getvalue().decode(), newline=""))
    assert not [cell for cell in (*head, *row) if cell.startswith(RUNS_AS_FORMULA)]
    assert row[head.index("id")].lstrip("'").endswith('HYPERLINK("http://evil","x")')


def test_a_formula_behind_an_invisible_character_cannot_run_either() -> None:
    (row,) = csv_rows({**ok(0, score=1.0), "id": "\ufeff\x1b[31m=1+1"})
    assert row["id"] == "'=1+1"


@pytest.mark.parametrize(
    "text", ["x;=1+1", "x;@SUM(A1)", "x\t=1+1", "x\n=1+1", "x\r\n=1+1", "x; =1+1", 'x;"=1+1"', "a;＝1;-2"]
)
@pytest.mark.parametrize("separator", [";", "\t"])
def test_no_text_can_run_where_the_spreadsheet_splits_at_another_separator(text: str, separator: str) -> None:
    sink = io.BytesIO()
    write_csv(sink, lambda: [{**ok(0, note=text), "id": text, "findings": [text]}])
    lines = list(csv.reader(io.StringIO(sink.getvalue().decode(), newline=""), delimiter=separator))
    assert not [cell for line in lines for cell in line if cell.strip(' "').startswith(RUNS_AS_FORMULA)]


def test_signs_in_the_middle_of_a_text_stay_as_they_are() -> None:
    (row,) = csv_rows(ok(0, note="a = b; c - d\ne+f, =g"))
    assert row["verdict_note"] == "a = b; c - d\ne+f, =g"


def test_negative_numbers_stay_numbers() -> None:
    (row,) = csv_rows(ok(0, score=-0.5))
    assert row["verdict_score"] == "-0.5"


def test_quotes_line_breaks_and_broken_text_survive_csv() -> None:
    (row,) = csv_rows(ok(0, note='a "quoted",\nline \ud800'))
    assert row["verdict_note"] == 'a "quoted",\nline ?'


def test_parquet_has_the_same_columns_as_csv() -> None:
    judgements = (ok(0, score=0.25, tags=["a"]), failed(1))
    table = parquet_rows(*judgements)
    assert table.column_names == list(csv_rows(*judgements)[0])
    assert table["verdict_score"].to_pylist() == [0.25, None]
    assert table["verdict_tags"].to_pylist() == [["a"], None]


def test_a_run_without_judgements_leaves_no_parquet_file_beside_it(tmp_path: Path) -> None:
    with ParquetBeside(tmp_path, list) as table:
        assert table.write() is None
    assert list(tmp_path.iterdir()) == []


def beside(folder: Path, judgements: list[dict[str, Any]]) -> tuple[Any, int]:
    """The table beside a run of these judgements, and how often they were read again to make it."""
    read: list[int] = []

    def again() -> list[dict[str, Any]]:
        read.append(1)
        return judgements

    with ParquetBeside(folder, again) as table:
        for judgement in judgements:
            table.add(judgement)
        path = table.write()
    return pq.read_table(path), len(read)


def test_the_table_beside_a_run_is_that_of_the_export_and_read_once(tmp_path: Path) -> None:
    judgements = [ok(0, score=0.25, tags=["a"]), failed(1), ok(2, score=None, late=True)]
    table, read = beside(tmp_path, judgements)
    exported = parquet_rows(*judgements)
    assert (table.to_pylist(), table.schema) == (exported.to_pylist(), exported.schema)
    assert read == 0


@pytest.mark.parametrize("last", [{"score": 0.5}, {"score": "high"}, {"score": 1, "late": 2}, {"score": None}])
def test_a_column_that_turns_out_to_hold_something_else_is_written_again(
    tmp_path: Path, last: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krino.exports.parquet_file.ROWS", 2)
    monkeypatch.setattr("krino.exports.parquet_file.AT_ONCE", 1)
    judgements = [ok(0, score=1), ok(1, score=2), ok(2, score=3), ok(3, **last)]
    table, read = beside(tmp_path, judgements)
    assert table.to_pylist() == parquet_rows(*judgements).to_pylist()
    assert read == (0 if last == {"score": None} else 1)


def test_csv_takes_no_more_memory_for_many_cases_than_for_a_few(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        with (tmp_path / "out.csv").open("wb") as sink:
            write_csv(sink, lambda: many(count))
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    assert peak(4_000) < peak(400) + 200_000


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    return store_run(tmp_path / "run", [ok(0, score=0.5, fine=True), failed(1)], manifest())


def test_a_run_is_loaded_with_its_manifest_and_judgements(run_folder: Path) -> None:
    run = krino.load_run(run_folder)
    assert run.manifest.plan.judge["name"] == "toy"
    assert [judgement.status for judgement in run] == ["ok", "failed"]
    assert len(list(run.records())) == 2
    assert run["case-1"].reason == "answer: missing"
    with pytest.raises(KeyError, match="case-9"):
        run["case-9"]


def test_what_is_no_run_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(krino.UsageProblem, match="no run folder"):
        krino.load_run(tmp_path)
    with pytest.raises(krino.UsageProblem, match="there is no such folder"):
        krino.load_run(tmp_path / "nowhere")


def test_a_run_that_was_never_begun_has_no_judgements(tmp_path: Path) -> None:
    manifest(state="running").write(tmp_path)
    run = krino.load_run(tmp_path)
    assert list(run) == [] and len(run) == 0


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_frame_has_a_row_for_every_case_and_keeps_nulls(run_folder: Path, kind: Any) -> None:
    frame = krino.frame(run_folder, kind)
    assert len(frame) == 2
    names = list(frame.column_names if kind == "arrow" else frame.columns)
    assert names == list(find_columns(krino.load_run(run_folder).records()))
    assert _values(frame, kind, "verdict_score") == [0.5, None]
    assert _values(frame, kind, "verdict_fine") == [True, None]
    assert _values(frame, kind, "status") == ["ok", "failed"]


def _values(frame: Any, kind: str, name: str) -> list[Any]:
    if kind == "pandas":
        return [None if value is krino_na() else value for value in frame[name]]
    return list(frame[name].to_pylist() if kind == "arrow" else frame[name].to_list())


def krino_na() -> Any:
    import pandas

    return pandas.NA


def test_a_frame_is_made_of_judgements_at_hand_too() -> None:
    judgements: list[Judgement | dict[str, Any]] = [Judgement.model_validate(ok(0, score=0.5)), failed(1)]
    assert list(krino.frame(judgements, "polars")["id"]) == ["case-0", "case-1"]
    none = krino.frame([], "polars")
    assert (none.columns, len(none)) == (list(find_columns([])), 0)


def test_a_single_judgement_or_an_unknown_kind_is_refused() -> None:
    with pytest.raises(krino.UsageProblem, match="put a single judgement into a list"):
        krino.frame(Judgement.model_validate(ok(0, score=0.5)))  # type: ignore[arg-type]
    with pytest.raises(krino.UsageProblem, match="no kind `excel`; there are pandas, polars, arrow"):
        krino.frame([], "excel")  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "package"), [("pandas", "pandas"), ("polars", "polars"), ("arrow", "pyarrow")])
def test_a_library_that_is_not_there_is_named_with_how_to_get_it(
    kind: Any, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(krino.UsageProblem, match=f"needs {package}: pip install"):
        krino.frame([], kind)


def test_parquet_without_pyarrow_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    importing: Callable[..., Any] = builtins.__import__

    def without_pyarrow(name: str, *rest: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return importing(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(krino.UsageProblem, match=r"pip install 'krino\[parquet\]'"):
        write_parquet(io.BytesIO(), list)


def test_the_row_of_a_judgement_has_usage_as_numbers() -> None:
    row = {
        name: cells[0] for name, cells in column_values([ok(0, score=0.5)], find_columns([ok(0, score=0.5)])).items()
    }
    assert (row["usage_calls"], row["usage_cost"]) == (1, 0.25)


def test_a_frame_of_one_kind_imports_no_other(run_folder: Path) -> None:
    code = (
        "import sys, krino; krino.frame(sys.argv[1], 'polars'); print([m for m in ('pandas', 'pyarrow') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(run_folder)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_parquet_table_is_written_without_pandas() -> None:
    code = (
        "import io, sys; from krino.exports.parquet_file import write_parquet; sink = io.BytesIO(); "
        "write_parquet(sink, lambda: [{'id': 'a', 'status': 'ok'}]); print(sink.tell() > 0, 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True False"


def test_parquet_keeps_long_texts_and_large_numbers_exactly() -> None:
    long, large = 'ß "quoted"\n\t\x00 ' * 200_000, 2**63 - 1
    table = parquet_rows({**ok(0, found=large), "inputs": {"text": long}}, {**ok(1, found=-large), "inputs": {}})
    assert table["verdict_found"].to_pylist() == [large, -large]
    assert table["inputs_text"].to_pylist() == [long, None]


LISTS: list[tuple[list[Any], str]] = [
    ([["A", "B"], [], None], "texts"),
    ([[70, 85], None], "ints"),
    ([[0.5], [1, 2]], "floats"),
    ([[], []], "texts"),
]


@pytest.mark.parametrize(("values", "kind"), LISTS)
def test_lists_are_lists_in_parquet_and_in_every_kind_of_frame(values: list[Any], kind: str) -> None:
    run = [ok(place, found=value) for place, value in enumerate(values)]
    assert find_columns(run)["verdict_found"] == kind
    assert parquet_rows(*run)["verdict_found"].to_pylist() == values
    for frame in ("pandas", "polars", "arrow"):
        column = krino.frame(run, frame)["verdict_found"]
        found = column.to_pylist() if frame == "arrow" else column.to_list()
        assert found == values, frame
    exploded = krino.frame(run).explode("verdict_found")
    assert len(exploded) == sum(max(len(value or ()), 1) for value in values)
    texts = [row["verdict_found"] for row in csv_rows(*run)]
    assert texts == ["" if value is None else json.dumps(value, separators=(",", ":")) for value in values]


@pytest.mark.parametrize("values", [[["A", 1]], [["A"], "A"], [[{"a": 1}]], [[[1]]], [[2**70]], [["A"], 0.5], [[True]]])
def test_lists_of_what_no_column_holds_are_json_text(values: list[Any]) -> None:
    run = [ok(place, found=value) for place, value in enumerate(values)]
    assert find_columns(run)["verdict_found"] == "text"
    found = parquet_rows(*run)["verdict_found"].to_pylist()
    pairs = zip(found, values, strict=True)
    assert [value if isinstance(given, str) else json.loads(value) for value, given in pairs] == values


def test_a_table_made_beside_a_run_learns_late_that_lists_hold_something_else(tmp_path: Path) -> None:
    run = [ok(place, found=["A"]) for place in range(450)] + [ok(450, found=[1]), ok(451, found=None)]
    with ParquetBeside(tmp_path, lambda: run) as table:
        for judgement in run:
            table.add(judgement)
        assert table.write() is not None
    found = pq.read_table(tmp_path / "judgements.parquet")["verdict_found"].to_pylist()
    assert found == ['["A"]'] * 450 + ["[1]", None]
