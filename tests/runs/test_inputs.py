"""Cases are read again beside their judgements, and only those that are still what was judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from krino.cases import CaseItem, read_cases
from krino.contract import hash_record
from krino.errors import UsageProblem
from krino.runs.inputs import CasesBeside, inputs_of, kept_inputs, with_cases

RECORDS = [{"id": f"c{number}", "question": "q", "answer": str(number)} for number in range(4)]


def judgements(*places: int) -> list[dict[str, Any]]:
    return [{"index": place, "input_hash": hash_record(RECORDS[place])} for place in places]


def reading(*inputs: Path) -> Callable[[], Iterator[CaseItem]]:
    return lambda: read_cases([str(item) for item in inputs])


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def test_each_judgement_meets_its_own_case(tmp_path: Path) -> None:
    cases = write(tmp_path / "cases.jsonl", RECORDS)
    found = list(with_cases(judgements(0, 2, 3), reading(cases)))
    assert [item["case"]["id"] for item in found] == ["c0", "c2", "c3"]


def test_a_case_that_has_changed_since_is_left_out(tmp_path: Path) -> None:
    cases = write(tmp_path / "cases.jsonl", [RECORDS[0], {**RECORDS[1], "answer": "another"}])
    found = list(with_cases(judgements(0, 1, 2), reading(cases)))
    assert ["case" in item for item in found] == [True, False, False]


def test_an_input_that_is_gone_costs_only_the_cases(tmp_path: Path) -> None:
    found = list(with_cases(judgements(0), reading(tmp_path / "gone.jsonl")))
    assert found == judgements(0)


def test_the_input_is_read_only_as_far_as_the_last_case_that_is_asked_for() -> None:
    read: list[int] = []

    def cases() -> Iterator[CaseItem]:
        for place, record in enumerate(RECORDS):
            read.append(place)
            yield CaseItem(place, record["id"], record)

    beside = CasesBeside(cases)
    assert read == []
    (first, third) = judgements(0, 2)
    assert beside.case_of(first) == RECORDS[0]
    assert beside.case_of(third) == RECORDS[2]
    assert beside.case_of({**third, "input_hash": "another"}) is None
    assert read == [0, 1, 2]


def test_what_came_on_stdin_is_found_beside_the_run(tmp_path: Path) -> None:
    names = ["stdin:abcd.jsonl", "stdin-2:abcd.csv.gz", "records:ab.jsonl"]
    files = [tmp_path / name for name in ("stdin.jsonl", "stdin-2.csv.gz", "records.jsonl")]
    assert kept_inputs(tmp_path, names) is None, "they are not there"
    for file in files:
        file.touch()
    found = kept_inputs(tmp_path, names)
    assert found is not None
    assert (found.paths, found.names) == ([str(file) for file in files], names)


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "cases.jsonl", "stdin:/../../etc/passwd", "stdin:a/b.jsonl", "stdin:.jsonl/../x", "stdin:ab"],
)
def test_no_other_name_is_taken_for_a_file_of_the_folder(tmp_path: Path, name: str) -> None:
    assert kept_inputs(tmp_path, [name]) is None


def test_what_was_kept_is_not_read_through_a_link_out_of_the_folder(tmp_path: Path) -> None:
    write(tmp_path / "secret", RECORDS)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "stdin.jsonl").symlink_to(tmp_path / "secret")
    with pytest.raises(UsageProblem, match="leads out of the run folder"):
        kept_inputs(tmp_path / "run", ["stdin:abcd.jsonl"])


# --- records from Python -----------------------------------------------------------------------------


def test_records_are_kept_like_a_pipe_and_named_by_their_content(tmp_path: Path) -> None:
    with inputs_of(iter(RECORDS)) as inputs:
        (name,) = inputs.names
        assert [item.record for item in read_cases(inputs.paths)] == RECORDS
        inputs.keep_in(tmp_path / "run")
    assert [item.record for item in read_cases(inputs.paths)] == RECORDS, "the copy outlives the stream"
    with inputs_of(RECORDS) as again:
        assert again.names == [name]
    found = kept_inputs(tmp_path / "run", [name])
    assert found is not None
    assert found.paths == inputs.paths


def test_paths_are_taken_as_they_are(tmp_path: Path) -> None:
    file = write(tmp_path / "cases.jsonl", RECORDS)
    for source in (file, str(file), [file], (str(file),)):
        with inputs_of(source) as inputs:
            assert (inputs.paths, inputs.names, inputs.has_copies) == ([str(file)], [str(file)], False)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({"text": "one case"}, "not a dict; for one case use krino.judge"),
        (3, "not a int"),
        ([], "the source is empty"),
        ([{"text": object()}], "case 1: `text` is a builtins.object, which is no plain value"),
    ],
)
def test_what_is_no_source_of_cases_is_refused(source: Any, told: str) -> None:
    with pytest.raises(UsageProblem, match=told), inputs_of(source):
        pass
