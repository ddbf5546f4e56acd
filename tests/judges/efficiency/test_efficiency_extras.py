"""Work beside the task: each cue word is seen, and left alone where the task asks for that kind of work."""

from __future__ import annotations

from typing import Any

import pytest

from efficiency_making import JUDGE, labels, settle, study
from krino.judges.efficiency.tables import table

CUES = table("cues")
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


@pytest.mark.parametrize("word", CUES["musing"])
def test_every_musing_step_is_speculative_unless_it_is_the_task(word: str) -> None:
    step = {"name": word, "input": {"text": "how to find the height"}, "output": "ok"}
    assert label_of(0, step, FACT, SAID) == "speculative"
    assert label_of(0, step, FACT, SAID, task=f"Please {word} about the height of the belfry.") == "necessary"


@pytest.mark.parametrize("word", CUES["bookkeeping"])
def test_every_note_to_oneself_is_speculative_unless_it_is_the_task(word: str) -> None:
    step = {"name": f"save_{word}", "input": {"text": "belfry"}, "output": "ok"}
    assert label_of(1, FACT, step, SAID) == "speculative"
    assert label_of(1, FACT, step, SAID, task=f"Find the height and put it into the {word}.") == "necessary"


@pytest.mark.parametrize("word", CUES["checking"])
def test_every_check_by_a_model_is_speculative_unless_it_is_the_task(word: str) -> None:
    step = {"type": "llm", "name": word, "input": "91 metres?", "output": "yes"}
    assert label_of(1, FACT, step, SAID) == "speculative"
    assert label_of(1, FACT, step, SAID, task=f"Find the height and {word} it.") == "necessary"


@pytest.mark.parametrize("word", CUES["embellishing"])
def test_every_lookup_beside_the_point_is_enrichment_unless_it_is_asked_for(word: str) -> None:
    step = {"name": "search", "input": {"q": f"{word} of the belfry"}, "output": f"{word}: built from 1313 on"}
    told = {**SAID, "output": "It is 91 metres high, built from 1313 on."}
    assert label_of(1, FACT, step, told) == "enrichment"
    assert label_of(1, FACT, step, told, task=f"The height and the {word} of the belfry?") == "necessary"


@pytest.mark.parametrize("word", CUES["restyling"])
def test_every_restyling_by_name_is_enrichment_unless_it_is_the_task(word: str) -> None:
    step = over(word, "From its foot to the dragon on top the belfry of the town is 91 metres high.")
    assert label_of(2, FACT, DRAFT, step) == "enrichment"
    assert label_of(2, FACT, DRAFT, step, task=f"Tell the height of the belfry, then {word} the text.") == "necessary"


@pytest.mark.parametrize("word", CUES["adding"])
def test_every_addition_is_enrichment_and_never_small(word: str) -> None:
    step = over(word, f"{DRAFT['output']} It was begun by guilds and rings on feast days.", f"{word}: ")
    facts = study(FACT, DRAFT, step, task="How high is the belfry of the town?")
    assert settle(facts).rulings["score"].value == 0.25
    assert settle(facts, labels(facts, s3="enrichment")).rulings["score"].value == 0.25


@pytest.mark.parametrize("word", CUES["asking_back"])
def test_a_question_back_is_held_against_the_task_without_its_own_words(word: str) -> None:
    step = {"type": "message", "name": "message", "output": f"The belfry of the town, how high, {word}?"}
    assert label_of(0, step, FACT, SAID) == "speculative"
    asked = {**step, "output": "Do you mean the belfry of Ghent or of Bruges?"}
    assert label_of(0, asked, FACT, SAID) == "necessary"


def test_a_restyling_that_brings_nothing_new_is_small_and_one_that_does_is_not() -> None:
    same = over("write", "The belfry of the town: 91 metres high, from its foot to the dragon on top.")
    more = over("write", f"{DRAFT['output']} Guilds paid for its bells, and tourists climb it every summer evening.")
    for step, score in ((same, 0.75), (more, 0.25)):
        facts = study(FACT, DRAFT, step)
        assert settle(facts, labels(facts, s3="enrichment")).rulings["score"].value == score


