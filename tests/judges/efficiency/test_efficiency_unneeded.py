"""What could have been left out: results that nothing uses, and what was known and asked already."""

from __future__ import annotations

from typing import Any

import pytest

from efficiency_making import JUDGE, study
from krino.judges.efficiency.data_files import table
from krino.judges.efficiency.finders.effects import classify_effect, may_be_left_out
from krino.judges.efficiency.finders.trace_words import TraceWords
from krino.judges.efficiency.finders.unneeded import _Pass
from krino.judges.efficiency.traces.steps import Step

CUES = table("cues")

INVOICE = {
    "name": "get_invoice",
    "input": {"number": "A-17"},
    "output": {"due": "1 March", "paid": False, "client": "Declercq", "currency": "EUR"},
}
LAMP = {"name": "set_lamp", "input": {"on": True}, "output": "ok"}
YES = {"type": "message", "name": "message", "output": "Yes."}


def spare(*steps: dict[str, Any], task: str) -> dict[int, str]:
    return {place: found.how for place, found in study(*steps, task=task).unneeded.items()}


def test_an_answer_may_rest_on_a_result_without_its_words_if_the_task_names_what_was_read() -> None:
    assert spare(INVOICE, YES, task="Is invoice A-17 overdue?") == {}
    assert spare(INVOICE, LAMP, YES, task="Turn on the lamp.") == {0: "unused"}


def test_an_answer_that_rests_on_readings_alone_may_rest_on_any_if_the_task_names_none() -> None:
    other = {**INVOICE, "name": "get_hours", "input": {"shop": "Lier"}, "output": "nine until five, not on Sunday"}
    assert spare(INVOICE, YES, task="Can I still come by?") == {}
    assert spare(INVOICE, other, YES, task="Is the shop in Lier open?") == {0: "unused"}


def test_what_the_task_names_is_covered_by_a_reading_whose_words_are_used() -> None:
    price = {"name": "get_price", "input": {"item": 7}, "output": "12.50 EUR"}
    reviews = {"name": "get_reviews", "input": {"item": 7}, "output": "Works well, broke later, quick shipping"}
    told = {**YES, "output": "It costs 12.50 EUR."}
    assert spare(price, reviews, told, task="What does item 7 cost?") == {1: "unused"}
    assert spare(price, reviews, told, task="What does item 7 cost, and how are its reviews?") == {}


def test_a_second_source_for_what_is_known_is_spare_but_another_thing_with_the_same_value_is_not() -> None:
    first = {"name": "search", "input": {"q": "inhabitants of Ghent"}, "output": "Ghent has 265 thousand souls"}
    second = {"name": "wikipedia", "input": {"page": "Ghent"}, "output": "A town of 265 thousand souls"}
    told = {**YES, "output": "265 thousand souls."}
    assert spare(first, second, told, task="How many inhabitants has Ghent?") == {1: "known"}
    lamp, chair = ({"name": "get_price", "input": {"item": item}, "output": "49 EUR"} for item in ("lamp", "chair"))
    assert spare(lamp, chair, {**YES, "output": "49 EUR each."}, task="What do lamp and chair cost?") == {}


def test_one_of_a_list_that_is_gone_through_is_needed() -> None:
    listed = {"name": "list_tickets", "input": {}, "output": ["T-1", "T-2"]}
    texts = ("Paper jam on the second floor", "Password forgotten after a holiday")
    read = [{"name": "get_ticket", "input": {"id": f"T-{n}"}, "output": text} for n, text in enumerate(texts, 1)]
    told = {**YES, "output": "T-1."}
    assert spare(listed, *read, told, task="Which one is about printers?") == {}
    assert spare(*read, LAMP, told, task="Turn on the lamp.") == {0: "unused", 1: "unused"}


def test_where_the_task_names_the_one_the_others_are_spare_and_where_it_does_not_all_are_needed() -> None:
    texts = ("Parties, subject and scope", "Prices, payment and delivery", "Fines for late work")
    pages = [{"name": "read_page", "input": {"page": n}, "output": text} for n, text in enumerate(texts, 1)]
    told = {**YES, "output": "Fines for late work."}
    assert spare(*pages, told, task="Which page speaks of fines?") == {}
    assert spare(*pages, told, task="What does page 3 say?") == {0: "unused", 1: "unused"}


