"""What a step does to the world, what a task orders to be repeated, and what is waited for: word by word."""

from __future__ import annotations

import pytest

from efficiency_making import labels, settle, study
from krino.judges.efficiency.data_files import table
from krino.judges.efficiency.finders.effects import classify_effect, is_pending
from krino.judges.efficiency.finders.similarity import ask_different_things, read_wording
from krino.judges.efficiency.finders.task import read_repetition
from krino.judges.efficiency.traces.steps import Step

CUES = table("cues")


def tool(name: str, given: object = None, gave: object = None) -> Step:
    return Step("s", "tool", name, given, gave)


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("get_order", "none"),
        ("order_search", "none"),
        ("getOrder", "none"),
        ("create_order", "changes"),
        ("order_item", "changes"),
        ("sleep", "waits"),
        ("ring_bell", "unclear"),
        ("final_answer", "unclear"),
    ],
)
def test_the_verb_of_a_name_says_what_a_tool_does(name: str, effect: str) -> None:
    assert classify_effect(tool(name)) == effect


@pytest.mark.parametrize("word", CUES["waiting"])
def test_every_waiting_word_lets_time_pass(word: str) -> None:
    assert classify_effect(tool(f"{word}_a_bit")) == "waits"


@pytest.mark.parametrize("word", [*CUES["shell_reads"], *(f"git {word}" for word in CUES["git_reads"])])
def test_every_reading_command_changes_nothing_unless_it_is_redirected(word: str) -> None:
    assert classify_effect(tool("bash", {"command": f"{word} src"})) == "none"
    assert classify_effect(tool("bash", {"command": f"{word} src > out.txt"})) == "changes"


@pytest.mark.parametrize("sign", CUES["code_writes"])
def test_every_sign_of_writing_in_code_is_seen(sign: str) -> None:
    assert classify_effect(tool("python", f"x {sign} y")) == "changes"


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("sed -i s/a/b/ x.py", "changes"),
        ("git commit -am x", "changes"),
        ("rm x", "changes"),
        ("ls && rm x", "changes"),
        ("cat a | grep b", "none"),
        ("python -m pytest -q", "unclear"),
        ("make test", "unclear"),
    ],
)
def test_a_command_line_changes_something_if_one_of_its_commands_does(command: str, effect: str) -> None:
    assert classify_effect(tool("bash", {"command": command})) == effect


@pytest.mark.parametrize("word", CUES["pending"])
def test_every_pending_word_is_waited_for(word: str) -> None:
    assert is_pending(tool("get_job", {}, f"state: {word}"))
    assert not is_pending(tool("get_job", {}, "state: done"))


@pytest.mark.parametrize("word", CUES["once_more"])
def test_a_word_for_once_more_orders_one_more_call(word: str) -> None:
    assert read_repetition(f"Look {word} at the gauge.").reads == 2
    assert read_repetition("Look at the gauge.").reads == 1


@pytest.mark.parametrize("word", [*CUES["ongoing"], *CUES["ongoing_at_end"]])
def test_an_adverb_of_going_on_orders_any_number_of_calls(word: str) -> None:
    assert read_repetition(f"Look at the gauge {word}.").reads > 1_000


@pytest.mark.parametrize("verb", CUES["ongoing_verbs"])
def test_a_verb_of_going_on_orders_only_where_a_clause_begins_with_it(verb: str) -> None:
    verb = verb.replace(r"\w+ing", "looking")
    assert read_repetition(f"{verb.capitalize()} at the gauge.").reads > 1_000
    assert read_repetition(f"Find the pump and {verb} at the gauge.").reads > 1_000
    assert read_repetition(f"Find the best {verb} of the year.").reads == 1


@pytest.mark.parametrize("word", CUES["distributive"])
def test_each_and_every_order_a_repetition_only_with_a_unit_of_time(word: str) -> None:
    assert read_repetition(f"Read the gauge {word} time.").reads > 1_000
    assert read_repetition(f"Read the gauges, and tell {word} of us.").reads == 1
    assert read_repetition(f"Check {word} of these three files.").reads == 1