def test_the_same_numbers_worked_out_again_are_speculative() -> None:
    first = {"name": "calculator", "input": {"expression": "4+9+16"}, "output": "29"}
    again = {"name": "python", "input": {"code": "sum([4, 9, 16])"}, "output": "29"}
    other = {"name": "python", "input": {"code": "sum([4, 9, 17])"}, "output": "30"}
    assert label_of(1, first, again, SAID, task="Sum 4, 9 and 16.") == "speculative"
    assert label_of(1, first, other, SAID, task="Sum 4, 9 and 16.") == "necessary"
    assert label_of(1, first, again, SAID, task="Sum 4, 9 and 16, and verify it.") == "necessary"


@pytest.mark.parametrize("word", CUES["reasoning"])
def test_talk_about_the_work_is_in_vain_unless_something_takes_it_up(word: str) -> None:
    step = {"type": "llm", "name": word, "input": "the belfry", "output": "We should begin with care, by the dragon."}
    assert label_of(0, step, FACT, SAID) == "speculative"
    used = {**FACT, "input": {"q": "height of the belfry with its dragon"}}
    assert label_of(0, step, used, SAID) == "necessary"
    assert label_of(0, step, FACT, SAID, task=f"How high is the belfry? Mind the {word}.") == "necessary"


@pytest.mark.parametrize("word", CUES["restating"])
def test_a_model_that_says_again_what_was_found_is_in_vain(word: str) -> None:
    step = {"type": "llm", "name": word, "input": "91 metres", "output": "The belfry: 91 metres."}
    assert label_of(1, FACT, step, SAID) == "speculative"
    assert label_of(1, FACT, {**step, "output": "298 feet"}, SAID) == "necessary"
    assert label_of(1, FACT, step, SAID, task=f"How high is the belfry? Give a {word}.") == "necessary"


@pytest.mark.parametrize("word", CUES["translating"])
def test_translating_the_task_is_a_detour_unless_a_language_is_spoken_of(word: str) -> None:
    step = {"type": "llm", "name": word, "input": "How high is the belfry?", "output": "Hoe hoog is het belfort?"}
    assert label_of(0, step, FACT, SAID) == "indirect"
    assert label_of(0, step, FACT, SAID, task=f"How high is the belfry? ({word})") == "necessary"


@pytest.mark.parametrize("word", [*CUES["charting"], *CUES["announcing"], *CUES["keeping"]])
def test_an_act_for_good_measure_is_enrichment_unless_it_is_asked_for_or_used(word: str) -> None:
    step = {"name": f"do_{word}", "input": {"title": "belfry"}, "output": "made as x7"}
    assert label_of(1, FACT, step, SAID) == "enrichment"
    assert label_of(1, FACT, step, SAID, task=f"The height of the belfry, with a {word}.") == "necessary"
    upload = {"name": "upload", "input": {"what": "x7"}, "output": "ok"}
    assert label_of(1, FACT, step, upload, SAID) == "necessary"
    turn = {**SAID, "output": "What else do you need?"}
    assert label_of(2, FACT, turn, step, SAID) == "necessary"  # the user may have asked for it


def test_a_change_where_the_task_only_asks_is_enrichment() -> None:
    step = {"name": "create_event", "input": {"title": "belfry"}, "output": "created"}
    assert label_of(1, FACT, step, SAID) == "enrichment"
    assert label_of(1, FACT, step, SAID, task="Could you look up how high the belfry is?") == "necessary"


@pytest.mark.parametrize("word", CUES["announcement"])
def test_a_message_that_only_announces_is_in_vain(word: str) -> None:
    step = {**SAID, "output": f"{word} look at the belfry"}
    assert label_of(0, step, FACT, SAID) == "speculative"
    answered = ({**step, "output": f"{word} closed for repair"}, {"type": "user", "output": "I know"})
    assert label_of(0, *answered, FACT, SAID) == "necessary"
    assert label_of(1, FACT, step) == "necessary"  # the last words are the answer


@pytest.mark.parametrize("word", [word for word in CUES["talk"] if len(word) > 2])
def test_words_that_state_nothing_make_no_message(word: str) -> None:
    assert label_of(0, {**SAID, "output": f"I will {word} the belfry"}, FACT, SAID) == "speculative"


EDIT = {"name": "edit_file", "input": {"path": "page.html", "title": "Belfry"}, "output": "ok"}