def test_what_is_read_only_for_a_step_that_nothing_uses_is_spare_too() -> None:
    user = {"name": "get_user", "input": {"name": "mia"}, "output": "id 4711, member since 2019, plan gold"}
    photo = {"name": "get_photo", "input": {"user": "4711"}, "output": "a portrait before brick walls, greyscale"}
    told = {**YES, "output": "Done: the light shines from noon on."}
    assert spare(user, photo, LAMP, told, task="Turn on the lamp.") == {0: "unused", 1: "unused"}
    assert spare(user, photo, LAMP, YES, task="Turn on the lamp.") == {0: "unused", 1: "unused"}
    assert spare(user, photo, LAMP, YES, task="Turn on the lamp if Mia is a member.") == {}


def test_a_trace_that_ends_with_a_reading_does_not_say_what_it_was_for() -> None:
    assert spare(INVOICE, task="Is the shop open?") == {}


PRICE = {"name": "get_price", "input": {"item": 7}, "output": "12.50 EUR"}
PARTS = {"name": "get_parts", "input": {"item": 7}, "output": "a lid"}


@pytest.mark.parametrize("word", CUES["derived"])
def test_an_answer_that_sums_up_may_rest_on_any_result(word: str) -> None:
    assert spare(PRICE, PARTS, {**YES, "output": "12.50 EUR"}, task="What does item 7 cost?") == {1: "unused"}
    assert spare(PRICE, PARTS, {**YES, "output": f"{word} 12.50 EUR"}, task="What does item 7 cost?") == {}


@pytest.mark.parametrize("word", CUES["counted"])
def test_a_number_in_words_that_a_result_holds_is_not_summed_up(word: str) -> None:
    price = {**PRICE, "output": f"{word} EUR"}
    assert spare(price, PARTS, {**YES, "output": f"{word} EUR"}, task="What does item 7 cost?") == {1: "unused"}


@pytest.mark.parametrize("word", CUES["command_words"])
def test_words_of_commands_need_no_source(word: str) -> None:
    look = {"name": "read_file", "input": {"path": "conf.ini"}, "output": "name=foo, mode=dev, level=high"}
    act = {"name": "apply_change", "input": {"text": f"{word} foo bar conf.ini"}, "output": "ok"}
    assert spare(look, act, YES, task="Swap foo for bar in conf.ini.") == {0: "unused"}
    act = {"name": "apply_change", "input": {"text": "foo bar conf.ini zone 9"}, "output": "ok"}
    assert spare(look, act, YES, task="Swap foo for bar in conf.ini.") == {}


def test_what_the_answer_adds_to_the_one_thing_asked_goes_beyond_it() -> None:
    weather = {"name": "weather", "input": {"city": "Ostend"}, "output": "sunny, 19 degrees"}
    train = {"name": "timetable", "input": {"to": "Ostend"}, "output": "9:07 from platform four"}
    told = {**YES, "output": "At 9:07. By the way, it is sunny there."}
    assert spare(train, weather, told, task="When does the train to Ostend leave?") == {1: "beyond"}
    assert spare(train, weather, told, task="When does the train to Ostend leave, and how is the weather?") == {}
    one = {**YES, "output": "At 9:07 in sunny weather."}
    assert spare(train, weather, one, task="When does the train to Ostend leave?") == {}


def test_a_short_identifier_that_an_act_takes_up_makes_the_reading_needed() -> None:
    rooms = {"name": "list_rooms", "input": {}, "output": [{"room": "R1"}, {"room": "R2"}]}
    book = {"name": "book_room", "input": {"room": "R2"}, "output": "booked"}
    assert spare(rooms, book, YES, task="Book a room.") == {}
    assert spare(rooms, book, YES, task="Book room R2.") == {0: "unused"}


