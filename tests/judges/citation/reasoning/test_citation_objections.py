"""The words of a reasoning in English, French, Dutch and German: what it looks at, in which order, what it blames."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citation_cases import CASSATION, candidate, citation, match, study
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.reasoning import table
from krino.judges.citation.reasoning.cues import Cues, read_reasoning

LIEGE, GHENT = "ECLI:BE:CALIE:2018:ARR.20180315.1", "ECLI:BE:HBGNT:2018:ARR.20180315.1"


def generic(reasoning: str) -> CitationFacts:
    """A citation of any court of appeal, matched for this reason."""
    listed = [candidate(LIEGE, "Cour d'appel de Liège"), candidate(GHENT, "Hof van beroep Gent")]
    return study(citation("Cour d'appel", candidates=listed, matches=[match(LIEGE, 0.6, reasoning)]))


def unmatched(reason: str) -> CitationFacts:
    """A citation of the Court of Cassation, and a candidate of it under its Dutch name that was not taken."""
    cited = "Arbrb. Gent" if "Arbrb" in reason else "Cour de cassation"
    listed = "Arbeidsrechtbank Gent" if "Arbrb" in reason else "Hof van Cassatie"
    return study(citation(cited, candidates=[candidate(CASSATION.format(1), listed)], no_match_reason=reason))


@pytest.mark.parametrize(
    "text",
    [
        "Court alignment: GENERIC citation. Case number: none.",
        "La juridiction est la même. Le numéro de rôle concorde.",
        "Zelfde rechtbank. Het rolnummer komt overeen.",
        "NATIONAL. Exact match of C.17.0001.F.",
        "The case number is that of a judgment of the Hof van Cassatie.",
    ],
)
def test_the_court_comes_first(text: str) -> None:
    assert read_reasoning(text).court_comes_first(numbered=True)


@pytest.mark.parametrize(
    "text",
    ["Case number matches. The court is Cassation.", "Le résumé concorde.", "Het rolnummer klopt.", "", "Good match."],
)
def test_the_court_does_not_come_first(text: str) -> None:
    assert not read_reasoning(text).court_comes_first(numbered=True)


@pytest.mark.parametrize(
    ("text", "claimed"),
    [
        ("Case number: exact match C.17.0001.F.", True),
        ("Numéro de rôle identique.", True),
        ("Zaaknummer stemt overeen met kandidaat 2, exact.", True),
        ("Rolnummers stemmen overeen.", True),
        ("Het zaaknummer klopt.", True),
        ("Case number verified.", True),
        ("Le numéro C.17.0001.F figure dans ce candidat.", True),
        ("The cited number C.17.0001.F is that of candidate 1.", True),
        ("Role number C.17.0001.F belongs to candidate 1.", True),
        ("Candidate 1 carries the cited number.", True),
        ("Candidate 1 has exactly this number.", True),
        ("Le numéro cité est bien celui du candidat 1.", True),
        ("Le numéro C.17.0001.F appartient au candidat 1.", True),
        ("Het rolnummer is dat van kandidaat 1.", True),
        ("Het rolnummer stemt volledig overeen.", True),
        ("Het rolnummer C.17.0001.F hoort bij kandidaat 1.", True),
        ("Kandidaat 1 draagt het geciteerde nummer.", True),
        ("Die Rollennummer stimmt mit Kandidat 1 überein.", True),
        ("Die Nummer ist identisch.", True),
        ("Die Rollennummer stimmt nicht überein.", False),
        ("The number is that of no candidate.", False),
        ("Het rolnummer stemt niet overeen.", False),
        ("Case number C.17.0001.F not found. Strong context match.", False),
        ("Le numéro de rôle ne correspond pas.", False),
        ("Het rolnummer komt niet overeen.", False),
        ("No case number, but the summary matches.", False),
        ("Case number given; court matches.", False),
    ],
)
def test_a_claimed_number_match(text: str, claimed: bool) -> None:
    assert read_reasoning(text).claims_number_match is claimed


EQUAL = """
C.17.0001.F = candidate's number.|C.17.0001 = number of candidate 1.|The docket number is C.17.0001.F in both.
The number is C.17.0001.F, just like the citation.|The number tallies.|The docket number lines up.
Its number is the one cited.|Both have C.17.0001.F as their number.|Le numéro est C.17.0001.F dans les deux.
Le numéro est C.17.0001.F, tout comme la citation.|Le numéro du candidat est celui cité.
Les deux portent C.17.0001.F comme numéro.|Rolnummer C.17.0001.F staat in beide.|Het rolnummer is net als in de citatie.
Het rolnummer is gelijk.|Het rolnummer is het geciteerde.|Die Nummer ist in beiden C.17.0001.F.
Das Aktenzeichen ist dasselbe.|Die Nummer ist gleich.|Die Nummern decken sich.|Die Nummer ist genau wie zitiert.
Die Nummer ist ebenso wie im Zitat.|Die Nummer ist die zitierte.
"""
SUPPOSED = """
An exact case number match would have been needed.|The number should match.|If the number could match, more.
The number might match.|The number must match.|The number has to match.|I checked whether the number matches.
Unless the number matches, 50 %.|Until the number is confirmed, 50 %.|I need a number that matches.
The rules require a number that matches.|I looked for the same number.|I searched the same number.
I sought the same number.|I had hoped for the same number.|The number is almost identical.|The number nearly matches.
For lack of the same number, 50 %.|Had the number been the same, 95 %.|Were the number the same, 95 %.
A matching number is required.|A matching number is what is needed for more.|Matching numbers should follow.
Si le numéro correspondait, davantage.|S'il avait le même numéro, 95 %.|Un numéro identique aurait suffi.
Un numéro identique serait décisif.|Le numéro devrait correspondre.|Il faudrait le même numéro.|Il faut le même numéro.
Le numéro doit correspondre.|On cherche le même numéro.|On recherche le même numéro.|On exige le même numéro.
Le numéro est presque identique.|Le numéro est quasi identique.|À défaut d'un numéro identique, 50 %.
Un numéro identique permettrait davantage.|Un numéro identique est requis.|Een identiek nummer zou helpen.
Het nummer zou moeten overeenkomen.|Indien het nummer klopt, meer.|Alleen bij hetzelfde nummer ga ik hoger.
Mocht het nummer kloppen, meer.|Het nummer moet kloppen.|Het nummer moest kloppen.|Vereist is hetzelfde nummer.
Ik heb gezocht naar hetzelfde nummer.|Ik zoek hetzelfde nummer.|Nagegaan of het nummer klopt.
Het nummer is bijna identiek.|Het nummer is haast identiek.|Het nummer is vrijwel identiek.
Bij gebrek aan hetzelfde nummer, 50 %.|Was het nummer hetzelfde geweest, 95 %.|Had het nummer hetzelfde geluid, 95 %.
Hetzelfde nummer is vereist.|Een identiek nummer had ik nodig.|Falls die Nummer identisch ist, mehr.
Wenn die Nummer identisch ist, mehr.|Geprüft, ob die Nummer identisch ist.|Nur bei dieselben Nummern mehr.
Die Nummer muss identisch sein.|Die Nummer sollte identisch sein.
Gesucht ist dieselbe Nummer.|Ich suche dieselbe Nummer.
Die Nummer ist beinahe identisch.|Die Nummer ist nahezu identisch.|Die Nummer ist fast identisch.
Mangels identischer Nummer, 50 %.|Hätte die Nummer dieselbe Form, mehr.|Dieselbe Nummer wäre nötig.
Dieselbe Nummer ist erforderlich.
"""


def listed(texts: str) -> list[str]:
    return [text for text in texts.replace("\n", "|").split("|") if text]


@pytest.mark.parametrize("text", listed(EQUAL))
def test_a_number_that_is_said_to_be_the_cited_one(text: str) -> None:
    assert read_reasoning(text).claims_number_match


@pytest.mark.parametrize("text", listed(SUPPOSED))
def test_a_number_that_is_only_asked_for_supposed_or_near_is_no_claim(text: str) -> None:
    assert not read_reasoning(text).claims_number_match


@pytest.mark.parametrize("form", [*table("cues")["words"]["supposed"], *table("cues")["words"]["wanted"]])
def test_every_form_of_a_supposition_stands_in_a_sentence_above(form: str) -> None:
    assert any(re.search(f"(?<![a-z0-9]){form}", read_reasoning(text).text) for text in listed(SUPPOSED))


def test_a_conclusion_drawn_from_the_number_leaves_the_claim_a_claim() -> None:
    assert read_reasoning("Since the number matches, this must be the one.").claims_number_match
    assert not read_reasoning("Cited number = C.17.0001.F, candidate number = C.17.0002.F.").claims_number_match


def written_out(cited: str, listed: str, reason: str) -> CitationFacts:
    record = citation(cited, candidates=[candidate(CASSATION.format(1), listed)], no_match_reason=reason)
    return study(record)


@pytest.mark.parametrize(
    "reason",
    [
        "Cass. stands for Cour de cassation, in Dutch Hof van Cassatie. The number differs.",
        "Cass. stands for the court of the candidate, the Hof van Cassatie.",
        "The cited court is Cass. and the candidate is the Hof van Cassatie. The number differs.",
        "La citation vise Cass. ; le candidat provient du Hof van Cassatie ; aucun candidat ne porte le numéro.",
        "Cass. en de kandidaat is van het Hof van Cassatie. Het rolnummer is niet hetzelfde.",
        "Zitiert ist Cass. und der Kandidat ist vom Hof van Cassatie. Die Nummer weicht ab.",
    ],
)
def test_courts_named_side_by_side_are_no_claim_where_something_else_is_the_reason(reason: str) -> None:
    assert written_out("Cass.", "Hof van Cassatie", reason).objections.court is None


@pytest.mark.parametrize(
    "text",
    [
        "No case number to verify, heavily penalizing confidence.",
        "Pas de numéro de rôle: confiance réduite.",
        "Aucun numéro de rôle dans la citation, la confiance est diminuée.",
        "Geen rolnummer vermeld, dus de score is verlaagd.",
        "The citation does not include a case number, so confidence is lowered.",
        "No case number provided. Confidence reduced accordingly.",
        "Geen rolnummer om te verifiëren; vertrouwen sterk verlaagd.",
        "Pas de numéro de rôle, donc confiance faible.",
        "Zonder rolnummer blijft er onzekerheid.",
        "Absence of a case number is a significant negative.",
        "Unable to verify the case number as none is cited, so confidence is lowered.",
    ],
)
def test_a_missing_number_that_is_punished(text: str) -> None:
    assert generic(text).objections.number


def test_a_missing_number_that_is_only_stated() -> None:
    facts = generic("Court aligned. No case number. Context agrees.")
    assert facts.cues.says_number_is_missing
    assert facts.objections.number is None


@pytest.mark.parametrize(
    "text",
    [
        "It is unclear which Court of Appeal is intended.",
        "No way to tell which Court of Appeal is intended.",
        "La juridiction n'est pas précisée.",
        "Onzeker welke rechtbank bedoeld is.",
        "Penalised for the different jurisdiction.",
    ],
)
def test_a_blamed_jurisdiction(text: str) -> None:
    assert generic(text).objections.jurisdiction


@pytest.mark.parametrize(
    ("text", "differ"),
    [
        ("These are different courts.", True),
        ("Court mismatch.", True),
        ("Il s'agit d'une autre juridiction.", True),
        ("Het gaat om een ander hof.", True),
        ("No court mismatch.", False),
        ("Same court, different chamber.", False),
        ("Not different courts but one.", False),
    ],
)
def test_courts_said_to_differ(text: str, differ: bool) -> None:
    assert (unmatched(text).objections.court is not None) is differ


@given(st.text(max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    cues = Cues(text)
    names = [name for name, item in vars(Cues).items() if not name.startswith("_") and not callable(item)]
    flags = [name for name in names if name not in ("sentences", "words", "court_at", "number_at", "context_at")]
    assert all(getattr(cues, name) in (True, False) for name in flags)
    assert all(getattr(cues, name) is None or cues.sentences for name in ("court_at", "number_at", "context_at"))


@pytest.mark.parametrize(
    "text",
    [
        "No case number cited, so confidence is limited to 90 %.",
        "Geen rolnummer vermeld. Vertrouwen beperkt tot 90%.",
        "No case number. The context is weak, lowering confidence.",
    ],
)
def test_the_ceiling_of_a_missing_number_or_another_reason_is_no_penalty_for_it(text: str) -> None:
    assert generic(text).objections.number is None


@pytest.mark.parametrize(
    "text",
    [
        "The candidates are from the Hof van Cassatie, not the Cour de cassation.",
        "No candidate from Cour de cassation; only Hof van Cassatie.",
        "None of the candidates is from the cited court.",
        "Le candidat émane du Hof van Cassatie et non de la Cour de cassation.",
        "Aucun candidat de la Cour de cassation.",
        "L'abréviation « Arbrb. » n'est pas reconnue.",
        "De afkorting 'Arbrb.' werd niet herkend.",
        "Arbrb. could not be mapped to any court.",
        "Geen kandidaat van de Cour de cassation.",
    ],
)
def test_that_no_candidate_is_of_the_cited_court_is_a_claim_that_courts_differ(text: str) -> None:
    assert unmatched(text).objections.court


@pytest.mark.parametrize(
    "text",
    [
        "No candidate of the Court of Cassation carries C.17.0234.F.",
        "Aucun candidat de la Cour de cassation ne porte le numéro cité.",
        "Geen kandidaat van het Hof van Cassatie draagt dit rolnummer.",
        "No decision of the court has that date.",
    ],
)
def test_that_no_candidate_of_the_court_has_the_number_or_the_date_is_not(text: str) -> None:
    assert unmatched(text).objections.court is None


@pytest.mark.parametrize(
    ("text", "blamed"),
    [
        ("The citation names no jurisdiction, so no candidate can be confirmed.", True),
        ("Le tribunal cité ne précise pas le ressort ; confiance réduite.", True),
        ("GENERIC court (jurisdiction not specified): all labour tribunals are valid.", False),
        ("Ressort non précisé : toutes les cours sont valables.", False),
        ("No jurisdiction, both valid, but a penalty for the uncertain jurisdiction.", True),
    ],
)
def test_an_open_jurisdiction_is_blamed_unless_every_court_is_said_to_fit(text: str, blamed: bool) -> None:
    assert (generic(text).objections.jurisdiction is not None) is blamed


def confused(reason: str, cited: str = "Cour de cassation", listed: str = "Hof van Cassatie") -> CitationFacts:
    """A candidate of the cited court that was not taken, for this reason."""
    return study(citation(cited, candidates=[candidate(CASSATION.format(1), listed)], no_match_reason=reason))


@pytest.mark.parametrize(
    ("reason", "differ"),
    [
        ("Der Kandidat stammt von einem anderen Gericht als der Cour de cassation.", True),
        ("Hof van Cassatie ist nicht die Cour de cassation.", True),
        ("Ein Urteil des Hof van Cassatie und nicht der Cour de cassation.", True),
        ("Hof van Cassatie und Cour de cassation sind verschiedene Gerichte.", True),
        ("Das Gericht stimmt nicht überein.", True),
        ("Hof van Cassatie und Cour de cassation sind dasselbe Gericht, aber die Nummer fehlt.", False),
        ("Das Gericht stimmt überein, jedoch weicht die Nummer ab.", False),
    ],
)
def test_german_says_of_courts_that_they_agree_or_differ(reason: str, differ: bool) -> None:
    assert (confused(reason).objections.court is not None) is differ


def test_a_german_abbreviation_that_is_not_known_is_blamed_on_the_short_name() -> None:
    claim = confused("Die Abkürzung Arbrb. ist unbekannt.", "Arbrb. Gent", "Arbeidsrechtbank Gent").objections.court
    assert claim is not None
    assert claim.by_short_name


@pytest.mark.parametrize(
    ("reason", "blamed"),
    [
        ("Weil der Gerichtsbezirk nicht angegeben ist, wird die Konfidenz gesenkt.", True),
        ("Da der Sitz nicht genannt ist, bleibt die Konfidenz niedrig.", True),
        ("Kein Gerichtsbezirk ist genannt, das spielt keine Rolle: alle Gerichte kommen in Betracht.", False),
    ],
)
def test_german_blames_an_open_jurisdiction_or_not(reason: str, blamed: bool) -> None:
    assert (generic(reason).objections.jurisdiction is not None) is blamed


@pytest.mark.parametrize(
    ("reason", "blamed"),
    [
        ("Da keine Rollennummer angegeben ist, wird die Konfidenz stark herabgesetzt.", True),
        ("Ohne Rollennummer ist nur eine geringe Konfidenz möglich.", True),
        ("The citation has no role number, hence the modest score.", True),
        ("Keine Rollennummer im Zitat: neutral, höchstens 90 %.", False),
    ],
)
def test_a_missing_number_is_blamed_or_not(reason: str, blamed: bool) -> None:
    assert (generic(reason).objections.number is not None) is blamed


@pytest.mark.parametrize(
    ("reason", "cited", "listed"),
    [
        ("Luik n'est pas Liège.", "Cour d'appel de Liège", "Hof van beroep Luik"),
        ("Antwerpen et Anvers sont deux ressorts différents.", "Cour d'appel d'Anvers", "Hof van beroep Antwerpen"),
    ],
)
def test_a_city_under_its_two_names_is_one(reason: str, cited: str, listed: str) -> None:
    claim = confused(reason, cited, listed).objections.court
    assert claim is not None
    assert claim.by_language


def test_that_no_court_could_be_aligned_is_not_taken_for_agreement() -> None:
    reason = "I do not know what 'Arbrb.' stands for, so no court could be aligned."
    claim = confused(reason, "Arbrb. Gent", "Arbeidsrechtbank Gent").objections.court
    assert claim is not None
    assert claim.by_short_name


NUMBERED = [
    candidate(CASSATION.format(1), "Cour de cassation", "C.17.0001.F"),
    candidate(CASSATION.format(2), "Hof van Cassatie", "C.17.0002.F"),
]


@pytest.mark.parametrize(
    ("reason", "denied"),
    [
        ("The number of candidate 1 differs from the cited one.", True),
        ("Kandidaat 1 heeft een ander rolnummer dan het geciteerde.", True),
        ("Candidate 2 (C.17.0002.F) must be discarded.", False),
        ("Het arrest van kandidaat 2 heeft een ander rolnummer (C.17.0002.F).", False),
        ("In the second chamber the number differs.", True),
    ],
)
def test_only_what_is_said_of_the_match_denies_its_number(reason: str, denied: bool) -> None:
    record = citation("Cass.", "C.17.0001.F", candidates=NUMBERED, matches=[match(CASSATION.format(1), 0.97, reason)])
    assert (study(record).objections.denied_number is not None) is denied
