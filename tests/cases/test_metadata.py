"""What a record brings along to slice by."""

from __future__ import annotations

from typing import Any

import pytest

from krino.cases.metadata import metadata_with, record_metadata


def test_an_object_and_columns_named_so_are_taken() -> None:
    record = {"text": "x", "metadata": {"court": "cass", "year": 2018}, "metadata.language": "fr"}
    assert record_metadata(record) == {"court": "cass", "year": 2018, "language": "fr"}


@pytest.mark.parametrize("value", ["cass", "Cour d'appel\u00a0de Liège", "", 3, 0.5, True, None])
def test_short_values_are_metadata(value: Any) -> None:
    assert record_metadata({"metadata": {"name": value}}) == {"name": value}


@pytest.mark.parametrize(
    "value", ["x" * 101, "two\nlines", "\x1b[31m", "\ud800", float("nan"), float("inf"), 2**63, [1], {"a": 1}, b"x"]
)
def test_what_is_long_nested_or_cannot_be_written_is_not(value: Any) -> None:
    assert record_metadata({"metadata": {"name": value, "kept": 1}}) == {"kept": 1}


@pytest.mark.parametrize("metadata", [None, "text", ["a"], 3, {"": 1, 5: 1, "x" * 61: 1, "\x00": 1}])
def test_metadata_of_another_shape_is_none(metadata: Any) -> None:
    assert record_metadata({"metadata": metadata}) == {}


def test_what_the_judge_calls_by_the_same_name_overwrites_nothing() -> None:
    record = {"metadata": {"goal": "sales", "court": "cass"}}
    assert metadata_with({"goal": "legal", "passages": 2}, record) == {
        "metadata.goal": "sales",
        "court": "cass",
        "goal": "legal",
        "passages": 2,
    }


def test_there_is_an_end_to_it() -> None:
    assert len(record_metadata({"metadata": {f"c{number}": number for number in range(1_000)}})) == 50
