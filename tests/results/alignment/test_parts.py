"""Labelled cases are split so that nothing that was learnt from is tested on."""

from __future__ import annotations

import pytest

from krino import UsageProblem
from krino.results.alignment.parts import find_source, split_cases


def test_each_case_is_in_one_part_and_sources_stay_together() -> None:
    groups = {case: f"s{case % 40}" for case in range(200)}
    parts = split_cases(groups, set(groups), seed=1)
    whole = [*parts.learn, *parts.choose, *parts.test]
    assert sorted(whole) == sorted(groups)
    sources = [{groups[case] for case in part} for part in (parts.learn, parts.choose, parts.test)]
    assert not (sources[0] & sources[1] or sources[0] & sources[2] or sources[1] & sources[2])
    assert [len(part) for part in (parts.learn, parts.choose, parts.test)] == [60, 60, 80]


def test_another_seed_gives_another_split() -> None:
    groups = {case: str(case) for case in range(100)}
    assert split_cases(groups, set(groups), 1).test != split_cases(groups, set(groups), 2).test
    assert split_cases(groups, set(groups), 1) == split_cases(groups, set(groups), 1)


def test_cases_that_were_not_drawn_at_random_are_learnt_from_at_most() -> None:
    groups = {case: str(case) for case in range(200)}
    disputed = set(range(0, 200, 4))
    parts = split_cases(groups, set(groups) - disputed, seed=0)
    assert not disputed & {*parts.choose, *parts.test}
    assert disputed & {*parts.learn}
    assert parts.left_out == len(disputed - {*parts.learn})


def test_too_few_labels_or_sources_are_refused() -> None:
    few = {case: str(case) for case in range(59)}
    with pytest.raises(UsageProblem, match="at least 60"):
        split_cases(few, set(few), 0)
    one_source = dict.fromkeys(range(100), "the same")
    with pytest.raises(UsageProblem, match=r"1 source.*--cluster"):
        split_cases(one_source, set(one_source), 0)


def test_the_source_is_the_named_field_or_a_usual_one() -> None:
    records: list[dict[str, object]] = [{"source": "web", "doc_id": n, "court": "x"} for n in range(20)]
    assert find_source(records, None) == "doc_id"
    assert find_source(records, "court") == "court"
    assert find_source([*records, {"text": "no source"}], None) is None
    with pytest.raises(UsageProblem, match="--cluster nothing: no case has this field"):
        find_source(records, "nothing")


def test_sources_that_are_too_unequal_are_refused() -> None:
    groups = {case: "the large one" if case >= 20 else str(case) for case in range(200)}
    with pytest.raises(UsageProblem, match="too unequal"):
        split_cases(groups, set(groups), 0)