def test_in_doubt_unnecessary_and_the_doubt_is_stated() -> None:
    look = {"name": "get_lists", "input": {}, "output": ["Shopping", "Work"]}
    add = {"name": "add_item", "input": {"text": "stamps"}, "output": "ok"}
    labelled = labels_of(look, add, YES, task="Add stamps to my list.")[0]
    assert labelled.label == "speculative"
    assert "in doubt" in labelled.why
    assert "in doubt" not in labels_of(INVOICE, LAMP, YES, task="Turn on the lamp.")[0].why


def labels_of(*steps: dict[str, Any], task: str) -> list[Any]:
    facts = study(*steps, task=task)
    return JUDGE.label_locally([(JUDGE.read({"task": task, "trace": []}), facts)])[0].steps


def said(text: str) -> dict[str, Any]:
    return {**YES, "output": text}


@pytest.mark.parametrize("verb", CUES["delivering"])
def test_a_reading_that_is_the_act_that_was_ordered_is_needed(verb: str) -> None:
    fetched = {"name": f"{verb}_file", "input": {"file": "a.pdf"}, "output": "stored under home"}
    assert spare(fetched, said("Done."), task=f"{verb.title()} the file a.pdf.") == {}
    assert spare(fetched, LAMP, said("Done."), task="Turn on the lamp.") == {0: "unused"}


@pytest.mark.parametrize("phrase", CUES["denying"])
def test_an_answer_that_nothing_was_found_rests_on_every_place_that_was_searched(phrase: str) -> None:
    mail = {"name": "open_mail", "input": {"id": "m1"}, "output": "Gala on 12 June in the town hall of Mechelen"}
    listed = {"name": "search_mail", "input": {"q": "gala dress code"}, "output": "Invitation to the gala"}
    asked = "Which dress code has the gala?"
    assert spare(listed, mail, said(f"The mails: {phrase}, no."), task=asked) == {}
    assert spare(listed, mail, said("No."), task=asked) == {1: "unused"}


def test_what_the_last_call_hands_in_is_the_answer() -> None:
    first = {"name": "search", "input": {"q": "garage Lambert phone"}, "output": "Lambert, 081 22 33 44"}
    more = {"name": "search", "input": {"q": "garages in Namur"}, "output": "Dupuis with 4 stars, Quai 8"}
    final = {"name": "final_answer", "input": {"answer": "081 22 33 44"}, "output": None}
    assert spare(first, more, final, task="What is the phone number of Lambert?") == {1: "unused"}


def test_another_direction_is_another_thing_though_the_result_is_the_same() -> None:
    calls = [{"name": "get_calls", "input": {"kind": kind}, "output": "48"} for kind in ("inbound", "outbound")]
    assert spare(*calls, said("48 each."), task="How many calls did we get and make?") == {}


def test_a_draft_that_another_draft_replaces_is_unused() -> None:
    first = {"type": "llm", "name": "writer", "input": "a limerick on a cat", "output": "A cat of Peru slept in a shoe"}
    other = {**first, "input": "a limerick on a cat again", "output": "There once sat a cat on a tree by the sea"}
    assert spare(first, other, said(str(other["output"])), task="Write a limerick on a cat.") == {0: "unused"}


@pytest.mark.parametrize("command", CUES["commands_of_many"])
def test_commands_of_many_kinds_are_told_apart_by_their_second_word(command: str) -> None:
    looks = [("status", "all is well in the yard"), ("log -1", "Mend the rounding of sums")]
    steps = [{"name": "bash", "input": {"command": f"{command} {how}"}, "output": told} for how, told in looks]
    found = study(*steps, said("Mend the rounding of sums"), task="Show the last message.").unneeded
    assert (0 in found) == (command == "git")  # of the others code cannot say that they only look


@pytest.mark.parametrize("works", CUES["on_screen"])
@pytest.mark.parametrize("opens", CUES["opening"])
def test_what_is_worked_on_must_have_been_opened(opens: str, works: str) -> None:
    page = {"name": f"browser_{opens}", "input": {"url": "status.example"}, "output": "all systems are running well"}
    use = {"name": f"browser_{works}", "input": {"path": "s.png"}, "output": "ok"}
    assert 0 not in spare(page, use, said("Done."), task="Keep s.png of status.example.")


