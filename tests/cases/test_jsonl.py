"""JSONL: one case a line, whatever stands in the line."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.cases import CaseItem, open_files, read_cases
from krino.cases.formats import jsonl
from krino.contract import Source


def read(tmp_path: Path, data: bytes, name: str = "cases.jsonl") -> list[CaseItem]:
    path = tmp_path / name
    path.write_bytes(data)
    return list(read_cases([path]))


def problem_of(tmp_path: Path, line: bytes) -> str:
    """The problem of a bad line that stands between two good ones; both of them must come out."""
    before, bad, after = read(tmp_path, b'{"id": "a"}\n' + line + b'\n{"id": "b"}\n')
    assert (before.id, after.id) == ("a", "b")
    assert bad.record is None
    assert bad.source == Source(file=str(tmp_path / "cases.jsonl"), line=2)
    assert bad.id == "cases.jsonl:2"
    assert bad.problem is not None
    prefix = f"{tmp_path / 'cases.jsonl'}:2: "
    assert bad.problem.startswith(prefix)
    return bad.problem.removeprefix(prefix)


def test_each_line_is_a_case_with_its_place(tmp_path: Path) -> None:
    items = read(tmp_path, b'{"id": "x", "n": 1.5}\n{"n": [1, null]}\n')
    path = str(tmp_path / "cases.jsonl")
    assert items == [
        CaseItem(0, "x", {"id": "x", "n": 1.5}, Source(file=path, line=1)),
        CaseItem(1, "cases.jsonl:2", {"n": [1, None]}, Source(file=path, line=2)),
    ]


def test_blank_lines_are_no_cases_but_count_as_lines(tmp_path: Path) -> None:
    items = read(tmp_path, b'\n  \r\n{"a": 1}\r\n\n{"a": 2}')
    assert [(item.index, item.id) for item in items] == [(0, "cases.jsonl:3"), (1, "cases.jsonl:5")]


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    (item,) = read(tmp_path, b'\xef\xbb\xbf{"a": 1}\n')
    assert item.record == {"a": 1}


def test_a_cut_line_is_named_with_its_column_and_what_to_do(tmp_path: Path) -> None:
    said = problem_of(tmp_path, b'{"a": [1, 22')
    assert said == "not valid JSON: unexpected end of data at column 13; fix the line or remove it"


def test_an_id_that_is_a_whole_float_is_the_whole_number(tmp_path: Path) -> None:
    items = read(tmp_path, b'{"id": 1.0}\n{"id": 1}\n{"id": -2.0}\n{"id": 1.5}\n{"id": 1e300}\n')
    assert [item.id for item in items] == ["1", "1", "-2", "cases.jsonl:4", "cases.jsonl:5"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"a": "\xff"}', "invalid UTF-8 (byte 0xff) at byte 8"),
        (b'{"a": NaN}', "NaN and Infinity are not JSON (write null) at column 7"),
        (b'{"a": -Infinity}', "NaN and Infinity are not JSON"),
        (b'{"a": "\\ud800"}', "half of a surrogate pair"),
        (b"[1]", "the line holds a list, not an object"),
        (b'"text"', "the line holds a string, not an object"),
        (b"7", "the line holds a number, not an object"),
        (b"null", "the line holds null, not an object"),
        (b"true", "the line holds a boolean, not an object"),
        (b'{"a": 1} {"b": 2}', "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
        (b"\x00", "not valid JSON"),
        (b"{}\x0b", "white space that JSON does not know at the end"),
    ],
)
def test_a_bad_line_says_what_is_wrong_and_reading_goes_on(tmp_path: Path, line: bytes, said: str) -> None:
    assert said in problem_of(tmp_path, line)


def test_the_text_of_a_bad_line_is_kept_but_cut(tmp_path: Path) -> None:
    (item,) = read(tmp_path, b'{"a": "' + b"x" * 100_000)
    assert item.raw is not None
    assert item.raw.startswith('{"a": "xxx')
    assert len(item.raw) < 5_000


def test_a_line_over_the_limit_is_a_problem_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jsonl, "MAX_CASE_BYTES", 1 << 20)
    assert open_files.MAX_CASE_BYTES == 64 << 20
    exact = b'{"a": "' + b"x" * ((1 << 20) - 9) + b'"}'
    assert len(exact) == 1 << 20
    items = read(tmp_path, exact + b"\n" + b"[" * (3 << 20) + b'\n{"id": "after"}\n')
    assert [item.record is None for item in items] == [False, True, False]
    assert items[1].problem is not None
    assert ":2: the line is longer than 1 MiB" in items[1].problem
    assert (items[2].id, items[2].source) == ("after", Source(file=str(tmp_path / "cases.jsonl"), line=3))


def test_gzip_is_unpacked(tmp_path: Path) -> None:
    (item,) = read(tmp_path, gzip.compress(b'{"a": 1}\n'), "cases.jsonl.gz")
    assert (item.id, item.record) == ("cases.jsonl.gz:1", {"a": 1})


def test_a_cut_gzip_file_gives_what_it_holds_then_one_problem(tmp_path: Path) -> None:
    lines = b"".join(orjson.dumps({"id": f"c{n}", "t": str(n * 7919 % 10_007)}) + b"\n" for n in range(60_000))
    packed = gzip.compress(lines)
    items = read(tmp_path, packed[: len(packed) * 3 // 4], "cases.jsonl.gz")
    assert len(items) > 1_000
    assert all(item.problem is None for item in items[:-1])
    assert items[-1].problem is not None
    assert "the rest of the file could not be read" in items[-1].problem


LINE_BYTES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"", b" ", b"\r", b'{"a": 1}', b"[]", b'{"id": ""}', b"\xef\xbb\xbf", b'{"a": "\\ud800"}']),
    st.recursive(
        st.none() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=5,
    ).map(orjson.dumps),
)


@given(st.lists(LINE_BYTES, max_size=8).map(b"\n".join))
def test_any_bytes_give_one_item_for_each_line_that_is_not_blank(data: bytes) -> None:
    text = data.removeprefix(b"\xef\xbb\xbf")
    expected = [at for at, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    items = list(read_cases(["-"], format="jsonl", stdin=io.BytesIO(data)))
    assert [item.source.line for item in items if item.source] == expected
    assert [item.index for item in items] == list(range(len(expected)))
    for item in items:
        assert (item.record is None) == (item.problem is not None)
        assert item.id


@given(st.lists(st.dictionaries(st.text(), st.none() | st.integers(-9, 9) | st.text(), max_size=3), max_size=6))
def test_what_was_written_is_read(records: list[dict[str, object]]) -> None:
    data = b"".join(orjson.dumps(record) + b"\n" for record in records)
    items = read_cases(["-"], format="jsonl", stdin=io.BytesIO(data))
    assert [item.record for item in items] == records