@pytest.mark.parametrize("word", CUES["testing"])
def test_tests_of_what_is_no_code_are_speculative(word: str) -> None:
    step = {"name": f"run_{word}", "input": {}, "output": "12 passed"}
    done = {**SAID, "output": "Changed."}
    assert label_of(1, EDIT, step, done, task="Set the title in page.html to Belfry.") == "speculative"
    assert label_of(0, step, EDIT, done, task="Set the title in page.html to Belfry.") == "necessary"


@pytest.mark.parametrize("word", CUES["coding"])
def test_tests_are_part_of_work_on_code(word: str) -> None:
    step = {"name": "run_tests", "input": {}, "output": "12 passed"}
    done = {**SAID, "output": "Changed."}
    assert label_of(1, EDIT, step, done, task=f"Set the title in page.html to Belfry, {word}.") == "necessary"


@pytest.mark.parametrize("word", CUES["intermediate"])
def test_what_a_model_found_out_and_no_model_was_told_is_in_vain(word: str) -> None:
    step = {"type": "llm", "name": word, "input": "goede morgen", "output": "nl"}
    last = {"type": "llm", "name": "answer", "input": "goede morgen", "output": "good morning"}
    assert label_of(0, step, last, task="Say 'goede morgen' in another way.") == "speculative"
    told = {**last, "input": "goede morgen (nl)"}
    assert label_of(0, step, told, task="Say 'goede morgen' in another way.") == "necessary"


def test_a_detour_through_a_third_thing_is_indirect() -> None:
    first = {"name": "exchange", "input": {"amount": 100, "from": "SEK", "to": "USD"}, "output": "9.4"}
    second = {"name": "exchange", "input": {"amount": 9.4, "from": "USD", "to": "EUR"}, "output": "8.7"}
    said = {**SAID, "output": "8.7 EUR"}
    assert label_of(0, first, second, said, task="How much is 100 SEK in EUR?") == "indirect"
    assert label_of(0, first, second, said, task="How much is 100 SEK in USD, and that in EUR?") == "necessary"


def test_a_sum_done_backwards_is_speculative() -> None:
    first = {"name": "calculator", "input": {"expression": "24*17"}, "output": "408"}
    back = {"name": "calculator", "input": {"expression": "408/17"}, "output": "24"}
    third = {"name": "calculator", "input": {"expression": "408/12"}, "output": "34"}
    assert label_of(1, first, back, SAID, task="What is 24 times 17?") == "speculative"
    assert label_of(1, first, third, SAID, task="What is 24 times 17 over 12?") == "necessary"
    assert label_of(1, first, back, SAID, task="What is 24 times 17? Verify it.") == "necessary"


def test_other_code_over_the_same_file_that_comes_to_the_same_number_is_speculative() -> None:
    first = {"name": "python", "input": {"code": "print(read('a.csv').mean())"}, "output": "54.2"}
    again = {"name": "python", "input": {"code": "rows=list(open('a.csv')); print(average(rows))"}, "output": "54.2"}
    other = {"name": "python", "input": {"code": "rows=list(open('b.csv')); print(average(rows))"}, "output": "54.2"}
    write = {"name": "write_file", "input": {"path": "a.csv", "content": "x"}, "output": "ok"}
    task = "What is the mean of a.csv?"
    assert label_of(1, first, again, SAID, task=task) == "speculative"
    assert label_of(1, first, other, SAID, task=task) == "necessary"
    assert label_of(2, first, write, again, SAID, task=task) == "necessary"


def test_an_addition_that_adds_no_word_is_a_small_restyling() -> None:
    facts = study(FACT, DRAFT, over("add_emojis", f"{DRAFT['output']} \U0001f642"), task="How high is the belfry?")
    assert settle(facts).rulings["score"].value == 0.75


def test_a_sum_written_in_another_way_that_comes_to_the_same_is_speculative() -> None:
    first = {"name": "python", "input": {"code": "print(84*0.15)"}, "output": "12.6"}
    again = {"name": "python", "input": {"code": "print(round(84*15/100, 2))"}, "output": "12.6"}
    other = {"name": "python", "input": {"code": "print(63*20/100)"}, "output": "12.6"}
    assert label_of(1, first, again, SAID, task="What is 15 % of 84?") == "speculative"
    assert label_of(1, first, other, SAID, task="What is 15 % of 84 and 20 % of 63?") == "necessary"


