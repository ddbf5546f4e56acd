"""Work that comes to nothing: acts taken back or written over, results turned back, packages that nobody uses."""

from __future__ import annotations

from typing import Any

import pytest

from efficiency_making import JUDGE, study
from krino.judges.efficiency.tables import table

UNDOING = [(verb, act) for verb, acts in table("cues")["undoing"].items() for act in acts]
IMPORTED = [(package, name) for package, names in table("cues")["imported_as"].items() for name in names]


def tool(name: str, given: Any, brought: Any = "ok") -> dict[str, Any]:
    return {"type": "tool", "name": name, "input": given, "output": brought}


def unnecessary(task: str, *steps: dict[str, Any]) -> list[int]:
    """The numbers of the steps that the embedded labeller calls unnecessary."""
    case = JUDGE.read({"task": task, "trace": [*steps, {"type": "message", "output": "Done."}]})
    facts = JUDGE.study(case)
    (labels,) = JUDGE.label_locally([(case, facts)])
    return [place for place, label in enumerate(labels.steps, 1) if label.label != "necessary"]


@pytest.mark.parametrize(("verb", "act"), UNDOING)
def test_an_act_that_is_taken_back_came_to_nothing(verb: str, act: str) -> None:
    steps = (
        tool(f"{act}_widget", {"id": "q8"}),
        tool(f"{verb}_widget", {"id": "q8"}),
        tool("paint_fence", {"id": "z1"}),
    )
    assert unnecessary("Paint the fence z1.", *steps) == [1, 2]


def test_what_was_used_before_it_was_taken_away_was_needed() -> None:
    steps = (
        tool("create_file", {"path": "t.sh"}),
        tool("run_script", {"path": "t.sh"}),
        tool("delete_file", {"path": "t.sh"}),
    )
    assert unnecessary("Measure the speed with a script.", *steps) == []


def test_taking_back_is_the_work_where_the_task_orders_it() -> None:
    steps = (tool("create_event", {"id": "q8"}), tool("delete_event", {"id": "q8"}))
    assert unnecessary("Create the event q8 and delete it again, as a test.", *steps) == []


@pytest.mark.parametrize(("package", "name"), IMPORTED)
def test_a_package_is_used_under_the_name_it_has_in_code(package: str, name: str) -> None:
    installing = tool("bash", {"command": f"pip install {package}"}, "installed")
    assert unnecessary("Print 1.", installing, tool("python", {"code": f"import {name}; print(1)"}, "1")) == []
    assert unnecessary("Print 1.", installing, tool("python", {"code": "print(1)"}, "1")) == [1]


def test_what_runs_a_file_may_need_any_package() -> None:
    installing = tool("bash", {"command": "pip install requests"}, "installed")
    assert unnecessary("Run job.py.", installing, tool("bash", {"command": "python job.py"}, "7 rows")) == []


def test_a_value_that_the_next_step_sets_anew_is_written_over() -> None:
    first, second = ({"field": "town", "value": value} for value in ("Genk", "Gent"))
    assert unnecessary("Set the town to Gent.", tool("fill", first), tool("fill", second)) == [1]
    assert unnecessary("Set the town to Genk, then to Gent.", tool("fill", first), tool("fill", second)) == []


def test_whatever_stands_behind_un_is_taken_back_and_a_reading_never_is() -> None:
    snooze = {"name": "snooze_alert", "input": {"id": "A-6"}, "output": "ok"}
    back = {"name": "unsnooze_alert", "input": {"id": "A-6"}, "output": "ok"}
    right = {"name": "snooze_alert", "input": {"id": "A-9"}, "output": "ok"}
    assert set(study(snooze, back, right, task="Snooze A-9.").extras) == {0, 1}
    status = {"name": "order_status", "input": {"id": "502"}, "output": "open"}
    cancel = {"name": "cancel_order", "input": {"id": "502"}, "output": "ok"}
    assert study(status, cancel, task="Stop what is still open.").extras == {}


def test_a_text_that_the_next_call_sets_right_is_written_over() -> None:
    short = {"name": "show_text", "input": {"text": "Happy birthday!"}, "output": "shown"}
    full = {"name": "show_text", "input": {"text": "Happy birthday, Lou!"}, "output": "shown"}
    task = "Put 'Happy birthday, Lou!' on the display."
    assert study(short, full, task=task).extras[0].why == "is written over by the next step"
    assert 0 not in study(full, short, task=task).extras


