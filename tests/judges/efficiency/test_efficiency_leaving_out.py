"""What could have been left out: results that nothing uses, and what was known and asked already."""

from __future__ import annotations

from typing import Any

from efficiency_making import study

INVOICE = {
    "name": "get_invoice",
    "input": {"number": "A-17"},
    "output": {"due": "1 March", "paid": False, "client": "Declercq", "currency": "EUR"},
}
LAMP = {"name": "set_lamp", "input": {"on": True}, "output": "ok"}
YES = {"type": "message", "name": "message", "output": "Yes."}


def spare(*steps: dict[str, Any], task: str) -> dict[int, str]:
    return {place: found.how for place, found in study(*steps, task=task).spare.items()}


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
