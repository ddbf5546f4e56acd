"""What a question asks: its parts, and the kind of thing each of them wants."""

from __future__ import annotations

import pytest

from krino.judges.rag.reading.question import question_parts


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("Who is the mayor, when was the hall built, and how many people live there?", ["person", "date", "number"]),
        ("What are the price and the weight of the kettle?", [None, None]),
        ("What is the difference between cats and dogs?", [None]),
        ("What is bread and butter pudding?", [None]),
        ("Where does it lie?", ["place"]),
        ("Qui est le maire et quand est-il né ?", ["person", "date"]),
        ("Wie is de burgemeester en waar woont hij?", ["person", "place"]),
        ("Wie lange dauert es?", ["number"]),
        ("Wer hat es gebaut und wann?", ["person", "date"]),
        ("¿Cuándo abre y cuánto cuesta?", ["date", "number"]),
        ("I read the leaflet. What does a ticket cost?", ["number"]),
    ],
)
def test_parts_and_kinds(question: str, kinds: list[str | None]) -> None:
    assert [part.kind for part in question_parts(question)] == kinds


@pytest.mark.parametrize(
    ("question", "measure"),
    [
        ("What does the van cost?", "money"),
        ("How much does the bell weigh?", "mass"),
        ("How large is the lake?", "area"),
        ("How fast is the ferry?", "speed"),
        ("How deep is the lake?", "length"),
        ("How old is the oak?", "duration"),
        ("How many rooms are there?", None),
        ("Who paid for it?", None),
    ],
)
def test_what_a_number_must_measure(question: str, measure: str | None) -> None:
    assert question_parts(question)[0].measure == measure


@pytest.mark.parametrize(
    ("question", "second"),
    [
        ("How much is it and do I need to book?", "do I need to book?"),
        ("Where is the pool, and is it heated?", "is it heated?"),
        ("Combien dure le stage et faut-il apporter ses outils ?", "faut-il apporter ses outils ?"),
        ("Quand ouvre la salle et accepte-t-on les chiens ?", "accepte-t-on les chiens ?"),
        ("Wat kost het en moet ik reserveren?", "moet ik reserveren?"),
        ("Was kostet es und muss man sich anmelden?", "muss man sich anmelden?"),
        ("¿Cuánto cuesta y hay que reservar?", "hay que reservar?"),
        ("Why was the line shut, and were customers paid back?", "were customers paid back?"),
        ("Was kostet der Umzug und an wen wende ich mich?", "an wen wende ich mich?"),
        ("Wat kost de verhuizing en met wie neem ik contact op?", "met wie neem ik contact op?"),
    ],
)
def test_a_second_question_may_begin_with_its_verb(question: str, second: str) -> None:
    assert [part.text for part in question_parts(question)][1:] == [second]


@pytest.mark.parametrize(
    "question",
    [
        "If I cancel, do I get my money back?",
        "Which town is the capital and has a port?",
        "Welke stad is groot en heeft een haven?",
        "Si je pars tôt, faut-il payer ?",
    ],
)
def test_a_condition_or_a_second_mark_of_one_thing_is_no_second_question(question: str) -> None:
    assert len(question_parts(question)) == 1


def test_what_is_told_around_a_question_goes_along_with_it() -> None:
    (part,) = question_parts("My washer shows E18. What should I do?")
    assert (part.text, part.asked) == ("What should I do?", "My washer shows E18. What should I do?")
    assert "E18" in part.matter


def test_a_long_story_before_a_question_does_not_drown_it() -> None:
    (part,) = question_parts(f"{'We walked on and on. ' * 20}What does a ticket cost?")
    assert part.asked == "What does a ticket cost?"


def test_a_request_without_a_question_is_what_is_asked() -> None:
    (part,) = question_parts("My washer shows E18. Tell me what to do.")
    assert part.asked == part.text == "My washer shows E18. Tell me what to do."