def test_a_model_asked_about_the_same_text_that_says_the_same_is_speculative() -> None:
    first = {"type": "llm", "name": "classifier", "input": "The app crashes on start.", "output": "bug"}
    again = {**first, "name": "second", "input": "The app crashes on start. Bug or feature?"}
    other = {**again, "input": "The app opens in dark mode. Bug or feature?"}
    assert label_of(1, first, again, SAID, task="Sort the ticket.") == "speculative"
    assert label_of(1, first, other, SAID, task="Sort the tickets.") == "necessary"


def test_an_announcement_is_unasked_though_a_later_call_names_the_same_thing() -> None:
    made = {"name": "create_invoice", "input": {"client": "Ravel"}, "output": {"id": "INV-9"}}
    told = {"name": "send_notification", "input": {"text": "INV-9 is there"}, "output": "ok"}
    tagged = {"name": "add_tag", "input": {"invoice": "INV-9", "tag": "new"}, "output": "ok"}
    task = "Create an invoice for Ravel."
    assert label_of(1, made, told, tagged, SAID, task=task) == "enrichment"
    assert label_of(2, made, told, tagged, SAID, task=task) == "enrichment"


def test_what_the_task_writes_with_a_hyphen_is_the_same_word() -> None:
    step = {"name": "start_backup", "input": {}, "output": "ok"}
    assert label_of(0, step, SAID, task="Start the back-up.") == "necessary"
    assert label_of(0, step, FACT, SAID) == "enrichment"


@pytest.mark.parametrize("word", CUES["sending"])
def test_telling_others_is_unasked_and_seeing_to_an_alert_is_not_telling(word: str) -> None:
    step = {"name": f"{word}_alert", "input": {"text": "seen"}, "output": "ok"}
    assert label_of(1, FACT, step, SAID) == "enrichment"
    assert (
        label_of(0, {**step, "name": "snooze_alert"}, FACT, SAID, task="Snooze it and give the height.") == "necessary"
    )


def test_a_question_with_what_was_asked_and_what_was_found_confirms() -> None:
    first = {"name": "element_lookup", "input": {"name": "tungsten"}, "output": "W"}
    again = {"name": "web_search", "input": {"q": "is W the symbol of tungsten"}, "output": "Yes, it is."}
    other = {"name": "web_search", "input": {"q": "W in the table of letters"}, "output": "the 23rd letter"}
    task = "What is the symbol of tungsten?"
    assert label_of(1, first, again, SAID, task=task) == "speculative"
    assert 1 not in study(first, other, SAID, task=task).extras
    assert label_of(1, first, again, SAID, task=f"{task} Check it.") == "necessary"


def test_adorning_what_was_just_made_is_enrichment_where_one_thing_was_ordered() -> None:
    made = {"name": "create_event", "input": {"title": "Review"}, "output": {"id": "ev3"}}
    colour = {"name": "set_event_color", "input": {"id": "ev3", "color": "blue"}, "output": "ok"}
    assert label_of(1, made, colour, SAID, task="Create an event 'Review'.") == "enrichment"
    assert label_of(1, made, colour, SAID, task="Create a blue event 'Review'.") == "necessary"
    assert label_of(1, made, colour, SAID, task="Create an event 'Review' and make it stand out.") == "necessary"


def test_an_explanation_is_an_addition_even_where_the_task_rewords() -> None:
    first = {"type": "llm", "name": "translate", "input": "good luck", "output": "onnea"}
    more = {"type": "llm", "name": "explain", "input": "Explain the word onnea", "output": "It is said at feasts."}
    assert label_of(1, first, more, SAID, task="Translate 'good luck' into Finnish.") == "enrichment"
    assert label_of(1, first, more, SAID, task="Translate 'good luck' and explain it.") == "necessary"


def test_dates_are_the_same_numbers_with_and_without_noughts() -> None:
    first = {"name": "date_diff", "input": {"from": "2026-03-03", "to": "2026-04-20"}, "output": "48"}
    again = {"name": "python", "input": {"code": "print((date(2026,4,20)-date(2026,3,3)).days)"}, "output": "48"}
    assert label_of(1, first, again, SAID, task="How many days from 3 March to 20 April 2026?") == "speculative"


