"""Support by words and the entailment model: one sum decides, and it is a probability too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from krino.judges.rag.labels import Claim
from krino.judges.rag.local import label_locally
from krino.judges.rag.support.draft_claims import lay_out
from krino.judges.rag.support.entailment_support import EntailedSupport, Weighing, bare_claim, weigh
from krino.models.entailment import Entailment
from rag_making import facts_of


def claim_for(answer: str, **changes: Any) -> Claim:
    claims = label_locally([facts_of(answer=answer, **changes)])[0].claims
    assert len(claims) == 1
    return claims[0]


@pytest.mark.parametrize(
    ("claim", "bare"),
    [
        ("Third, the bridge was opened in 1904.", "The bridge was opened in 1904."),
        ("However, in fact, it is red.", "It is red."),
        ("According to the passage, it is red.", "It is red."),
        ("2) It is red.", "It is red."),
        ("Third parties own the bridge.", "Third parties own the bridge."),
        ("Therefore", "Therefore"),
        ("", ""),
    ],
)
def test_what_only_leads_a_claim_in_is_not_part_of_it(claim: str, bare: str) -> None:
    assert bare_claim(claim) == bare


def test_a_supported_claim_is_likelier_than_one_that_is_not_there() -> None:
    stated = claim_for("In 1904 Varde got the iron bridge.")
    strange = claim_for("The bridge was paid for by a brewer from Esbjerg.")
    assert (stated.label, strange.label) == ("supported", "unsupported")
    assert stated.probability is not None and strange.probability is not None
    assert 0 <= strange.probability < 0.5 < stated.probability <= 1
    assert "entailment model" in stated.why


def test_a_false_claim_in_the_passages_own_words_is_contradicted_and_quotes_the_sentence() -> None:
    claim = claim_for("The iron bridge at Varde was closed in 1904.")
    assert claim.label == "contradicted"
    assert claim.quote is not None and "opened in 1904" in claim.quote


def test_the_entailment_model_is_asked_in_other_languages_too() -> None:
    french = "Le musée ferme le lundi, sauf pendant les vacances scolaires, où il reste ouvert tous les jours."
    question = "Quand le musée est-il fermé ?"
    claim = claim_for(
        "Pendant les congés des écoliers, on peut le visiter même le lundi.", question=question, context=[french]
    )
    assert "entailment model" in claim.why


def test_a_bare_value_is_held_against_words_alone() -> None:
    claim = claim_for(
        "1904", question="When was the bridge opened?", context=["The bridge was opened in 1904 by Olsen."]
    )
    assert claim.label == "supported" and "entailment model" not in claim.why


def test_every_value_moves_the_sum_the_way_its_name_says() -> None:
    pair = lay_out(facts_of()).drafts[0].pair
    undecided = Weighing(pair, Entailment(0.4, 0.3, 0.3), 0.5, None).values(nearness=0.5)
    for name, better in (
        ("entailed", 1.0),
        ("against", -1.0),
        ("evidence_words", 1.0),
        ("passage_words", 1.0),
        ("nearness", 1.0),
        ("absent_value", -1.0),
        ("strange_name", -1.0),
        ("conflict", -1.0),
        ("company", 1.0),
    ):
        assert weigh({**undecided, name: undecided[name] + better}) > weigh(undecided), name


def test_the_sentence_model_is_asked_only_where_it_could_change_the_label(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(texts: Any) -> Any:
        assert not list(texts)
        return {}

    monkeypatch.setattr("krino.judges.rag.support.entailment_support.measure", refuse)
    pair = lay_out(facts_of(answer="The iron bridge at Varde was opened in 1904.")).drafts[0].pair
    assert EntailedSupport().score([pair])[0].label == "supported"


def test_the_model_is_shown_no_more_than_its_share_of_the_passages() -> None:
    long = " ".join(f"The iron bridge number {n} at Varde was opened in {1900 + n} for trains." for n in range(60))
    for draft in lay_out(facts_of(context=[long])).drafts:
        assert len(draft.pair.shown.split()) <= 130


def test_no_claims_no_scores() -> None:
    assert EntailedSupport().score([]) == []


@pytest.mark.parametrize("claim", ["The iron bridge at Ribe was opened in 1904.", "The bridge carries six tracks."])
def test_words_cannot_outvote_what_is_amiss_to_the_letter_where_the_model_doubts_it_too(claim: str) -> None:
    assert claim_for(claim).label != "supported"


@pytest.mark.parametrize(
    ("company", "words", "supported", "amiss"),
    [
        (True, 6, 0.8, True),
        (True, 6, 0.95, False),
        (False, 6, 0.8, False),
        (False, 6, 0.4, True),
        (False, 12, 0.1, False),
    ],
)
def test_a_strange_name_needs_a_surer_model_among_other_claims_than_alone(
    company: bool, words: int, supported: float, amiss: bool
) -> None:
    """A long claim by itself says much else, so that the name is only weighed there."""
    pair = lay_out(facts_of()).drafts[0].pair
    named = replace(pair, claim=" ".join(["Ribe"] * words), strangers=("Ribe",), company=company, absent=())
    assert Weighing(named, Entailment(supported, 1 - supported, 0.0), 0.5, None).amiss is amiss


@pytest.mark.parametrize(
    ("answer", "passage"),
    [
        ("Marie was born in Ghent.", "Marie Claes was born in Leuven and lives in Ghent."),
        ("Eva Maes is the director.", "Eva Maes is the chief physician. Her brother Jan Maes is the director."),
        ("Eva is director.", "Eva Maes is the chief physician. Her brother Jan Maes is the director."),
    ],
)
def test_a_short_sentence_is_no_bare_name_and_goes_to_the_model(answer: str, passage: str) -> None:
    claim = claim_for(answer, question="Who is it?", context=[passage])
    assert "entailment model" in claim.why
