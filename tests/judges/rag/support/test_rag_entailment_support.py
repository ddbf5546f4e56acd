"""Support by words and the entailment model: one sum decides, and it is a probability too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from krino.judges.rag.labels import Claim
from krino.judges.rag.local import label_locally
from krino.judges.rag.support.draft_claims import lay_out
from krino.judges.rag.support.entailment_support import EntailedSupport, Weighing, readings_of, weigh
from krino.judges.rag.tables import table
from krino.models.entailment import Entailment
from rag_making import facts_of


def claim_for(answer: str, **changes: Any) -> Claim:
    claims = label_locally([facts_of(answer=answer, **changes)])[0].claims
    assert len(claims) == 1
    return claims[0]


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
    for name, better in (
        ("entailed", 1.0),
        ("entailed_by_few", 1.0),
        ("against", -1.0),
        ("shown_words", 1.0),
        ("whole", 1.0),
        ("passage_words", 1.0),
        ("absent_value", -1.0),
        ("absent_in_few", -1.0),
        ("strange_name", -1.0),
        ("conflict", -1.0),
        ("company", 1.0),
    ):
        assert weigh({name: better}) > weigh({}), name


def test_words_in_common_and_company_count_only_where_the_passages_are_long() -> None:
    only_long = {"entailed", "against", "shown_words", "passage_words", "absent_value", "company"}
    long = " ".join(f"The ferry number {n} crossed the water at Varde in the year {1900 + n}." for n in range(40))
    for context, few in ((["The iron bridge at Varde was opened in 1904."], True), ([long], False)):
        answer = "The iron bridge at Varde was opened in 1904. It cost 7 million crowns."
        for draft in lay_out(facts_of(context=context, answer=answer)).drafts:
            values = Weighing.of(draft.pair, Entailment(0.4, 0.3, 0.3)).values()
            assert values["few"] == few
            assert only_long & values.keys() == (set() if few else only_long)
            assert ("entailed_by_few" in values) == few
            assert all(name in table("local")["blend"] for name in values)


def test_an_answer_that_is_supported_as_a_whole_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """And read claim by claim, too, where the model is not sure of all of it."""
    context = ["The iron bridge at Varde was opened in 1904. It carries two tracks."]
    answer = "In 1904 people could use the iron bridge for the first time. Two tracks run over it."
    for sure, reads in ((0.95, 1), (0.6, 3)):
        seen: list[tuple[str, str]] = []

        def answering(pairs: Any, sure: float = sure, seen: list[tuple[str, str]] = seen) -> list[Entailment]:
            seen += pairs
            return [Entailment(sure, 1 - sure, 0.0) for _ in pairs]

        monkeypatch.setattr("krino.models.entailment.entail", answering)
        pairs = [draft.pair for draft in lay_out(facts_of(context=context, answer=answer)).drafts]
        assert len(pairs) == 2
        readings_of(pairs)
        assert len(seen) == reads
        assert seen[0][1] == answer


def test_an_answer_that_is_not_good_as_a_whole_speaks_against_its_worst_claim_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context = ["The iron bridge at Varde was opened in 1904. It carries two tracks."]
    answer = "In 1904 people could use the iron bridge for the first time. Ninety lamps light it."
    pairs = [draft.pair for draft in lay_out(facts_of(context=context, answer=answer)).drafts]
    for whole, counts in ((0.1, [False, True]), (0.7, [True, True])):

        def answering(asked: Any, whole: float = whole) -> list[Entailment]:
            shares = [whole if said == answer else 0.1 if "lamps" in said else 0.9 for _, said in asked]
            return [Entailment(share, 1 - share, 0.0) for share in shares]

        monkeypatch.setattr("krino.models.entailment.entail", answering)
        assert [reading.whole is not None for reading in readings_of(pairs)] == counts


def test_a_case_is_labelled_as_it_is_alone_whoever_is_labelled_beside_it() -> None:
    """Two cases with the same texts each have a worst claim of their own."""
    context = ["The iron bridge at Varde was opened in 1904. It carries two tracks."]
    answer = "In 1904 people could first use the iron bridge. It is lit by gas lamps at night."
    alone = label_locally([facts_of(context=context, answer=answer)])
    again = label_locally([facts_of(context=context, answer=answer) for _ in range(3)])
    assert [labels.claims for labels in again] == [alone[0].claims] * 3


def test_a_long_answer_or_long_passages_are_not_read_as_a_whole() -> None:
    long = " ".join(f"The ferry number {n} crossed the water at Varde in the year {1900 + n}." for n in range(40))
    short = "The iron bridge at Varde was opened in 1904. It carries two tracks."
    for context, answer, whole in ((short, short, True), (long, short, False), (short, long, False)):
        drafts = lay_out(facts_of(context=[context], answer=answer)).drafts
        assert {draft.pair.whole is not None for draft in drafts} == {whole}


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
