"""CSV and TSV: rows under a header, cells that may hold JSON."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.cases import CaseItem, read_cases
from krino.cases.formats import csv_table
from krino.errors import UsageProblem


def read(tmp_path: Path, text: str | bytes, name: str = "cases.csv") -> list[CaseItem]:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read_cases([path]))


def test_cells_are_strings_and_empty_cells_are_null(tmp_path: Path) -> None:
    (item,) = read(tmp_path, "id,score,note\nx,1.5,\n")
    assert item.id == "x"
    assert item.record == {"id": "x", "score": "1.5", "note": None}


def test_a_cell_that_is_whole_json_becomes_its_value(tmp_path: Path) -> None:
    (item,) = read(tmp_path, 'list,object,almost\n"[""a"", 1]","{""k"": null}",[citation needed]\n')
    assert item.record == {"list": ["a", 1], "object": {"k": None}, "almost": "[citation needed]"}


def test_rows_are_named_by_the_line_they_begin_on(tmp_path: Path) -> None:
    items = read(tmp_path, 'a,b\r\n"two\r\nlines",1\r\n\r\nx,2\r\n')
    assert [(item.id, item.record) for item in items] == [
        ("cases.csv:2", {"a": "two\r\nlines", "b": "1"}),
        ("cases.csv:5", {"a": "x", "b": "2"}),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cases.csv", "\ufeffa,b\nx;y,z\n"),
        ("cases.csv", 'a;b\n"x;y";z\n'),
        ("cases.csv", '"a";"b"\n"x;y";z\n'),
        ("cases.tsv", "a\tb\nx;y\tz\n"),
    ],
)
def test_the_delimiter_is_told_by_suffix_or_header(tmp_path: Path, name: str, text: str) -> None:
    (item,) = read(tmp_path, text, name)
    assert item.record == {"a": "x;y", "b": "z"}


def test_a_tsv_header_with_commas_is_still_split_at_tabs(tmp_path: Path) -> None:
    (item,) = read(tmp_path, "a, b, c\tq\nx\ty\n", "cases.tsv")
    assert item.record == {"a, b, c": "x", "q": "y"}


def test_gzip_is_unpacked(tmp_path: Path) -> None:
    (item,) = read(tmp_path, gzip.compress(b"a,b\n1,2\n"), "cases.csv.gz")
    assert item.record == {"a": "1", "b": "2"}


def test_rows_of_another_width_are_problems_and_reading_goes_on(tmp_path: Path) -> None:
    items = read(tmp_path, "a,b\n1\n1,2,3\n1,2\n")
    assert [item.record for item in items] == [None, None, {"a": "1", "b": "2"}]
    assert items[0].problem is not None
    assert items[1].problem is not None
    assert "cases.csv:2: the row has 1 fields, the header names 2 (a, b)" in items[0].problem
    assert "cases.csv:3: the row has 3 fields" in items[1].problem
    assert items[1].raw == "1 | 2 | 3"


def test_a_row_that_is_not_utf8_is_a_problem_of_its_own(tmp_path: Path) -> None:
    items = read(tmp_path, b"a,b\ncaf\xe9,1\ntea,2\n")
    assert [item.record for item in items] == [None, {"a": "tea", "b": "2"}]
    assert items[0].problem is not None
    assert "cases.csv:2: invalid UTF-8" in items[0].problem


def test_a_quote_never_closed_is_one_problem_that_names_its_line(tmp_path: Path) -> None:
    items = read(tmp_path, 'a,b\n1,2\n3,"open\n5,6\n')
    assert [item.record for item in items] == [{"a": "1", "b": "2"}, None]
    assert items[1].problem is not None
    assert "cases.csv:3: a quote that opens here is never closed" in items[1].problem


@pytest.mark.parametrize(
    ("stray", "kept", "up_to"),
    [('3,"open\n5,6\n7,"more"\n', ["1", "9"], 5), ('3,"say "hi" now"\n', ["1", "9"], 3)],
    ids=["two that never close", "one within a field"],
)
def test_a_stray_quote_is_a_problem_and_takes_no_row_along_unseen(
    tmp_path: Path, stray: str, kept: list[str], up_to: int
) -> None:
    items = read(tmp_path, f"a,b\n1,2\n{stray}9,0\n")
    assert [item.record["a"] for item in items if item.record is not None] == kept
    (problem,) = [item.problem for item in items if item.record is None]
    assert f"cases.csv:3: text follows a closing quote (up to line {up_to})" in str(problem)


def test_a_last_row_without_line_end_is_whole(tmp_path: Path) -> None:
    assert [item.record for item in read(tmp_path, 'a,b\n1,"2"')] == [{"a": "1", "b": "2"}]


def test_a_cell_may_be_longer_than_the_csv_module_allows_by_default(tmp_path: Path) -> None:
    (item,) = read(tmp_path, "a,b\n" + "x" * 200_000 + ",1\n")
    assert item.record is not None
    assert len(item.record["a"]) == 200_000


def test_a_line_without_end_is_not_taken_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_table, "MAX_CASE_BYTES", 1 << 20)
    items = read(tmp_path, "a,b\n1,2\n" + "x" * (2 << 20))
    assert items[0].record == {"a": "1", "b": "2"}
    assert len(items) == 2
    assert items[1].problem is not None
    assert "cases.csv:3: reading broke off: a line longer than 1 MiB" in items[1].problem


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,2\n3,4\n", "no header: the first line holds the number 1"),
        (",,\n1,2,3\n", "no header"),
        (",question\n0,what\n", "gives no name to column 1"),
        ("a,b,a\n1,2,3\n", "names `a` twice"),
        (b"caf\xe9,b\n1,2\n", "the header is not UTF-8"),
        (b"\xff\xfea\x00,\x00", "UTF-16"),
    ],
)
def test_a_table_without_a_usable_header_is_refused_before_the_first_case(
    tmp_path: Path, text: str | bytes, said: str
) -> None:
    path = tmp_path / "cases.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageProblem, match=said):
        read_cases([path])


def test_a_header_alone_holds_no_cases(tmp_path: Path) -> None:
    assert read(tmp_path, "a,b\n") == []


CELLS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(lambda cell: cell[:1] not in ("[", "{"))


@given(st.lists(st.tuples(CELLS, CELLS), max_size=6))
def test_what_the_csv_module_writes_is_read(table: list[tuple[str, str]]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([("left", "right"), *table])
    items = read_cases(["-"], format="csv", stdin=io.BytesIO(text.getvalue().encode()))
    assert [item.record for item in items] == [{"left": a or None, "right": b or None} for a, b in table]


@given(st.binary(max_size=60))
def test_no_bytes_under_the_header_can_crash(data: bytes) -> None:
    items = list(read_cases(["-"], format="csv", stdin=io.BytesIO(b"a,b\n" + data)))
    assert all((item.record is None) == (item.problem is not None) for item in items)
    assert all(item.raw is None or item.raw.encode() is not None for item in items)