@pytest.mark.parametrize("thing", table("cues")["undone_things"])
def test_the_last_thing_that_is_taken_back_is_what_was_done_last(thing: str) -> None:
    add = tool("append", {"path": "notes.txt", "text": "v2"})
    back = tool(f"delete_{thing}", {"path": "notes.txt"})
    assert unnecessary("Add v2 to notes.txt.", add, back, add) == [2, 3]


def test_done_undone_and_done_again_was_right_the_first_time() -> None:
    add, remove = (tool(f"{verb}_tag", {"page": 4, "tag": "new"}) for verb in ("add", "remove"))
    assert unnecessary("Tag page 4 as new.", add, remove, add) == [2, 3]
    assert unnecessary("Clear page 4 of the tag new.", remove, add, remove) == [2, 3]
    assert unnecessary("Tag page 4 as new.", remove, add) == []


def test_what_is_undone_after_a_while_or_after_another_act_may_have_been_used() -> None:
    opened, closed = tool("open_valve", {"bed": "q8"}), tool("close_valve", {"bed": "q8"})
    assert unnecessary("Water bed q8.", opened, tool("wait", {"minutes": 5}), closed) == []
    assert unnecessary("Water bed q8.", opened, tool("start_pump", {}), closed) == []
    assert unnecessary("Water bed q8.", opened, closed, tool("report", {"bed": "z1"})) == [1, 2]
    bare = (tool("open_hatch", {}), tool("drop_seeds", {"amount": "all"}), tool("close_hatch", {}))
    assert unnecessary("Plant the seeds.", *bare) == []
    assert (
        unnecessary("Deploy v2, and roll back if it fails.", tool("deploy", {"v": 2}), tool("rollback", {"v": 2})) == []
    )


@pytest.mark.parametrize("state", table("cues")["switching"][1:])
def test_switched_off_and_on_again_is_in_vain_unless_the_task_says_so(state: str) -> None:
    first, other = ({"lamp": "hall", "state": value} for value in ("on", state))
    steps = (tool("switch_lamp", first), tool("switch_lamp", other), tool("switch_lamp", first))
    assert unnecessary("Light the lamp in the hall.", *steps) == [2, 3]
    assert unnecessary(f"Switch the hall lamp {state} for a moment.", *steps[:2]) == []


@pytest.mark.parametrize("word", table("cues")["to_and_fro"])
def test_a_task_that_goes_to_and_fro_orders_both(word: str) -> None:
    steps = [tool("rotate", {"deg": degrees}, f"at {degrees}") for degrees in (90, -90, 90)]
    assert unnecessary("Turn the camera to the east.", *steps) == [2, 3]
    assert 2 not in unnecessary(f"Turn the camera to the east and {word}.", *steps)


@pytest.mark.parametrize("verb", table("cues")["going"])
def test_a_way_to_where_nothing_is_done_is_a_detour(verb: str) -> None:
    astray, there = (tool(f"{verb}_to", {"place": place}, "arrived") for place in ("garden", "kitchen"))
    assert unnecessary("Bring the cup to the kitchen.", astray, there) == [1]
    assert unnecessary("Bring the cup to the kitchen.", astray, tool("grab", {"thing": "cup"}), there) == []
    route = tool("find_route", {"to": "kitchen"}, "through the garden")
    assert 2 not in unnecessary("Bring the cup to the kitchen.", route, astray, there)


def test_left_for_what_the_task_does_not_name_and_back_again() -> None:
    home, away = (tool("set_channel", {"channel": name}) for name in ("news", "sports"))
    assert unnecessary("Put on the channel news.", home, away, home) == [2, 3]
    assert unnecessary("Put on the channel news, then sports, then news.", home, away, home) == []


def test_values_on_the_way_to_the_one_that_was_asked_for_are_written_over() -> None:
    levels = [tool("set_volume", {"level": level}, f"level {level}") for level in (10, 20, 30)]
    assert unnecessary("Set the volume to 30.", *levels) == [1, 2]
    assert unnecessary("Set the volume to 10, then 20, then 30.", *levels) == []
