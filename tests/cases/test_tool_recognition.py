"""Only its structure makes a file that of another tool; a format that the user names takes its rows as they are."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from krino.cases import CaseItem, count_hint, read_cases
from krino.cases.formats import json_array
from krino.cases.open_files import MAX_CASE_BYTES, OpenFiles, open_bytes
from krino.cases.rows import describe_inputs
from krino.errors import UsageProblem
from krino.judges.registry import load_judge

FILES = Path(__file__).with_name("tool_files")
Row = dict[str, Any]


def observation(trace: str, number: int, **more: Any) -> Row:
    return {"id": f"{trace}{number}", "traceId": trace, "type": "SPAN", "startTime": f"2026-01-01T00:0{number}", **more}


def written(path: Path, rows: list[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(path: Path, **how: Any) -> list[CaseItem]:
    return list(read_cases([path], **how))


@pytest.mark.parametrize(
    "row",
    [
        {"inputs": {"question": "x"}, "outputs": {"answer": "y"}},
        {"input": "x", "actual_output": "y", "expected_output": "z", "retrieval_context": ["w"]},
        {"vars": {"question": "x"}, "provider": "p"},
        {"user_input": "How tall is it?", "answer": "102 metres"},
        {"id": "1", "type": "SPAN", "input": "x", "output": "y"},
        {"id": "1", "input": "x", "output": "y", "messages": []},
        {"run_type": "chain", "inputs": {}, "outputs": {}, "child_runs": []},
        {"item": {"a": 1}, "answer": "x"},
        {"item": "a text", "sample": {}},
        {"columns": ["a"], "data": [[1]], "id": "x"},
        {"trace": [{"name": "x"}], "trace_id": "1"},
    ],
)
def test_rows_that_any_tool_may_write_stay_as_they_are(tmp_path: Path, row: Row) -> None:
    (item,) = read(written(tmp_path / "rows.jsonl", [row]))
    assert item.record == row
    assert not describe_inputs([tmp_path / "rows.jsonl"])


def test_a_format_that_the_user_names_takes_the_rows_as_they_are() -> None:
    rows = read(FILES / "promptfoo.jsonl", format="jsonl")
    assert [(item.record or {})["testIdx"] for item in rows] == [0, 0, 1, 1]
    (table,) = read(FILES / "mlflow_eval_results_table.json", format="json")
    assert table.record is not None and table.record.keys() == {"columns", "data"}


def test_users_learn_how_a_file_is_read() -> None:
    (line,) = describe_inputs([FILES / "promptfoo.json"])
    assert line.endswith(
        "promptfoo.json: read as the file of another tool, each promptfoo result as a case "
        "(--format json takes its rows as they are)"
    )
    assert not describe_inputs([FILES / "promptfoo.json"], "json")


def test_a_row_that_is_not_the_tools_is_a_problem_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "mixed.jsonl", [observation("a", 1, input="x"), {"question": "y"}])
    case, problem = read(path)
    assert case.record is not None and case.record["input"] == "x"
    assert f"{path}:2: this is no Langfuse observation, as the first row of the file is" in str(problem.problem)


def test_a_broken_line_does_not_hide_the_tool(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text("{oh\n" + json.dumps(observation("a", 1, input="x")) + "\n")
    problem, case = read(path)
    assert "not valid JSON" in str(problem.problem)
    assert case.id == "a"


def test_rows_of_a_known_form_with_strange_values_are_problems(tmp_path: Path) -> None:
    strange = {"info": {"trace_id": "t", "tags": "no object"}, "data": {"spans": [{"attributes": {}}]}}
    (item,) = read(written(tmp_path / "strange.jsonl", [strange]))
    assert item.record is None and "this MLflow trace is not of the known form" in str(item.problem)


def test_traces_are_put_together_wherever_their_rows_are(tmp_path: Path) -> None:
    rows = [observation(trace, number) for number in range(3) for trace in "ab"]
    rows[0]["input"], rows[1]["input"] = "first", "second"
    rows[4]["parentObservationId"] = rows[5]["parentObservationId"] = "x"
    items = read(written(tmp_path / "rows.jsonl", rows), judge=load_judge("efficiency"))
    assert [(item.id, item.source.line if item.source else 0) for item in items] == [("a", 1), ("b", 2)]
    traces = [item.record["trace"]["observations"] for item in items if item.record]
    assert [[one["id"] for one in trace] for trace in traces] == [["a0", "a1", "a2"], ["b0", "b1", "b2"]]
    assert [item.record["input"] for item in items if item.record] == ["first", "second"]


def test_a_trace_without_its_beginning_is_a_problem_unless_the_judge_reads_traces(tmp_path: Path) -> None:
    row = {
        "id": "2",
        "trace_id": "t",
        "run_type": "tool",
        "parent_run_id": "1",
        "name": "x",
        "outputs": {"output": "y"},
    }
    path = written(tmp_path / "runs.jsonl", [row])
    (case,) = read(path, judge=load_judge("efficiency"))
    assert case.record is not None and "answer" not in case.record
    (case,) = read(path, judge=load_judge("rag"))
    assert "the run that began the trace is not in the file" in str(case.problem)


def test_a_document_is_read_element_by_element(tmp_path: Path) -> None:
    document = json.loads((FILES / "promptfoo.json").read_text())
    document["results"]["results"] *= 400
    path = tmp_path / "large.json"
    path.write_text(json.dumps(document))
    with open_bytes(path, OpenFiles()) as stream:
        rows = json_array.rows_at(stream, "large.json", [("results", "results")])
        assert next(rows)[0] == 1
        assert stream.tell() < path.stat().st_size / 4
    assert len(read(path)) == 1_600


def test_a_document_that_breaks_off_says_so_after_its_cases(tmp_path: Path) -> None:
    text = (FILES / "deepeval_test_run.json").read_text()
    path = tmp_path / "cut.json"
    path.write_text(text[: text.index("runDuration", text.index("year"))])
    first, broken = read(path)
    assert first.id == "height" and first.record is not None
    assert "element 2: not valid JSON" in str(broken.problem)


def test_both_lists_of_a_test_run_are_read(tmp_path: Path) -> None:
    run = json.loads((FILES / "deepeval_test_run.json").read_text())
    talk = {"name": "talk", "turns": [{"role": "user", "content": "Hello?"}], "metricsData": []}
    path = tmp_path / "run.json"
    path.write_text(json.dumps(run | {"conversationalTestCases": [talk]}))
    assert [item.id for item in read(path)] == ["height", "year", "talk"]


def test_long_texts_of_an_inspect_log_are_put_where_they_belong(tmp_path: Path) -> None:
    log = json.loads((FILES / "inspect.json").read_text())
    sample = log["samples"][1]
    sample["input"] = sample["messages"][0]["content"] = "attachment://long"
    sample["attachments"] = {"long": "a very long question"}
    (tmp_path / "log.json").write_text(json.dumps(log))
    record = read(tmp_path / "log.json")[1].record
    assert record is not None
    assert record["input"] == record["messages"][0]["content"] == "a very long question"


def test_the_second_epoch_of_an_inspect_sample_has_an_id_of_its_own(tmp_path: Path) -> None:
    log = json.loads((FILES / "inspect.json").read_text())
    log["samples"].append(log["samples"][1] | {"epoch": 2})
    (tmp_path / "log.json").write_text(json.dumps(log))
    assert [item.id for item in read(tmp_path / "log.json")] == ["broken", "height", "height:2"]


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


def test_older_inspect_logs_are_packed_otherwise(tmp_path: Path) -> None:
    samples = json.loads((FILES / "inspect.json").read_text())["samples"]
    members = {f"samples/{sample['id']}_epoch_1.json": json.dumps(sample).encode() for sample in samples}
    items = read(archive(tmp_path / "old.eval", {"header.json": b"{}", **members}))
    assert [item.record for item in items] == [item.record for item in read(FILES / "inspect.eval")]


def test_bad_samples_of_an_archive_are_problems_with_their_names(tmp_path: Path) -> None:
    good = json.dumps(json.loads((FILES / "inspect.json").read_text())["samples"][1]).encode()
    huge = b"[" + b" " * MAX_CASE_BYTES + b"]"
    members = {"samples/a.json": good, "samples/b.json": b"{oh", "samples/c.json": huge, "samples/d.json": b"[]"}
    fine, *bad = read(archive(tmp_path / "log.eval", members))
    assert fine.id == "height"
    wanted = [
        "samples/b.json: not valid JSON",
        "samples/c.json: the sample is larger",
        "samples/d.json: the sample is no",
    ]
    assert all(reason in str(item.problem) for reason, item in zip(wanted, bad, strict=True))


def test_a_damaged_archive_is_reported_by_sample(tmp_path: Path) -> None:
    data = bytearray((FILES / "inspect.eval").read_bytes())
    with zipfile.ZipFile(FILES / "inspect.eval") as log:
        place = next(member.header_offset for member in log.infolist() if "broken" in member.filename)
    data[place + 120 : place + 140] = b"\0" * 20
    path = tmp_path / "damaged.eval"
    path.write_bytes(data)
    items = read(path)
    assert any("samples/broken_epoch_1.json: the sample cannot be unpacked" in str(item.problem) for item in items)
    assert any(item.id == "height" and item.record for item in items)


@pytest.mark.parametrize(("content", "reason"), [(b"no zip", "no readable Inspect log"), (None, "holds no samples")])
def test_what_is_no_log_is_refused_at_once(tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = archive(tmp_path / "log.eval", {"header.json": b"{}"})
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageProblem, match=reason):
        read(path)


def test_a_trace_of_langfuse_by_itself_is_a_case(tmp_path: Path) -> None:
    rows = json.loads((FILES / "langfuse_observations.json").read_text())
    inside = [row for row in rows if row["traceId"] == "trace-1"]
    trace = {"id": "trace-1", "name": "agent", "scores": [], "observations": inside}
    (tmp_path / "trace.json").write_text(json.dumps(trace))
    whole = {**trace, "input": {"question": "How tall is it?"}, "output": "It is 102 metres tall."}
    (tmp_path / "whole.json").write_text(json.dumps(whole))
    records = [dict(item.record or {}) for name in ("trace", "whole") for item in read(tmp_path / f"{name}.json")]
    assert records[0].pop("metadata") == {"topic": "size"}
    assert records[0] == records[1] and records[0]["answer"] == "It is 102 metres tall."


def test_rows_of_traces_are_not_counted_as_cases(tmp_path: Path) -> None:
    assert count_hint([FILES / "promptfoo.jsonl"]) == 4
    assert count_hint([FILES / "langfuse_observations.jsonl"]) is None
    assert count_hint([FILES / "phoenix_spans.parquet"]) is None


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["phoenix_spans.json", "langsmith_runs.jsonl"])
def test_tables_with_json_texts_in_cells_are_read_alike(tmp_path: Path, name: str, ending: str) -> None:
    pandas = pytest.importorskip("pandas")
    text = (FILES / name).read_text()
    rows = json.loads(text) if name.endswith("json") else [json.loads(line) for line in text.splitlines()]
    flat = [{key: json.dumps(one) if isinstance(one, dict | list) else one for key, one in row.items()} for row in rows]
    getattr(pandas.DataFrame(flat), f"to_{ending}")(tmp_path / f"table.{ending}", index=False)
    found, wanted = read(tmp_path / f"table.{ending}"), read(FILES / name)
    assert [item.id for item in found] == [item.id for item in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert without_trace(one) == without_trace(other)


def without_trace(item: CaseItem) -> Row | None:
    return None if item.record is None else {name: one for name, one in item.record.items() if name != "trace"}


def test_a_page_of_output_items_is_read_like_its_lines(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (FILES / "openai_evals_output_items.jsonl").read_text().splitlines()]
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"object": "list", "data": lines, "has_more": False}))
    assert [item.record for item in read(path)] == [
        item.record for item in read(FILES / "openai_evals_output_items.jsonl")
    ]


def rows_made_by_tools() -> list[Row]:
    found: list[Row] = []
    for path in sorted(FILES.glob("*.jsonl")):
        found += [json.loads(line) for line in path.read_text().splitlines()]
    for name, place in (("promptfoo", "results.results"), ("inspect", "samples"), ("deepeval_traced_run", "testCases")):
        document = json.loads((FILES / f"{name}.json").read_text())
        for part in place.split("."):
            document = document[part]
        found += document
    return [*found, *json.loads((FILES / "mlflow_traces.json").read_text())]


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
ROWS = rows_made_by_tools()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_row_holds_it_is_a_case_or_a_problem(tmp_path: Path, data: st.DataObject) -> None:
    row = dict(data.draw(st.sampled_from(ROWS)))
    for name in data.draw(st.lists(st.sampled_from(sorted(row)), max_size=3, unique=True)):
        inner = row[name]
        if isinstance(inner, dict) and inner and data.draw(st.booleans()):
            row[name] = {**inner, data.draw(st.sampled_from(sorted(inner))): data.draw(ANY)}
        else:
            row[name] = data.draw(ANY)
    path = written(tmp_path / "row.jsonl", [row])
    for judge in (None, load_judge("rag"), load_judge("efficiency")):
        for item in read(path, judge=judge):
            assert (item.record is None) == (item.problem is not None)