@pytest.mark.parametrize("word", CUES["done_by_repeating"])
def test_what_is_done_to_and_fro_is_an_act_done_several_times(word: str) -> None:
    assert (
        read_repetition(f"{word.capitalize()} the box.").acts > 1_000,
        read_repetition(f"{word} the box").reads,
    ) == (True, 1)


@pytest.mark.parametrize(
    "task",
    [
        "How long until the shop opens?",
        "Find trains until 21:30.",
        "What is the daily rate?",
        "Find the daily rate of the pump.",
        "Keep the answer short. What does article 12 cost?",
        "Which watch was sold most? Tell each of us.",
        "Why do people wait?",
    ],
)
def test_a_word_of_repetition_that_orders_none_excuses_none(task: str) -> None:
    assert read_repetition(task).reads == 1


def test_a_polite_question_orders_too() -> None:
    assert read_repetition("Could you keep checking the job until it is done?").reads > 1_000


DUPLICATES = [{"name": "read_gauge", "input": {"id": 1}, "output": "4 bar"}] * 20


@pytest.mark.parametrize("task", ["Again: what does gauge 1 show?", "What does gauge 1 show? Tell each of us."])
def test_twenty_duplicates_are_not_excused_by_a_word_of_the_task(task: str) -> None:
    facts = study(*DUPLICATES, {"type": "message", "name": "message", "output": "4 bar"}, task=task)
    assert sum(repeat.waste for repeat in facts.repeats.values()) >= 18


@pytest.mark.parametrize("word", CUES["amounts"])
def test_every_amount_orders_acts_but_no_reading_twice(word: str) -> None:
    ordered = read_repetition(f"Send {word} letters.")
    assert ordered.acts > 1
    assert ordered.reads == 1


@pytest.mark.parametrize(
    ("task", "reads", "acts"),
    [
        ("Ring the bell three times.", 3, 3),
        ("Read it twice.", 2, 2),
        ("Press it 4x.", 4, 4),
        ("Add 2 units of tea.", 1, 2),
        ("Add two units of tea.", 1, 2),
        ("Pay invoice 2.", 1, 1),
        ("Pay invoice 2 of 2024.", 1, 1),
    ],
)
def test_numbers_that_order_a_repetition(task: str, reads: int, acts: int) -> None:
    assert (read_repetition(task).reads, read_repetition(task).acts) == (reads, acts)


def test_in_a_long_task_a_bare_every_orders_nothing_but_leaves_the_labeller_its_say() -> None:
    ordered = read_repetition("word " * 80 + "every now and then")
    assert (ordered.reads, ordered.acts, ordered.perhaps_reads) == (1, 1, True)


@pytest.mark.parametrize("pair", [(group[0], other) for group in CUES["opposites"] for other in group[1:]])
def test_questions_that_differ_in_opposites_are_two(pair: tuple[str, str]) -> None:
    one, other = (read_wording(f"the {word} value of the oven in question") for word in pair)
    assert ask_different_things(one, other)


@pytest.mark.parametrize("word", CUES["negations"])
def test_a_question_that_denies_something_is_another_one(word: str) -> None:
    one, other = (read_wording(f"flights to Rome {denied} a stop in Paris") for denied in ("with", word))
    assert ask_different_things(one, other)


READ = {"name": "read_gauge", "input": {"id": 1}, "output": "4 bar"}
SAID = {"type": "message", "name": "message", "output": "It is 4 bar."}


def overruled(*between: dict[str, object], task: str = "What does gauge 1 show?") -> bool:
    """Whether code calls the second reading redundant though the labeller said necessary."""
    facts = study(READ, *between, READ, SAID, task=task)
    return any(finding.rule == "EFF-F2" for finding in settle(facts, labels(facts)).findings)


def test_a_repeat_is_certain_only_where_nothing_between_could_have_changed_the_result() -> None:
    assert overruled()
    assert overruled({"name": "get_weather", "input": {"city": "Mons"}, "output": "rain"})
    for name in ("set_valve", "ring_bell", "sleep"):
        assert not overruled({"name": name, "input": {"id": 1}, "output": "ok"})
    assert not overruled({"type": "message", "name": "message", "output": "Open the valve, please."})


