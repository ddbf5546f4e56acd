"""What two sentences list, held against each other."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.frames import compare_roles
from krino.judges.rag.reading.lists import _LIST, added_item, items_of
from rag_making import judge_locally

KNOWN_FOR = "The town is known for its lace and its November fair."


@pytest.mark.parametrize(
    "claim",
    [
        "The town is known for its lace, its November fair and its medieval castle.",
        "The town is known for its lace, its medieval castle and its November fair.",
        "The town is known for lace, the November fair, and a castle.",
    ],
)
def test_a_longer_list_adds_a_thing(claim: str) -> None:
    added = added_item(claim, KNOWN_FOR)
    assert added is not None
    assert added[-1] == "castl"


@pytest.mark.parametrize(
    "claim",
    [
        "The town is known for its November fair and its lace.",
        "The town is known for its lace, its market and its castle.",  # the fair is left out: another list
        "The town is known for its lace.",
        "Once there, look for its lace and its November fair.",  # what leads up to a list is no thing of it
        "After noon, buy lace and visit its November fair.",
    ],
)
def test_the_same_list_another_list_and_no_list_add_nothing(claim: str) -> None:
    assert added_item(claim, KNOWN_FOR) is None


def test_two_lists_in_a_sentence_are_not_read() -> None:
    assert items_of("Ann and Bo sell lace; Cy and Di sell bread.") == ()


def test_an_added_thing_is_unsupported_unless_a_passage_speaks_of_it() -> None:
    case = {
        "question": "What is the town known for?",
        "context": [KNOWN_FOR],
        "answer": "The town is known for its lace, its November fair and its medieval castle.",
    }
    assert judge_locally(case).rulings["faithfulness"].value == 0.0
    elsewhere = {**case, "context": [f"{KNOWN_FOR} It is also known for its medieval castle."]}
    assert judge_locally(elsewhere).rulings["faithfulness"].value == 1.0


@pytest.mark.parametrize("opening", ["In 2011 ", "In May 2011, ", "On 3 June ", ""])
def test_a_date_that_opens_a_sentence_hides_nobody(opening: str) -> None:
    told = f"{opening}the city of Halle sued the builder Corvex."
    assert compare_roles("Corvex sued the city of Halle.", told) == "turned"
    assert compare_roles("The city of Halle sued Corvex.", told) == "same"


def test_an_answer_in_so_many_words_of_something_else_is_none() -> None:
    case = {
        "question": "How much does the ticket cost?",
        "context": ["The ticket costs 12 euros. The museum opens at 10."],
        "answer": "The museum opens at 10.",
    }
    assert judge_locally(case).rulings["answer_relevance"].value == 0.0
    assert judge_locally({**case, "answer": "12 euros."}).rulings["answer_relevance"].value == 1.0


@given(st.lists(st.sampled_from([*"ab ,;:.()\n", " and ", ", ", "AND", " and"]), max_size=40).map("".join))
def test_a_list_looked_for_behind_signs_alone_is_found_as_from_every_letter(text: str) -> None:
    anywhere = re.compile(_LIST.pattern.removeprefix("(?<![^,;:.()])"), re.I)
    assert anywhere.pattern != _LIST.pattern
    assert [found.span() for found in _LIST.finditer(text)] == [found.span() for found in anywhere.finditer(text)]
