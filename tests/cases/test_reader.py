"""Reading cases from any mix of inputs: order, ids, stdin, folders, and what is refused at once."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from krino.cases import read_cases
from krino.cases.origin import Format, list_ignored_files
from krino.contract import Source
from krino.errors import UsageProblem
from toy_judge import ToyJudge

Write = Callable[[str, bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return path

    return write_file


def test_several_inputs_are_read_in_order_under_one_running_index(write: Write) -> None:
    lines = write("b.jsonl", b'{"id": "b1"}\n{"id": "b2"}\n')
    table = write("a.csv", b"id\na1\n")
    array = write("c.json", b'[{"id": "c1"}]')
    items = list(read_cases([lines, table, "-", array], stdin=io.BytesIO(b'{"id": "in"}')))
    assert [(item.index, item.id) for item in items] == list(enumerate(["b1", "b2", "a1", "in", "c1"]))


def test_the_path_is_kept_as_the_user_gave_it(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write("sub/x.jsonl", b'{"a": 1}\n')
    monkeypatch.chdir(path.parent.parent)
    (item,) = read_cases(["./sub/x.jsonl"])
    assert item.source == Source(file="./sub/x.jsonl", line=1)
    assert item.id == "x.jsonl:1"


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (b'{"id": "x", "uid": "u"}', "x"),
        (b'{"id": 0}', "0"),
        (b'{"id": "", "case_id": "c"}', "c"),
        (b'{"id": null, "_id": 5}', "5"),
        (b'{"id": true, "uid": "u"}', "u"),
        (b'{"_id": {"$oid": "1"}}', "stdin:1"),
        (b'{"id": 1.5}', "stdin:1"),
        (b'{"id": ["x"]}', "stdin:1"),
    ],
)
def test_a_case_is_named_by_its_own_id_or_else_by_its_place(record: bytes, expected: str) -> None:
    (item,) = read_cases(["-"], stdin=io.BytesIO(record))
    assert item.id == expected


def test_the_same_id_twice_is_kept_the_index_tells_them_apart() -> None:
    items = list(read_cases(["-"], stdin=io.BytesIO(b'{"id": "x"}\n{"id": "x"}\n')))
    assert [(item.index, item.id) for item in items] == [(0, "x"), (1, "x")]


def test_stdin_is_jsonl_or_a_list_as_its_first_byte_tells() -> None:
    listed = list(read_cases(["-"], stdin=io.BytesIO(b' \n[{"a": 1}, {"a": 2}]')))
    assert [item.id for item in listed] == ["stdin:1", "stdin:2"]
    lines = list(read_cases(["-"], stdin=io.BytesIO(b'\n\n{"a": 1}\n')))
    assert [item.source for item in lines] == [Source(file="-", line=3)]


def test_stdin_is_left_open() -> None:
    for form in ("auto", "csv", "json"):
        given = io.BytesIO(b'[{"a": 1}]\n')
        list(read_cases(["-"], format=form, stdin=given))
        assert not given.closed


def test_a_pipe_is_read_under_the_format_given(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b'{"id": "piped"}\n')
    os.close(writing)
    try:
        (item,) = read_cases([f"/dev/fd/{reading}"], format="jsonl")
        assert item.id == "piped"
    finally:
        os.close(reading)


def test_a_folder_gives_its_json_files_by_name(write: Write) -> None:
    write("set/b.json", b'{"id": "b"}')
    write("set/a.json", b'[{"id": "a1"}, {"x": 1}]')
    write("set/.hidden.json", b"{}")
    write("set/notes.txt", b"no case")
    folder = write("set/deeper/c.json", b"{}").parent.parent
    items = list(read_cases([folder]))
    assert [item.id for item in items] == ["a1", "a.json:2", "b"]
    assert items[1].source == Source(file=f"{folder}/a.json", line=2)


def test_a_folder_gives_its_files_of_every_kind_and_says_what_it_leaves(write: Write) -> None:
    write("set/a.jsonl", b'{"id": "a1"}\n{"id": "a2"}\n')
    write("set/b.csv", b"id,text\nb,one\n")
    write("set/c.tsv", b"id\ttext\nc\ttwo\n")
    write("set/d.JSONL.gz", gzip.compress(b'{"id": "d"}\n'))
    write("set/e.parquet.gz", b"not to be read packed")
    write("set/.hidden.csv", b"id\nno\n")
    write("set/f.shard", b"")
    folder = write("set/deeper/g.json", b"{}").parent.parent
    assert [item.id for item in read_cases([folder])] == ["a1", "a2", "b", "c", "d"]
    assert list_ignored_files([folder, "elsewhere.json"]) == [
        f"{folder}: no cases are looked for in deeper, e.parquet.gz, f.shard"
    ]
    for number in range(4):
        write(f"set/{number}.txt", b"")
    assert list_ignored_files([folder])[0].endswith("in 0.txt, 1.txt, 2.txt, 3.txt, deeper and 2 more")


def test_an_empty_table_in_a_folder_is_one_problem_among_good_cases(write: Write) -> None:
    write("set/a.csv", b"")
    folder = write("set/b.csv", b"id,text\nb,001\n").parent
    items = list(read_cases([folder], judge=ToyJudge()))
    assert ("the file is empty" in str(items[0].problem), items[1].record) == (True, {"id": "b", "text": "001"})


def test_a_bad_file_in_a_folder_is_one_problem_among_good_ones(write: Write) -> None:
    write("set/a.json", b'{"id": "a"}')
    write("set/b.json", b"")
    write("set/c.json", b'{"cases": [1]}')
    folder = write("set/d.json", b'{"id": "d"}').parent
    items = list(read_cases([folder]))
    assert [item.id for item in items] == ["a", "b.json:1", "c.json:1", "d"]
    assert items[1].problem is not None
    assert "b.json: the file is empty" in items[1].problem


def test_a_format_given_overrules_the_suffix(write: Write) -> None:
    path = write("cases.txt", b'{"a": 1}\n')
    assert [item.record for item in read_cases([path], format="jsonl")] == [{"a": 1}]


def test_a_file_name_that_is_not_utf8_can_be_recorded(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.jsonl"
    Path(os.fsdecode(path)).write_bytes(b'{"a": 1}\n')
    (item,) = read_cases([os.fsdecode(path)])
    assert item.source is not None
    item.source.file.encode()


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("cases.txt", b"x", "unknown kind of file `.txt`; give the format"),
        ("cases", b"x", "unknown kind of file ``"),
        ("cases.parquet.gz", b"x", "unknown kind of file `.gz`"),
        ("cases.jsonl", b"", "the file is empty"),
        ("cases.jsonl", b" \n\n", "the file is empty"),
        ("cases.json", b"\xef\xbb\xbf", "the file is empty"),
        ("cases.csv", b"", "the file is empty"),
        ("cases.parquet", b"", "no readable Parquet file"),
        ("cases.jsonl.gz", b"not packed", "cannot be read: Not a gzipped file"),
        ("cases.jsonl", b"\xff\xfe{\x00}\x00", "UTF-16 text; save it as UTF-8"),
    ],
)
def test_an_input_that_cannot_be_used_is_refused_before_the_first_case(
    write: Write, name: str, data: bytes, said: str
) -> None:
    good = write("good.jsonl", b'{"a": 1}\n')
    with pytest.raises(UsageProblem, match=said) as refused:
        read_cases([good, write(name, data)])
    assert name in str(refused.value)


@pytest.mark.parametrize(
    ("form", "said"),
    [("jsonl", "this is a folder, not a jsonl file"), ("auto", "the folder holds no"), ("folder", "holds no")],
)
def test_a_folder_without_cases_is_refused(tmp_path: Path, form: Format, said: str) -> None:
    with pytest.raises(UsageProblem, match=said):
        read_cases([tmp_path], format=form)


@pytest.mark.parametrize(
    ("inputs", "options", "said"),
    [
        ([], {}, "no input"),
        (["nowhere.jsonl"], {}, "nowhere.jsonl: the input cannot be read: No such file"),
        (["a\0b.jsonl"], {}, "cannot be read"),
        (["-", "-"], {}, "named twice"),
        (["-"], {"format": "parquet"}, "cannot be read from stdin"),
        ([__file__], {"format": "folder"}, "this is a file, not a folder"),
    ],
)
def test_a_wrong_call_is_refused(inputs: list[str], options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageProblem, match=said):
        read_cases(inputs, **options)


def test_an_empty_stdin_is_refused() -> None:
    with pytest.raises(UsageProblem, match="stdin: the file is empty"):
        list(read_cases(["-"], stdin=io.BytesIO(b" \n")))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_read_permission_is_refused(write: Write) -> None:
    path = write("cases.jsonl", b'{"a": 1}\n')
    path.chmod(0)
    with pytest.raises(UsageProblem, match="Permission denied"):
        read_cases([path])
