"""Sampling weights: every judged case of an answer is represented by the labelled ones that were drawn from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from krino.people.rows import build_rows
from krino.people.sampling import find_target, random_rank, weigh_cases
from krino.people.store import CaseRef, Event, Subject

SUBJECT = Subject("toy", "0" * 32, "1")
CASES = sorted((f"{number:032x}" for number in range(100)), key=random_rank)
ANSWERS = {digest: place % 4 == 0 for place, digest in enumerate(CASES)}
"""In random order; the judge says yes to one in four."""
YES = [digest for digest in CASES if ANSWERS[digest]]
NO = [digest for digest in CASES if not ANSWERS[digest]]


def event(digest: str, why: Any = "rate", run: str = "r", action: Any = "label", **more: Any) -> Event:
    place = CaseRef(SUBJECT, digest, digest, run)
    drawn = {"target": "pass"} if why == "rate" else {"random": why == "random"}
    answer = {"score": 1.0} if action == "label" else None
    return Event(place, "anna", more.pop("depth", "fields"), action, answer, why=why, **{**drawn, **more})


def weights(events: Iterable[Event]) -> dict[str, float]:
    return weigh_cases(list(events), "pass", ANSWERS, "r")


def test_within_an_answer_every_case_has_the_same_weight_and_they_add_up_to_all_cases() -> None:
    found = weights([*map(event, YES[:10]), *map(event, NO[:5])])
    assert {found[digest] for digest in YES[:10]} == {2.5}
    assert {found[digest] for digest in NO[:5]} == {15.0}
    assert sum(found.values()) == pytest.approx(100)


def test_a_disputed_case_that_the_order_has_passed_belongs_to_the_sample_and_another_does_not() -> None:
    early, late = event(YES[0], "seats"), event(YES[20], "seats")
    found = weights([early, *map(event, YES[1:5]), late, *map(event, NO[:5])])
    assert YES[0] in found and YES[20] not in found


def test_a_case_that_was_left_out_ends_the_sample() -> None:
    skipped = event(YES[2], action="skip")
    no = event(NO[0])
    assert set(weights([*map(event, YES[:2]), skipped, event(YES[3]), no])) == {*YES[:2], YES[3], NO[0]}
    assert set(weights([*map(event, YES[:2]), event(YES[3]), no])) == {*YES[:2], NO[0]}


def test_the_simple_random_sample_counts_for_both_answers() -> None:
    found = weights(event(digest, "random") for digest in CASES[:20])
    assert set(found) == set(CASES[:20])
    assert set(found.values()) == {5.0}


def test_while_an_answer_has_no_label_only_the_simple_random_sample_counts() -> None:
    """The judge says yes to the last case alone, which nobody reached: the labels of the others are not all cases."""
    answers = {digest: digest == CASES[-1] for digest in CASES}
    events = [*(event(digest, "random") for digest in CASES[:4]), *map(event, CASES[4:10])]
    assert weigh_cases(events, "pass", answers, "r") == dict.fromkeys(CASES[:4], 25.0)
    assert weigh_cases(events[4:], "pass", answers, "r") == {}


def test_cases_that_were_reached_at_one_depth_only_get_no_weight_at_the_other() -> None:
    """A disputed case that was labelled at the depth `fields` is not drawn because the labels went that far."""
    ids = {digest: digest for digest in CASES}
    reached = [event(digest, depth="labels", verdict={"score": 1.0}) for digest in (*YES[:9], *NO[:9])]
    disputed = event(YES[5], "seats")
    rows = build_rows([*reached, disputed], ids, "1", "fields", answers=("r", lambda target: ANSWERS))
    assert [row.get("label_weight") for row in rows] == [None]


def test_what_was_drawn_in_another_run_does_not_count() -> None:
    assert weights(event(digest, run="other") for digest in YES[:10]) == {}


def test_the_target_is_that_of_most_draws() -> None:
    events = [event(YES[0]), event(YES[1]), event(YES[2], target="kind:A"), event(YES[3], "random")]
    assert find_target(events) == "pass"
    assert find_target([event(YES[3], "random")]) is None


def test_rows_have_a_weight_where_cases_were_drawn_for_a_rate() -> None:
    ids = {digest: digest for digest in CASES}
    events = [*map(event, YES[:5]), *map(event, NO[:5]), event(YES[20], "seats")]
    rows = build_rows(events, ids, "1", answers=("r", lambda target: ANSWERS))
    assert [row.get("label_weight") for row in rows] == [5.0] * 5 + [15.0] * 5 + [None]
    assert all("label_weight" not in row for row in build_rows(events, ids, "1"))
