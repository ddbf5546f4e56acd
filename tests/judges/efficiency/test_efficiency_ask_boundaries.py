"""How a trace is cut into windows, what each of them says and shows, and whose label counts: at the edges."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from efficiency_making import SEARCH, study
from krino import CannotJudge, Questions
from krino.judges.efficiency.ask import ask, cut_windows, find_referenced, fold_middle, show, shown_ids, synopsis
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.labels import EfficiencyLabels
from krino.judges.efficiency.votes import join_windows

PLENTY = 10_000_000


def note(number: int, letters: int = 30) -> dict[str, Any]:
    return {"type": "tool", "name": "note", "input": {"n": number}, "output": (f"{number:04} " * letters)[:letters]}


def notes(count: int, letters: int = 30) -> EfficiencyFacts:
    return study(*(note(number, letters) for number in range(count)))


def room_of(facts: EfficiencyFacts, places: range, limit: int) -> int:
    """Letters that these steps take with their texts folded to so many, steps named elsewhere included."""
    text, _ = show(facts, limit, places)
    return len(text) + sum(len(synopsis(facts.steps[place])) + 1 for place in find_referenced(facts, places))


def stretches(facts: EfficiencyFacts, room: int) -> list[tuple[int, int]]:
    return [(window.places.start, window.places.stop) for window in cut_windows(facts, room)]


# --- cutting ---------------------------------------------------------------------------------------


def test_a_window_holds_200_steps_at_most_and_begins_with_the_last_fourth_of_the_one_before() -> None:
    assert stretches(notes(450), PLENTY) == [(0, 200), (150, 350), (300, 450)]
    assert stretches(notes(200), PLENTY) == [(0, 200)]


def test_small_windows_share_one_step() -> None:
    facts = notes(5)
    assert stretches(facts, room_of(facts, range(2), 0)) == [(0, 2), (1, 3), (2, 4), (3, 5)]


def test_three_steps_that_do_not_fit_are_cut_into_two_and_two() -> None:
    facts = notes(3)
    assert stretches(facts, room_of(facts, range(3), 0) - 1) == [(0, 2), (1, 3)]


def test_a_window_is_at_most_twice_as_long_as_the_one_before() -> None:
    """Three steps with ids so long that only two of them fit, and then many that would all fit."""
    wide = ({**note(number), "id": f"{number}" * 2_500} for number in range(3))
    facts = study(*wide, *(note(number) for number in range(3, 40)))
    assert stretches(facts, 5_500) == [(0, 2), (1, 5), (4, 12), (10, 26), (22, 40)]


def test_more_than_eight_steps_are_rather_fewer_than_folded_below_120_letters() -> None:
    for count, limit, wanted in ((9, 120, 9), (9, 60, 4), (8, 60, 8), (8, 30, 8)):
        facts = notes(count, 1_000)
        assert cut_windows(facts, room_of(facts, range(count), limit))[0].places == range(wanted), (count, limit)


def test_a_window_has_room_for_the_line_on_a_step_elsewhere() -> None:
    facts = study(SEARCH, note(1), SEARCH)
    room = room_of(facts, range(1, 3), 0)
    assert room < room_of(facts, range(3), 0)
    assert stretches(facts, room) == [(0, 2), (1, 3)]
    with pytest.raises(CannotJudge, match=r"the trace has 3 steps, .* \(number 2 and the next\)"):
        cut_windows(facts, room - 1)


# --- steps outside a window ------------------------------------------------------------------------

BUSY = {**SEARCH, "output": None, "error": "503 service unavailable"}


def test_a_window_refers_to_the_steps_outside_it_that_its_facts_speak_of() -> None:
    repeated = study(SEARCH, note(1), SEARCH)
    assert find_referenced(repeated, range(1, 3)) == [0]
    assert find_referenced(repeated, range(3)) == []
    assert find_referenced(repeated, range(2)) == []
    assert shown_ids(repeated, ["s2", "s3"]) == {"s1", "s2", "s3"}
    assert shown_ids(repeated, ["s1", "s2"]) == {"s1", "s2"}
    retried = study(note(1), BUSY, SEARCH)
    assert (retried.recovered, find_referenced(retried, range(2)), find_referenced(retried, range(1, 3))) == (
        {1: 2},
        [2],
        [],
    )


def test_a_restyling_refers_to_what_it_restyles() -> None:
    told = "The library opens at nine in the morning from Monday to Friday and stays closed at the weekend."
    first = {"type": "llm", "name": "answer", "input": "hours", "output": told}
    again = {"type": "llm", "name": "polish", "input": told, "output": told.replace("stays closed", "is closed")}
    facts = study(first, note(1), again)
    assert facts.reworded == {2: 0}
    assert find_referenced(facts, range(1, 3)) == [0]


# --- joining ---------------------------------------------------------------------------------------


def said(facts: EfficiencyFacts, places: range, **named: str) -> tuple[list[str], EfficiencyLabels]:
    """A window of these steps that calls every step necessary but those named."""
    ids = [facts.steps[place].id for place in places]
    steps = [{"step": step, "label": named.get(step, "necessary"), "why": "", "because_of": None} for step in ids]
    return ids, EfficiencyLabels.model_validate({"steps": steps})


@pytest.mark.parametrize(
    ("step", "by_first", "by_second"),
    [("s4", "indirect", "necessary"), ("s5", "indirect", "indirect"), ("s6", "necessary", "indirect")],
)
def test_the_window_that_sees_more_around_a_step_decides_and_in_doubt_it_is_unnecessary(
    step: str, by_first: str, by_second: str
) -> None:
    """Steps 4 to 6 of nine are in both windows: 2, 1 and 0 from the end of the first, 0, 1 and 2 into the second.

    `by_first` is what becomes of a step that the first window alone calls indirect.
    """
    facts = notes(9)
    shared = {f"s{number}": "indirect" for number in (4, 5, 6)}
    for first, second, label in ((shared, {}, by_first), ({}, shared, by_second)):
        joined, _ = join_windows(facts, [said(facts, range(6), **first), said(facts, range(3, 9), **second)])
        assert {item.step: item.label for item in joined.steps}[step] == label


def test_how_a_trace_was_labelled_and_where_windows_differed_is_told() -> None:
    facts = notes(9)
    _, told = join_windows(facts, [said(facts, range(6)), said(facts, range(3, 9), s5="indirect")])
    assert [(item.rule, item.text, item.where) for item in told] == [
        (
            "EFF-W1",
            "labelled in 2 windows (steps number 1 to 6, 4 to 9); 3 steps were seen by more than one, "
            "1 of them labelled differently",
            None,
        ),
        ("EFF-W2", "window 1 necessary, window 2 indirect: window 2 counts", "s5"),
    ]


@pytest.mark.parametrize(("windows", "more"), [(20, False), (21, True)])
def test_twenty_windows_and_twenty_differences_are_told_one_by_one(windows: int, more: bool) -> None:
    facts = notes(windows + 1)
    unlike = {f"s{number}": "indirect" for number in range(1, windows + 2)}
    labelled = [said(facts, range(n, n + 2), **(unlike if n % 2 else {})) for n in range(windows)]
    _, told = join_windows(facts, labelled)
    differ = [item for item in told if item.rule == "EFF-W2"]
    assert (", …)" in told[0].text) == more
    assert f"{windows - 1} steps were seen by more than one, {windows - 1} of them" in told[0].text
    assert len(differ) == min(windows - 1, 20)
    facts = notes(windows + 2)
    labelled = [said(facts, range(n, n + 2), **(unlike if n % 2 else {})) for n in range(windows + 1)]
    _, told = join_windows(facts, labelled)
    rest = [item.text for item in told if item.rule == "EFF-W2" and item.where is None]
    assert rest == ([f"and {windows - 20} more steps that windows labelled differently"] if more else [])


# --- asking ----------------------------------------------------------------------------------------


def passage(part: Questions, name: str) -> str | None:
    return next((item.text for item in part.passages if item.name == name), None)


def test_a_trace_is_asked_about_in_one_piece_as_long_as_it_fits_beside_its_task() -> None:
    facts = notes(4)
    letters = len(show(facts, 0, range(4))[0]) + len(facts.task)
    tokens = -(-letters // 3)
    assert ask(facts, tokens).parts == ()
    assert len(ask(facts, tokens - 1).parts) > 1


@pytest.mark.parametrize(("count", "request_text"), [(1, "Label the one step"), (2, "Label all 2 steps")])
def test_the_request_counts_the_steps(count: int, request_text: str) -> None:
    assert ask(notes(count), 10_000).request == f"{request_text} of the trace."


def test_a_long_task_is_folded_to_a_fourth_of_the_window() -> None:
    facts = study(note(1), task="Please " * 1_000)
    assert passage(ask(facts, 2_000), "task") == fold_middle(facts.task, 1_500)


def test_each_window_says_which_steps_it_shows_and_names_others_only_where_facts_speak_of_them() -> None:
    facts = study(SEARCH, note(1), SEARCH)
    room = room_of(facts, range(1, 3), 0)
    first, second = ask(facts, (room + len(facts.task) + 2) // 3).parts
    assert "This is window 1 of 2: steps number 1 to 2 of 3." in first.request
    assert "This is window 2 of 2: steps number 2 to 3 of 3." in second.request
    assert first.request.endswith("Label all 2 steps of the window.")
    assert (first.covers, second.covers) == (("s1", "s2"), ("s2", "s3"))
    assert (passage(first, "elsewhere"), passage(second, "elsewhere")) == (None, synopsis(facts.steps[0]))
    assert ("`elsewhere`" in first.request, "`elsewhere`" in second.request) == (False, True)


def test_twenty_media_are_sent_at_most() -> None:
    def picture(number: int) -> dict[str, Any]:
        data = base64.b64encode(f"pixels {number}".encode()).decode()
        block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        return {"type": "tool", "name": "look", "input": [block], "output": f"picture {number}"}

    assert len(ask(study(*map(picture, range(21))), 100_000).media) == 20
