"""In which words a claim is put before the entailment model."""

from __future__ import annotations

import pytest

from krino.judges.rag.local import label_locally
from krino.judges.rag.reading.words import read_sentence
from krino.judges.rag.support.telling import bare_claim, in_its_hours, in_its_values
from rag_making import facts_of


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


@pytest.mark.parametrize(
    ("claim", "evidence", "told"),
    [
        ("It dries for two hours.", "Leave it for 120 minutes.", "It dries for 120 minutes."),
        ("It opened on 3 May 1998.", "Opened: 1998-05-03.", "It opened on 1998-05-03."),
        ("It weighs 1.5 kg.", "The weight is 1,500 g.", "It weighs 1,500 g."),
        ("It dries for three hours.", "Leave it for 120 minutes.", "It dries for three hours."),
        ("It dries for two hours.", "Leave it for 120 minutes, or two hours.", "It dries for two hours."),
        ("Not two hours, two hours!", "Leave it for 120 minutes.", "Not two hours, two hours!"),
    ],
)
def test_a_value_is_told_as_the_evidence_writes_the_same_one(claim: str, evidence: str, told: str) -> None:
    assert in_its_values(claim, read_sentence(claim, "en").values, [read_sentence(evidence, "en")]) == told


def test_a_text_that_no_model_reads_to_its_end_is_left_as_it_is() -> None:
    claim = f"It dries for two hours. {'It is good. ' * 200}"
    assert in_its_values(claim, read_sentence(claim, "en").values, [read_sentence("120 minutes.", "en")]) == claim


@pytest.mark.parametrize(
    ("claim", "evidence", "told"),
    [
        ("The shop closes at 4 pm.", "It is open from 9 am to 4 pm.", "The shop is open until 4 pm."),
        ("The shops close on Mondays at 4 pm.", "Opening hours: 9 to 4.", "The shops are open on Mondays until 4 pm."),
        ("Le musée ferme à 18 h.", "Il est ouvert de 10 h à 18 h.", "Le musée est ouvert jusqu'à 18 h."),
        ("Les musées ferment à 18 h.", "Ils sont ouverts de 10 h à 18 h.", "Les musées sont ouverts jusqu'à 18 h."),
        ("De winkel sluit zaterdag om 16 uur.", "Open van 9 tot 16 uur.", "De winkel is zaterdag open tot 16 uur."),
        ("De winkels sluiten om 16 uur.", "Geopend van 9 tot 16 uur.", "De winkels zijn open tot 16 uur."),
        ("Der Laden schließt um 16 Uhr.", "Er ist von 9 bis 16 Uhr geöffnet.", "Der Laden ist geöffnet bis 16 Uhr."),
        ("Die Läden schließen um 16 Uhr.", "Sie sind von 9 bis 16 Uhr offen.", "Die Läden sind geöffnet bis 16 Uhr."),
        ("La tienda cierra a las 16 h.", "Abre de 9 a 16 h.", "La tienda está abierto hasta las 16 h."),
        ("Las tiendas cierran a las 16 h.", "Abren de 9 a 16 h.", "Las tiendas están abiertos hasta las 16 h."),
        ("The shop closes at 4 pm.", "It opens at 9 am and closes at 4 pm.", "The shop closes at 4 pm."),
        ("The shop closes at 4 pm.", "The last bus leaves at 4 pm.", "The shop closes at 4 pm."),
        ("The shop closes on Mondays.", "It is open from 9 am to 4 pm.", "The shop closes on Mondays."),
    ],
)
def test_when_it_closes_is_told_as_until_when_it_is_open(claim: str, evidence: str, told: str) -> None:
    assert in_its_hours(claim, evidence) == told


@pytest.mark.parametrize(
    ("answer", "passage", "label"),
    [
        ("The farm shop closes at 4 pm.", "The farm shop is open from 9 am to 4 pm.", "supported"),
        ("The farm shop closes at 5 pm.", "The farm shop is open from 9 am to 4 pm.", "contradicted"),
        ("The primer has to dry for two hours.", "Leave the primer to dry for 120 minutes.", "supported"),
        ("The primer has to dry for three hours.", "Leave the primer to dry for 120 minutes.", "contradicted"),
    ],
)
def test_so_told_a_claim_is_judged_by_what_it_says(answer: str, passage: str, label: str) -> None:
    facts = facts_of(question="What do the instructions say?", answer=answer, context=[passage])
    assert [claim.label for claim in label_locally([facts])[0].claims] == [label]
