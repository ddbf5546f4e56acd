"""What models say: thinking aloud, rewritten drafts, restylings; messages that a user answered are left alone."""

from __future__ import annotations

from typing import Any

import pytest

from efficiency_making import JUDGE, labels, settle, study
from krino.judges.efficiency.data_files import table
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.finders.rework import find_recomputed, find_rewrites
from krino.judges.efficiency.traces.steps import Step

CUES = table("cues")
TASK = "Return the kettle of order 881."
Turn = dict[str, Any]


def say(text: str) -> Turn:
    return {"role": "assistant", "content": text}


def user(text: str) -> Turn:
    return {"role": "user", "content": text}


def call(name: str, result: str, **given: Any) -> list[Turn]:
    made = {"id": f"{name}-{result}", "type": "function", "function": {"name": name, "arguments": given}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": made["id"], "content": result},
    ]


RETURN = call("return_item", "label K-77 made", order=881)
DONE = say("The kettle can go back with label K-77.")


def facts_of(*turns: Turn | list[Turn], task: str = TASK) -> EfficiencyFacts:
    flat = [part for turn in turns for part in (turn if isinstance(turn, list) else [turn])]
    return JUDGE.study(JUDGE.read({"task": task, "trace": [user(task), *flat]}))


def wasted(*turns: Turn | list[Turn], task: str = TASK) -> list[int]:
    """The places of the steps that the embedded labeller calls unnecessary."""
    facts = facts_of(*turns, task=task)
    given = JUDGE.label_locally([(JUDGE.read({"task": task, "trace": []}), facts)])[0]
    return [place for place, item in enumerate(given.steps) if item.label != "necessary"]


def test_words_beside_a_call_are_no_step() -> None:
    spoken = [{**RETURN[0], "content": "Thank you so much! Let me see to that for you."}, RETURN[1]]
    assert wasted(spoken, DONE) == []


@pytest.mark.parametrize("word", CUES["courtesy"])
def test_the_answer_again_with_politeness_is_a_small_restyling(word: str) -> None:
    again = say(f"The kettle can go back with label K-77, {word}.")
    facts = facts_of(RETURN, DONE, again)
    assert wasted(RETURN, DONE, again) == [2]
    assert settle(facts).rulings["score"].value == 0.75
    assert wasted(RETURN, DONE, user("How?"), again) == []


def test_a_second_message_with_something_new_is_no_repetition() -> None:
    assert wasted(RETURN, DONE, say("The parcel shop closes at 18:00.")) == []


def test_what_a_user_replied_is_kept_with_the_message_in_every_conversation() -> None:
    turns = [user(TASK), say("Which colour?"), user("Red"), *RETURN, DONE]
    items = [
        {"type": "message", "role": "user", "content": TASK},
        {"type": "message", "role": "assistant", "content": "Which colour?"},
        {"type": "message", "role": "user", "content": "Red"},
        {"type": "function_call", "call_id": "c", "name": "return_item", "arguments": "{}"},
    ]
    cut_down = [
        {"type": "human", "content": TASK},
        {"type": "ai", "content": "Which colour?"},
        {"type": "human", "content": "Red"},
        {"type": "ai", "content": "", "tool_calls": [{"id": "c", "name": "return_item", "args": {"order": 881}}]},
        {"type": "tool", "tool_call_id": "c", "content": "label K-77 made"},
    ]
    for trace, name in ((turns, "openai_chat"), (items, "openai_responses"), (cut_down, "langchain")):
        facts = JUDGE.study(JUDGE.read({"task": TASK, "trace": trace}))
        assert (facts.trace.format, facts.steps[0].observed, facts.steps[1].name) == (name, "Red", "return_item")


# --- thinking and restyling, in plain steps ----------------------------------------------------------

FACT = {"name": "search", "input": {"q": "height of the belfry"}, "output": "91 metres"}
SAID = {"type": "message", "name": "message", "output": "It is 91 metres high."}
DRAFT = {
    "type": "llm",
    "name": "answer",
    "input": "91 metres",
    "output": "The belfry of the town is 91 metres high, counted from its foot to the dragon on top.",
}


def label_of(place: int, *steps: dict[str, Any], task: str = "How high is the belfry of the town?") -> str:
    facts = study(*steps, task=task)
    return JUDGE.label_locally([(JUDGE.read({"task": task, "trace": []}), facts)])[0].steps[place].label


def over(name: str, output: str, instruction: str = "") -> dict[str, Any]:
    return {"type": "llm", "name": name, "input": f"{instruction}{DRAFT['output']}", "output": output}


@pytest.mark.parametrize("word", CUES["thinking"])
def test_every_tool_that_thinks_aloud_is_speculative_unless_that_is_the_task(word: str) -> None:
    step = {"name": word, "input": {"text": "how to find the height"}, "output": "ok"}
    assert label_of(0, step, FACT, SAID) == "speculative"
    assert label_of(0, step, FACT, SAID, task=f"Please {word} about the height of the belfry.") == "necessary"


def test_a_plan_whose_numbers_are_the_answer_is_a_result() -> None:
    plan = {"name": "plan_trip", "input": {"from": "Mol", "to": "Genk"}, "output": "line 18, 55 minutes"}
    task = "How do I get from Mol to Genk by bus?"
    assert label_of(0, plan, {**SAID, "output": "Take line 18; it takes 55 minutes."}, task=task) == "necessary"
    assert label_of(0, {**plan, "output": "first look, then answer"}, FACT, SAID) == "speculative"


