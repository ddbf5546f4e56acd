"""The risk beside the verdict: what it goes by, whom it names, and where there is none."""

from __future__ import annotations

from math import log
from typing import Any

import pytest

import krino
from krino.contract import Ruling
from krino.judges.rag.judge import RagJudge
from krino.judges.rag.labels import Claim, RagLabels
from krino.judges.rag.risk import at_level_of_answer, signs, weigh
from krino.judges.rag.rubric import settle
from rag_making import claim_of, facts_of, raw_labels

RISK = "hallucination_risk"
DECLINES = "I cannot answer because the retrieved context is empty, which falls under insufficient context."
EMPTY: dict[str, Any] = {"claims": [], "passages": [], "needs": [], "empty_sentences": []}


def figure(labels: dict[str, Any] | None, **case: Any) -> Ruling | None:
    read = None if labels is None else RagLabels.model_validate(labels)
    return settle(facts_of(**case), read).figures.get(RISK)


def measured(*probabilities: float) -> dict[str, Any]:
    """Labels with one claim a probability."""
    claims = [claim_of(sentence=1 + place % 2, probability=value) for place, value in enumerate(probabilities)]
    return raw_labels(claims=claims)


def levelled(*probabilities: float, decided: int | None = None) -> list[Claim]:
    """The claims of `measured` as the embedded labeller gives them."""
    claims = RagLabels.model_validate(measured(*probabilities)).claims
    return at_level_of_answer(facts_of(), claims, [place == decided for place in range(len(claims))])


def risk(*probabilities: float, decided: int | None = None) -> float:
    claims = [claim.model_dump() for claim in levelled(*probabilities, decided=decided)]
    ruling = figure(raw_labels(claims=claims))
    assert ruling is not None and ruling.rule == "RAG-H1" and ruling.from_labels
    return float(ruling.value)


def test_the_less_likely_the_worst_claim_is_supported_the_higher_the_risk() -> None:
    steps = [risk(0.95, worst) for worst in (0.95, 0.8, 0.5, 0.2, 0.0)]
    assert steps == sorted(set(steps))
    assert 0 <= steps[0] < 0.5 < steps[-1] <= 1


def test_an_answer_of_one_claim_has_the_risk_of_that_claim() -> None:
    assert [risk(value) for value in (0.97, 0.5, 0.2)] == [0.03, 0.5, 0.8]


def test_the_other_claims_count_too() -> None:
    assert risk(0.9, 0.3) < risk(0.31, 0.3)


def test_the_more_claims_there_are_the_less_one_of_them_says() -> None:
    assert risk(0.1) > risk(0.1, 0.95) > risk(0.1, 0.95, 0.95)


@pytest.mark.parametrize("claims", [(0.1, 0.95), (0.3, 0.31, 0.9), (0.6, 0.99, 0.99, 0.99), (0.02, 0.5)])
def test_the_risk_is_never_below_what_its_worst_claim_leaves(claims: tuple[float, ...]) -> None:
    given = [claim.probability or 0.0 for claim in levelled(*claims)]
    assert risk(*claims) >= round(1 - min(given), 3)
    assert given == sorted(given), "the order of the claims stays"
    assert all(moved >= by_itself for moved, by_itself in zip(given, claims, strict=True))


def test_claims_are_moved_as_far_as_the_risk_of_the_whole_asks_and_it_is_found_again() -> None:
    whole = weigh(0.1, 3, signs(facts_of(), (0.1, 0.95, 0.95), 0))
    assert 1 - whole > 0.1
    assert risk(0.1, 0.95, 0.95) == pytest.approx(whole, abs=0.001)


def test_what_code_decided_keeps_its_probability_and_sets_the_risk() -> None:
    assert [claim.probability for claim in levelled(0.08, 0.95, 0.95, decided=0)] == [0.08, 0.95, 0.95]
    assert risk(0.08, 0.95, 0.95, decided=0) == 0.92


def test_claims_without_a_measure_and_a_claim_alone_stay_as_they_are() -> None:
    alone = [claim_of(probability=0.2)]
    mixed = [claim_of(probability=0.2), claim_of(sentence=2)]
    for claims in (alone, mixed):
        read = RagLabels.model_validate(raw_labels(claims=claims)).claims
        assert at_level_of_answer(facts_of(), read, [False] * len(read)) == read


