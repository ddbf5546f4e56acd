"""What each sentence of an answer is there for, and what code makes of the model's word."""

from __future__ import annotations

from typing import Any

import pytest

import krino
from krino.judges.rag.embedded.roles import read_roles
from krino.judges.rag.judge import RagJudge
from rag_making import BRIDGE, case_of, facts_of

BACKUPS = ["Automatic backups of the database are kept for 14 days on Basic and for 35 days on Standard."]
SLA = "What is the uptime SLA of the database service?"
DECLINES = "The context doesn't specify an uptime SLA, so I can't give you a figure."


def claims_of(answer: str, **case: Any) -> list[str]:
    facts = facts_of(answer=answer, **case)
    (roles,) = read_roles([facts])
    return [facts.sentences[number - 1].text for number in sorted(roles.claims)]


def test_courtesies_lead_ins_and_offers_are_no_claims() -> None:
    answer = "Great question! Here is what I found:\n- The bridge was opened in 1904.\n\nWould you like to know more?"
    assert claims_of(answer) == ["The bridge was opened in 1904."]


@pytest.mark.parametrize(
    "answer", ["Anna Berg", "1904", "Timber and grain", "Paris", "Never", "Nobody", "No fee", "Unknown", "Personne"]
)
def test_a_bare_name_or_value_answers(answer: str) -> None:
    assert claims_of(answer) == [answer]


@pytest.mark.parametrize(
    "answer",
    ["I don't know.", "I do not know.", "Sorry, I can't help with that.", "The context does not say.", "I'm not sure."],
)
def test_a_short_formula_declines(answer: str) -> None:
    """The model has learned from longer answers, and is sure of none of these."""
    assert claims_of(answer) == []
    refusal = krino.judge("rag", case_of(answer=answer)).labels or {}
    assert refusal["refusal"]["is_refusal"]


def test_a_figure_of_its_own_makes_a_claim_of_any_sentence() -> None:
    assert claims_of(f"{BRIDGE} Feel free to note that it has 99 lamps.")[1:] == [
        "Feel free to note that it has 99 lamps."
    ]


def test_an_item_of_a_list_is_read_with_its_heading_and_lead_in() -> None:
    facts = facts_of(answer="**Cover**\n\nNot covered:\n- damage by frost that nobody could have prevented in time")
    assert facts.units[2].above == "Cover: Not covered:"


@pytest.mark.parametrize(
    "more",
    ["", " For the SLA, please refer to your contract or contact support.", " Let me know if I can help with more."],
)
def test_a_polite_sentence_after_a_right_refusal_changes_no_score(more: str) -> None:
    judgement = krino.judge(RagJudge(), {"question": SLA, "context": BACKUPS, "answer": f"{DECLINES}{more}"})
    assert judgement.verdict is not None
    assert (judgement.verdict["faithfulness"], judgement.verdict["answer_relevance"]) == (1.0, 1.0)


def test_background_after_a_refusal_leaves_it_a_refusal() -> None:
    answer = f"{DECLINES} It does describe backups, which are kept for 14 days on Basic."
    judgement = krino.judge(RagJudge(), {"question": SLA, "context": BACKUPS, "answer": answer})
    assert judgement.verdict is not None
    assert (judgement.verdict["faithfulness"], judgement.verdict["answer_relevance"]) == (1.0, 1.0)


def test_what_stands_behind_a_but_is_read_too() -> None:
    claims = claims_of("I cannot say for sure, but the bridge carries two railway tracks.")
    assert claims == ["I cannot say for sure, but the bridge carries two railway tracks."]


def test_unsure_claims_are_found_and_shown_first() -> None:
    judge = RagJudge()
    record = case_of(answer="The bridge was opened in 1904. It carries two railway tracks.")
    judgement = krino.judge(judge, record)
    assert judgement.labels is not None
    claims = [{**claim, "probability": 0.5} for claim in judgement.labels["claims"]]
    judgement = judgement.model_copy(update={"labels": {**judgement.labels, "claims": claims}})
    case = judge.read(record)
    titles = [getattr(block, "title", "") for block in judge.view(case, judge.study(case), judgement)]
    assert titles.index("Unsure: read these first") < titles.index("Parts of the question")


def test_a_sentence_in_another_language_than_all_the_rest_is_not_set_aside() -> None:
    """The model is unsure of it, and no word of the passages can tell: it would go unread with full marks."""
    case = {
        "question": "Who pays for small repairs?",
        "context": [
            "A written lease may not shift the cost of the roof to the tenant. The tenant pays for small repairs."
        ],
        "answer": "A written lease may not shift the cost of the roof to the tenant. "
        "Le propriétaire paie les petites réparations, comme un robinet qui goutte.",
    }
    judgement = krino.judge("rag", case)
    assert not judgement.unread
    assert judgement.verdict is not None and judgement.verdict["faithfulness"] < 1.0