def test_a_look_before_something_was_set_going_is_not_waiting_for_it() -> None:
    look = {"name": "file_info", "input": {"path": "a.pdf"}, "output": {"pages": 4, "size": "2 MB", "author": "Wim"}}
    act = {"name": "print_file", "input": {"path": "a.pdf"}, "output": "queued"}
    assert spare(look, act, said("Done."), task="Print a.pdf.") == {0: "unused"}
    assert spare(act, {**look, "name": "get_job"}, said("Done."), task="Print a.pdf.") == {}


def test_tools_that_do_not_say_what_they_do_read_where_the_task_only_lists() -> None:
    members = {"name": "band_members", "input": {"band": "Hoover"}, "output": "Alex, Raymond, Geike"}
    albums = {"name": "band_albums", "input": {"band": "Hoover"}, "output": "Magnificent Tree, Blue Wonder, Reflection"}
    assert spare(members, albums, said("Alex, Raymond and Geike."), task="List the members of Hoover.") == {1: "unused"}


def test_each_of_a_list_is_looked_at_to_choose_one_however_short_its_name() -> None:
    trains = {"name": "trains", "input": {"to": "Ostend"}, "output": ["IC 530", "L 81", "S 9"]}
    each = [
        {"name": "duration", "input": {"train": name}, "output": f"{n} min"}
        for name, n in (("IC 530", 68), ("S 9", 110))
    ]
    assert spare(trains, *each, said("IC 530."), task="Which train to Ostend is the fastest?") == {}


def test_the_same_thing_asked_for_in_part_was_known() -> None:
    whole = {"name": "get_issue", "input": {"id": 9}, "output": {"summary": "Login slow", "status": "open"}}
    part = {"name": "get_issue", "input": {"id": 9, "fields": "summary"}, "output": {"summary": "Login slow"}}
    other = {"name": "get_issue", "input": {"id": 12, "fields": "summary"}, "output": {"summary": "Login slow"}}
    assert spare(whole, part, said("Login slow."), task="Read me the summary of issue 9.") == {1: "known"}
    assert spare(whole, other, said("Login slow, both."), task="The summary of issue 9 and 12?") == {}


def test_the_act_that_a_task_orders_is_no_reading_whatever_its_tool_is_called() -> None:
    there = {"name": "move_to", "input": {"place": "hall 3"}, "output": "arrived"}
    gate = {"name": "open_gate", "input": {"hall": 3}, "output": "gate open to both sides"}
    said = {**YES, "output": "The gate of hall 3 is open."}
    assert spare(there, gate, said, task="Open the gate of hall 3.") == {}
    box = {**gate, "name": "open_box", "output": "a red scarf and two old coins"}
    assert spare(there, box, said, task="Move to hall 3.") == {1: "unused"}


def test_a_result_in_the_words_of_the_task_or_of_the_call_tells_of_an_act() -> None:
    there = {"name": "move_to", "input": {"place": "shelf"}, "output": "arrived"}
    put = {"name": "arrange", "input": {"shelf": 2}, "output": "box on shelf 2"}
    said = {**YES, "output": "It is there."}
    assert spare(there, put, said, task="Put the box on shelf 2.") == {}
    photo = {"name": "take_photo", "input": {}, "output": "photo of a box"}
    assert spare(there, photo, put, said, task="Put the box on shelf 2.") == {1: "unused"}
    assert not may_be_left_out(
        Step("1", "tool", "open_gate", {"hall": 3}, "gate open"), classify_effect(Step("1", "tool", "x"))
    )


def test_a_reading_that_says_what_the_task_says_is_unused() -> None:
    find = {"name": "find_orders", "input": {"customer": "me"}, "output": [{"id": 4411}]}
    status = {"name": "order_status", "input": {"id": 4411}, "output": "shipped with the post"}
    said = {**YES, "output": "It is shipped with the post."}
    assert spare(find, status, said, task="My order number is 4411. What is its status?") == {0: "unused"}
    assert spare(find, status, said, task="What is the status of my order?") == {}


