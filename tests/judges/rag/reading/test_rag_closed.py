"""Closed questions as statements, in five languages; what no yes or no answers stays a question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.closed import statement_of
from krino.judges.rag.tables import table
from krino.text.language import READ_LANGUAGES

CLOSED = table("questions")["closed"]
TOLD = [
    ("en", "Is it open today?", "It is open today."),
    ("en", "Is the museum open today?", "The museum is open today."),
    ("en", "Does the ticket include lunch?", "The ticket does include lunch."),
    ("en", "Can I bring my dog?", "You can bring your dog."),
    ("en", "Did Alpha acquire Beta?", "Alpha did acquire Beta."),
    ("en", "Do children under six pay?", "Children under six do pay."),
    ("en", "Has Anna Berg paid the fine?", "Anna Berg has paid the fine."),
    ("en", "Is the main square busy?", "The main square is busy."),
    ("en", "Are there lockers?", "There are lockers."),
    ("en", "The museum is open on Sunday, right?", "The museum is open on Sunday."),
    ("en", "We are new here. Is the pool heated?", "The pool is heated."),
    ("fr", "Est-ce que le musée est ouvert ?", "Le musée est ouvert."),
    ("fr", "Le musée est-il ouvert ?", "Le musée est ouvert."),
    ("fr", "Est-il ouvert aujourd'hui ?", "Il est ouvert aujourd'hui."),
    ("fr", "Y a-t-il un ascenseur ?", "Y a un ascenseur."),
    ("nl", "Is het vandaag open?", "Het is vandaag open."),
    ("nl", "Mag mijn hond mee?", "Uw hond mag mee."),
    ("nl", "Het museum is open, toch?", "Het museum is open."),
    ("de", "Ist das neue Museum heute geöffnet?", "Das neue Museum ist heute geöffnet."),
    ("de", "Hat Anna Berg bezahlt?", "Anna Berg hat bezahlt."),
    ("es", "¿Está abierto hoy?", "Está abierto hoy."),
    ("es", "¿El museo está abierto, verdad?", "El museo está abierto."),
]
NOT_TOLD = [
    ("en", "Who won the race?"),
    ("en", "Since when is it open?"),
    ("en", "Can you tell me who won?"),
    ("en", "Is it tea or coffee?"),
    ("en", "Isn't it open?"),
    ("en", "Is it open? And is it free?"),
    ("en", "Tell me about the museum."),
    ("en", "Really?"),
    ("fr", "Qui a gagné ?"),
    ("fr", "Qu'est-ce que c'est ?"),
    ("fr", "Est-ce du thé ou du café ?"),
    ("nl", "Wie heeft gewonnen?"),
    ("nl", "Is het thee of koffie?"),
    ("de", "Wer hat gewonnen?"),
    ("de", "Ist es Tee oder Kaffee?"),
    ("es", "¿Quién ganó?"),
    ("es", "¿Es té o café?"),
]


@pytest.mark.parametrize(("language", "question", "statement"), TOLD)
def test_a_closed_question_is_told_as_what_a_yes_says(language: str, question: str, statement: str) -> None:
    assert statement_of(question, language) == statement


@pytest.mark.parametrize(("language", "question"), NOT_TOLD)
def test_what_no_yes_or_no_answers_is_not_told(language: str, question: str) -> None:
    assert statement_of(question, language) is None


def test_every_language_has_every_list() -> None:
    assert sorted(CLOSED) == sorted(READ_LANGUAGES)
    assert all(told.keys() == CLOSED["en"].keys() for told in CLOSED.values())


@pytest.mark.parametrize("verb", CLOSED["en"]["verbs"].split())
def test_every_verb_goes_behind_its_subject_and_one_that_denies_is_left_alone(verb: str) -> None:
    told = statement_of(f"{verb.capitalize()} they open?", "en")
    assert told == (None if verb.endswith("n't") else f"They {CLOSED['en']['speaker'].get(verb, verb)} open.")


@pytest.mark.parametrize("code", READ_LANGUAGES)
def test_whoever_asks_is_told_as_the_passage_calls_them(code: str) -> None:
    for mine, yours in CLOSED[code]["speaker"].items():
        told = statement_of(f"X {mine} Y, Z?", code)
        assert told is not None
        assert yours in told.lower().rstrip(".").split()


@given(st.text(max_size=80), st.sampled_from([*READ_LANGUAGES, None]))
def test_any_text_gives_a_statement_or_none(question: str, language: str | None) -> None:
    told = statement_of(question, language)
    assert told is None or told.endswith(".")
