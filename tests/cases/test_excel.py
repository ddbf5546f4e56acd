"""Excel sheets are read as tables: the first sheet, under a header, cells of text as in CSV."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from krino.cases import CaseItem, read_cases
from krino.cases.rows import describe_inputs
from krino.errors import UsageProblem
from krino.judges.registry import load_judge
from krino.results.agreement.labels import read_labels

openpyxl = pytest.importorskip("openpyxl")


def sheet(path: Path, rows: list[list[Any]], *more: str) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for name in more:
        book.create_sheet(name).append(["something", "else"])
    book.save(path)
    return path


def read(path: Path, **how: Any) -> list[CaseItem]:
    return list(read_cases([path], **how))


def test_cells_keep_their_types_and_lists_are_parsed(tmp_path: Path) -> None:
    rows = [["id", "context", "votes", "share", "seen", "ok", "gap"]]
    path = sheet(tmp_path / "a.xlsx", [*rows, ["x", '["a", "b"]', 3, 0.5, date(2026, 1, 2), True, None], [None], ["y"]])
    first, second = read(path)
    assert first.record == {
        "id": "x",
        "context": ["a", "b"],
        "votes": 3,
        "share": 0.5,
        "seen": "2026-01-02T00:00:00",
        "ok": True,
        "gap": None,
    }
    assert (second.id, second.source and second.source.line) == ("y", 4)
    assert second.record is not None and second.record["votes"] is None


def test_an_answer_that_is_json_stays_text_and_bars_separate_passages(tmp_path: Path) -> None:
    rows = [["question", "answer", "context"], ["What?", "[1, 2]", "One sentence. | Another one."]]
    (item,) = read(sheet(tmp_path / "a.xlsx", rows), judge=load_judge("rag"))
    assert item.record == {"question": "What?", "answer": "[1, 2]", "context": ["One sentence.", "Another one."]}


def test_only_the_first_sheet_is_read_and_users_learn_of_the_others(tmp_path: Path) -> None:
    path = sheet(tmp_path / "a.xlsx", [["id"], ["x"]], "notes", "pivot")
    assert [item.id for item in read(path)] == ["x"]
    assert describe_inputs([path]) == [f"{path}: only the first sheet is read, and not notes, pivot"]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "the first sheet is empty"),
        ([["id", 7], ["x", 1]], "no header: the first row of the first sheet holds `7`"),
        ([["id", "id"], ["x", "y"]], "the header names `id` twice"),
    ],
)
def test_a_sheet_without_a_usable_header_is_refused(tmp_path: Path, rows: list[list[Any]], reason: str) -> None:
    with pytest.raises(UsageProblem, match=reason):
        read(sheet(tmp_path / "a.xlsx", rows))


def test_bad_rows_are_problems_with_their_place(tmp_path: Path) -> None:
    path = sheet(tmp_path / "a.xlsx", [["id", None], ["x", "astray"], ['{"a": 1, "a": 2}', None], ["y", None]])
    astray, twice, fine = read(path)
    assert f"{path}:2: column 2 has a value and no name in the header" in str(astray.problem)
    assert f"{path}:3: column `id`: the key `a` appears twice" in str(twice.problem)
    assert fine.id == "y"


def test_what_is_no_excel_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_text("id,question\n")
    with pytest.raises(UsageProblem, match="this is no readable Excel file"):
        read(tmp_path / "a.xlsx")


def test_without_openpyxl_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sheet(tmp_path / "a.xlsx", [["id"], ["x"]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(UsageProblem, match=r"pip install 'krino\[excel\]'"):
        read(path)


def test_labels_may_be_in_a_sheet_whose_empty_cells_are_no_labels(tmp_path: Path) -> None:
    path = sheet(tmp_path / "labels.xlsx", [["id", "match"], ["a", "exact"], ["b", None], ["c", "null"]])
    (tmp_path / "labels.csv").write_text("id,match\na,exact\nb,\nc,null\n")
    found, wanted = read_labels(path), read_labels(tmp_path / "labels.csv")
    assert found.columns["match"].table().tolist() == wanted.columns["match"].table().tolist()
    assert found.columns["match"].pool.values == ["exact", None]


def test_a_formula_counts_with_the_value_that_was_saved(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(str(tmp_path / "a.xlsx")) as book:
        page = book.add_worksheet()
        page.write_row(0, 0, ["id", "votes"])
        page.write_row(1, 0, ["x"])
        page.write_formula(1, 1, "=1+2", value=3)
    assert [item.record for item in read(tmp_path / "a.xlsx")] == [{"id": "x", "votes": 3}]
    (unsaved,) = read(sheet(tmp_path / "b.xlsx", [["id", "votes"], ["x", "=1+2"]]))
    assert unsaved.record == {"id": "x", "votes": None}
