"""What code finds out about a case by itself: what cannot be read, and which values stand nowhere."""

from __future__ import annotations

import pytest

from krino.errors import CannotJudge
from krino.judges.rag.values.finding import find_values
from rag_making import facts_of


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("???", "no letter or digit"),
        ("...", "no letter or digit"),
        ("\x00\x00\x00", "NUL or replacement characters"),
        ("It\x00was\x00opened", "NUL or replacement characters"),
        ("\ufffd\ufffd in \ufffd", "NUL or replacement characters"),
        ("asdkjh qwlekjr zxcmnbv qpwoeiru", "gibberish"),
    ],
)
@pytest.mark.parametrize("field", ["question", "answer"])
def test_what_nobody_can_read_is_failed_with_the_reason(field: str, text: str, problem: str) -> None:
    with pytest.raises(CannotJudge, match=rf"the {field} .*{problem}"):
        facts_of(**{field: text})


@pytest.mark.parametrize("answer", ["1904", "It was opened in 1904\ufffd.", "XK-4471-QZ", "Ole Holm", "½"])
def test_short_text_and_a_single_broken_letter_are_no_reason_to_fail(answer: str) -> None:
    assert facts_of(answer=answer).sentences


def test_letters_at_random_are_text_where_the_passages_have_them() -> None:
    code = "asdkjh qwlekjr zxcmnbv qpwoeiru"
    assert facts_of(answer=code, context=[f"The keys are {code} ."]).sentences


@pytest.mark.parametrize(
    ("said", "answer", "absent"),
    [
        ("The fine is 40,000 euros.", "It is 40 euros.", ["40 euros"]),
        ("The region has 4.1 million inhabitants.", "It has 4.1 billion.", ["4.1 billion"]),
        ("The region has 4.1 million inhabitants.", "It has 4.1 million.", []),
        ("The dose is 5 mg.", "It is 5 g.", ["5 g"]),
        ("The ticket costs 20 EUR.", "It costs 20 USD.", ["20 USD"]),
        ("The ticket costs 20 EUR.", "It costs €20.", []),
        ("The tunnel is 1.5 km long.", "It is 1,500 metres long.", []),
        ("Signed on 3 May 1998.", "It was signed on 1998-05-03.", []),
        ("Signed on 3 May 1998.", "It was signed on 4 May 1998.", ["4 May 1998"]),
        ("It costs 12,500 euros.", "It costs 500 euros.", ["500 euros"]),
    ],
)
def test_values_are_absent_as_values_not_as_letters(said: str, answer: str, absent: list[str]) -> None:
    facts = facts_of(question="What is it?", context=[said], answer=answer)
    assert [value.text for _, value in facts.absent_values] == absent


def test_a_value_is_looked_for_in_every_passage_and_may_stand_in_two() -> None:
    context = ["It is 5 g.", "It began in August.", "Nothing.", "That was in 1998.", "It costs 20 EUR."]
    facts = facts_of(question="What is it?", context=context, answer="It is 5 g, from August 1998, at 20 USD or €20.")
    assert [value.text for _, value in facts.absent_values] == ["20 USD"]


def test_sentences_of_a_passage_are_counted_below_its_title() -> None:
    facts = facts_of(context=[{"title": "Bridges. Old ones.", "text": "It is red. It is old."}])
    (passage,) = facts.passages
    assert [item.text for item in passage.sentences] == ["It is red.", "It is old."]
    numbers = [(item.number, passage.text[item.sentence.start : item.sentence.end]) for item in facts.passage_sentences]
    assert numbers == [(0, "Bridges."), (0, "Old ones."), (1, "It is red."), (2, "It is old.")]


@pytest.mark.parametrize(
    "answer", ["It is old. It burned.", "It has two floors. It is old.", "| a | b |\n|---|---|\n| x | 3 |", '{"n": 4}']
)
def test_the_values_of_an_answer_are_those_of_its_sentences(answer: str) -> None:
    facts = facts_of(answer=answer)
    assert facts.values == tuple(find_values(sentence.text) for sentence in facts.sentences)


@pytest.mark.parametrize(
    ("people", "country"),
    [
        ("Canadian", "Canada"),
        ("Canadians", "Canada"),
        ("Belgian", "Belgium"),
        ("Japanese", "Japan"),
        ("American", "America"),
        ("Americans", "America"),
        ("Swedish", "Sweden"),
    ],
)
def test_a_people_is_known_by_its_country(people: str, country: str) -> None:
    known = facts_of(question="Who?", context=[f"Citizens of {country} may enter."], answer=f"A {people} may enter.")
    assert known.absent_names == ()
    other = facts_of(question="Who?", context=["Citizens of Peru may normally enter."], answer=f"A {people} may enter.")
    assert [name for _, name in other.absent_names] == [people]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2  Peel the garlic.", "Peel the garlic."),
        ("3. Peel the garlic.", "Peel the garlic."),
        ("3 March 1990 was a Saturday.", "3 March 1990 was a Saturday."),
        ("12 Monkeys came out late.", "12 Monkeys came out late."),
        ("90 days have passed.", "90 days have passed."),
    ],
)
def test_the_number_of_a_list_is_no_quantity(text: str, told: str) -> None:
    assert facts_of(context=[text]).passage_sentences[0].full_text == told


def test_a_day_of_the_week_is_a_value_and_no_name() -> None:
    facts = facts_of(context=["It is closed on Tuesday."], answer="It is closed on Tuesdays.")
    assert facts.absent_names == ()
    assert facts.absent_values == ()


@pytest.mark.parametrize(
    ("mark", "is_mark"),
    [
        ("【1】", True),
        ("【4:0†source】", True),
        ("【2†leaflet-2.pdf】", True),
        ("【1†L1-L4】", True),
        ("【passage 1】", True),
        ("【It carries no tracks at all】", False),
        ("【1†it carries no tracks】", False),
        ("【not】", False),
    ],
)
def test_only_the_mark_of_a_source_is_read_over(mark: str, is_mark: bool) -> None:
    facts = facts_of(answer=f"Varde harbour handles mostly timber and grain. {mark}")
    assert (len(facts.sentences) == 1) is is_mark