SURE = {"expected": 0.2, "unsupported": 0.0, "new_words": 0.0, "absent_values": 0.0}


@pytest.mark.parametrize("sign", SURE)
def test_each_sign_of_the_whole_raises_the_risk_of_several_claims_and_not_of_one(sign: str) -> None:
    assert weigh(0.4, 3, SURE | {sign: 2.0}) > weigh(0.4, 3, SURE)
    assert weigh(0.4, 1, SURE | {sign: 2.0}) == weigh(0.4, 1, SURE)


def test_words_and_values_that_stand_in_no_passage_are_counted() -> None:
    told = signs(facts_of(answer="A zebra paid 7 and 8 and 9 dollars to the wizard."), [0.9, 0.5], 1)
    assert told["expected"] == pytest.approx(0.6)
    assert told["unsupported"] == pytest.approx(log(2))
    assert told["new_words"] > log(3)
    assert told["absent_values"] == 2.0, "from the second on another one says no more"


def test_the_worst_claim_is_named() -> None:
    labels = raw_labels(
        claims=[claim_of(probability=0.9), claim_of(text="It is 90 m long.", sentence=2, probability=0.2)]
    )
    ruling = figure(labels)
    assert ruling is not None
    (told,) = ruling.evidence
    assert "sentence 2" in told and "It is 90 m long." in told and "0.20" in told


@pytest.mark.parametrize(
    ("rule", "value", "labels", "case"),
    [
        ("RAG-H2", 0.0, None, {"context": [], "answer": DECLINES}),
        ("RAG-H2", 0.0, raw_labels(claims=[], empty_sentences=[1]), {"answer": "Which bridge?"}),
        ("RAG-H3", 1.0, raw_labels(**EMPTY), {"context": []}),
    ],
)
def test_where_no_claim_or_no_passage_is_there_the_risk_is_plain(
    rule: str, value: float, labels: dict[str, Any] | None, case: dict[str, Any]
) -> None:
    ruling = figure(labels, **case)
    assert ruling is not None
    assert (ruling.rule, ruling.value) == (rule, value)


def test_a_labeller_that_gives_no_probability_for_every_claim_gets_no_risk() -> None:
    assert figure(raw_labels()) is None
    assert figure(raw_labels(claims=[claim_of(probability=0.9), claim_of(sentence=2)])) is None


def test_the_embedded_labeller_gives_a_falsehood_a_higher_risk_than_the_truth() -> None:
    case = {"question": "When was the bridge opened?", "context": ["The bridge was opened in 1904 by the mayor."]}
    risks = []
    for answer in ("It was opened in 1904.", "It was opened in 1910 by a famous singer."):
        judgement = krino.judge(RagJudge(), case | {"answer": answer})
        assert RISK not in (judgement.verdict or {}), "the rubric's eleven keys stay as they are"
        risks.append(judgement.figures[RISK])
    assert risks[0] < 0.5 < risks[1]


# --- true sentences beside a false one -------------------------------------------------------------


def test_a_claim_that_is_not_supported_stays_unlikely_however_many_others_are_supported() -> None:
    few, many = (_padded(number) for number in (2, 40))
    assert few.probability == many.probability is not None and 0.05 <= many.probability < 0.6


def _padded(number: int) -> Claim:
    false = claim_of(text="It was opened in 1910.", label="contradicted", probability=0.05)
    true = [claim_of(text=f"It carries {place} tracks.", sentence=2, probability=0.99) for place in range(number)]
    claims = RagLabels.model_validate(raw_labels(claims=[false, *true])).claims
    return at_level_of_answer(facts_of(), claims, [False] * len(claims))[0]


def test_a_passage_copied_around_a_false_sentence_does_not_lower_its_risk() -> None:
    copied = "The iron bridge at Varde was opened in 1904 and carries two railway tracks."
    false = "The iron bridge at Varde was opened by a shipping company."
    alone, padded = (
        krino.judge("rag", facts_of(answer=text).case.model_dump()) for text in (false, f"{copied} {false}")
    )
    assert alone.figures[RISK] >= 0.5
    assert padded.figures[RISK] >= 0.5
    assert padded.figures[RISK] > alone.figures[RISK] - 0.1
