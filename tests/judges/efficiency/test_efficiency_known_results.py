"""What was known already: a result that stood in an earlier one, and a question asked again in other words."""

from __future__ import annotations

from typing import Any

import pytest

from krino.judges.efficiency import EfficiencyJudge
from krino.judges.efficiency.finders.rephrasings import is_english

JUDGE = EfficiencyJudge()
USERS = [
    {"id": n, "name": f"Reader {n}", "city": "Ghent", "plan": "gold", "mail": f"reader{n}@example.org"} for n in (1, 2)
]
PAGE = "\n".join(f"paragraph {n} of the page says something about it" for n in range(8))


def labelled(
    *trace: dict[str, Any], task: str = "Tell me what the reader wants to know."
) -> list[tuple[str, str | None]]:
    case = JUDGE.read({"task": task, "trace": [{"id": f"s{n}", **step} for n, step in enumerate(trace)]})
    facts = JUDGE.study(case)
    labels = JUDGE.label_locally([(case, facts)])[0]
    assert JUDGE.check(case, facts, labels) == []
    return [(item.label, item.because_of) for item in labels.steps]


def step(name: str, given: Any, gave: Any) -> dict[str, Any]:
    return {"name": name, "input": given, "output": gave}


ANSWER = {"type": "llm", "name": "answer", "input": "x", "output": f"reader1@example.org of Ghent, {PAGE}"}


# --- results that were known ------------------------------------------------------------------------------


def test_a_lookup_of_what_a_list_had_told_already_is_redundant() -> None:
    found = labelled(step("list_users", {}, USERS), step("get_user", {"id": 1}, USERS[0]), ANSWER)
    assert found[1] == ("redundant", "s0")


def test_checking_what_an_update_gave_back_is_redundant() -> None:
    found = labelled(step("update_user", {"id": 1}, USERS[0]), step("get_user", {"id": 1}, USERS[0]), ANSWER)
    assert found[1] == ("redundant", "s0")


def test_reading_a_part_of_a_page_that_was_read_is_redundant() -> None:
    part = "\n".join(PAGE.splitlines()[2:6])
    found = labelled(step("open_page", "a", PAGE), step("find_in_page", "paragraph", part), ANSWER)
    assert found[1] == ("redundant", "s0")


@pytest.mark.parametrize(
    ("name", "gave"),
    [
        ("get_user", {**USERS[0], "phone": "0471"}),  # one thing is new
        ("get_user", {"id": 1, "city": "Ghent"}),  # too little to say that it was known
        ("get_user", {"a": 1, "name": "Reader 1", "town": "Ghent", "tier": "gold", "to": "reader1@example.org"}),
        ("update_user", USERS[0]),  # it does something, whatever it gives back
        ("page_down", USERS[0]),
    ],
)
def test_what_brings_something_new_or_does_something_is_not(name: str, gave: Any) -> None:
    found = labelled(step("list_users", {}, USERS), step(name, {"user": 1}, gave), ANSWER)
    assert found[1][0] != "redundant"


def test_pieces_that_stood_in_different_results_were_not_known_together() -> None:
    halves = [dict(list(USERS[0].items())[:3]), dict(list(USERS[0].items())[3:])]
    fill = {f"key{n}": f"value {n}" for n in range(5)}
    trace = [step("get_a", {}, {**halves[0], **fill}), step("get_b", {}, {**halves[1], **fill, "more": "x"})]
    assert labelled(*trace, step("get_user", {"id": 1}, USERS[0]), ANSWER)[2][0] != "redundant"


def test_a_known_result_is_told_beside_the_step() -> None:
    case = JUDGE.read({"task": "x", "trace": [step("list_users", {}, USERS), step("get_user", {"id": 1}, USERS[0])]})
    questions = JUDGE.ask(case, JUDGE.study(case))
    assert questions is not None
    assert "facts: step 1: all of its result stood there already" in questions.passages[1].text


# --- questions in other words -------------------------------------------------------------------------------


def searches(*queries: str, task: str = "Find out what the user wants to know about it.") -> list[str]:
    trace = [step("web_search", {"query": query}, f"result number {n}") for n, query in enumerate(queries)]
    return [label for label, _ in labelled(*trace, ANSWER, task=task)[: len(queries)]]


SAME = [
    ("what is the population of Ghent in 2023", "how many people lived in Ghent in 2023"),
    ("cheapest flight from Brussels to Rome in May", "low cost flights Brussels Rome May"),
    ("studio albums of Mercedes Sosa 2000-2009", "list of albums published by Mercedes Sosa between 2000 and 2009"),
    ("best restaurants in Lisbon", "top places to eat in Lisbon"),
    ("the CEO of Siemens", "who is the chief executive of Siemens"),
    ("symptoms of vitamin D deficiency", "signs of low vitamin D"),
]
OTHER = [
    ("weather forecast Paris tomorrow", "weather forecast Paris today"),
    ("revenue of Apple in the first quarter", "revenue of Apple in the second quarter"),
    ("who directed the film Inception", "who produced the film Inception"),
    ("the population of Ghent in 2023", "how many people lived in Ghent in 2022"),
    ("the CEO of Siemens", "who is the chief executive of Bosch"),
    ("cheapest flight from Brussels to Rome", "cheapest flight from Rome to Brussels"),
    ("python convert string to datetime", "python convert datetime to string"),
    ("symptoms of vitamin deficiency", "how is a vitamin deficiency treated"),
    ("history of the Eiffel tower", "how high is the Eiffel tower"),
    ("how to install docker on ubuntu", "how to uninstall docker on ubuntu"),
    ("side effects of ibuprofen", "the dosage of ibuprofen for children"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_a_question_asked_again_in_other_words_is_redundant(first: str, second: str) -> None:
    assert searches(first, second) == ["necessary", "redundant"]


@pytest.mark.parametrize(("first", "second"), OTHER)
def test_another_question_about_the_same_thing_is_not(first: str, second: str) -> None:
    assert searches(first, second) == ["necessary", "necessary"]


def test_a_rephrasing_is_held_against_questions_that_rephrase_nothing_themselves() -> None:
    queries = (*SAME[0], "number of people who live in Ghent, 2023")
    trace = [step("web_search", {"query": query}, f"result number {n}") for n, query in enumerate(queries)]
    assert labelled(*trace, ANSWER)[:3] == [("necessary", None), ("redundant", "s0"), ("redundant", "s0")]


def test_other_languages_are_left_to_the_words() -> None:
    french = "Dis-moi tout ce qu'il faut savoir sur la bibliothèque de la ville."
    assert searches(*SAME[3], task=french) == ["necessary", "necessary"]
    assert not is_english(french)
    assert not is_english("Zoek uit wanneer de bibliotheek open is en hoeveel een kaart kost.")
    assert not is_english("")
    assert is_english("Find the opening hours of the library.")
