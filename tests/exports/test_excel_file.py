"""A run as an Excel workbook, read back by another program: nothing in it can run, and nothing is cut in silence."""

from __future__ import annotations

import builtins
import io
import zipfile
from typing import Any

import openpyxl
import pytest

from krino.errors import UsageProblem
from krino.exports import excel_file
from krino.exports.excel_file import LONGEST_CELL, write_excel
from krino.text.formulas import RUNS_AS_FORMULA
from made_judgements import HOSTILE, failed, ok


def book(*judgements: dict[str, Any], **settings: Any) -> bytes:
    sink = io.BytesIO()
    write_excel(sink, lambda: judgements, **settings)
    return sink.getvalue()


def rows(*judgements: dict[str, Any], **settings: Any) -> list[dict[str, Any]]:
    sheet = openpyxl.load_workbook(io.BytesIO(book(*judgements, **settings))).active
    names, *lines = sheet.iter_rows(values_only=True)
    assert len(lines) == len(judgements)
    return [dict(zip(names, line, strict=True)) for line in lines]


@pytest.mark.parametrize("sign", [*RUNS_AS_FORMULA, "\r=", " =", "\u00a0=", "\u3000="])
def test_no_cell_is_a_formula(sign: str) -> None:
    formula = f'{sign}HYPERLINK("http://evil","x")'
    judgement = {**ok(0, note=formula), "id": formula, "metadata": {formula: formula}, "inputs": {"q": formula}}
    data = book(judgement)
    sheet = zipfile.ZipFile(io.BytesIO(data)).read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in sheet and "<hyperlink" not in sheet
    cells = [cell for line in openpyxl.load_workbook(io.BytesIO(data)).active.iter_rows() for cell in line]
    held = [cell for cell in cells if "HYPERLINK" in str(cell.value)]
    assert len(held) == 5 and {cell.data_type for cell in held} == {"s"}
    quoted = {cell.quotePrefix for cell in held if cell.row > 1}
    assert quoted == {sign != "\r"}, "editing such a cell would make a formula of it (a bare \\r is left out)"


def test_numbers_booleans_and_nulls_stay_what_they_are() -> None:
    good, bad = rows(ok(0, score=0.25, fine=True, count=3, none=None), failed(1, "answer: missing"))
    assert (good["verdict_score"], good["verdict_fine"], good["verdict_count"]) == (0.25, True, 3)
    assert (good["verdict_none"], bad["verdict_score"], bad["reason"]) == (None, None, "answer: missing")


def test_a_whole_number_that_excel_would_round_is_text() -> None:
    (row,) = rows({**ok(0, score=1.0), "metadata": {"document": 2**62 + 1}})
    assert row["metadata_document"] == str(2**62 + 1)


def test_odd_text_makes_no_broken_file() -> None:
    odd = f"{HOSTILE}\x00\x0b\ufffe\uffff_x0041_ & <tag> \ud800 é 😀"
    (row,) = rows({**ok(0, note=odd), "id": odd})
    assert "<img src=x" in row["id"] and "é 😀" in row["verdict_note"] and "\x1b" not in row["id"]


def test_text_longer_than_a_cell_is_cut_and_says_so() -> None:
    (row,) = rows({**ok(0, score=1.0), "inputs": {"plain": "x" * 40_000, "pairs": "😀" * 20_000, "fits": "é" * 32_767}})
    assert row["inputs_plain"].endswith("… (cut: 40,000 characters)") and len(row["inputs_plain"]) == LONGEST_CELL
    assert row["inputs_pairs"].endswith("… (cut: 20,000 characters)")
    assert len(row["inputs_pairs"].encode("utf-16-le")) <= 2 * LONGEST_CELL
    assert row["inputs_fits"] == "é" * 32_767


def test_a_person_gets_the_columns_for_people_and_all_has_the_rest() -> None:
    judgement = {**ok(0, score=1.0), "inputs": {"question": "How tall?"}}
    assert list(rows(judgement)[0])[:3] == ["id", "status", "inputs_question"]
    assert "labels" not in rows(judgement)[0] and "labels" in rows(judgement, every_column=True)[0]


def test_scores_are_coloured_on_their_scale() -> None:
    data = book(ok(0, score=0.5, seconds=2.0), scales={"score": (0.0, 1.0), "seconds": (60.0, 0.0)})
    sheet = zipfile.ZipFile(io.BytesIO(data)).read("xl/worksheets/sheet1.xml").decode()
    assert sheet.count("<colorScale>") == 2
    assert sheet.index("FFF8C9C9") < sheet.index("FFCDE8D5"), "red stands at the low end where high is good"
    assert sheet.rindex("FFCDE8D5") < sheet.rindex("FFF8C9C9"), "and at the high end where low is good"


def test_more_cases_than_a_sheet_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excel_file, "MOST_ROWS", 3)
    assert len(rows(ok(0, score=1.0), ok(1, score=1.0))) == 2
    with pytest.raises(UsageProblem, match="holds 2 cases, the run has more: write csv or parquet"):
        book(ok(0, score=1.0), ok(1, score=1.0), ok(2, score=1.0))


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **named: Any) -> Any:
        if name == "xlsxwriter":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UsageProblem, match=r"pip install 'krino\[excel\]'"):
        book(ok(0, score=1.0))
