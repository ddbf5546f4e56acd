"""A mapped field may be absent in some records, but not in all of them; the mapping decides between names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

import krino
from krino.cases import CaseItem, read_cases
from krino.cases.mapping import FieldMap
from krino.errors import UsageProblem
from krino.judges.registry import load_judge


def read(folder: Path, *records: dict[str, Any], judge: str | None = None, **mapping: str) -> list[CaseItem]:
    file = folder / "cases.jsonl"
    file.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    pairs = {target.replace("__", ".*."): source for target, source in mapping.items()}
    return list(read_cases([file], mapping=pairs, judge=None if judge is None else load_judge(judge)))


@pytest.mark.parametrize("sparse", [{}, {"gold": None}, {"gold": {}}, {"gold": {"id": None}}])
def test_a_source_that_some_record_has_is_null_where_it_is_absent(tmp_path: Path, sparse: dict[str, Any]) -> None:
    full = {"gold": {"id": "d1"}}
    items = read(tmp_path, sparse, full, truth="gold.id")
    assert [item.problem for item in items] == [None, None]
    assert [item.record and item.record["truth"] for item in items] == [None, "d1"]


def test_a_source_that_no_record_has_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=r"`truth=gold.di`: no record has `gold.di` \(did you mean gold.id\?\)"):
        read(tmp_path, {"gold": {"id": "d1"}}, {"gold": None}, truth="gold.di")


def test_a_field_of_elements_that_no_element_has_is_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match=r"no record has `hits.\*.cort` \(did you mean hits.\*.court\?\)"):
        read(tmp_path, {"hits": [{"court": "x"}]}, candidates__court="hits.*.cort")


def test_a_field_of_elements_may_be_absent_in_a_record(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [
        {"hits": [{"court": "x", "nr": 1}]},
        {"hits": [{"court": "y"}]},
        {"hits": None},
        {"hits": []},
        {},
    ]
    items = read(tmp_path, *records, candidates__court_name="hits.*.court", candidates__rol_number="hits.*.nr")
    assert [item.problem for item in items] == [None] * 5
    found = [(item.record or {}).get("candidates") for item in items]
    assert found == [[{"court_name": "x", "rol_number": 1}], [{"court_name": "y"}], None, [], None]


def test_a_value_of_another_kind_in_the_way_is_a_problem_of_the_record(tmp_path: Path) -> None:
    good, bad = read(tmp_path, {"gold": {"id": 1}}, {"gold": "d1"}, truth="gold.id")
    assert good.problem is None
    assert bad.problem is not None
    assert "the value there has no fields" in bad.problem


def test_where_the_source_is_absent_a_value_under_the_own_name_stays(tmp_path: Path) -> None:
    items = read(tmp_path, {"answer": "a"}, {"out": {"text": "b"}}, answer="out.text")
    assert [item.record and item.record["answer"] for item in items] == ["a", "b"]


def test_two_targets_may_take_the_same_field_of_elements() -> None:
    pairs = (("c.*.x", "h.*.k"), ("c.*.y", "h.*.k"), ("c.*.k", "h.*.z"))
    assert FieldMap(pairs).apply({"h": [{"k": 1, "z": 2}]}) == {"c": [{"x": 1, "y": 1, "k": 2}]}


def test_one_object_in_place_of_a_list_is_a_list_of_one() -> None:
    assert FieldMap((("matches.*.id", "pick.*.doc"),)).apply({"pick": {"doc": 1}}) == {"matches": [{"id": 1}]}


def test_the_mapping_decides_between_names_of_one_field(tmp_path: Path) -> None:
    record = {"question": "q", "answer": "gold", "prediction": "said"}
    (item,) = read(tmp_path, record, judge="rag", answer="prediction")
    assert item.record == {"question": "q", "answer": "said"}
    (item,) = read(tmp_path, record, judge="rag", answer="answer")
    assert item.record == {"question": "q", "answer": "gold"}


def test_an_object_that_was_mapped_from_is_not_read_again_under_its_name(tmp_path: Path) -> None:
    record = {
        "cited_court_name": "Cass.",
        "output": {"picks": [{"ref": "d1", "sure": 0.9}]},
        "candidates": [{"id": "d1", "court": "Cass."}],
    }
    pairs = {"matches__decision_id": "output.picks.*.ref", "matches__confidence": "output.picks.*.sure"}
    (item,) = read(tmp_path, record, judge="citation", **pairs)
    assert item.record is not None
    assert load_judge("citation").read(item.record).matches[0].decision_id == "d1"


# --- from Python -----------------------------------------------------------------------------------------


CASE = {"query": "When does it open?", "docs": ["It opens at 9."], "reply": "It opens at 9."}
MAPPING = {"question": "query", "context": "docs", "answer": "reply"}


def test_one_case_is_judged_with_a_mapping() -> None:
    assert krino.judge("rag", CASE, mapping=MAPPING).verdict["faithfulness"] == 1.0  # type: ignore[index]
    failed = krino.judge("rag", CASE, mapping={**MAPPING, "answer": "replies"})
    assert failed.status == "failed"
    assert "field `replies` (for `answer`) is not there" in (failed.reason or "")


def test_of_many_cases_an_optional_field_may_be_absent() -> None:
    cases = [{**CASE, "gold": "At 9."}, CASE]
    judged = list(krino.judge_many("rag", cases, mapping={**MAPPING, "reference": "gold"}))
    assert [judgement.status for judgement in judged] == ["ok", "ok"]


def test_an_optional_field_that_no_case_has_is_said() -> None:
    with pytest.warns(UserWarning, match="`reference=gld`: no case has `gld`"):
        list(krino.judge_many("rag", [CASE], mapping={**MAPPING, "reference": "gld"}))
