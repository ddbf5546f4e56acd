"""The order in which cases are brought, the reasons given, and the share that comes at random."""

from __future__ import annotations

from typing import Any

import pytest

from krino.people.rows import build_rows
from krino.people.sampling import random_rank
from krino.people.store import CaseRef, Depth, Event, Subject
from krino.web.labels.queue import (
    SHARE,
    CaseInterest,
    Queue,
    QueueRanking,
    list_progress,
    measure_interest,
    verdict_distance,
)

SUBJECT = Subject("toy", "0" * 32, "1")


def digest(case: int) -> str:
    return f"{case:032x}"


def case(number: int, score: float = 1.0, **more: Any) -> CaseInterest:
    return CaseInterest(digest(number), {"score": score}, **more)


def event(
    number: int, rater: str = "anna", score: float = 1.0, action: Any = "label", depth: Depth = "fields", **more: Any
) -> Event:
    answer = {"score": score} if action == "label" else None
    return Event(CaseRef(SUBJECT, digest(number), f"case-{number}", "run"), rater, depth, action, answer, **more)


def brought(queue: Queue, count: int, rater: str = "anna") -> list[tuple[str, str, bool]]:
    """What a rater is brought, one after the other, who labels all of it alike."""
    found: list[tuple[str, str, bool]] = []
    events = list(queue.events)
    for _ in range(count):
        turn = Queue(queue.ranking, events, queue.depth).next(rater)
        if turn is None:
            break
        found.append((turn.input_hash, turn.why, turn.random))
        place = CaseRef(SUBJECT, turn.input_hash, turn.input_hash, "run")
        events.append(Event(place, rater, queue.depth, "label", {"score": 1.0}, why=turn.why, random=turn.random))
    return found


def test_disagreement_comes_first_the_widest_before_the_others_then_doubt_then_the_rest_at_random() -> None:
    cases = [
        case(0),
        case(1, unsure=0.9),
        case(2, unsure=0.6),
        case(3, split=0.3),
        case(4, score=0.0),
        case(5, unsure=0.3),
    ]
    ranking = QueueRanking(cases, [{digest(4): {"score": 0.8}}])
    found = brought(Queue(ranking, [], "fields"), 10)
    useful = [(item[0], item[1]) for item in found if not item[2]]
    assert [why for _, why in useful] == ["runs", "seats", "unsure", "unsure"][: len(useful)]
    assert useful[:2] == [(digest(4), "runs"), (digest(3), "seats")]
    assert len({item[0] for item in found}) == 6


def test_raters_who_disagree_bring_the_case_to_a_third() -> None:
    ranking = QueueRanking([case(number) for number in range(6)])
    events = [event(2, "ben", 1.0), event(2, "cleo", 0.0), event(3, "ben", 0.5), event(3, "cleo", 0.55)]
    turn = Queue(ranking, events, "fields").next("anna")
    assert turn is not None
    assert (turn.input_hash, turn.why) == (digest(2), "raters")


def test_one_in_five_is_drawn_at_random_whatever_waits() -> None:
    ranking = QueueRanking([case(number, split=0.5) for number in range(40)])
    found = brought(Queue(ranking, [], "fields"), 20)
    assert [random for _, _, random in found] == [place % SHARE == SHARE - 1 for place in range(20)]


def test_the_random_share_follows_one_order_for_everybody() -> None:
    ranking = QueueRanking([case(number) for number in range(12)])
    for rater in ("anna", "ben"):
        found = brought(Queue(ranking, [], "fields"), 12, rater)
        assert [item[0] for item in found] == sorted(map(digest, range(12)), key=random_rank)
        assert all(item[2] for item in found)


def test_the_random_sample_holds_the_disputed_cases_that_the_draw_would_have_brought() -> None:
    """Else the sample would be of what nobody disputes, and every estimate too good."""
    ranking = QueueRanking([case(number, split=0.5 if number < 100 else 0.0) for number in range(400)])
    queue = Queue(ranking, [], "fields")
    events = [event(int(item, 16), why=why, random=random) for item, why, random in brought(queue, 200)]
    rows = build_rows(events, {digest(number): str(number) for number in range(400)}, "1")
    sample = [int(row["id"]) for row in rows if row["label_random"]]
    reached = sorted(range(400), key=lambda number: random_rank(digest(number)))[: len(sample)]
    assert sorted(sample) == sorted(reached)
    assert any(number < 100 for number in sample)
    assert len(sample) > sum(one.random for one in events)


