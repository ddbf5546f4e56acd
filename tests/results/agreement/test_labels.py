"""Labels come in three forms and any file format; what is doubtful about them is refused by file and line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from krino import UsageProblem
from krino.results.agreement.labels import Labels, labels_from_rows, read_labels


def said(labels: Labels, field: str) -> set[tuple[str, str, Any]]:
    """Case, rater and value of every label of a field."""
    ids, raters = list(labels.ids), list(labels.raters)
    column = labels.columns[field]
    return {(ids[case], raters[rater], column.pool.values[value]) for case, rater, value in column.table().tolist()}


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


# --- forms and formats ------------------------------------------------------------------------------------


def test_one_row_a_case_is_one_rater_without_a_name(tmp_path: Path) -> None:
    labels = read_labels(write(tmp_path / "l.csv", "id,match,score\na,yes,0.5\nb,no,1\n"))
    assert said(labels, "match") == {("a", "people", "yes"), ("b", "people", "no")}
    assert said(labels, "score") == {("a", "people", "0.5"), ("b", "people", "1")}


def test_a_rater_column_makes_several_rows_a_case(tmp_path: Path) -> None:
    labels = read_labels(write(tmp_path / "l.csv", "id,rater,match\na,anna,yes\na,ben,no\nb,anna,no\n"))
    assert said(labels, "match") == {("a", "anna", "yes"), ("a", "ben", "no"), ("b", "anna", "no")}


def test_a_column_a_rater_is_the_third_form(tmp_path: Path) -> None:
    labels = read_labels(write(tmp_path / "l.csv", "id;score:anna;score:ben\na;1;0\nb;;1\n"))
    assert said(labels, "score") == {("a", "anna", "1"), ("a", "ben", "0"), ("b", "ben", "1")}


@pytest.mark.parametrize("name", ["l.jsonl", "l.json", "l.parquet"])
def test_every_format_of_cases_will_do(tmp_path: Path, name: str) -> None:
    rows = [{"id": "a", "match": True}, {"id": "b", "match": False}]
    if name.endswith("parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), tmp_path / name)
    else:
        write(tmp_path / name, json.dumps(rows) if name.endswith("json") else "\n".join(map(json.dumps, rows)))
    assert said(read_labels(tmp_path / name), "match") == {("a", "people", True), ("b", "people", False)}


def test_columns_can_be_renamed_as_for_cases(tmp_path: Path) -> None:
    path = write(tmp_path / "l.csv", "case,who,verdict\na,anna,yes\n")
    labels = read_labels(path, mapping={"id": "case", "rater": "who", "match": "verdict"})
    assert said(labels, "match") == {("a", "anna", "yes")}


def test_rows_in_memory_are_labels_too() -> None:
    assert said(labels_from_rows([{"id": 7, "match": "yes"}]), "match") == {("7", "people", "yes")}


# --- what is not there ------------------------------------------------------------------------------------


def test_an_empty_cell_of_a_table_is_no_label_and_the_word_null_is_one(tmp_path: Path) -> None:
    labels = read_labels(write(tmp_path / "l.csv", "id,ceiling\na,\nb,null\n"))
    assert said(labels, "ceiling") == {("b", "people", None)}
    assert list(labels.ids) == ["a", "b"]


def test_null_in_json_is_kept_for_the_field_to_decide() -> None:
    assert said(labels_from_rows([{"id": "a", "ceiling": None}]), "ceiling") == {("a", "people", None)}


def test_nan_is_how_data_frames_write_nothing() -> None:
    labels = labels_from_rows([{"id": "a", "score": math.nan}, {"id": "b", "score": 1.0}])
    assert said(labels, "score") == {("b", "people", 1.0)}


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,match\na,yes\n", r"l\.csv:2: no id of a case.*--map id=COLUMN.*'name', 'match'"),
        ("id,match\na,yes\nb,no\na,no\n", r"l\.csv:4: a second row of case 'a', after .*l\.csv:2"),
        ("id,rater,match\na,anna,yes\na,anna,no\n", r"l\.csv:3: a second row of case 'a' by rater 'anna'"),
        ("id,rater,match\na,,yes\n", r"l\.csv:2: the column `rater` is empty"),
        ("id,score,score:anna\na,1,0\n", r"columns 'score' and 'score:anna' both give 'score'"),
        ("id,match\na,yes,surplus\n", r"l\.csv:2: the row has 3 fields"),
        ("id,match\n", "there is no label in it"),
    ],
)
def test_doubtful_labels_are_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageProblem, match=words):
        read_labels(write(tmp_path / "l.csv", text))


def test_a_line_that_is_no_json_is_an_error_and_not_a_gap(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=r"l\.jsonl:2: not valid JSON"):
        read_labels(write(tmp_path / "l.jsonl", '{"id": "a", "match": "yes"}\n{broken\n'))


def test_what_a_message_quotes_cannot_act_on_a_terminal() -> None:
    with pytest.raises(UsageProblem) as caught:
        labels_from_rows([{"id": "\x1b[31mred", "x": 1}, {"id": "\x1b[31mred", "x": 1}])
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_a_number_without_end_is_refused(value: float) -> None:
    with pytest.raises(UsageProblem, match=r"row 2 of the labels: the label -?inf of 'score' is too large"):
        labels_from_rows([{"id": "a", "score": None}, {"id": "b", "score": value}])


@pytest.mark.parametrize("odd", ["an\u00adna", "anna\u200b", "\u202eanna", " anna "])
def test_one_person_is_one_rater_however_the_name_was_copied(odd: str) -> None:
    by_row = labels_from_rows([{"id": "a", "rater": "anna", "score": 1}, {"id": "b", "rater": odd, "score": 1}])
    assert list(by_row.raters) == ["anna"]
    by_column = labels_from_rows([{"id": "a", "score:anna": 1, f"grade:{odd}": 1}])
    assert list(by_column.raters)[-1] == "anna"


def test_an_id_is_found_however_it_was_copied() -> None:
    assert list(labels_from_rows([{"id": "case\u00ad-1", "score": 1}, {"id": "case\u200b-2", "score": 0}]).ids) == [
        "case-1",
        "case-2",
    ]