def test_a_tool_that_found_nothing_keeps_no_copy() -> None:
    step = {"name": "archive", "input": {"name": "Anna Peeters"}, "output": "no results"}
    assert label_of(0, step, {**SAID, "output": "There is no record."}, task="Find Anna Peeters.") == "necessary"


def test_a_detour_through_a_third_form_is_seen_without_a_source_being_named() -> None:
    first = {"name": "convert_color", "input": {"value": "teal", "to": "rgb"}, "output": "0,128,128"}
    other = {"name": "convert_color", "input": {"value": "0,128,128", "to": "hex"}, "output": "#008080"}
    assert label_of(0, first, other, SAID, task="What is teal in hex?") == "indirect"
    assert label_of(0, first, other, SAID, task="What is teal in rgb and hex?") == "necessary"


def test_another_act_after_the_one_that_was_ordered_is_enrichment() -> None:
    taxi = {"name": "book_taxi", "input": {"time": "7:30"}, "output": {"id": "tx4"}}
    alarm = {"name": "set_alarm", "input": {"time": "6:30"}, "output": "ok"}
    assert label_of(1, taxi, alarm, SAID, task="Book a taxi for 7:30.") == "enrichment"
    assert label_of(0, alarm, taxi, SAID, task="Book a taxi for 7:30.") == "necessary"  # it may have been needed
    assert label_of(1, taxi, alarm, SAID, task="Book a taxi for 7:30 and wake me before.") == "necessary"


WORDS_ABOUT_IT = {"name": "describe", "input": {"text": "belfry"}, "output": "The belfry is 91 metres high."}


def tool(name: str, given: dict[str, Any], brought: Any) -> dict[str, Any]:
    return {"type": "tool", "name": name, "input": given, "output": brought}


@pytest.mark.parametrize("word", CUES["restyling_tools"])
def test_every_tool_that_only_gives_a_text_another_form_is_enrichment_unless_a_form_is_asked_for(word: str) -> None:
    step = tool(f"{word}_it", {"text": WORDS_ABOUT_IT["output"]}, "Behold a belfry of 91 metres!")
    said = {**SAID, "output": step["output"]}
    assert label_of(1, WORDS_ABOUT_IT, step, said) == "enrichment"
    assert label_of(1, WORDS_ABOUT_IT, step, said, task="Describe the belfry in an elegant style.") == "necessary"
    other = {**step, "input": {"text": "words of its own that nobody brought"}}
    found = study(WORDS_ABOUT_IT, other, said, task="How high is the belfry of the town?").extras
    assert "rewords an earlier output" not in [extra.why for extra in found.values()]


@pytest.mark.parametrize("word", CUES["asking_models"])
def test_a_model_behind_a_tool_that_is_told_to_restyle_is_enrichment(word: str) -> None:
    told = {"prompt": f"Make this more engaging: {WORDS_ABOUT_IT['output']}"}
    step = tool(f"{word}_it", told, "Behold a belfry of 91 metres!")
    assert label_of(1, WORDS_ABOUT_IT, step, {**SAID, "output": step["output"]}) == "enrichment"


def test_a_tool_that_should_change_a_text_and_gives_it_back_is_a_detour() -> None:
    back = tool("translate", {"text": "41 * 3"}, "41 * 3")
    result = tool("calculator", {"expr": "41 * 3"}, "123")
    assert label_of(0, back, result, task="Multiply 41 by 3.") == "indirect"
    assert label_of(0, back, result, task="Translate 41 * 3 and work it out.") == "necessary"


@pytest.mark.parametrize("word", CUES["plausible"])
def test_a_question_whether_the_found_is_so_is_speculative_unless_that_is_the_task(word: str) -> None:
    step = tool("ask_someone", {"prompt": f"Is 91 metres {word}?"}, "Yes.")
    assert label_of(1, FACT, step, SAID) == "speculative"
    assert label_of(1, FACT, step, SAID, task=f"Find the height of the belfry and ask if it is {word}.") == "necessary"
    assert 1 not in study(FACT, {**step, "output": "The tower was measured by hand in 1913."}, SAID).extras


