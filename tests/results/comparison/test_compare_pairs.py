"""Which cases of two runs are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import krino
from krino.results.comparison.compare import Pairs, match
from krino.results.table import read_table
from made_runs import make_run, row


def matched(tmp_path: Path, a: list[str], b: list[str]) -> Pairs:
    runs = [make_run(tmp_path / name, [row(case, score=1.0) for case in ids]) for name, ids in (("a", a), ("b", b))]
    return match(read_table(runs[0]), read_table(runs[1]))


def test_cases_are_matched_by_id_whatever_their_order(tmp_path: Path) -> None:
    pairs = matched(tmp_path, ["x", "y", "z"], ["z", "w", "x"])
    assert list(zip(pairs.a, pairs.b, strict=True)) == [(0, 2), (2, 0)]
    assert (list(pairs.only_a), list(pairs.only_b)) == ([1], [1])


def test_cases_of_one_id_are_matched_in_their_order_and_counted(tmp_path: Path) -> None:
    pairs = matched(tmp_path, ["x", "x", "y", "x"], ["y", "x", "x"])
    assert list(zip(pairs.a, pairs.b, strict=True)) == [(0, 1), (1, 2), (2, 0)]
    assert (list(pairs.only_a), pairs.repeated) == ([3], 1)


def test_runs_without_a_common_case_are_refused_with_an_example_of_each(tmp_path: Path) -> None:
    with pytest.raises(krino.UsageProblem, match=r"no case of .* is in .*`cases:1`.*`other:1`.*the same in both"):
        matched(tmp_path, ["cases:1"], ["other:1"])


def test_a_run_without_judgements_is_refused(tmp_path: Path) -> None:
    with pytest.raises(krino.UsageProblem, match="b has no judgements"):
        matched(tmp_path, ["x"], [])


def test_other_content_under_the_same_id_is_told(tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", [row("x", score=1.0), row("y", score=1.0)])
    b = make_run(tmp_path / "b", [row("x", score=1.0), {**row("y", score=1.0), "input_hash": "f" * 32}])
    assert list(match(read_table(a), read_table(b)).other_content) == [1]
