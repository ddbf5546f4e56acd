"""The rubric's formulas and rules: what given labels are worth, and which rule says so."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.contract import Settlement
from krino.errors import CannotJudge
from krino.judges.rag.judge import RagJudge
from krino.judges.rag.labels import RagLabels
from krino.judges.rag.reading.goals import read_goal
from krino.judges.rag.rubric import answer_relevance, context_relevance, faithfulness, settle, similarity, two_decimals
from krino.judges.rag.verdict import RagVerdict
from rag_making import (
    case_of,
    claim_of,
    facts_of,
    judge_locally,
    labels_of,
    raw_labels,
    refusal_of,
    unsupported_claim,
    values_of,
)

KEYS = [
    "faithfulness",
    "faithfulness_explanation",
    "context_relevance",
    "context_relevance_explanation",
    "answer_relevance",
    "answer_relevance_explanation",
    "semantic_similarity",
    "semantic_similarity_explanation",
    "evaluation_status",
    "reason",
    "error",
]
SCORES = KEYS[0:8:2]
SAYS_NOTHING_RETRIEVED = (
    "I cannot answer because the retrieved context is empty, which falls under insufficient context."
)


# --- formulas --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "rounded"),
    [(Fraction(1, 8), 0.12), (Fraction(3, 8), 0.38), (0.285, 0.28), (0.295, 0.3), (Fraction(2, 3), 0.67), (2, 1.0)],
)
def test_scores_are_rounded_half_to_even_on_the_decimal_value(value: Any, rounded: float) -> None:
    assert two_decimals(value) == rounded


def test_faithfulness_is_supported_over_all() -> None:
    assert faithfulness(2, 3) == 0.67
    assert faithfulness(2, 3, critical=True) == 0.0
    assert faithfulness(0, 0) == 1.0


@pytest.mark.parametrize(
    ("goal", "recall_only", "precision_only"),
    [
        ("balanced", 0.5, 0.5),
        ("fact-checking", 0.8, 0.2),
        ("legal", 0.8, 0.2),
        ("medical", 0.8, 0.2),
        ("creative", 0.2, 0.8),
        ("safety-critical", 0.2, 0.8),
    ],
)
def test_the_goal_weighs_recall_against_precision(goal: str, recall_only: float, precision_only: float) -> None:
    assert context_relevance(1.0, 0.0, goal) == recall_only
    assert context_relevance(0.0, 1.0, goal) == precision_only
    assert context_relevance(1.0, 1.0, goal) == 1.0


@given(st.fractions(0, 1), st.fractions(0, 1))
def test_goals_order_as_what_they_favour(recall: Fraction, precision: Fraction) -> None:
    scores = [context_relevance(recall, precision, goal) for goal in ("creative", "balanced", "legal")]
    assert scores == sorted(scores, reverse=recall < precision)
    assert context_relevance(recall, precision, "safety-critical") == scores[0]
    assert context_relevance(recall, precision, "medical") == scores[2]


@pytest.mark.parametrize(
    ("text", "goal", "noted"),
    [
        ("Legal", "legal", False),
        ("Safety_Critical", "safety-critical", False),
        ("safety-critical hallucination reduction", "safety-critical", True),
        ("checking facts of contract law", "fact-checking", True),
        ("avis médical", "medical", True),
        ("creative legal writing", "balanced", True),
        ("whatever", "balanced", True),
        ("", "balanced", False),
    ],
)
def test_a_goal_in_free_text_is_read_by_its_keywords(text: str, goal: str, noted: bool) -> None:
    found = read_goal(text)
    assert (found.name, found.note is not None) == (goal, noted)


def test_answer_relevance_is_completeness_times_directness() -> None:
    assert answer_relevance(2, 2, "full") == 1.0
    assert answer_relevance(1, 2, "full") == 0.5
    assert answer_relevance(2, 2, "partly") == 0.75
    assert answer_relevance(0, 2, "full") == 0.0


def test_the_similarity_scale_falls_from_one_to_zero() -> None:
    steps = [similarity(step) for step in ("same", "close", "partial", "little", "none")]
    assert steps[0] == 1.0
    assert steps[-1] == 0.0
    assert steps == sorted(set(steps), reverse=True)


# --- rules, each reached ---------------------------------------------------------------------------


def _score(key: str, settlement: Settlement) -> tuple[Any, str]:
    ruling = settlement.rulings[key]
    assert settlement.rulings[f"{key}_explanation"].rule == ruling.rule
    return ruling.value, ruling.rule


SECOND_CLAIM = claim_of(text="It carries two tracks.", sentence=2, quote="carries two railway tracks")
CRITICAL = claim_of(text="It was opened in 1910.", label="contradicted", critical=True)
EMPTY: dict[str, Any] = {"claims": [], "passages": [], "needs": [], "empty_sentences": []}
REACHED: dict[str, tuple[dict[str, Any], dict[str, Any], str, Any]] = {
    "RAG-F1": (
        {"context": [], "answer": SAYS_NOTHING_RETRIEVED},
        raw_labels(**EMPTY, refusal=refusal_of()),
        "faithfulness",
        1.0,
    ),
    "RAG-F2": ({"context": []}, raw_labels(**EMPTY), "faithfulness", 0.0),
    "RAG-F3": ({}, raw_labels(claims=[CRITICAL, claim_of(sentence=2)]), "faithfulness", 0.0),
    "RAG-F4": ({}, raw_labels(claims=[claim_of(), unsupported_claim()]), "faithfulness", 0.5),
    "RAG-F5": ({"answer": "Which bridge?"}, raw_labels(claims=[], empty_sentences=[1]), "faithfulness", 1.0),
    "RAG-F6": ({}, raw_labels(claims=[SECOND_CLAIM], empty_sentences=[1]), "faithfulness", 0.5),
    "RAG-C1": ({"context": " "}, raw_labels(**EMPTY), "context_relevance", 0.0),
    "RAG-C2": ({}, raw_labels(), "context_relevance", 0.75),
    "RAG-A1": (
        {},
        raw_labels(refusal=refusal_of(), needs=[{"need": "year", "passage": None, "held": False}]),
        "answer_relevance",
        1.0,
    ),
    "RAG-A2": ({}, raw_labels(refusal=refusal_of(category=None)), "answer_relevance", 0.0),
    "RAG-A3": ({}, raw_labels(refusal=refusal_of(right_to_refuse=False)), "answer_relevance", 0.0),
    "RAG-A4": ({}, raw_labels(direct="partly"), "answer_relevance", 0.75),
    "RAG-S1": ({"reference": "None"}, raw_labels(), "semantic_similarity", None),
    "RAG-S2": ({"answer": "In 1904.", "reference": "in  1904"}, raw_labels(), "semantic_similarity", 1.0),
    "RAG-S3": ({"reference": "1904"}, raw_labels(similarity="close"), "semantic_similarity", 0.8),
    "RAG-S4": (
        {"reference": "1904"},
        raw_labels(similarity="close", similarity_score=0.7251),
        "semantic_similarity",
        0.73,
    ),
    "RAG-S5": ({"reference": "In 1905."}, raw_labels(similarity="partial"), "semantic_similarity", 0.3),
}
FOUND: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "RAG-N1": ({"goal": "for our lawyers' court cases"}, raw_labels()),
    "RAG-N2": ({"answer": "It was opened in 1910. It was built by Olsen."}, raw_labels()),
    "RAG-N3": ({}, raw_labels(claims=[claim_of()])),
    "RAG-N4": ({}, raw_labels(uncertain="garbled text")),
    "RAG-N5": ({}, raw_labels(claims=[claim_of(text="It was opened."), claim_of(sentence=2)])),
    "RAG-N6": ({"answer": "Le pont a été ouvert en 1904. Il est dans la ville."}, raw_labels()),
    "RAG-N9": ({}, raw_labels(claims=[claim_of(text="It was opened in 1910."), claim_of(sentence=2)])),
    "RAG-N10": ({"answer": 'It was opened in 1904. "The king himself came to open the old bridge."'}, raw_labels()),
    "RAG-N12": ({"reference": "In 1905."}, raw_labels(similarity="same")),
    "RAG-N13": ({}, raw_labels(claims=[claim_of(), claim_of(), SECOND_CLAIM])),
    "RAG-N14": ({}, raw_labels(claims=[claim_of(probability=0.5), SECOND_CLAIM])),
}


@pytest.mark.parametrize("rule", REACHED)
def test_each_rule_decides_where_it_should(rule: str) -> None:
    changes, labels, key, value = REACHED[rule]
    settlement = settle(facts_of(**changes), RagLabels.model_validate(labels))
    assert _score(key, settlement) == (value, rule)


@pytest.mark.parametrize("rule", FOUND)
def test_each_remark_is_made_where_it_should_and_only_there(rule: str) -> None:
    changes, labels = FOUND[rule]
    settlement = settle(facts_of(**changes), RagLabels.model_validate(labels))
    assert rule in {finding.rule for finding in settlement.findings}
    assert settle(facts_of(), labels_of()).findings == ()


def test_every_listed_rule_is_reached_by_a_test_and_no_other_exists() -> None:
    of_the_figure = {"RAG-H1", "RAG-H2", "RAG-H3"}  # test_rag_risk.py
    assert {*REACHED, *FOUND, *of_the_figure, "RAG-E1"} == set(RagJudge.rules)


# --- explanations name their evidence --------------------------------------------------------------


def test_a_failed_claim_is_named_with_the_passage_that_says_otherwise() -> None:
    settlement = settle(facts_of(), labels_of(claims=[CRITICAL, claim_of(sentence=2)]))
    why = values_of(settlement)["faithfulness_explanation"]
    assert "It was opened in 1910." in why
    assert 'passage 1 says "opened in 1904"' in why


def test_evidence_gives_the_span_in_the_passage() -> None:
    evidence = settle(facts_of(), labels_of()).rulings["faithfulness"].evidence
    assert "passage 1[29:43]" in evidence[0]


def test_off_topic_passages_missing_needs_and_open_parts_are_named() -> None:
    labels = labels_of(
        needs=[{"need": "the day", "passage": None, "held": False}],
        parts=[{"part": "which day", "sentence": None, "answered": False}],
        direct="no",
    )
    verdict = values_of(settle(facts_of(), labels))
    assert "passage 2" in verdict["context_relevance_explanation"]
    assert '"the day"' in verdict["context_relevance_explanation"]
    assert '"which day"' in verdict["answer_relevance_explanation"]


def test_an_absent_reference_is_explained() -> None:
    assert "no reference" in values_of(settle(facts_of(), labels_of()))["semantic_similarity_explanation"]


def test_uncertainty_stands_in_every_explanation_that_labels_fed() -> None:
    verdict = values_of(settle(facts_of(), labels_of(uncertain="garbled text")))
    assert all("garbled text" in verdict[f"{key}_explanation"] for key in SCORES[:3])
    assert "garbled text" not in verdict["semantic_similarity_explanation"]


def test_what_rules_decide_is_not_said_to_come_from_labels() -> None:
    rulings = settle(facts_of(), labels_of()).rulings
    assert rulings["faithfulness"].from_labels
    assert not rulings["semantic_similarity"].from_labels
    assert not rulings["evaluation_status"].from_labels


def test_labels_are_demanded_where_something_is_open() -> None:
    facts = facts_of()
    with pytest.raises(ValueError, match="labels are needed"):
        RagJudge().settle(facts.case, facts, None)


# --- for any labels --------------------------------------------------------------------------------

SENTENCES = st.integers(-1, 4)
CLAIMS = st.fixed_dictionaries(
    {
        "text": st.text(max_size=20),
        "sentence": SENTENCES,
        "label": st.sampled_from(["supported", "unsupported", "contradicted"]),
        "critical": st.booleans(),
        "passage": st.none() | st.integers(-1, 4),
        "quote": st.none() | st.sampled_from(["opened in 1904", "nowhere", ""]),
        "why": st.text(max_size=10),
    }
)
REFUSALS = st.none() | st.fixed_dictionaries(
    {
        "is_refusal": st.booleans(),
        "reason_stated": st.booleans(),
        "category": st.sampled_from([None, "insufficient_context", "safety", "ambiguous", "out_of_scope"]),
        "validity_shown": st.booleans(),
        "right_to_refuse": st.booleans(),
        "why": st.text(max_size=10),
    }
)
ANY_LABELS = st.fixed_dictionaries(
    {
        "unreadable": st.none(),
        "claims": st.lists(CLAIMS, max_size=5),
        "empty_sentences": st.lists(SENTENCES, max_size=3),
        "parts": st.lists(
            st.fixed_dictionaries({"part": st.text(max_size=9), "sentence": st.none(), "answered": st.booleans()}),
            max_size=4,
        ),
        "direct": st.sampled_from(["full", "partly", "no"]),
        "passages": st.lists(
            st.fixed_dictionaries({"passage": SENTENCES, "useful_sentences": st.lists(SENTENCES, max_size=3)}),
            max_size=4,
        ),
        "needs": st.lists(
            st.fixed_dictionaries({"need": st.text(max_size=9), "passage": st.none(), "held": st.booleans()}),
            max_size=4,
        ),
        "refusal": REFUSALS,
        "similarity": st.sampled_from(["same", "close", "partial", "little", "none"]),
        "similarity_why": st.none() | st.text(max_size=9),
        "uncertain": st.none() | st.text(max_size=9),
    }
).map(RagLabels.model_validate)
CASES = st.fixed_dictionaries(
    {},
    optional={
        "context": st.sampled_from([[], ["The bridge was opened in 1904."], ["", "a", "b"]]),
        "reference": st.sampled_from([None, "none", "In 1904."]),
        "goal": st.sampled_from(["balanced", "legal", "creative", "?"]),
        "answer": st.sampled_from(["I don't know.", "In 1904.", "One. Two. Three."]),
    },
)


@given(CASES, ANY_LABELS)
def test_scores_lie_between_zero_and_one_with_two_decimals(case: dict[str, Any], labels: RagLabels) -> None:
    settlement = settle(facts_of(**case), labels)
    assert list(settlement.rulings) == KEYS
    verdict = values_of(settlement)
    RagVerdict.model_validate(verdict)
    for key in SCORES:
        score = verdict[key]
        assert score is None or (0.0 <= score <= 1.0 and score == round(score, 2))
        assert isinstance(verdict[f"{key}_explanation"], str)
    assert (verdict["semantic_similarity"] is None) == (case.get("reference") in (None, "none"))
    assert all(ruling.rule in RagJudge.rules for ruling in settlement.rulings.values())
    assert all(finding.rule in RagJudge.rules for finding in settlement.findings)


@given(ANY_LABELS)
def test_a_critical_contradiction_gives_zero(labels: RagLabels) -> None:
    claims = [*labels.claims, RagLabels.model_validate(raw_labels(claims=[CRITICAL])).claims[0]]
    assert values_of(settle(facts_of(), labels.model_copy(update={"claims": claims})))["faithfulness"] == 0.0


@given(ANY_LABELS, st.integers(1, 2))
def test_an_added_unsupported_claim_never_raises_faithfulness(labels: RagLabels, sentence: int) -> None:
    added = RagLabels.model_validate(raw_labels(claims=[unsupported_claim(sentence)])).claims
    more = labels.model_copy(update={"claims": [*labels.claims, *added]})
    before, after = (values_of(settle(facts_of(), item))["faithfulness"] for item in (labels, more))
    assert after <= before


@given(ANY_LABELS, st.integers(1, 2))
def test_leaving_a_sentence_unlabelled_never_raises_faithfulness(labels: RagLabels, sentence: int) -> None:
    one_each = list({claim.sentence: claim for claim in labels.claims if not claim.critical}.values())
    full = labels.model_copy(update={"claims": one_each})
    kept = [claim for claim in one_each if claim.sentence != sentence]
    dropped = full.model_copy(update={"claims": kept, "empty_sentences": []})
    full = full.model_copy(update={"empty_sentences": []})
    before, after = (values_of(settle(facts_of(), item))["faithfulness"] for item in (full, dropped))
    assert after <= before


@given(ANY_LABELS, st.sampled_from([1, 2]))
def test_leaving_out_the_label_of_a_passage_never_raises_context_relevance(labels: RagLabels, number: int) -> None:
    fewer = labels.model_copy(update={"passages": [item for item in labels.passages if item.passage != number]})
    kept = [item for item in labels.passages if item.passage != number]
    one = labels.model_copy(update={"passages": [*kept, *[p for p in labels.passages if p.passage == number][:1]]})
    before, after = (values_of(settle(facts_of(), item))["context_relevance"] for item in (one, fewer))
    assert after <= before


def test_a_claim_without_its_label_is_no_valid_reply() -> None:
    claim = claim_of()
    del claim["label"]
    with pytest.raises(ValueError, match="label"):
        labels_of(claims=[claim])


@given(ANY_LABELS)
def test_settling_is_pure(labels: RagLabels) -> None:
    assert settle(facts_of(), labels) == settle(facts_of(), labels)


# --- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lack", [{"reason_stated": False}, {"category": None}, {"validity_shown": False}])
def test_a_refusal_that_lacks_a_criterion_scores_zero(lack: dict[str, Any]) -> None:
    labels = labels_of(refusal=refusal_of(**lack), needs=[{"need": "x", "passage": None, "held": False}])
    assert _score("answer_relevance", settle(facts_of(), labels)) == (0.0, "RAG-A2")


def test_to_plead_missing_context_while_all_is_there_scores_zero() -> None:
    labels = labels_of(refusal=refusal_of(right_to_refuse=True))
    assert _score("answer_relevance", settle(facts_of(), labels)) == (0.0, "RAG-A3")


def test_declining_only_a_part_is_judged_as_an_answer() -> None:
    labels = labels_of(refusal=refusal_of(is_refusal=False))
    assert _score("answer_relevance", settle(facts_of(), labels)) == (1.0, "RAG-A4")


def test_with_nothing_retrieved_a_bare_refusal_is_settled_without_labels() -> None:
    verdict = values_of(judge_locally(case_of(context=[], answer="I can't help with that.")))
    assert (verdict["faithfulness"], verdict["answer_relevance"]) == (0.0, 0.0)


# --- differences to the letter, and what cannot be read --------------------------------------------


def test_a_label_below_the_cap_is_not_raised_to_it() -> None:
    settlement = settle(facts_of(reference="In 1905."), labels_of(similarity="little"))
    assert _score("semantic_similarity", settlement) == (0.2, "RAG-S3")


def test_the_difference_that_caps_similarity_is_told() -> None:
    settlement = settle(facts_of(reference="In 1905."), labels_of(similarity="partial"))
    assert "the answer says 1904, the reference 1905" in values_of(settlement)["semantic_similarity_explanation"]


def test_a_labeller_that_cannot_read_the_case_fails_it_with_its_reason() -> None:
    with pytest.raises(CannotJudge, match="the labeller cannot read the case: the answer is in Frisian"):
        settle(facts_of(), labels_of(unreadable="the answer is in Frisian"))


@pytest.mark.parametrize(
    ("quote", "text", "odd"),
    [
        ("The load is at most 400 kg.", "The load is at most 400 kg.", False),
        ("The load is at most 400 kg.", "The load is at most 500 kg.", True),
        ("The load is at most 0.4 tonnes.", "The load is at most 400 kg.", False),
        ("It was opened in 1904.", "It was opened in May 1904.", False),
    ],
)
def test_support_by_words_that_say_otherwise_is_remarked(quote: str, text: str, odd: bool) -> None:
    facts = facts_of(context=[quote], answer=text)
    labels = labels_of(claims=[claim_of(text=text, quote=quote)], passages=[{"passage": 1, "useful_sentences": [1]}])
    found = {finding.rule for finding in settle(facts, labels).findings}
    assert ("RAG-N9" in found) is odd