def test_a_case_that_was_labelled_or_skipped_is_not_brought_again_at_that_depth() -> None:
    ranking = QueueRanking([case(0), case(1)])
    events = [event(0), event(1, action="skip")]
    assert Queue(ranking, events, "fields").next("anna") is None
    assert Queue(ranking, events, "labels").next("anna") is not None
    assert Queue(ranking, events, "fields").next("ben") is not None
    queue = Queue(ranking, events, "fields")
    assert (queue.list_done("anna"), queue.list_skipped("anna")) == ({digest(0)}, [digest(1)])


def test_labels_of_cases_that_the_run_does_not_have_are_passed_over() -> None:
    queue = Queue(QueueRanking([case(0)]), [event(7), event(7, "ben", 0.0)], "fields")
    assert queue.list_done("anna") == set()
    assert list_progress(queue) == []


def test_the_server_says_why_a_case_is_labelled_and_a_second_label_keeps_the_first_reason() -> None:
    ranking = QueueRanking([case(number) for number in range(5)])
    first = Queue(ranking, [], "fields").next("anna")
    assert first is not None
    assert Queue(ranking, [], "fields").explain_offer("anna", first.input_hash).random
    other = next(digest(number) for number in range(5) if digest(number) != first.input_hash)
    turn = Queue(ranking, [], "fields").explain_offer("anna", other)
    assert (turn.why, turn.random) == ("chosen", False)
    again = event(int(first.input_hash, 16), why="random", random=True)
    assert Queue(ranking, [again], "fields").explain_offer("anna", first.input_hash).random


def test_progress_counts_each_rater() -> None:
    ranking = QueueRanking([case(number) for number in range(5)])
    events = [event(0, random=True), event(1), event(2, action="skip"), event(0, "ben")]
    found = [
        (one.rater, one.labelled, one.skipped, one.random) for one in list_progress(Queue(ranking, events, "fields"))
    ]
    assert found == [("anna", 2, 1, 1), ("ben", 1, 0, 0)]


# --- what makes a case worth a look --------------------------------------------------------------------


def judgement(**more: Any) -> dict[str, Any]:
    verdict = more.pop("verdict", {"score": 0.5, "kind": "A", "note": "a long text that explains the whole of it"})
    return {"input_hash": digest(0), "status": "ok", "verdict": verdict, **more}


@pytest.mark.parametrize(
    ("one", "other", "far"),
    [
        ({"score": 0.5}, {"score": 0.75}, 0.25),
        ({"score": 0}, {"score": 7}, 1.0),
        ({"kind": "A"}, {"kind": "B"}, 1.0),
        ({"score": None}, {"score": 0.5}, 1.0),
        ({"score": 1}, {"score": 1.0, "kind": "A"}, 0.0),
        ({}, {"kind": "B"}, 0.0),
    ],
)
def test_how_far_two_verdicts_are_apart(one: dict[str, Any], other: dict[str, Any], far: float) -> None:
    assert verdict_distance(one, other) == verdict_distance(other, one) == far


def test_seats_that_differ_make_a_case_interesting_and_their_wording_does_not() -> None:
    words = [{"note": f"worded in another way, number {n}", "score_explanation": f"short {n}"} for n in range(2)]
    seats = [{"verdict": {"score": 0.5, "kind": "A", **said}} for said in words]
    assert measure_interest(judgement(ballots=seats)).split == 0.0
    assert measure_interest(judgement(ballots=[*seats, {"verdict": {"score": 0.5, "kind": "B"}}])).split == 1.0
    assert measure_interest(judgement(ballots=[*seats, {"verdict": None}])).split == 0.0


@pytest.mark.parametrize(
    ("more", "unsure"),
    [
        ({}, 0.0),
        ({"labels": {"claims": [{"probability": 0.9}, {"probability": 0.55}]}}, 0.9),
        ({"labels": {"claims": [{"probability": None}, {"probability": "x"}, {"probability": 7}]}}, 0.0),
        ({"verdict": {"match_confidence": 40}}, 0.6),
        ({"verdict": {"confidence": 0.25}}, 0.75),
        ({"roll_up": "review"}, 0.6),
        ({"labels": {"uncertain": "the passage is cut off"}}, 0.6),
        ({"labels": {"uncertain": None}}, 0.0),
        ({"roll_up": "fail"}, 0.0),
    ],
)
def test_how_unsure_a_judge_is(more: dict[str, Any], unsure: float) -> None:
    assert measure_interest(judgement(**more)).unsure == pytest.approx(unsure)
