"""The worst cases of a run, with their reasons in words."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from krino.reports.named_cases import NamedCase, reason_of, worst_cases
from made_judgements import error, failed, ok


def told(*cases: NamedCase) -> list[tuple[str, Any]]:
    return [(case.id, case.value) for case in cases]


def scored(*values: float | None) -> list[dict[str, Any]]:
    return [ok(place, score=value) for place, value in enumerate(values)]


def test_the_lowest_come_first_and_equals_in_their_order() -> None:
    found = worst_cases(scored(0.5, 0.1, 0.9, 0.1, 0.4), "score", most=3)
    assert told(*found) == [("case-1", 0.1), ("case-3", 0.1), ("case-4", 0.4)]


def test_the_highest_where_high_is_bad() -> None:
    found = worst_cases(scored(0.5, 0.1, 0.9, 0.9), "score", most=3, highest=True)
    assert told(*found) == [("case-2", 0.9), ("case-3", 0.9), ("case-0", 0.5)]


def test_of_roll_ups_fail_is_the_worst() -> None:
    judgements = [{**ok(place, score=0.5), "roll_up": word} for place, word in enumerate(["pass", "fail", "review"])]
    assert told(*worst_cases(judgements, "roll_up", most=2)) == [("case-1", "fail"), ("case-2", "review")]


def test_what_has_no_value_has_no_place() -> None:
    judgements = [failed(0), error(1), ok(2, score=None), ok(3, score=True), ok(4, score=0.7), ok(5, kind="A")]
    assert told(*worst_cases(judgements, "score")) == [("case-4", 0.7)]
    assert worst_cases(judgements, "score", most=0) == []


def test_memory_does_not_grow_with_the_run() -> None:
    def many(size: int) -> Iterator[dict[str, Any]]:
        for place in range(size):
            yield {"id": str(place), "status": "ok", "verdict": {"score": -place, "text": "x" * 1_000}}

    tracemalloc.start()
    worst_cases(many(20_000), "score", most=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000, "20 MB went through"


@pytest.mark.parametrize(
    ("judgement", "reason"),
    [
        (failed(0, "answer: missing"), "answer: missing"),
        (error(0, "no valid\n labels"), "no valid labels"),
        (ok(score=0.5, score_explanation="2 of 4 claims hold.", reason="All."), "2 of 4 claims hold."),
        (ok(score=0.5, score_reason="Half of it."), "Half of it."),
        (ok(score=0.5, reason="Two steps too many."), "Two steps too many."),
        (ok(score=0.5, score_explanation=" "), "A rule in words. (seen in passage 1)"),
        ({**ok(score=0.5), "evidence": {}}, "A rule in words."),
        ({**ok(score=0.5), "rules": {"score": "R9"}}, "seen in passage 1"),
        (
            {**ok(score=0.5, kind="A", notes="The cited court is another one than that of the match."), "rules": {}}
            | {"evidence": {}},
            "The cited court is another one than that of the match.",
        ),
        ({**ok(score=0.5, kind="A"), "rules": {"score": "R9"}, "evidence": {}}, "rule R9"),
        ({**ok(score=0.5), "rules": {}, "evidence": {}}, ""),
    ],
)
def test_the_most_telling_reason_is_given(judgement: dict[str, Any], reason: str) -> None:
    assert reason_of(judgement, "score", {"R1": "A rule in words."}) == reason


def test_a_field_is_not_its_own_reason() -> None:
    assert reason_of(ok(reason="Because."), "reason") == "seen in passage 1"


def test_reasons_are_short_and_harmless() -> None:
    reason = reason_of(ok(score=0.1, reason="\x1b[31mred\x1b[0m " + "long " * 1_000), "score")
    assert reason.startswith("red long") and len(reason) <= 400


def test_inputs_go_along_where_the_judgement_has_them() -> None:
    judgement = {**ok(score=0.1), "inputs": {"question": "When?"}}
    assert worst_cases([judgement], "score")[0].inputs == {"question": "When?"}
    assert worst_cases(scored(0.1), "score")[0].inputs == {}
