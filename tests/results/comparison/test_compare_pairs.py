"""Which cases of two runs are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import krino
from krino.results.comparison.matching import Pairs, match_cases
from krino.results.table import read_table
from made_runs import make_run, row


def matched(tmp_path: Path, a: list[str], b: list[str]) -> Pairs:
    runs = [make_run(tmp_path / name, [row(case, score=1.0) for case in ids]) for name, ids in (("a", a), ("b", b))]
    return match_cases(read_table(runs[0]), read_table(runs[1]))


def test_cases_are_matched_by_id_whatever_their_order(tmp_path: Path) -> None:
    pairs = matched(tmp_path, ["x", "y", "z"], ["z", "w", "x"])
    assert list(zip(pairs.a, pairs.b, strict=True)) == [(0, 2), (2, 0)]
    assert (list(pairs.only_a), list(pairs.only_b)) == ([1], [1])


def of_contents(tmp_path: Path, a: list[str], b: list[str]) -> Pairs:
    """Cases written as id and content, `x1`; a content is a digit."""
    tables = []
    for name, cases in (("a", a), ("b", b)):
        rows = [{**row(case[0], score=1.0), "input_hash": case[1] * 32} for case in cases]
        tables.append(read_table(make_run(tmp_path / name, rows)))
    return match_cases(*tables)


def test_cases_of_one_id_are_matched_by_their_content_wherever_they_stand_and_counted(tmp_path: Path) -> None:
    pairs = of_contents(tmp_path, ["x1", "x2", "y3", "x4"], ["x2", "y5", "x1"])
    assert list(zip(pairs.a, pairs.b, strict=True)) == [(0, 2), (1, 0), (2, 1)]
    assert (list(pairs.only_a), list(pairs.only_b), pairs.repeated) == ([3], [], 1)


def test_an_id_that_only_one_run_repeats_is_not_matched_with_whichever_comes_first(tmp_path: Path) -> None:
    pairs = of_contents(tmp_path, ["x1", "x2", "y3"], ["x2", "y3"])
    assert list(zip(pairs.a, pairs.b, strict=True)) == [(1, 0), (2, 1)]
    assert list(pairs.only_a) == [0]


def test_the_same_record_twice_is_matched_twice(tmp_path: Path) -> None:
    pairs = of_contents(tmp_path, ["x1", "y2", "x1"], ["x1", "x1", "y2"])
    assert list(zip(pairs.a, pairs.b, strict=True)) == [(0, 0), (1, 2), (2, 1)]


def test_where_nothing_tells_cases_of_one_id_apart_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(krino.UsageProblem, match="1 ids belong to several cases"):
        of_contents(tmp_path, ["x1", "x2"], ["x3", "x4"])


def test_runs_without_a_common_case_are_refused_with_an_example_of_each(tmp_path: Path) -> None:
    with pytest.raises(krino.UsageProblem, match=r"no case of .* is in .*`cases:1`.*`other:1`.*the same in both"):
        matched(tmp_path, ["cases:1"], ["other:1"])


def test_a_run_without_judgements_is_refused(tmp_path: Path) -> None:
    with pytest.raises(krino.UsageProblem, match="b has no judgements"):
        matched(tmp_path, ["x"], [])


def test_other_content_under_the_same_id_is_told(tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", [row("x", score=1.0), row("y", score=1.0)])
    b = make_run(tmp_path / "b", [row("x", score=1.0), {**row("y", score=1.0), "input_hash": "f" * 32}])
    assert list(match_cases(read_table(a), read_table(b)).other_content) == [1]
