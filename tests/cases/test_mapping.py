"""Mapping: take the fields a judge wants from the fields a file has."""

from __future__ import annotations

import io
from typing import Any

import orjson
import pytest

from krino.cases import CaseItem, parse_mapping, read_cases
from krino.cases.mapping import FieldMap, FieldMissing
from krino.errors import UsageProblem


def read(record: dict[str, Any], **mapping: str) -> CaseItem:
    line = io.BytesIO(orjson.dumps(record))
    (item,) = read_cases(["-"], format="jsonl", mapping=mapping, stdin=line)
    return item


def test_a_top_level_field_is_renamed() -> None:
    assert read({"query": "q", "n": 1}, question="query").record == {"question": "q", "n": 1}


def test_a_nested_field_is_copied_and_stays_where_it_was() -> None:
    record = {"docs": {"passages": ["a", {"t": "b"}]}}
    assert read(record, context="docs.passages").record == record | {"context": ["a", {"t": "b"}]}
    assert read(record, second="docs.passages.1.t").record == record | {"second": "b"}


def test_a_flat_name_with_dots_is_a_top_level_field() -> None:
    assert read({"docs.passages": "flat", "n": 1}, context="docs.passages").record == {"context": "flat", "n": 1}


def test_fields_can_be_swapped_and_used_twice() -> None:
    assert read({"a": 1, "b": 2}, a="b", b="a").record == {"a": 2, "b": 1}
    assert read({"a": 1}, x="a", y="a").record == {"x": 1, "y": 1}


def test_null_is_a_value_not_a_missing_field() -> None:
    assert read({"query": None}, question="query").record == {"question": None}


def test_the_id_can_be_mapped() -> None:
    assert read({"qid": "q7"}, id="qid").id == "q7"


def test_a_missing_source_is_a_problem_that_names_place_field_and_what_is_there() -> None:
    item = read({"id": "x", "prompt": "q"}, question="query")
    assert item.record is None
    assert item.id == "x"
    assert item.problem == (
        "stdin:1: field `query` (for `question`) is not there: no `query`, "
        "the fields there are: id, prompt; correct the mapping or the record"
    )


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("docs.texts", "no `texts`, the fields there are: passages"),
        ("docs.passages.2", "no `2`, the list there has 2 elements"),
        ("docs.passages.-1", "no `-1`"),
        ("docs.passages.99999999999999999999", "the list there has 2 elements"),
        ("docs.passages.0.t", "the value there has no fields"),
    ],
)
def test_a_path_that_leads_nowhere_says_where_it_ends(path: str, said: str) -> None:
    item = read({"docs": {"passages": ["a", "b"]}}, context=path)
    assert item.problem is not None
    assert said in item.problem


def test_mappings_are_written_as_target_equals_source() -> None:
    parsed = parse_mapping(["question=query", " context = docs.passages.0 ", "eq=a=b"])
    assert parsed == {"question": "query", "context": "docs.passages.0", "eq": "a=b"}


@pytest.mark.parametrize("pair", ["question", "=query", "question=", "", "a=b..c", "a=.b", "a=b."])
def test_a_mapping_that_is_not_written_so_is_refused(pair: str) -> None:
    with pytest.raises(UsageProblem, match="write it as"):
        parse_mapping([pair])


def test_a_target_mapped_twice_is_refused() -> None:
    with pytest.raises(UsageProblem, match="`a` is mapped twice"):
        parse_mapping(["a=b", "a=c"])


# --- lists ---------------------------------------------------------------------------------------------

HITS: dict[str, Any] = {
    "hits": [{"doc": "A", "meta": {"tribunal": "Cass."}}, {"doc": "B", "meta": {"tribunal": "CC"}}, {"doc": "C"}]
}


def test_a_mapping_reaches_every_element_of_a_list() -> None:
    pairs = ["candidates.*.decision_id=hits.*.doc", "candidates.*.court=hits.*.meta.tribunal"]
    mapped = FieldMap(tuple(parse_mapping(pairs).items())).apply(HITS)
    assert list(mapped) == ["candidates"]
    assert mapped["candidates"] == [
        {"decision_id": "A", "court": "Cass.", "meta": {"tribunal": "Cass."}},
        {"decision_id": "B", "court": "CC", "meta": {"tribunal": "CC"}},
        {"decision_id": "C"},
    ]
    assert HITS["hits"][0] == {"doc": "A", "meta": {"tribunal": "Cass."}}  # the record itself is as it was


def test_elements_are_renamed_in_their_own_list() -> None:
    mapped = FieldMap((("hits.*.id", "hits.*.doc"),)).apply({"hits": [{"doc": "A"}, "not an object"]})
    assert mapped == {"hits": [{"id": "A"}, "not an object"]}


@pytest.mark.parametrize(
    ("source", "told"),
    [("hits.*.nothing", "is in no element"), ("nowhere.*.doc", "is not there"), ("x.*.y", "no list")],
)
def test_what_is_in_no_element_is_told(source: str, told: str) -> None:
    with pytest.raises(FieldMissing, match=told):
        FieldMap((("candidates.*.id", source),)).apply({**HITS, "x": "text"})


@pytest.mark.parametrize("pair", ["a.*.b=c", "a=c.*.b", "a.*=c.*", "a.*.b.*.c=d.*.e.*.f", "*.a=*.b"])
def test_a_star_stands_between_a_list_and_a_field_on_both_sides(pair: str) -> None:
    with pytest.raises(UsageProblem, match="once on both sides"):
        parse_mapping([pair])
