"""A key that appears twice in one object is told, in every format: which value is meant, nobody knows."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import krino
from krino.cases import CaseItem, read_cases
from krino.cases.strict_json import DuplicateKey, check_keys
from krino.errors import UsageProblem
from toy_judge import ToyJudge

TOY = f"{Path(__file__).parents[1] / 'toy_judge.py'}:{ToyJudge.__name__}"
TWICE = (
    '{"id": "a", "text": "x", "text": "y"}',
    '{"id":"a","text":"x","text":"x"}',
    '{"id": "a", "text" : "x", "text"\t:"y"}',
    '{"id": "a", "text": "x", "te\\u0078t": "y"}',
    '{"id": "a", "text": "a: b: c \\" : {", "text": ":"}',
    '{"id": "a", "more": "\\u003a", "text": 1, "text": 2}',
    '{"id": "a", "more": "\\u003A", "text": 1, "text": 2}',
    '{"id": "a", "more": [1, {"text": {"text": [{"text": 1, "b": {}, "text": 2}]}}]}',
    '{"id": "a", "text": {"a": 1}, "text": {"b": 2}}',
    '{"n": 1e6, "text":1,"text":2}',
    '{"more": "ends in a backslash \\\\", "text": "\\\\", "text": 3}',
)
ONCE = (
    '{"text": "{\\"text\\": 1, \\"text\\": 2}"}',
    '{"text": {"text": {"text": 1}}, "more": [{"text": 1}, {"text": 2}]}',
    '{"text": "a : b", "more": "\\u003a \\" : ", "te xt": ":"}',
    '{"text": "\\"text\\": 1", "Text": 2, "text ": 3, "": 4}',
    '{"text": "}{", "more": {"a": "{", "b": {"a": 1}}, "a": 2}',
)


def read(path: Path, data: bytes | str) -> list[CaseItem]:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return list(read_cases([path]))


def is_told(item: CaseItem, where: str) -> bool:
    problem = item.problem or ""
    return item.record is None and where in problem and "`text` appears twice in one object" in problem


# --- the check itself ------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TWICE)
def test_a_key_that_stands_twice_is_found(text: str) -> None:
    with pytest.raises(DuplicateKey, match="`text` appears twice"):
        check_keys(text.encode(), orjson.loads(text))


@pytest.mark.parametrize("text", ONCE)
def test_what_only_looks_like_it_is_none(text: str) -> None:
    check_keys(text.encode(), orjson.loads(text))


def test_nesting_deeper_than_can_be_written_again_is_looked_at_too() -> None:
    deep = b'{"a":' * 500 + b'{"text": 1, "text": 2}' + b"}" * 500
    with pytest.raises(DuplicateKey):
        check_keys(deep, orjson.loads(deep))
    sound = deep.replace(b', "text": 2', b"")
    check_keys(sound, orjson.loads(sound))


NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(value=VALUES, ascii_only=st.booleans(), spaces=st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :")]))
def test_no_sound_value_is_refused_however_it_is_written(value: Any, ascii_only: bool, spaces: tuple[str, str]) -> None:
    try:
        text = json.dumps(value, ensure_ascii=ascii_only, separators=spaces).encode()
        parsed = orjson.loads(text)
    except (UnicodeEncodeError, orjson.JSONDecodeError):
        return  # half of a surrogate pair
    check_keys(text, parsed)


@given(value=st.dictionaries(st.text(max_size=3), VALUES, min_size=1, max_size=4), again=VALUES, data=st.data())
def test_a_pair_written_again_anywhere_is_found(value: dict[str, Any], again: Any, data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(value)))
    pairs = [*value.items(), (key, again)]
    order = data.draw(st.permutations(pairs))
    text = "{" + ", ".join(f"{json.dumps(name)}: {json.dumps(item)}" for name, item in order) + "}"
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError:
        return
    with pytest.raises(DuplicateKey):
        check_keys(text.encode(), parsed)


# --- in every format -------------------------------------------------------------------------------

SOUND = '{"text": "fine"}'


@pytest.mark.parametrize("text", TWICE)
def test_a_line_is_told_and_the_others_are_read(tmp_path: Path, text: str) -> None:
    found = read(tmp_path / "c.jsonl", f"{SOUND}\n{text}\n{SOUND}\n")
    assert is_told(found[1], f"{tmp_path / 'c.jsonl'}:2: ")
    assert [item.record for item in (found[0], found[2])] == [{"text": "fine"}] * 2
    assert found[1].raw == text + "\n"


@pytest.mark.parametrize("text", TWICE)
def test_an_element_of_a_list_is_told_and_the_others_are_read(tmp_path: Path, text: str) -> None:
    found = read(tmp_path / "c.json", f"[{SOUND}, {text}, {SOUND}]")
    assert is_told(found[1], f"{tmp_path / 'c.json'}: element 2: ")
    assert [item.record for item in (found[0], found[2])] == [{"text": "fine"}] * 2


@pytest.mark.parametrize("text", ONCE)
def test_elements_that_only_look_like_it_are_read(tmp_path: Path, text: str) -> None:
    assert [item.problem for item in read(tmp_path / "c.json", f"[{SOUND}, {text}]")] == [None, None]


@pytest.mark.parametrize("text", TWICE)
def test_a_file_that_is_one_object_is_told(tmp_path: Path, text: str) -> None:
    (item,) = read(tmp_path / "c.json", text.replace(", ", ",\n"))
    assert is_told(item, "c.json: ")


def test_a_json_file_with_an_object_a_line_is_told(tmp_path: Path) -> None:
    first, second = read(tmp_path / "c.json", f"{TWICE[0]}\n{SOUND}\n")
    assert (is_told(first, "c.json:1: "), second.record) == (True, {"text": "fine"})


def test_a_packed_file_and_a_cell_of_a_table_are_told(tmp_path: Path) -> None:
    (item,) = read(tmp_path / "c.jsonl.gz", gzip.compress(TWICE[0].encode()))
    assert is_told(item, "c.jsonl.gz:1: ")
    cell = TWICE[0].replace('"', '""')
    bad, good = read(tmp_path / "c.csv", f'id,more\n1,"{cell}"\n2,"{{""text"": 1}}"\n')
    assert is_told(bad, "c.csv:2: column `more`: ")
    assert good.record == {"id": "2", "more": {"text": 1}}


def test_a_trace_that_is_a_list_is_told_as_a_whole(tmp_path: Path) -> None:
    from krino.judges.registry import load_judge

    path = tmp_path / "t.json"
    path.write_text('[{"role": "user", "content": "x"}, {"role": "user", "role": "assistant", "content": "y"}]')
    (item,) = read_cases([path], judge=load_judge("efficiency"))
    assert (item.record, "element 2: the key `role` appears twice" in (item.problem or "")) == (None, True)


def test_a_table_with_a_column_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="names `text` twice"):
        read(tmp_path / "c.csv", "text,text\na,b\n")


def test_parquet_is_told_of_columns_fields_and_map_keys(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "c.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array(["x"]), pa.array(["y"])], names=["text", "text"]), path)
    with pytest.raises(UsageProblem, match="two columns are named `text`"):
        list(read_cases([path]))
    pairs = pa.array([[("text", 1), ("text", 2)], [("text", 1)]], pa.map_(pa.string(), pa.int64()))
    pq.write_table(pa.table({"more": pairs}), path)
    bad, good = read_cases([path])
    assert (is_told(bad, "row 1: field `more`: "), good.record) == (True, {"more": {"text": 1}})


def test_the_command_ends_with_3_and_names_file_line_and_key(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text(f"{SOUND}\n{TWICE[0]}\n")
    done = krino("judge", TOY, "cases.jsonl", "--run", "r", cwd=tmp_path)
    assert done.returncode == 3
    assert "cases.jsonl:2: the key `text` appears twice in one object" in " ".join(done.stdout.split())
