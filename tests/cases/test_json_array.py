"""JSON files: a list of cases, streamed, or one object that is one case."""

from __future__ import annotations

import io
import re
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.cases import CaseItem, read_cases
from krino.cases.formats import json_array
from krino.errors import UsageProblem


def read(tmp_path: Path, data: bytes) -> list[CaseItem]:
    path = tmp_path / "cases.json"
    path.write_bytes(data)
    return list(read_cases([path]))


def broken(tmp_path: Path, data: bytes) -> tuple[list[CaseItem], str]:
    """The good items of a broken list, and the text of the one problem that ends it."""
    *good, last = read(tmp_path, data)
    assert all(item.problem is None for item in good)
    assert last.problem is not None
    assert "the rest of the file could not be read" in last.problem
    return good, last.problem


def test_every_element_is_a_case_numbered_from_one(tmp_path: Path) -> None:
    items = read(tmp_path, b'\xef\xbb\xbf [{"a": 1},\n {"id": 7, "b": {"c": [1.5, null, true, {}, []]}}]\n')
    assert [(item.id, item.record) for item in items] == [
        ("cases.json:1", {"a": 1}),
        ("7", {"id": 7, "b": {"c": [1.5, None, True, {}, []]}}),
    ]


def test_numbers_are_int_or_float(tmp_path: Path) -> None:
    (item,) = read(tmp_path, b'[{"a": 1, "b": 1.0, "c": 1e2}]')
    assert item.record is not None
    assert [type(value) for value in item.record.values()] == [int, float, float]


def test_one_object_is_one_case(tmp_path: Path) -> None:
    (item,) = read(tmp_path, b'{"question": "q", "contexts": ["a", "b"]}')
    assert item.record == {"question": "q", "contexts": ["a", "b"]}
    assert item.id == "cases.json:1"


def test_an_object_around_a_list_is_not_guessed(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="only field `cases` is a list; give the list itself"):
        read(tmp_path, b'{"cases": [{"a": 1}]}')


def test_jsonl_under_a_json_name_is_read_line_by_line(tmp_path: Path) -> None:
    items = read(tmp_path, b'\n{"a": 1}\n\n{"a": 2}\nnot json\n{"a": 3}')
    assert [item.record for item in items] == [{"a": 1}, {"a": 2}, None, {"a": 3}]
    assert [item.source.line for item in items if item.source] == [2, 4, 5, 6]


@pytest.mark.parametrize("data", [b'{"a": 1}\n]', b'{"a": 1}\n"b": 2}', b'{"a":\n{"b": 1}'])
def test_what_is_neither_one_object_nor_one_a_line_is_no_case(tmp_path: Path, data: bytes) -> None:
    (item,) = read(tmp_path, data)
    assert (item.record, "not valid JSON" in str(item.problem)) == (None, True)


def test_a_broken_object_is_a_problem_with_line_and_column(tmp_path: Path) -> None:
    (item,) = read(tmp_path, b'{"a": 1,\n "b": x}')
    assert item.problem is not None
    assert "line 2, column 7" in item.problem


@pytest.mark.parametrize("data", [b"7", b"null", b'"text"', b"a,b\n1,2\n"])
def test_a_file_that_is_neither_list_nor_object_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(UsageProblem, match="no JSON list and no JSON object"):
        read(tmp_path, data)


def test_an_empty_list_holds_no_cases(tmp_path: Path) -> None:
    assert read(tmp_path, b"[]") == []


def test_elements_that_are_no_objects_are_problems_one_by_one(tmp_path: Path) -> None:
    items = read(tmp_path, b'[{"a": 1}, 7, [{"b": 1}], null, {"a": 2}]')
    assert [item.record for item in items] == [{"a": 1}, None, None, None, {"a": 2}]
    problems = [item.problem for item in items if item.problem]
    assert "element 2: a number, not an object" in problems[0]
    assert "element 3: a list, not an object" in problems[1]
    assert "element 4: null, not an object" in problems[2]