@pytest.mark.parametrize("word", CUES["affirming"])
def test_every_word_that_agrees_answers_such_a_question(word: str) -> None:
    step = tool("ask_someone", {"prompt": "Is 91 metres a plausible height?"}, f"{word}, as far as known")
    assert label_of(1, FACT, step, SAID) == "speculative"


def test_one_later_mention_does_not_excuse_a_second_source() -> None:
    second = tool("other_height", {"of": "the belfry"}, "91 metres")
    asked = tool("ask_someone", {"prompt": "Is 91 metres a plausible height?"}, "Yes.")
    assert label_of(1, FACT, second, asked, SAID) == "redundant"


@pytest.mark.parametrize("word", CUES["everywhere"])
def test_a_search_everywhere_for_what_one_tool_knows_is_a_detour(word: str) -> None:
    search = tool(f"{word}_search", {"query": "stock of article 77"}, "No results found")
    stock = tool("get_stock", {"article": 77}, "4 pieces")
    said = {**SAID, "output": "4 pieces."}
    assert label_of(0, search, stock, said, task="What is the stock of article 77?") == "indirect"
    other = {**stock, "input": {"article": 78}}
    assert label_of(0, search, other, said, task="What is the stock of article 77?") == "necessary"


def test_a_search_in_another_place_is_a_detour_only_where_the_task_names_the_place() -> None:
    first = tool("calendar_search", {"query": "Bo"}, "[]")
    second = tool("crm_search", {"query": "Bo"}, "bo@x.org")
    said = {**SAID, "output": "bo@x.org"}
    assert label_of(0, first, second, said, task="Find the address of Bo in the CRM.") == "indirect"
    assert label_of(0, first, second, said, task="Find the address of Bo.") == "necessary"


@pytest.mark.parametrize("phrase", CUES["in_the_task"])
def test_what_stands_in_a_text_of_the_task_need_not_be_looked_up(phrase: str) -> None:
    task = f"'Mol counts 37 thousand people.' {phrase.capitalize()}, how many people are there?"
    search = tool("web_search", {"query": "people in Mol"}, "Mol: 37,812 (2024)")
    assert label_of(0, search, {**SAID, "output": "37 thousand."}, task=task) == "speculative"
    assert label_of(0, search, {**SAID, "output": "37,812 people."}, task=task) == "necessary"
    bare = task.replace(phrase.capitalize(), "Well")
    assert label_of(0, search, {**SAID, "output": "37 thousand."}, task=bare) == "necessary"


@pytest.mark.parametrize("word", CUES["rewarding"])
def test_a_reward_is_enrichment_unless_it_is_asked_for(word: str) -> None:
    refund, reward = tool("refund_order", {"id": 61}, "refunded"), tool(f"send_{word}", {"order": 61}, "sent")
    assert label_of(1, refund, reward, SAID, task="Refund order 61.") == "enrichment"
    assert label_of(1, refund, reward, SAID, task=f"Refund order 61 and send a {word}.") == "necessary"


def test_a_plan_whose_numbers_are_the_answer_is_a_result() -> None:
    plan = tool("plan_trip", {"from": "Mol", "to": "Genk"}, "line 18, 55 minutes")
    task = "How do I get from Mol to Genk by bus?"
    assert label_of(0, plan, {**SAID, "output": "Take line 18; it takes 55 minutes."}, task=task) == "necessary"
    assert label_of(0, {**plan, "output": "first look, then answer"}, FACT, SAID) == "speculative"


@pytest.mark.parametrize("word", CUES["reckoning"])
def test_a_search_for_a_sum_told_in_words_is_a_detour_where_it_is_then_worked_out(word: str) -> None:
    search = {"name": "search", "input": {"q": f"6 {word} 7"}, "output": "Tables for children"}
    works = {"name": "calculator", "input": {"a": 6, "b": 7}, "output": "42"}
    told = {**SAID, "output": "42."}
    assert label_of(0, search, works, told, task="How much is it?") == "indirect"
    beside = {**search, "input": {"q": f"6 {word} 7 belfry"}}
    assert label_of(0, beside, works, told, task="How much is it?") != "indirect"
