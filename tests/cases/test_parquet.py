"""Parquet: rows of a table as plain JSON values."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krino.cases import CaseItem, read_cases
from krino.contract import Source
from krino.errors import UsageProblem


def read(tmp_path: Path, table: Any) -> list[CaseItem]:
    path = tmp_path / "cases.parquet"
    pq.write_table(table, path)
    return list(read_cases([path]))


def test_rows_are_cases_numbered_from_one(tmp_path: Path) -> None:
    items = read(tmp_path, pa.table({"question": ["q1", "q2"], "docs": [["a"], []]}))
    assert [(item.id, item.record) for item in items] == [
        ("cases.parquet:1", {"question": "q1", "docs": ["a"]}),
        ("cases.parquet:2", {"question": "q2", "docs": []}),
    ]
    assert items[1].source == Source(file=str(tmp_path / "cases.parquet"), line=2)


def test_values_json_does_not_know_become_text(tmp_path: Path) -> None:
    row = {
        "when": datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC),
        "day": date(2024, 5, 6),
        "price": Decimal("12.50"),
        "text": b"caf\xc3\xa9",
        "blob": b"\xff\x00",
        "nested": {"days": [date(2024, 1, 2)]},
        "nan": float("nan"),
    }
    (item,) = read(tmp_path, pa.Table.from_pylist([row]))
    assert item.record == {
        "when": "2024-05-06T07:08:09+00:00",
        "day": "2024-05-06",
        "price": "12.50",
        "text": "café",
        "blob": "/wA=",
        "nested": {"days": ["2024-01-02"]},
        "nan": None,
    }
    orjson.dumps(item.record)


def test_a_map_becomes_an_object(tmp_path: Path) -> None:
    column = pa.array([[("k", 1), ("l", 2)]], pa.map_(pa.string(), pa.int64()))
    (item,) = read(tmp_path, pa.table({"m": column}))
    assert item.record == {"m": {"k": 1, "l": 2}}


def test_a_row_with_a_value_that_cannot_be_kept_is_a_problem_of_its_own(tmp_path: Path) -> None:
    items = read(tmp_path, pa.table({"id": ["a", "b", "c"], "x": [1.0, float("inf"), 2.0]}))
    assert [item.record is None for item in items] == [False, True, False]
    assert items[1].problem is not None
    assert "cases.parquet: row 2: field `x`: infinity is no JSON value" in items[1].problem


def test_a_string_that_is_not_utf8_spoils_only_its_row(tmp_path: Path) -> None:
    broken = pa.array([b"good", b"\xff", b"fine"], pa.binary()).view(pa.string())
    items = read(tmp_path, pa.table({"t": broken}))
    assert [item.record for item in items] == [{"t": "good"}, None, {"t": "fine"}]


def test_what_is_no_parquet_file_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "cases.parquet"
    path.write_bytes(b"PAR1 no")
    with pytest.raises(UsageProblem, match="no readable Parquet file"):
        read_cases([path])


def test_a_missing_pyarrow_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cases.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(UsageProblem, match=r"pip install 'krino\[parquet\]'"):
        read_cases([path])


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "cases.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), path)
    with pytest.raises(UsageProblem, match="two columns are named `a`"):
        read_cases([path])
