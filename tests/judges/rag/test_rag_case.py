"""What the RAG judge accepts as a case, under which names, and what it refuses to judge."""

from __future__ import annotations

import math
from typing import Any

import pytest

from krino.errors import CannotJudge
from krino.judges.rag.case import ANSWER_NAMES, CONTEXT_NAMES, QUESTION_NAMES, REFERENCE_NAMES, RagCase
from krino.judges.rag.judge import RagJudge
from rag_making import QUESTION, case_of

JUDGE = RagJudge()


@pytest.mark.parametrize("name", QUESTION_NAMES)
def test_every_name_of_the_question_is_read(name: str) -> None:
    assert JUDGE.read({name: "Why?", "answer": "So."}).question == "Why?"


@pytest.mark.parametrize("name", ANSWER_NAMES)
def test_every_name_of_the_answer_is_read(name: str) -> None:
    assert JUDGE.read({"question": "Why?", name: "So."}).answer == "So."


@pytest.mark.parametrize("name", REFERENCE_NAMES)
def test_every_name_of_the_reference_is_read(name: str) -> None:
    assert JUDGE.read(case_of(**{name: "In 1904."})).reference == "In 1904."


@pytest.mark.parametrize("name", CONTEXT_NAMES)
def test_every_name_of_the_context_is_read(name: str) -> None:
    assert JUDGE.read({"question": "q", "answer": "a", name: ["one"]}).context[0].text == "one"


def test_what_was_retrieved_goes_before_what_should_have_been() -> None:
    case = JUDGE.read({"question": "q", "answer": "a", "context": ["ideal"], "retrieval_context": ["got"]})
    assert [passage.text for passage in case.context] == ["got"]


def test_a_null_name_gives_way_to_one_with_a_value() -> None:
    assert JUDGE.read({"question": None, "query": "Why?", "answer": "So."}).question == "Why?"


def test_the_first_of_several_references_counts() -> None:
    assert JUDGE.read(case_of(ground_truths=["", "first", "second"])).reference == "first"


@pytest.mark.parametrize("absent", [None, "", "  \n", "None", "none", " NONE\t", math.nan, [], ["none"]])
def test_an_absent_reference_is_none(absent: Any) -> None:
    assert JUDGE.read(case_of(reference=absent)).reference is None


@pytest.mark.parametrize("key", ["text", "content", "page_content"])
def test_passages_may_be_objects(key: str) -> None:
    record = case_of(context=[{"id": 7, "title": "Bridges", key: "Built of iron.", "score": 0.5, "extra": [1]}])
    passage = JUDGE.read(record).context[0]
    assert (passage.id, passage.title, passage.text, passage.score) == ("7", "Bridges", "Built of iron.", 0.5)
    assert passage.shown == "Bridges\nBuilt of iron."


def test_details_of_a_passage_may_stand_in_its_metadata() -> None:
    passage = JUDGE.read(case_of(context=[{"page_content": "x", "metadata": {"title": "T", "id": "d1"}}])).context[0]
    assert (passage.title, passage.id) == ("T", "d1")


def test_one_context_string_is_cut_at_blank_lines_and_headings_stay_with_their_paragraph() -> None:
    text = "Bridges\n\nThe bridge was opened in 1904.\n\n \nThe harbour handles timber and grain every day."
    assert [passage.text for passage in JUDGE.read(case_of(context=text)).context] == [
        "Bridges\n\nThe bridge was opened in 1904.",
        "The harbour handles timber and grain every day.",
    ]


@pytest.mark.parametrize("empty", [None, "", " \n\t", [], ["", "  "], [None], "\u200b"])
def test_an_empty_context_has_no_passages_to_show(empty: Any) -> None:
    assert not JUDGE.study(JUDGE.read(case_of(context=empty))).has_context


def test_blank_passages_keep_their_number() -> None:
    facts = JUDGE.study(JUDGE.read(case_of(context=["", "text"])))
    assert [passage.number for passage in facts.passages] == [2]


@pytest.mark.parametrize("field", ["question", "answer"])
@pytest.mark.parametrize("blank", [None, "", "   ", "\n\u200b", math.nan])
def test_a_missing_question_or_answer_cannot_be_judged(field: str, blank: Any) -> None:
    with pytest.raises(CannotJudge, match=field):
        JUDGE.study(JUDGE.read(case_of(**{field: blank})))


def test_a_number_is_an_answer() -> None:
    assert JUDGE.read(case_of(answer=1904)).answer == "1904"


@pytest.mark.parametrize("wrong", [{"question": ["a"]}, {"context": 5}, {"context": [["nested"]]}, {"context": [{}]}])
def test_a_malformed_field_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(CannotJudge, match=next(iter(wrong))):
        JUDGE.read(case_of(**wrong))


def test_unknown_keys_are_ignored() -> None:
    assert JUDGE.read(case_of(model="x", latency=3)).question == QUESTION


@pytest.mark.parametrize("empty", [[], "", " \n", [""], [None], None, float("nan")])
def test_an_empty_value_leaves_the_field_to_its_other_names(empty: object) -> None:
    case = RagCase.model_validate({"question": "q", "context": empty, "documents": ["It opens at 9."], "answer": "a"})
    assert [passage.text for passage in case.context] == ["It opens at 9."]
    if not isinstance(empty, list):
        assert RagCase.model_validate({"question": "q", "answer": empty, "response": "At 9."}).answer == "At 9."


def test_where_nothing_was_retrieved_the_ideal_context_is_not_taken_for_it() -> None:
    case = RagCase.model_validate({"question": "q", "retrieval_context": [], "context": ["ideal"], "answer": "a"})
    assert case.context == ()
