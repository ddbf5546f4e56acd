"""Facts that code finds without a model, and the labels that follow from them."""

from __future__ import annotations

from typing import Any

import pytest

from krino.judges.efficiency import EfficiencyJudge
from krino.judges.efficiency.facts import EfficiencyFacts

JUDGE = EfficiencyJudge()


def tool(name: str, given: Any, gave: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": "tool", "name": name, "input": given, "output": gave, **more}


def model(given: Any, gave: Any, name: str = "answer") -> dict[str, Any]:
    return {"type": "llm", "name": name, "input": given, "output": gave}


def study(*steps: dict[str, Any], task: str = "Tell me.") -> EfficiencyFacts:
    trace = [{"id": str(place), **step} for place, step in enumerate(steps, 1)]
    return JUDGE.study(JUDGE.read({"task": task, "trace": trace}))


def label_names(facts: EfficiencyFacts) -> list[str]:
    return [item.label for item in JUDGE.label_locally([(JUDGE.read({"trace": []}), facts)])[0].steps]


@pytest.mark.parametrize(
    ("second", "level"),
    [
        ({"a": "Ghent", "n": 1}, "exact"),
        ({"n": 1, "a": "Ghent"}, "exact"),
        ({"a": " ghent", "n": 1.0}, "normalised"),
        ({"a": "GHENT", "n": 1, "x": None}, "normalised"),
    ],
)
def test_the_same_arguments_in_another_dress(second: dict[str, Any], level: str) -> None:
    facts = study(tool("weather", {"a": "Ghent", "n": 1}, "rain"), tool("weather", second, "rain"))
    assert facts.repeats[1].level == level


@pytest.mark.parametrize(
    ("first", "second", "near"),
    [
        ("opening hours of the city library", "city library opening hours", True),
        ("height of the Atomium tower", "What is the height of the Atomium tower?", True),
        ("population of Ghent in 2020", "population of Ghent in 2021", False),
        ("the mayor of Ghent", "the mayor of Bruges", False),
        ("train times to the coast", "recipes for rabbit stew", False),
    ],
)
def test_near_wordings_of_one_question(first: str, second: str, near: bool) -> None:
    facts = study(tool("search", {"q": first}, "one result"), tool("search", {"q": second}, "other result"))
    assert (1 in facts.repeats) is near


def test_swapped_arguments_are_another_call() -> None:
    there = tool("flights", {"from": "JFK", "to": "SEA"}, "HAT1")
    back = tool("flights", {"from": "SEA", "to": "JFK"}, "HAT2")
    assert study(there, back).repeats == {}


def test_page_addresses_are_compared_without_scheme_and_slash() -> None:
    facts = study(
        tool("visit", {"url": "https://www.a.be/x/"}, "page"), tool("visit", {"url": "http://a.be/x"}, "page")
    )
    assert facts.repeats[1].level == "normalised"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"path": "server.conf"}, {"path": "./server.conf"}),
        ({"path": "a/b.txt"}, {"path": ".//a/./b.txt"}),
        ({"command": "cat a.txt"}, {"command": "cat ./a.txt"}),
    ],
)
def test_a_path_from_here_is_the_same_path(one: dict[str, str], other: dict[str, str]) -> None:
    assert study(tool("show", one, "port 1"), tool("show", other, "port 1")).repeats[1].level == "normalised"
    up = {key: value.replace("./", "../") for key, value in other.items()}
    assert 1 not in study(tool("show", one, "port 1"), tool("show", up, "port 2")).repeats
    run, here = (tool("bash", {"command": command}, "1") for command in ("run.sh now", "./run.sh now"))
    assert study(run, here).repeats.get(1) is None or study(run, here).repeats[1].level != "normalised"


def test_a_little_word_with_a_capital_names_nothing() -> None:
    first = tool("search", {"q": "The Sorrow of Belgium author"}, "a novel by Hugo Claus (1983)")
    second = tool("search", {"q": "who wrote The Sorrow of Belgium"}, "a novel by Hugo Claus (1983)")
    assert study(first, second).repeats[1].waste


def test_paging_on_is_no_repeat_while_it_brings_something_new() -> None:
    facts = study(tool("page_down", {}, "page 2"), tool("page_down", {}, "page 3"), tool("page_down", {}, "page 3"))
    assert [facts.repeats[place].waste for place in (1, 2)] == [False, True]


def test_nothing_found_and_asked_again() -> None:
    facts = study(
        tool("search", {"q": "minutes of the council meeting"}, []),
        tool("search", {"q": "council meeting minutes full text"}, "No results found."),
    )
    assert facts.repeats_empty_search(1)
    assert label_names(facts)[1] == "redundant"


def test_cycles_fan_outs_and_restarts() -> None:
    a, b = tool("search", {"q": "x"}, "r"), tool("open", {"u": "y"}, "s")
    facts = study(a, b, a, b, a, b)
    assert [(cycle.start, cycle.length, cycle.times) for cycle in facts.cycles] == [(0, 2, 3)]
    assert facts.restarts == (2, 4)
    facts = study(*(tool("search", {"q": word}, word) for word in ("fox", "owl", "elk")))
    assert facts.fan_outs == ((0, 2),)


def test_a_result_that_nothing_takes_up_is_speculative() -> None:
    facts = study(
        tool("get_history", {"id": 1}, "castle moat drawbridge portcullis rampart"),
        tool("get_price", {"id": 1}, "entry ticket twelve euro adult"),
        model("x", "An adult ticket is twelve euro."),
    )
    assert label_names(facts) == ["speculative", "necessary", "necessary"]


def test_a_search_behind_the_answer_is_speculative_unless_it_was_called_for() -> None:
    answer = model("<text>", "The text tells of a fox.")
    late = tool("web_search", {"query": "fox habitats"}, ["..."])
    assert label_names(study(answer, late)) == ["necessary", "speculative"]
    plan = model("<text>", "I need to run web_search for fox habitats.")
    assert label_names(study(plan, late)) == ["necessary", "necessary"]


def test_a_restyling_and_an_echo() -> None:
    said = "The committee met on Monday and approved the new budget for the library."
    facts = study(
        model("notes", said),
        model(f"Polish this: {said}", "On Monday the committee met and approved the library's new budget.", "polish"),
    )
    assert facts.reworded == {1: 0}
    assert label_names(study(model("notes", said), model(said, said, "polish"))) == ["necessary", "indirect"]


def test_a_rewording_that_was_asked_for_is_the_work() -> None:
    said = "The committee met on Monday and approved the new budget for the library."
    again = "On Monday the committee met and approved the library's new budget."
    facts = study(model("notes", said), model(f"Polish: {said}", again, "polish"), task="Rewrite my notes.")
    assert label_names(facts) == ["necessary", "necessary"]


def test_a_third_wording_of_one_question_is_a_repeat() -> None:
    wordings = (
        "annual report revenue figures tourism",
        "annual report revenue tourism board table",
        "annual report tourism revenue board summary",
    )
    facts = study(*(tool("search", {"q": wording}, f"result {place}") for place, wording in enumerate(wordings)))
    assert list(facts.repeats) == [2]


def test_exact_repeats_count_retries_too() -> None:
    failed = tool("book", {"room": 1}, None, error="time-out")
    facts = study(failed, failed, tool("book", {"room": 1}, "done"))
    assert [repeat.level for repeat in facts.repeats.values()] == ["exact", "exact"]
    assert facts.recovered == {0: 2, 1: 2}
