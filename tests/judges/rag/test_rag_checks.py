"""Labels held against the case: each wrong label is named so that it can be asked for again."""

from __future__ import annotations

from typing import Any

import pytest

from krino.judges.rag.checks import check_labels
from rag_making import claim_of, facts_of, labels_of, refusal_of, unsupported_claim

SECOND = claim_of(sentence=2, quote="carries two railway tracks")


def test_good_labels_have_no_problem() -> None:
    assert check_labels(facts_of(), labels_of()) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"claims": [claim_of(quote="opened in 1905"), SECOND]}, "claims[0].quote does not occur in passage 1"),
        ({"claims": [claim_of(passage=2), SECOND]}, "it stands in passage 1"),
        ({"claims": [claim_of(passage=9), SECOND]}, "claims[0].passage is 9: the passages are 1, 2"),
        ({"claims": [claim_of(quote=None), SECOND]}, "claims[0] is supported: it needs passage and quote"),
        ({"claims": [claim_of(passage=None, label="unsupported"), SECOND]}, "quote is given without passage"),
        ({"claims": [claim_of(critical=True), SECOND]}, "only a contradicted claim can be critical"),
        (
            {"claims": [claim_of(sentence=3), claim_of(), SECOND]},
            "claims[0].sentence is 3: the answer sentences are 1 to 2",
        ),
        ({"claims": [claim_of(text=" "), SECOND]}, "claims[0].text is empty"),
        ({"claims": [claim_of()]}, "sentence 2 of the answer is not covered"),
        ({"empty_sentences": [2]}, "sentence 2 has claims and is in empty_sentences"),
        ({"empty_sentences": [7]}, "empty_sentences holds 7"),
        ({"claims": [SECOND], "empty_sentences": [1]}, "sentence 1 is in empty_sentences but states a number"),
        ({"passages": [{"passage": 1, "useful": True}]}, "label passage 2 exactly once, not 0 times"),
        ({"passages": [{"passage": n, "useful": True} for n in (1, 2, 2)]}, "passage 2 exactly once, not 2 times"),
        ({"passages": [{"passage": n, "useful": True} for n in (1, 2, 5)]}, "passage 5, which does not exist"),
        ({"needs": []}, "needs is empty"),
        ({"parts": []}, "parts is empty"),
        ({"similarity": "same"}, "similarity must be null"),
        ({"refusal": refusal_of()}, "every need is held"),
    ],
)
def test_a_wrong_label_is_named(changes: dict[str, Any], problem: str) -> None:
    problems = check_labels(facts_of(), labels_of(**changes))
    assert len(problems) == 1
    assert problem in problems[0]


def test_a_reference_asks_for_a_step_of_the_scale() -> None:
    assert "choose a step" in check_labels(facts_of(reference="1904"), labels_of())[0]
    assert check_labels(facts_of(reference="1904"), labels_of(similarity="close")) == []


def test_wording_that_declines_must_be_read() -> None:
    facts = facts_of(answer="I cannot say. It carries two railway tracks.")
    labels = labels_of(claims=[SECOND], empty_sentences=[1])
    assert "reads like one" in check_labels(facts, labels)[0]


def test_a_quotation_may_differ_in_case_spaces_and_quotes_and_come_from_the_title() -> None:
    facts = facts_of(
        context=[{"title": "Bridges", "text": "It’s\nOPENED in 1904; it carries two railway tracks."}, "x"]
    )
    quotes = ["it's opened  in 1904", "bridges"]
    labels = labels_of(claims=[claim_of(quote=quotes[0]), claim_of(sentence=2, quote=quotes[1])])
    assert check_labels(facts, labels) == []


def test_an_unsupported_claim_needs_no_quotation() -> None:
    assert check_labels(facts_of(), labels_of(claims=[claim_of(), unsupported_claim()])) == []


def test_what_was_not_asked_is_not_looked_at() -> None:
    labels = labels_of(claims=[], passages=[], needs=[])
    assert check_labels(facts_of(context=[]), labels) == []
