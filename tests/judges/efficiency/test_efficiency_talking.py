"""Messages that nobody needed: each cue word is seen, and messages that a user answered or needs are left alone."""

from __future__ import annotations

from typing import Any

import pytest

from efficiency_making import JUDGE, settle
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.tables import table

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


@pytest.mark.parametrize("word", CUES["narrating"])
def test_telling_of_the_work_is_in_vain_unless_a_user_replies(word: str) -> None:
    told = say(f"{word} reading the shelves with care and in good order")
    assert wasted(told, RETURN, DONE) == [0]
    assert wasted(told, user("Fine, go on"), RETURN, DONE) == []
    assert wasted(told, RETURN, DONE, task=f"{TASK} Keep me posted.") == []


@pytest.mark.parametrize("word", CUES["informing"])
def test_a_user_who_wants_to_be_told_on_the_way_is_told(word: str) -> None:
    assert wasted(say("Now reading the shelves."), RETURN, DONE, task=f"{TASK} I want {word} of it.") == []


@pytest.mark.parametrize("word", CUES["composing"])
def test_words_that_were_asked_for_may_be_handed_over_in_between(word: str) -> None:
    poem = say("I leave, said steam, beneath a copper moon, while whistles hum softly through kitchens")
    asked = f"{TASK} Also {word} something fitting."
    assert wasted(poem, RETURN, DONE, task=asked) == []
    assert wasted(poem, RETURN, DONE) == [0]


def test_a_message_between_that_hands_over_a_result_is_needed_unless_it_is_said_later() -> None:
    found = call("get_order", "kettle, bought 4 May, 39 euros", order=881)
    told = say("I see that it was bought for 39 euros.")
    assert wasted(found, told, RETURN, DONE, task=f"What did order 881 cost? {TASK}") == []
    again = say("It cost 39 euros and can go back with label K-77.")
    assert wasted(found, told, RETURN, again, task=f"What did order 881 cost? {TASK}") == [1]


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


@pytest.mark.parametrize("reply", ["881", "Order 881, as I said.", "the kettle"])
def test_a_question_that_the_task_answers_is_in_vain(reply: str) -> None:
    asked = say("Which one do you mean, and from where?")
    assert wasted(asked, user(reply), RETURN, DONE) == [0]
    assert wasted(asked, user("The red one"), RETURN, DONE) == []


@pytest.mark.parametrize(
    ("task", "question", "reply"),
    [
        ("Verwijder het bestand oud.txt.", "Weet u zeker dat u oud.txt wilt verwijderen?", "Ja."),
        ("Annule la commande 77.", "Voulez-vous bien annuler la commande 77 ?", "Oui."),
        ("Lösche den Ordner Alt.", "Soll ich den Ordner Alt wirklich löschen?", "Ja"),
    ],
)
def test_asking_whether_the_order_is_meant_is_in_vain_in_four_languages(task: str, question: str, reply: str) -> None:
    assert wasted(say(question), user(reply), call("do", "ok", it=1), say("ok"), task=task) == [0]


def test_a_question_after_something_was_found_is_left_alone() -> None:
    found = call("get_order", "kettle, bought 4 May, 39 euros", order=881)
    assert 1 not in wasted(found, say("Shall I return the kettle of order 881?"), user("Yes"), RETURN, DONE)


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


def test_cheering_after_the_answer_is_enrichment_unless_words_were_asked_for() -> None:
    cheer = say("What a splendid kettle, and what a day for sending parcels along!")
    assert wasted(RETURN, DONE, cheer) == [2]
    assert wasted(RETURN, DONE, cheer, task=f"{TASK} Also write something nice.") == []
    assert wasted(RETURN, DONE, user("Thanks"), cheer) == []


def test_asking_back_is_held_against_what_the_agent_was_told() -> None:
    turns = [user("I want to return something."), say("Which order?"), user("881"), *RETURN, DONE]
    facts = JUDGE.study(JUDGE.read({"task": TASK, "trace": turns}))
    assert facts.extras == {}


@pytest.mark.parametrize("word", CUES["consulting"])
def test_a_user_who_wants_to_be_asked_is_asked(word: str) -> None:
    turns = (say("Shall I return the kettle of order 881?"), user("Yes"), RETURN, DONE)
    assert wasted(*turns) == [0]
    assert wasted(*turns, task=f"{TASK} But {word} me first.") == []


@pytest.mark.parametrize("word", CUES["agreeing"])
def test_a_reply_that_only_agrees_tells_nothing_again(word: str) -> None:
    asked = say("The shop in Mechelen wants a reason in writing. Is that fine?")
    assert wasted(asked, user(f"{word}, return the kettle"), RETURN, DONE) == []


def test_a_question_without_a_recorded_reply_counts_as_answered() -> None:
    assert wasted(say("Now, which colour has it?"), RETURN, DONE) == []


def test_short_last_words_are_the_answer_and_no_cheering() -> None:
    assert wasted(RETURN, say("I have seen to the return now."), say("Done.")) == [1]