def test_initials_end_no_part_of_an_answer() -> None:
    empty = {"name": "search_wiki", "input": {"query": "author of memo 12"}, "output": "No results found"}
    found = {"name": "search_drive", "input": {"query": "memo 12"}, "output": "memo-12.docx by L. Claes"}
    assert spare(empty, found, {**YES, "output": "L. Claes."}, task="Who is the author of memo 12?") == {}


def listing(path: str, *names: str) -> dict[str, Any]:
    return {"name": "list_dir", "input": {"path": path}, "output": "\n".join(names)}


def test_folders_listed_on_the_way_to_a_file_that_the_task_names_are_unneeded() -> None:
    read = {"name": "read_file", "input": {"path": "README.md"}, "output": "# Shop\nVersion 2.4.1"}
    other = {"name": "read_file", "input": {"path": "docs/index.md"}, "output": "Welcome to the docs."}
    walk = [
        listing(".", "README.md", "source", "docs"),
        listing("source", "application.py"),
        listing("docs", "index.md"),
    ]
    found = spare(*walk, other, read, said("Version **2.4.1**."), task="Which version does README.md state?")
    assert found == dict.fromkeys(range(4), "unused")


def test_a_search_that_returns_only_what_a_file_said_is_known_where_one_thing_is_asked() -> None:
    read = {"name": "read_file", "input": {"path": "docs/deploy.md"}, "output": "--timeout: default 300 seconds"}
    search = {"name": "search_docs", "input": {"query": "deploy timeout default"}, "output": "default 300 seconds"}
    asked = "What is the default timeout of kestrel deploy?"
    assert spare(read, search, said("300 seconds."), task=asked) == {1: "known"}
    more = {**search, "output": "default 300 seconds, at most 900"}
    assert spare(read, more, said("300 seconds, at most 900."), task=asked) == {}


def test_looking_up_each_of_a_list_that_held_all_of_it_is_unneeded() -> None:
    rows = [{"number": f"A-330{n}", "amount": 80.5 + n} for n in range(3)]
    listed = {"name": "list_invoices", "input": {"supplier": "Norrtek"}, "output": rows}
    each = [{"name": "get_invoice", "input": {"number": row["number"]}, "output": row} for row in rows]
    asked = "Which invoice of supplier Norrtek is the highest?"
    answer = said("A-3302, with EUR 82.50.")
    assert spare(listed, *each, answer, task=asked) == dict.fromkeys((1, 2, 3), "known")
    paid = [{**call, "output": {**row, "paid": "in part"}} for call, row in zip(each, rows, strict=True)]
    assert spare(listed, *paid, answer, task=asked) == {}


def test_a_search_in_other_words_that_brings_the_same_text_is_known() -> None:
    text = "Mileage claims for 2026 must be submitted no later than 15 January 2027; later claims are not paid."
    search = [
        {"name": "kb_search", "input": {"query": query}, "output": text}
        for query in ("deadline mileage claims", "last day for kilometre allowance")
    ]
    asked = "Until when can I hand in my mileage claims?"
    assert spare(*search, said("Until 15 January 2027."), task=asked) == {1: "known"}


def test_what_is_looked_at_again_after_an_act_is_not_held_by_the_list_before_it() -> None:
    row = {"number": "A-3301", "amount": 80.5}
    listed = {"name": "list_invoices", "input": {"supplier": "Norrtek"}, "output": [row]}
    again = {"name": "get_invoice", "input": {"number": "A-3301"}, "output": row}
    paid = {"name": "pay_invoice", "input": {"number": "A-3301"}, "output": "done"}
    task = "Pay the invoice of supplier Norrtek and tell me its amount afterwards."
    assert spare(listed, again, paid, said("EUR 80.50."), task=task)[1] == "known"
    facts = study(listed, paid, again, said("EUR 80.50."), task=task)
    trace = TraceWords(facts.steps, facts.calls, task, "")
    assert _Pass(trace, (), (), ())._find_holder(2) is None
