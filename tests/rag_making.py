"""Builds small cases and labels for the tests of the RAG judge."""

from __future__ import annotations

from typing import Any

from krino.contract import Settlement
from krino.errors import CannotJudge
from krino.judges.rag.case import RagCase
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.judge import RagJudge
from krino.judges.rag.labels import RagLabels

BRIDGE = "The iron bridge at Varde was opened in 1904 and carries two railway tracks."
HARBOUR = "Varde harbour handles mostly timber and grain."
QUESTION = "When was the iron bridge at Varde opened?"
CASE: dict[str, Any] = {
    "question": QUESTION,
    "context": [BRIDGE, HARBOUR],
    "answer": "The bridge was opened in 1904. It carries two railway tracks.",
}


def case_of(**changes: Any) -> dict[str, Any]:
    return {**CASE, **changes}


def facts_of(**changes: Any) -> RagFacts:
    return RagFacts(RagCase.model_validate(case_of(**changes)))


def claim_of(**changes: Any) -> dict[str, Any]:
    return {
        "text": "The bridge was opened in 1904.",
        "sentence": 1,
        "passage": 1,
        "quote": "opened in 1904",
        "why": "stated",
        "label": "supported",
        "critical": False,
        **changes,
    }


def unsupported_claim(sentence: int = 2) -> dict[str, Any]:
    return claim_of(text="It is red.", sentence=sentence, label="unsupported", passage=None, quote=None, why="not said")


def refusal_of(**changes: Any) -> dict[str, Any]:
    return {
        "is_refusal": True,
        "reason_stated": True,
        "category": "insufficient_context",
        "validity_shown": True,
        "right_to_refuse": True,
        "why": "the date is not there",
        **changes,
    }


def raw_labels(**changes: Any) -> dict[str, Any]:
    """Labels that fit `CASE`, as a reply would hold them."""
    second = claim_of(text="It carries two tracks.", sentence=2, quote="carries two railway tracks")
    return {
        "unreadable": None,
        "claims": [claim_of(), second],
        "empty_sentences": [],
        "parts": [{"part": "when it was opened", "sentence": 1, "answered": True}],
        "direct": "full",
        "passages": [{"passage": 1, "useful_sentences": [1]}, {"passage": 2, "useful_sentences": []}],
        "needs": [{"need": "the year of opening", "passage": 1, "held": True}],
        "refusal": None,
        "similarity": None,
        "similarity_why": None,
        "uncertain": None,
        **changes,
    }


def labels_of(**changes: Any) -> RagLabels:
    return RagLabels.model_validate(raw_labels(**changes))


def values_of(settlement: Settlement) -> dict[str, Any]:
    return {key: ruling.value for key, ruling in settlement.rulings.items()}


def judge_locally(record: dict[str, Any], judge: RagJudge | None = None) -> Settlement:
    """The whole way without any model: read, study, ask, label, check, settle."""
    judge = judge or RagJudge()
    case = judge.read(record)
    facts = judge.study(case)
    labels = None
    if judge.ask(case, facts) is not None:
        if (reason := judge.unreadable_locally(case, facts)) is not None:
            raise CannotJudge(reason)
        labels = judge.label_locally([(case, facts)])[0]
        problems = judge.check(case, facts, labels)
        assert problems == [], problems
    return judge.settle(case, facts, labels)
