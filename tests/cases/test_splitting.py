"""Records that hold several cases are taken apart while they are read; a judge may take a whole list as one case."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

import krino
from krino import UsageProblem
from krino.cases import CaseItem, read_cases
from krino.cases.splitting import split_items
from krino.contract import ReadsRecords, hash_record
from krino.runs.inputs import with_cases
from toy_judge import ToyJudge


class ManyJudge(ToyJudge, ReadsRecords):
    """`texts` in a record are several cases; a list of bare texts is one of them."""

    def list_field(self, first: Any) -> str | None:
        return "texts" if isinstance(first, str) else None

    def is_case(self, record: Mapping[str, Any]) -> bool:
        return "texts" in record

    def split(self, record: Mapping[str, Any]) -> Iterable[tuple[str | None, Mapping[str, Any]]]:
        if record.get("texts") == "explode":
            raise RuntimeError("a fault in the splitting")
        texts = record.get("texts", [record.get("text")])
        return [(None if text == "nameless" else text, {"text": text}) for text in texts]


def read(path: Path, data: Any, judge: ToyJudge | None = None) -> list[CaseItem]:
    lines = data if isinstance(data, bytes) else orjson.dumps(data)
    path.write_bytes(lines)
    return list(read_cases([path], judge=judge or ManyJudge()))


def seen(items: list[CaseItem]) -> list[tuple[int, str, int | None]]:
    return [(item.index, item.id, item.source.line if item.source else None) for item in items]


def test_cases_of_one_record_are_numbered_on_and_keep_its_place(tmp_path: Path) -> None:
    data = (
        b'{"text": "a"}\n{"texts": ["b", "nameless"]}\n{"id": "own", "texts": ["c", "d"]}\n{"id": "e", "text": "x"}\n'
    )
    assert seen(read(tmp_path / "cases.jsonl", data)) == [
        (0, "a", 1),
        (1, "b", 2),
        (2, "cases.jsonl:2#2", 2),
        (3, "own:c", 3),
        (4, "own:d", 3),
        (5, "e", 4),
    ]


def test_an_object_around_a_list_is_a_case_only_if_the_judge_says_so(tmp_path: Path) -> None:
    assert seen(read(tmp_path / "cases.json", {"texts": ["a", "b"]})) == [(0, "a", 1), (1, "b", 1)]
    with pytest.raises(UsageProblem, match="only field `cases` is a list"):
        read(tmp_path / "cases.json", {"cases": ["a", "b"]})


def test_a_list_is_one_case_only_if_the_judge_says_so(tmp_path: Path) -> None:
    assert [item.record for item in read(tmp_path / "a.json", ["a", "b"])] == [{"text": "a"}, {"text": "b"}]
    assert [item.record for item in read(tmp_path / "a.json", [["a"], {"text": "b"}])] == [{"text": "a"}, {"text": "b"}]
    assert [item.record for item in read(tmp_path / "a.jsonl", b'["a"]\n["b"]\n')] == [{"text": "a"}, {"text": "b"}]
    assert all("a string, not an object" in str(item.problem) for item in read(tmp_path / "a.json", ["a"], ToyJudge()))
    assert read(tmp_path / "a.json", []) == []


def test_a_list_that_is_one_case_and_breaks_off_is_no_case(tmp_path: Path) -> None:
    (item,) = read(tmp_path / "a.json", b'["a", "b", x]')
    assert (item.record, item.index) == (None, 0)
    assert "a.json: element 3: not valid JSON" in str(item.problem)


def test_a_record_that_cannot_be_taken_apart_is_a_failed_case(tmp_path: Path) -> None:
    items = read(tmp_path / "cases.jsonl", b'{"texts": "explode"}\n{"text": "fine"}\nnot json\n')
    assert [item.problem is None for item in items] == [False, True, False]
    assert "cannot be taken apart: RuntimeError: a fault in the splitting" in str(items[0].problem)
    assert [item.index for item in items] == [0, 1, 2]


def test_a_record_that_holds_no_case_is_a_failed_case(tmp_path: Path) -> None:
    none, fine = read(tmp_path / "cases.jsonl", b'{"id": "none", "texts": []}\n{"text": "fine"}\n')
    assert (none.id, none.index, none.record, fine.index) == ("none", 0, None, 1)
    assert str(none.problem).endswith("cases.jsonl:1: the record holds no case; give it one, or remove it")


def test_records_are_taken_apart_as_they_come() -> None:
    def endless() -> Iterator[CaseItem]:
        for number in itertools.count():
            yield CaseItem(number, str(number), {"texts": ["a", "b"]})

    first = list(itertools.islice(split_items(endless(), ManyJudge()), 5))
    assert [item.index for item in first] == [0, 1, 2, 3, 4]


def test_each_case_of_a_record_has_its_judgement_and_meets_it_again(tmp_path: Path) -> None:
    judgements = list(krino.judge_many(ManyJudge(), [{"texts": ["fine a", "bad b"]}, {"text": "fine c"}]))
    assert [(item.index, item.id) for item in judgements] == [(0, "fine a"), (1, "bad b"), (2, "fine c")]
    assert [item.verdict and item.verdict["score"] for item in judgements] == [1.0, 0.0, 1.0]
    assert judgements[1].input_hash == hash_record({"text": "bad b"})
    cases = tmp_path / "cases.jsonl"
    cases.write_bytes(b'{"texts": ["fine a", "bad b"]}\n{"text": "fine c"}\n')
    found = with_cases([item.model_dump() for item in judgements], lambda: read_cases([cases], judge=ManyJudge()))
    assert [item["case"] for item in found] == [{"text": "fine a"}, {"text": "bad b"}, {"text": "fine c"}]


def test_what_holds_the_cases_of_a_record_is_no_misspelt_field() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(krino.judge_many(ManyJudge(), [{"texts": ["fine a", "bad b"]}]))
