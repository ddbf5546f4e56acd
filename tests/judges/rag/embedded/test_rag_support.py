"""What is weighed for a claim: words only where the model cannot read the passages whole, and the number of claims."""

from __future__ import annotations

from krino.judges.rag.embedded.evidence import Index
from krino.judges.rag.embedded.support import draft_claim, read_claims, signs
from rag_making import BRIDGE, HARBOUR, facts_of

CLAIM = "The bridge was opened in 1904."
LONG = [BRIDGE, HARBOUR, " ".join(f"Station {place} has a waiting room and a clock." for place in range(20))]


def weighed(context: list[str], claims: int = 1) -> dict[str, float]:
    facts = facts_of(context=context, answer=CLAIM)
    draft = draft_claim(facts, Index(facts), 1, CLAIM)
    return signs(draft, read_claims([draft])[0], claims)


def test_words_count_only_in_passages_that_are_longer_than_the_model_reads() -> None:
    short, long = weighed([BRIDGE]), weighed(LONG)
    assert (short["short"], long["short"]) == (1.0, 0.0)
    assert short["shown_words"] == short["passage_words"] == 0.0
    assert short["entailed_in_short"] == short["entailed"] > 0
    assert long["shown_words"] > 0 and long["passage_words"] > 0 and long["entailed_in_short"] == 0.0


def test_answers_with_many_claims_get_more_leeway_up_to_a_number() -> None:
    found = [weighed(LONG, claims)["claims"] for claims in (1, 2, 8, 80)]
    assert found[0] == 0.0 < found[1] < found[2] == found[3]


def test_true_sentences_beside_a_claim_about_short_passages_give_it_no_leeway() -> None:
    assert weighed([BRIDGE], 8)["claims"] == 0.0