def test_a_deep_list_as_an_element_is_a_problem_like_any_other(tmp_path: Path) -> None:
    (item,) = read(tmp_path, b"[" + b"[" * 995 + b"]" * 995 + b"]")
    assert item.problem is not None
    assert "element 1: a list, not an object" in item.problem


def test_a_list_cut_in_the_middle_gives_what_it_holds_then_one_problem(tmp_path: Path) -> None:
    good, problem = broken(tmp_path, b'[{"a": 1},\n{"a": 2},\n{"a":')
    assert [item.record for item in good] == [{"a": 1}, {"a": 2}]
    assert "element 3: not valid JSON: unexpected end of data near line 3, byte 27" in problem


def test_a_fault_far_into_the_file_is_located(tmp_path: Path) -> None:
    lines = [b'{"n": %d},' % n for n in range(30_000)]
    lines[20_000] = b'{"n": wrong},'
    data = b"[" + b"\n".join(lines)
    good, problem = broken(tmp_path, data)
    assert len(good) == 20_000
    assert "element 20001: not valid JSON: " in problem
    found = re.search(r"near line (\d+), byte (\d+)", problem)
    assert found is not None
    assert int(found[1]) == 20_001
    assert abs(int(found[2]) - data.index(b"wrong")) <= 2


@pytest.mark.parametrize(
    ("element", "said"),
    [
        (b'{"a": NaN}', "invalid char in json text"),
        (b'{"a": "\xff"}', "invalid bytes in UTF8 string"),
        (b'{"a": "\\ud800"}', "half of a surrogate pair"),
        (b'{"a": "\\ud83d\\ud83d\\ude00"}', "half of a surrogate pair"),
        (b'{"a": "\\udc00"}', "half of a surrogate pair"),
        (b'{"a": 18446744073709551616}', "an integer of more than 64 bits"),
        (b'{"a": 1e999}', "numeric (floating point) overflow"),
        (b"[" * 100_000, "nested deeper than 1000 levels"),
        (b'{"a":' * 100_000, "nested deeper than 1000 levels"),
        (b'{"a": 1}]  [', "trailing garbage"),
    ],
)
def test_what_breaks_the_list_is_named(tmp_path: Path, element: bytes, said: str) -> None:
    _, problem = broken(tmp_path, b'[{"id": "first"}, ' + element + b", {}]")
    assert said in problem


def test_an_element_without_end_is_not_taken_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_array, "MAX_CASE_BYTES", 1 << 20)
    good, problem = broken(tmp_path, b'[{"a": 1}, {"a": "' + b"x" * (2 << 20) + b'"}]')
    assert len(good) == 1
    assert "element 2: not valid JSON: one case is larger than 1 MiB" in problem


@pytest.mark.parametrize("shift", range(14))
def test_escapes_survive_wherever_a_chunk_ends(tmp_path: Path, shift: int) -> None:
    filler = "x" * ((1 << 16) - 20 + shift)
    text = filler + "😀" * 3 + "\\" * 5 + "ud800"
    data = b'[{"t": "' + text.replace("\\", "\\\\").replace("😀", "\\ud83d\\ude00").encode() + b'"}]'
    (item,) = read(tmp_path, data)
    assert item.record == {"t": text}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text(), JSON_VALUES, max_size=3), max_size=5))
def test_a_list_reads_the_same_as_one_whole_parse(records: list[dict[str, object]]) -> None:
    items = read_cases(["-"], format="json", stdin=io.BytesIO(orjson.dumps(records)))
    assert [item.record for item in items] == records


@given(st.binary(max_size=60))
def test_no_bytes_after_the_opening_bracket_can_crash(data: bytes) -> None:
    items = list(read_cases(["-"], stdin=io.BytesIO(b'[{"a": 1}, ' + data)))
    assert items[0].record == {"a": 1}
    assert all((item.record is None) == (item.problem is not None) for item in items)
