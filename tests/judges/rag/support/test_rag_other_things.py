"""What is told of another name, year or number than the one asked about answers nothing."""

from __future__ import annotations

import pytest

from krino.judges.rag.local import label_locally
from krino.judges.rag.reading.question import question_parts
from krino.judges.rag.support.draft_claims import lay_out
from krino.judges.rag.support.other_things import all_of_another, is_of_another
from krino.models.entailment import Answered
from rag_making import facts_of

UNSURE, SURE = Answered(0.8, 0.15, 0.05), Answered(0.95, 0.04, 0.01)


def told_of_another(question: str, passage: str, found: Answered = UNSURE) -> bool:
    desk = lay_out(facts_of(question=question, context=[passage], answer="Not said."))
    (part,) = question_parts(question)
    return is_of_another(desk, desk.index.sentences[-1], part, found)


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("When was the mill of Varde built?", "The mill of Holm was built in 1780."),
        ("What does the Calypso Pro cost?", "The Calypso Lite is a lamp. It costs 40 euros."),
        ("How many guests did the inn have in 2021?", "In 2018 the inn counted 900 guests."),
        ("What does Article 5 say about noise?", "Noise after ten is forbidden by Article 7."),
        ("Quand le moulin de Varde a-t-il été construit ?", "Le moulin de Holm a été construit en 1780."),
        ("¿Cuántos huéspedes tuvo la posada en 2021?", "En 2018 la posada contó 900 huéspedes."),
    ],
)
def test_another_name_year_or_number_is_another_thing(question: str, passage: str) -> None:
    assert told_of_another(question, passage)


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("When was the mill of Varde built?", "The mill of Varde was built in 1780 by Jens Holm."),
        ("When was the mill of Varde built?", "It was built in 1780."),  # no other name: it may be that mill
        ("Is the archive open on Sundays?", "The archive is open from Monday to Friday."),
        ("What does it cost in May 2023?", "In May 2023 the ticket of the Calypso costs 40 euros."),
        ("How many guests did the inn have in 2021?", "The inn counted 900 guests in 2018 and 700 in 2021."),
        ("Which mill was built before 1900?", "The mill of Holm was built in 1854."),
        ("Who won the cup in 2019?", "Ada Lund won the cup."),
        ("Since 2010 who has led the club?", "Since 2012 it has been led by a baker."),
        ("Which bus goes to Gate 5?", "Gate 7 is closed. Bus number 12 goes to the gates in the east."),
        ("What does Article 5 say?", "Article 5 forbids noise, Article 7 allows music."),
    ],
)
def test_the_same_thing_or_one_without_a_name_is_not(question: str, passage: str) -> None:
    assert not told_of_another(question, passage)


def test_a_model_that_is_sure_may_know_another_name_for_it() -> None:
    question, passage = "How high is the Grand Bell of Varde?", "Old Tom hangs 40 metres above the market."
    assert told_of_another(question, passage)
    assert not told_of_another(question, passage, SURE)


def test_no_sentence_answers_and_none_holds_what_is_needed() -> None:
    context = ["The last ferry to Holm leaves at 21:15. Cars cannot come along."]
    question = "When does the last ferry to Varde leave?"
    facts = facts_of(question=question, context=context, answer="Not said.")
    labels = label_locally([facts])[0]
    assert [need.held for need in labels.needs] == [False]
    assert [use.useful_sentences for use in labels.passages] == [[]]
    heard = {(item.sentence.text, question): UNSURE for item in lay_out(facts).index.speakers}
    assert all_of_another(lay_out(facts), question_parts(question)[0], heard)
