"""The risk beside the verdict: what it goes by, whom it names, and where there is none."""

from __future__ import annotations

from typing import Any

import pytest

import krino
from krino.contract import Ruling
from krino.judges.rag.embedded.risk import signs, weigh
from krino.judges.rag.judge import RagJudge
from krino.judges.rag.labels import RagLabels
from krino.judges.rag.rubric import settle
from rag_making import claim_of, facts_of, raw_labels, refusal_of

RISK = "hallucination_risk"
EMPTY: dict[str, Any] = {"claims": [], "passages": [], "needs": [], "empty_sentences": []}


def figure(labels: dict[str, Any], **case: Any) -> Ruling | None:
    read = RagLabels.model_validate({"measured": True, **labels})
    return settle(facts_of(**case), read).figures.get(RISK)


def risk(*probabilities: float) -> float:
    claims = [
        claim_of(text=f"It has {place} arches.", sentence=1 + place % 2, probability=value)
        for place, value in enumerate(probabilities)
    ]
    ruling = figure(raw_labels(claims=claims))
    assert ruling is not None and ruling.rule == "RAG-H1" and ruling.from_labels
    return float(ruling.value)


def test_the_less_likely_the_worst_claim_is_supported_the_higher_the_risk() -> None:
    steps = [risk(0.95, worst) for worst in (0.95, 0.8, 0.5, 0.2, 0.0)]
    assert steps == sorted(set(steps))
    assert 0 <= steps[0] < 0.5 < steps[-1] <= 1


def test_the_other_claims_count_too() -> None:
    assert weigh(signs([0.9, 0.3])) < weigh(signs([0.31, 0.3]))


@pytest.mark.parametrize("claims", [(0.1, 0.95), (0.3, 0.31, 0.9), (0.6, 0.99, 0.99, 0.99), (0.02, 0.5)])
def test_the_risk_is_never_below_what_its_worst_claim_leaves(claims: tuple[float, ...]) -> None:
    assert risk(*claims) >= round(1 - min(claims), 3)


@pytest.mark.parametrize("sign", ["worst", "expected"])
def test_each_sign_of_the_whole_raises_the_risk(sign: str) -> None:
    sure = {"worst": -3.0, "expected": 0.2}
    assert weigh(sure | {sign: 2.0}) > weigh(sure)


def test_the_worst_claim_is_named() -> None:
    worst = claim_of(text="It is 90 m long.", sentence=2, probability=0.2)
    ruling = figure(raw_labels(claims=[claim_of(probability=0.9), worst]))
    assert ruling is not None
    (told,) = ruling.evidence
    assert "sentence 2" in told and "It is 90 m long." in told and "0.20" in told


@pytest.mark.parametrize(
    ("rule", "value", "labels", "case"),
    [
        ("RAG-H2", 0.0, raw_labels(**EMPTY, refusal=refusal_of()), {"context": [], "answer": "I do not know."}),
        ("RAG-H2", 0.0, raw_labels(claims=[], empty_sentences=[1]), {"answer": "Which bridge?"}),
        ("RAG-H3", 1.0, raw_labels(**EMPTY), {"context": []}),
    ],
)
def test_where_no_claim_or_no_passage_is_there_the_risk_is_plain(
    rule: str, value: float, labels: dict[str, Any], case: dict[str, Any]
) -> None:
    ruling = figure(labels, **case)
    assert ruling is not None
    assert (ruling.rule, ruling.value) == (rule, value)
    assert figure(labels | {"measured": False}, **case) is None, "of a labeller that measures nothing it is null"


def test_a_labeller_that_only_labels_gets_no_risk() -> None:
    assert figure(raw_labels(measured=False)) is None
    assert figure(raw_labels(claims=[claim_of(probability=0.9)], empty_sentences=[2], measured=False)) is None


def test_the_embedded_labeller_gives_a_falsehood_a_higher_risk_than_the_truth() -> None:
    case = {"question": "When was the bridge opened?", "context": ["The bridge was opened in 1904 by the mayor."]}
    risks = []
    for answer in ("It was opened in 1904.", "It was opened in 1910 by a famous singer."):
        judgement = krino.judge(RagJudge(), case | {"answer": answer})
        assert RISK not in (judgement.verdict or {}), "the rubric's eleven keys stay as they are"
        risks.append(judgement.figures[RISK])
    assert risks[0] < 0.5 < risks[1]


def test_a_passage_copied_around_a_false_sentence_does_not_lower_its_risk() -> None:
    copied = "The iron bridge at Varde was opened in 1904 and carries two railway tracks."
    false = "The iron bridge at Varde was opened in 1931."
    alone, padded = (
        krino.judge("rag", facts_of(answer=text).case.model_dump()) for text in (false, f"{copied} {false}")
    )
    assert alone.figures[RISK] >= 0.5
    assert padded.figures[RISK] >= 0.5