@pytest.mark.parametrize("task", ["Read gauge 1 twice.", "Read gauge 1 every hour.", "Keep an eye on gauge 1."])
def test_a_repeat_is_not_certain_where_the_task_asks_for_it(task: str) -> None:
    assert not overruled(task=task)


def test_a_repeat_of_a_tool_that_watches_or_moves_is_left_to_the_labeller() -> None:
    for name in ("get_status", "roll_die", "next_page"):
        facts = study({**READ, "name": name}, {**READ, "name": name}, SAID)
        assert settle(facts, labels(facts)).rulings["score"].value == 1.0


@pytest.mark.parametrize(
    "name", [*(f"{word}_status" for word in CUES["named_like_acts"]), *(f"order_{word}" for word in CUES["looked_at"])]
)
def test_a_name_that_ends_in_what_is_looked_at_reads_though_it_begins_like_an_act(name: str) -> None:
    assert classify_effect(tool(name)) == "none"
    assert classify_effect(tool("update_order_status")) == classify_effect(tool("order_pizza")) == "changes"


@pytest.mark.parametrize("cue", CUES["failing"])
def test_pressing_again_what_could_not_be_pressed_is_a_repeat(cue: str) -> None:
    press = {"name": "click", "input": {"id": "#ok"}, "output": f"element {cue}"}
    assert study(press, press, task="Press OK.").repeats[1].waste
    pressed = {**press, "output": "pressed"}
    assert not study(pressed, pressed, task="Press OK.").repeats[1].waste


def test_an_act_made_again_is_a_repeat_though_it_was_given_another_number() -> None:
    order = {"name": "order_toner", "input": {"amount": 5}, "output": "ordered as B-1"}
    again = {**order, "output": "ordered as B-2"}
    assert study(order, again, task="Order five packs of toner.").repeats[1].waste
    single = [{**step, "input": {"item": "toner"}} for step in (order, again)]
    assert not study(*single, task="Order two packs of toner.").repeats[1].waste


def test_single_capitals_are_names_of_things() -> None:
    rules = read_wording("refund rules of shop A")
    assert ask_different_things(rules, read_wording("refund rules of shop B"))
    assert not ask_different_things(rules, read_wording("rules for refund in shop A"))


@pytest.mark.parametrize(
    "task",
    [
        "What does article 12 cost? Do not look it up twice.",
        "What does article 12 cost? Don't repeat the lookup.",
        "What does article 12 cost? Don’t ask again and again.",
        "Find the price without looking it up three times.",
        "Zoek de prijs. Zoek hem niet opnieuw op.",
        "Until now nobody told me. What does article 12 cost?",
        "I ask this every day. What does article 12 cost?",
        "We looked twice. What does article 12 cost?",
    ],
)
def test_a_repetition_that_is_denied_or_only_spoken_of_is_not_ordered(task: str) -> None:
    assert (read_repetition(task).reads, read_repetition(task).acts) == (1, 1)


@pytest.mark.parametrize(
    ("task", "least"),
    [
        ("Call lookup two times", 2),
        ("If the pump does not answer, read it again.", 2),
        ("Read it again if it does not answer.", 2),
        ("Do not forget to read it twice.", 2),
        ("Do not answer until the job is done.", 1_000),
        ("I want to be told every hour.", 1_000),
        ("The gauge must be read every hour.", 1_000),
    ],
)
def test_an_order_beside_a_denial_or_in_a_statement_still_orders(task: str, least: int) -> None:
    assert read_repetition(task).reads >= least


def test_a_character_that_nobody_sees_makes_no_other_call() -> None:
    calls = [
        {"name": "price", "input": {"article": f"1{sign}2"}, "output": "8.20"} for sign in ("", "\u200b", "\ufeff")
    ]
    facts = study(*calls, {"type": "message", "name": "message", "output": "8.20"}, task="What does 12 cost?")
    assert sum(repeat.waste for repeat in facts.repeats.values()) == 2
