"""Where one RAG verdict ends and the next begins, with labels given by hand: scores, rules, words and evidence."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from krino.contract import Ruling
from krino.judges.rag.labels import step_of
from krino.judges.rag.reading.goals import goal_names, names_a_goal, read_goal
from krino.judges.rag.rubric import answer_relevance, context_relevance, faithfulness, settle, two_decimals
from rag_making import claim_of, facts_of, labels_of, refusal_of, unsupported_claim

SAYS_NOTHING_RETRIEVED = (
    "I cannot answer because the retrieved context is empty, which falls under insufficient context."
)
NOT_HELD = [{"need": "the year of opening", "passage": None, "held": False}]
NOTHING: dict[str, Any] = {"claims": [], "passages": [], "needs": [], "empty_sentences": []}


def decided(metric: str, case: dict[str, Any] | None = None, **labels: Any) -> tuple[float | None, str]:
    """The value and the rule of one metric for the bridge case with these changes."""
    ruling = rulings(case, **labels)[metric]
    return ruling.value, ruling.rule


def explained(metric: str, case: dict[str, Any] | None = None, **labels: Any) -> tuple[str, tuple[str, ...]]:
    found = rulings(case, **labels)
    return found[f"{metric}_explanation"].value, found[metric].evidence


def rulings(case: dict[str, Any] | None, **labels: Any) -> Any:
    found: dict[str, Ruling] = dict(settle(facts_of(**(case or {})), labels_of(**labels)).rulings)
    return found


# --- scales and goals ------------------------------------------------------------------------------


def test_a_score_never_leaves_the_scale() -> None:
    assert (two_decimals(-3), two_decimals(0), two_decimals(1), two_decimals(7)) == (0.0, 0.0, 1.0, 1.0)


def test_only_what_is_whole_is_one() -> None:
    assert (two_decimals(Fraction(199, 200)), two_decimals(0.9999), two_decimals(Fraction(2, 3))) == (0.99, 0.99, 0.67)
    assert (faithfulness(199, 200), faithfulness(9_999, 10_000), faithfulness(200, 200)) == (0.99, 0.99, 1.0)
    assert answer_relevance(399, 400, "full") == 0.99
    assert context_relevance(1, Fraction(399, 400)) == 0.99


@pytest.mark.parametrize(
    ("score", "step"),
    [
        (1.0, "same"),
        (0.9, "same"),
        (0.89, "close"),
        (0.65, "close"),
        (0.64, "partial"),
        (0.35, "partial"),
        (0.34, "little"),
        (0.1, "little"),
        (0.09, "none"),
        (0.0, "none"),
    ],
)
def test_a_finer_score_belongs_to_the_nearest_step_and_midway_to_the_higher(score: float, step: str) -> None:
    assert step_of(score) == step


def test_a_goal_is_read_from_the_first_500_letters_and_shown_with_80() -> None:
    assert read_goal("aim " * 123 + "legal").name == "legal"
    assert read_goal("aim " * 124 + "legal").name == "balanced"
    assert read_goal("abcdefghij" * 9).note == f"goal '{'abcdefghij' * 8}' names no known goal: read as balanced"


@pytest.mark.parametrize(
    ("text", "names"),
    [("legal", True), ("for our lawyers", True), ("creative legal writing", True), ("whatever", False), ("", True)],
)
def test_a_text_names_a_goal_unless_no_word_of_it_stands_for_one(text: str, names: bool) -> None:
    assert names_a_goal(text) == names


def test_the_goals_are_those_of_the_rubric_and_balanced_comes_first() -> None:
    assert goal_names() == ["balanced", "fact-checking", "legal", "medical", "creative", "safety-critical"]


def test_a_share_is_weighed_as_it_reads_not_as_it_is_stored() -> None:
    """Half of 0.05 is 0.025, to the even side 0.02; what a computer stores for 0.05 lies a little above it."""
    assert context_relevance(0.05, 0, "balanced") == 0.02
    assert context_relevance(0, 0.05, "balanced") == 0.02


# --- faithfulness ----------------------------------------------------------------------------------


def test_supported_claims_are_counted_and_the_others_named_with_why() -> None:
    assert explained("faithfulness")[0] == "2 of 2 claims supported by the context."
    assert explained("faithfulness", {"answer": "In 1904."}, claims=[claim_of()])[0] == (
        "1 of 1 claim supported by the context."
    )
    assert explained("faithfulness", claims=[claim_of(), unsupported_claim()])[0] == (
        '1 of 2 claims supported by the context. Not supported: "It is red." (unsupported: not said).'
    )


@pytest.mark.parametrize(("labelled", "missed"), [(1, 2), (2, 1)])
def test_a_sentence_without_a_label_counts_as_unsupported_and_is_told(labelled: int, missed: int) -> None:
    settlement = settle(facts_of(), labels_of(claims=[claim_of(sentence=labelled)]))
    ruling = settlement.rulings["faithfulness"]
    assert (ruling.value, ruling.rule) == (0.5, "RAG-F4")
    assert settlement.rulings["faithfulness_explanation"].value == (
        f"1 of 2 claims supported by the context. Unlabelled and counted as unsupported: sentence {missed}."
    )
    told = [(item.text, item.where) for item in settlement.findings if item.rule == "RAG-N3"]
    assert told == [(f"answer sentence {missed} got no label: counted as unsupported", f"sentence {missed}")]


def test_with_no_sentence_labelled_nothing_is_supported() -> None:
    assert decided("faithfulness", claims=[]) == (0.0, "RAG-F4")


@pytest.mark.parametrize(
    ("first", "score", "rule"),
    [
        (claim_of(label="contradicted", critical=True), 0.0, "RAG-F3"),
        (claim_of(label="contradicted", critical=False), 0.5, "RAG-F4"),
        (claim_of(label="unsupported", critical=True), 0.5, "RAG-F4"),
    ],
)
def test_only_a_contradiction_on_a_critical_fact_takes_everything(
    first: dict[str, Any], score: float, rule: str
) -> None:
    found = rulings({}, claims=[first, claim_of(sentence=2)])["faithfulness"]
    assert (found.value, found.rule, found.from_labels) == (score, rule, True)


@pytest.mark.parametrize(
    ("answer", "refusal", "kind"),
    [
        ("Which bridge?", None, "it states nothing about the matter"),
        ("Which bridge?", refusal_of(is_refusal=False), "it states nothing about the matter"),
        ("Which bridge?", refusal_of(), "it only declines"),
    ],
)
def test_an_answer_that_claims_nothing_is_faithful_and_told_apart_by_whether_it_declines(
    answer: str, refusal: dict[str, Any] | None, kind: str
) -> None:
    labels: dict[str, Any] = {"claims": [], "empty_sentences": [1], "refusal": refusal, "needs": NOT_HELD}
    found = rulings({"answer": answer}, **labels)["faithfulness"]
    assert (found.value, found.rule, found.from_labels) == (1.0, "RAG-F5", True)
    assert explained("faithfulness", {"answer": answer}, **labels)[0].endswith(f"no claim to check: {kind}.")


@pytest.mark.parametrize(
    ("refusal", "score", "rule"),
    [
        (refusal_of(), 1.0, "RAG-F1"),
        (refusal_of(category="safety"), 0.0, "RAG-F2"),
        (refusal_of(category=None), 0.0, "RAG-F2"),
        (refusal_of(is_refusal=False), 0.0, "RAG-F2"),
        (None, 0.0, "RAG-F2"),
    ],
)
def test_with_nothing_retrieved_only_an_answer_that_says_so_is_faithful(
    refusal: dict[str, Any] | None, score: float, rule: str
) -> None:
    found = rulings({"context": []}, **{**NOTHING, "refusal": refusal})["faithfulness"]
    assert (found.value, found.rule, found.from_labels) == (score, rule, True)


def test_an_answer_from_nothing_that_does_not_decline_has_no_words_of_refusal_to_show() -> None:
    assert explained("faithfulness", {"context": []}, **NOTHING)[1] == ()


# --- context relevance -----------------------------------------------------------------------------


def test_what_is_held_and_what_is_useful_is_counted_and_named() -> None:
    assert explained("context_relevance") == (
        "The context holds 1 of 1 needed point and 1 of its 2 sentences is useful (goal balanced: recall weighs 0.5). "
        "Off topic: passage 2.",
        (
            "passage 1: 1 of 1 sentences useful",
            "passage 2: 0 of 1 sentences useful",
            'need "the year of opening": held',
        ),
    )
    one = {"context": ["The iron bridge at Varde was opened in 1904 and carries two railway tracks."]}
    needs = [*NOT_HELD, {"need": "the place", "passage": 1, "held": True}]
    assert explained("context_relevance", one, passages=[{"passage": 1, "useful_sentences": [1]}], needs=needs) == (
        "The context holds 1 of 2 needed points and 1 of its 1 sentence is useful (goal balanced: recall weighs 0.5). "
        'Missing: "the year of opening".',
        ("passage 1: 1 of 1 sentences useful", 'need "the year of opening": missing', 'need "the place": held'),
    )


@pytest.mark.parametrize(
    ("needs", "useful", "goal", "score"),
    [
        (NOT_HELD, [True, True], "balanced", 0.5),
        (NOT_HELD, [True, False], "balanced", 0.25),
        (NOT_HELD, [True, True], "legal", 0.2),
        (NOT_HELD, [True, True], "creative", 0.8),
        ([], [True, True], "balanced", 0.5),
        (NOT_HELD, [False, False], "balanced", 0.0),
    ],
)
def test_recall_and_precision_are_weighed_by_the_goal(
    needs: list[dict[str, Any]], useful: list[bool], goal: str, score: float
) -> None:
    passages = [{"passage": number, "useful_sentences": [1] if use else []} for number, use in enumerate(useful, 1)]
    assert decided("context_relevance", {"goal": goal}, needs=needs, passages=passages) == (score, "RAG-C2")


def test_a_passage_called_both_useful_and_not_is_not_useful() -> None:
    passages = [
        {"passage": 1, "useful_sentences": [1]},
        {"passage": 2, "useful_sentences": [1]},
        {"passage": 1, "useful_sentences": []},
    ]
    assert decided("context_relevance", passages=passages) == (0.75, "RAG-C2")


# --- answer relevance ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answered", "direct", "score", "why"),
    [
        ([True], "full", 1.0, "1 of 1 part of the question answered, directly."),
        (
            [True, True, False],
            "full",
            0.67,
            '2 of 3 parts of the question answered, directly. Unanswered: "part 3".',
        ),
        ([True, True], "partly", 0.75, "2 of 2 parts of the question answered, partly beside the point."),
        ([True, True], "no", 0.5, "2 of 2 parts of the question answered, not directly."),
        ([False], "full", 0.0, 'No part of the question is answered. Unanswered: "part 1".'),
        ([], "full", 0.0, "No part of the question is answered."),
    ],
)
def test_relevance_is_the_answered_share_times_directness(
    answered: list[bool], direct: str, score: float, why: str
) -> None:
    parts = [
        {"part": f"part {number}", "sentence": 1 if done else None, "answered": done}
        for number, done in enumerate(answered, 1)
    ]
    assert decided("answer_relevance", parts=parts, direct=direct) == (score, "RAG-A4")
    told, evidence = explained("answer_relevance", parts=parts, direct=direct)
    assert told == why
    shown = [f'part "part {n}": {"answered" if done else "not answered"}' for n, done in enumerate(answered, 1)]
    assert evidence == (*shown, f"directness: {direct}")


@pytest.mark.parametrize(
    ("lack", "named"),
    [
        ({"reason_stated": False}, "a clear reason"),
        ({"category": None}, "a category"),
        ({"validity_shown": False}, "shown validity"),
    ],
)
def test_what_a_refusal_lacks_is_named(lack: dict[str, Any], named: str) -> None:
    told = explained("answer_relevance", refusal=refusal_of(**lack), needs=NOT_HELD)[0]
    assert told == f"A refusal without {named}: the date is not there."
    assert rulings({}, refusal=refusal_of(**lack), needs=NOT_HELD)["answer_relevance"].from_labels


def test_a_right_refusal_is_told_with_its_category_and_shows_its_criteria() -> None:
    assert explained("answer_relevance", refusal=refusal_of(why=" The date is not there. "), needs=NOT_HELD) == (
        "A right refusal (insufficient context), with reason and validity: The date is not there.",
        ("reason stated: yes", "category: insufficient context", "validity shown: yes", "right to refuse: yes"),
    )


@pytest.mark.parametrize(
    ("refusal", "case", "needs", "score", "rule"),
    [
        (refusal_of(), {}, NOT_HELD, 1.0, "RAG-A1"),
        (refusal_of(), {}, [*NOT_HELD, {"need": "the place", "passage": 1, "held": True}], 1.0, "RAG-A1"),
        (refusal_of(), {}, [{"need": "the place", "passage": 1, "held": True}], 0.0, "RAG-A3"),
        (refusal_of(category="safety"), {}, [{"need": "the place", "passage": 1, "held": True}], 1.0, "RAG-A1"),
        (refusal_of(), {}, [], 1.0, "RAG-A1"),
        (refusal_of(), {"context": []}, [{"need": "the place", "passage": 1, "held": True}], 1.0, "RAG-A1"),
        (refusal_of(right_to_refuse=False), {}, NOT_HELD, 0.0, "RAG-A3"),
    ],
)
def test_to_refuse_for_want_of_context_is_wrong_where_the_context_holds_all(
    refusal: dict[str, Any], case: dict[str, Any], needs: list[dict[str, Any]], score: float, rule: str
) -> None:
    found = rulings(case, refusal=refusal, needs=needs)["answer_relevance"]
    assert (found.value, found.rule, found.from_labels) == (score, rule, True)


# --- similarity ------------------------------------------------------------------------------------


def test_the_step_gives_the_score_unless_a_finer_one_was_measured() -> None:
    case = {"reference": "1904"}
    coarse = {"similarity": "close", "similarity_why": " the year is there. "}
    assert decided("semantic_similarity", case, **coarse) == (0.8, "RAG-S3")
    assert explained("semantic_similarity", case, **coarse) == (
        "Meaning compared with the reference: close (the year is there).",
        ("step: close",),
    )
    fine = {"similarity": "close", "similarity_score": 0.7251}
    assert decided("semantic_similarity", case, **fine) == (0.73, "RAG-S4")
    assert explained("semantic_similarity", case, **fine) == (
        "Meaning compared with the reference: close (no reason given).",
        ("step: close", "measured within the step"),
    )
    assert rulings(case, **coarse)["semantic_similarity"].from_labels
    assert rulings(case, **fine)["semantic_similarity"].from_labels


def test_a_reference_without_a_similarity_label_is_never_scored() -> None:
    with pytest.raises(ValueError, match="similarity label is needed"):
        settle(facts_of(reference="1904"), labels_of())


def test_doubt_is_told_in_its_own_words_and_only_where_there_is_some() -> None:
    assert explained("answer_relevance", uncertain=" garbled text ")[0] == (
        "1 of 1 part of the question answered, directly. Less certain: garbled text"
    )
    assert "Less certain" not in explained("answer_relevance")[0]
