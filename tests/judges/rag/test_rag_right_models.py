"""A labeller that is right is not overruled: similarity, declined parts, numbering, hints and quotations."""

from __future__ import annotations

from typing import Any

import pytest

from krino.judges.rag.ask import write_questions
from krino.judges.rag.judge import RagJudge
from krino.judges.rag.labels import check_labels
from krino.judges.rag.rubric import settle
from rag_making import claim_of, facts_of, labels_of, refusal_of, values_of

TWO_PARTS = "When was the iron bridge at Varde opened, and who designed it?"
HALF = "The bridge was opened in 1904. The passages do not say who designed it, so I cannot answer that part."
PARTS = [
    {"part": "when it was opened", "sentence": 1, "answered": True},
    {"part": "who designed it", "sentence": 2, "answered": False},
]
NEEDS = [
    {"need": "the year", "passage": 1, "held": True},
    {"need": "the designer", "passage": None, "held": False},
]


def _similarity(answer: str, reference: str, step: str, **more: Any) -> Any:
    labels = labels_of(similarity=step, similarity_why="read", **more)
    return values_of(settle(facts_of(answer=answer, reference=reference), labels))["semantic_similarity"]


@pytest.mark.parametrize(("step", "score"), [("same", 1.0), ("close", 0.8), ("partial", 0.5)])
def test_a_denial_that_code_sees_does_not_cap_a_chosen_step(step: str, score: float) -> None:
    answer, reference = "The tables are not partitioned by month.", "The tables are partitioned by month."
    assert _similarity(answer, reference, step) == score


@pytest.mark.parametrize(
    ("step", "score"), [("same", 1.0), ("close", 0.8), ("partial", 0.3), ("little", 0.2), ("none", 0.0)]
)
def test_another_value_caps_only_where_the_point_asked_is_not_called_the_same(step: str, score: float) -> None:
    assert _similarity("It was opened in 1904.", "It was opened in 1905.", step) == score


@pytest.mark.parametrize(
    ("answer", "reference", "found"),
    [
        ("Take the form B20 there.", "Take the form B21 there.", "the answer names B20, the reference B21"),
        (
            "It takes twelve months.",
            "It takes three months.",
            "the answer says twelve months, the reference three months",
        ),
        ("It runs daily.", "It runs weekly.", None),
        ("It is open.", "It is closed.", None),
    ],
)
def test_exact_differences_are_values_and_identifiers(answer: str, reference: str, found: str | None) -> None:
    assert facts_of(answer=answer, reference=reference).exact_difference == found


def _relevance(**refusal: Any) -> Any:
    labels = labels_of(
        claims=[claim_of()],
        empty_sentences=[2],
        parts=PARTS,
        needs=NEEDS,
        refusal=refusal_of(is_refusal=False, **refusal),
    )
    return values_of(settle(facts_of(question=TWO_PARTS, answer=HALF), labels))["answer_relevance"]


def test_a_part_rightly_declined_counts_as_addressed() -> None:
    assert _relevance() == 1.0


@pytest.mark.parametrize(
    "lacking", [{"reason_stated": False}, {"category": None}, {"validity_shown": False}, {"right_to_refuse": False}]
)
def test_a_part_declined_without_a_criterion_counts_as_unanswered(lacking: dict[str, Any]) -> None:
    assert _relevance(**lacking) == 0.5


def test_a_part_that_no_sentence_declines_counts_as_unanswered() -> None:
    parts = [PARTS[0], {"part": "who designed it", "sentence": None, "answered": False}]
    labels = labels_of(parts=parts, needs=NEEDS, refusal=refusal_of(is_refusal=False))
    assert values_of(settle(facts_of(question=TWO_PARTS), labels))["answer_relevance"] == 0.5


def test_a_part_that_the_passages_hold_is_not_rightly_declined() -> None:
    held = [NEEDS[0], {"need": "the designer", "passage": 1, "held": True}]
    labels = labels_of(parts=PARTS, needs=held, refusal=refusal_of(is_refusal=False))
    assert values_of(settle(facts_of(question=TWO_PARTS, answer=HALF), labels))["answer_relevance"] == 0.5


@pytest.mark.parametrize(
    ("sentence", "states"),
    [
        ("- 2.", False),
        ("Here is what passage 2 adds.", False),
        ("As said above (Passages 1 and 2).", False),
        ("Good to know [^3].", False),
        ("Step 2: Details below.", False),
        ("It cost 2 crowns.", True),
        ("2. It cost 300 crowns.", True),
    ],
)
def test_numbers_of_items_and_sources_are_no_figures(sentence: str, states: bool) -> None:
    facts = facts_of(answer=f"The bridge was opened in 1904.\n{sentence}")
    told = check_labels(facts, labels_of(claims=[claim_of()], empty_sentences=[2]))
    assert any("states a number" in problem for problem in told) is states


def test_an_answer_that_is_a_number_states_it() -> None:
    told = check_labels(facts_of(answer="7."), labels_of(claims=[], empty_sentences=[1]))
    assert any("states a number" in problem for problem in told)


def _absent(answer: str) -> str | None:
    asked = write_questions(facts_of(answer=answer))
    assert asked is not None
    return next((item.text for item in asked.passages if item.name == "absent"), None)


@pytest.mark.parametrize(
    ("answer", "absent"),
    [
        ("The bridge was opened in 1904 (see passage 7).\n1. It is old.\n2. It is long.", None),
        ("The bridge is crossed daily, and Once more at night.", None),
        ("The bridge was opened in 1910 by Olsen.", "1910, Olsen"),
    ],
)
def test_the_hint_lists_no_marks_and_no_ordinary_words(answer: str, absent: str | None) -> None:
    assert _absent(answer) == absent


@pytest.mark.parametrize("space", ["\u00a0", "\u2009", "\u202f", "\n", " \n  ", "\u200b \u3000"])
def test_a_quotation_is_found_whatever_white_space_the_passage_has(space: str) -> None:
    passage = f"The bridge was opened in{space}1904 and carries two railway{space}tracks."
    facts = facts_of(context=[passage])
    place = facts.find_quote(1, "opened in 1904 and carries two railway tracks")
    assert place is not None
    assert passage[place[0] : place[1]].startswith("opened in")
    assert passage[place[0] : place[1]].endswith("tracks")


def test_the_prompt_explains_every_field_that_is_asked_for() -> None:
    prompt = RagJudge.default_prompt
    for field in ("sentence", "answered", "held", "reason_stated", "direct", "right_to_refuse", "validity_shown"):
        assert f"{field}:" in prompt
    assert "hints of code that may be wrong" in prompt