def test_a_reading_that_only_a_thought_used_is_unneeded_too() -> None:
    found = {"name": "get_age", "input": {"of": "belfry"}, "output": "begun in 1313 by the guilds"}
    thought = {"name": "think", "input": {"text": "begun in 1313 by the guilds, so quite old"}, "output": "ok"}
    assert label_of(0, found, thought, FACT, SAID) == "speculative"


@pytest.mark.parametrize("word", CUES["adding"])
def test_an_addition_is_never_small(word: str) -> None:
    step = over(word, f"{DRAFT['output']} It was begun by guilds and rings on feast days.", f"{word}: ")
    facts = study(FACT, DRAFT, step, task="How high is the belfry of the town?")
    assert settle(facts, labels(facts, s3="enrichment")).rulings["score"].value == 0.25


def test_a_restyling_that_brings_nothing_new_is_small_and_one_that_does_is_not() -> None:
    same = over("write", "The belfry of the town: 91 metres high, from its foot to the dragon on top.")
    more = over("write", f"{DRAFT['output']} Guilds paid for its bells, and tourists climb it every summer evening.")
    for step, score in ((same, 0.75), (more, 0.25)):
        facts = study(FACT, DRAFT, step)
        assert settle(facts, labels(facts, s3="enrichment")).rulings["score"].value == score


def test_an_addition_without_a_new_word_is_a_small_restyling() -> None:
    facts = study(FACT, DRAFT, over("add_emojis", f"{DRAFT['output']} \U0001f642"), task="How high is the belfry?")
    assert settle(facts, labels(facts, s3="enrichment")).rulings["score"].value == 0.75


# --- work done over --------------------------------------------------------------------------------

FIRST_TEXT = "On Monday the council approved a new bike lane; works start in March."
REWRITE = "Good news: on Monday the council approved a new bike lane, with works starting in March!"


def spoken(*said: str) -> list[Step]:
    return [Step(str(number), "message", "message", None, text) for number, text in enumerate(said)]


def test_a_critique_and_the_rewriting_after_it_are_not_needed() -> None:
    steps = spoken(FIRST_TEXT, "It could sound livelier.", REWRITE)
    assert dict(find_rewrites(steps, "Summarise the article in one sentence.", (), ())) == {1: 0, 2: 0}


@pytest.mark.parametrize(
    ("task", "said", "user_turns"),
    [
        ("Summarise it, then improve your draft.", (FIRST_TEXT, "It could be livelier.", REWRITE), ()),
        ("Summarise it in one sentence.", (FIRST_TEXT, "It could be livelier.", REWRITE), (1,)),
        ("Summarise it.", (FIRST_TEXT, "The library in Ghent opens at nine and closes at six on weekdays."), ()),
        (
            "Summarise it.",
            (FIRST_TEXT, f"{FIRST_TEXT} The mayor said the next lane follows in autumn near the northern station."),
            (),
        ),
    ],
    ids=["ordered", "a user spoke", "another text", "much is added"],
)
def test_texts_that_were_asked_for_or_say_something_new_are_needed(
    task: str, said: tuple[str, ...], user_turns: tuple[int, ...]
) -> None:
    assert not dict(find_rewrites(spoken(*said), task, (), user_turns))


def test_a_message_that_hands_over_what_the_model_wrote_is_needed() -> None:
    steps = [Step("0", "llm", "llm", "a", FIRST_TEXT), Step("1", "llm", "llm", "b", REWRITE), *spoken(REWRITE)]
    assert dict(find_rewrites(steps, "Summarise the article.", (), ())) == {1: 0}


def sums(*calls: tuple[str, str]) -> list[Step]:
    return [
        Step(str(number), "tool", f"tool_{number}", {"expression": given}, result)
        for number, (given, result) in enumerate(calls)
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("1249.90 * 1.21", "1512.379"), ("print(round(1249.90*1.21, 2))", "1512.38")),
        (("12 * 8", "96"), ("12*8", "The result is 96.0")),
    ],
)
def test_the_same_sum_by_another_tool_is_computed_again(first: tuple[str, str], second: tuple[str, str]) -> None:
    assert dict(find_recomputed(sums(first, second), "What is the total?", ())) == {1: 0}


@pytest.mark.parametrize(
    ("first", "second", "task"),
    [
        (("12 * 8", "96"), ("12 * 8 + 4", "100"), "What is the total?"),
        (("12 * 8", "96"), ("32 * 3", "96"), "Which of the two is larger?"),
        (("stock of A", "5"), ("stock of B", "5"), "What is in stock?"),
        (("sort 3, 1, 2", "1, 2, 3"), ("reverse 1, 2, 3", "3, 2, 1"), "Sort and reverse."),
        (("12 * 8", "96"), ("12*8", "96"), "Compute the total and verify it."),
    ],
    ids=["more figures, another result", "other figures", "no sum", "another order", "ordered"],
)
def test_other_sums_and_ordered_checks_are_needed(first: tuple[str, str], second: tuple[str, str], task: str) -> None:
    assert not dict(find_recomputed(sums(first, second), task, ()))
