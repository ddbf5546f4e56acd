"""Subjects across languages: the snippet's concept decides, common words do not, and ties stay open."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.citation.belgium.topics import topic_match

DECISIONS = [
    ["Kennelijk onredelijk ontslag; cao nr. 109; bewijslast"],
    ["Accident du travail; événement soudain; lésion"],
    ["Handelshuur; huurhernieuwing; termijn"],
    ["Faillissement; verschoonbaarheid van de gefailleerde"],
    ["Filiation; contestation de paternité; possession d'état"],
]


def test_the_subject_of_the_snippet_picks_the_candidate() -> None:
    match = topic_match(
        "...concernant le licenciement abusif...",
        [
            ["Unfair dismissal (licenciement abusif), compensation in lieu of notice"],
            ["Workplace accidents (arbeidsongevallen), liability of the employer"],
        ],
    )
    assert (match.index, match.strength) == (0, "strong")
    assert "unfair dismissal" in match.terms


@pytest.mark.parametrize(
    ("snippet", "index"),
    [
        ("le caractère manifestement déraisonnable du licenciement abusif", 0),
        ("wegens willekeurig ontslag van de werknemer", 0),
        ("the notion of unfair dismissal under Belgian law", 0),
        ("een arbeidsongeval vereist een plotselinge gebeurtenis", 1),
        ("an occupational accident requires a sudden event", 1),
        ("le renouvellement du bail commercial", 2),
        ("renewal of the commercial lease of the tenant", 2),
        ("l'excusabilité du failli après la faillite", 3),
        ("de betwisting van vaderschap en het bezit van staat", 4),
        ("paternity and filiation of the child", 4),
    ],
)
def test_another_language_is_no_obstacle(snippet: str, index: int) -> None:
    match = topic_match(snippet, DECISIONS)
    assert match.index == index
    assert match.strength in ("strong", "moderate")


@pytest.mark.parametrize(
    ("snippet", "summary"),
    [
        ("la prescription quinquennale", "verjaring na vijf jaar"),
        ("garde et hébergement de l'enfant", "verblijfsregeling van het kind"),
        ("mandat d'arrêt et détention préventive", "voorlopige hechtenis; bevel tot aanhouding"),
        ("les troubles anormaux de voisinage", "bovenmatige burenhinder"),
        ("permis d'urbanisme", "stedenbouwkundige vergunning"),
        ("droits d'auteur sur une œuvre originale", "auteursrecht"),
        ("responsabilité des administrateurs de la société", "bestuurdersaansprakelijkheid"),
        ("marchés publics et adjudication", "gunning van een overheidsopdracht"),
        ("délit de fuite", "vluchtmisdrijf"),
        ("question préjudicielle et principe d'égalité", "prejudiciële vraag; gelijkheidsbeginsel"),
        ("aide sociale du CPAS à un étranger en séjour illégal", "OCMW; illegaal verblijf"),
        ("vice caché de la chose vendue", "verborgen gebrek"),
    ],
)
def test_french_snippets_meet_dutch_summaries(snippet: str, summary: str) -> None:
    match = topic_match(snippet, [["Douane; accijnzen"], [summary]])
    assert match.index == 1
    assert match.strength in ("strong", "moderate")


@pytest.mark.parametrize(
    ("snippet", "summary", "other"),
    [
        ("au sens de l'art. 1382 C. civ.", "Artikel 1382 BW", "Artikel 1384 BW"),
        ("de termijn van artikel 2277bis BW", "art. 2277bis du Code civil", "art. 2262bis du Code civil"),
        ("artt. 10 en 11 Grondwet", "articles 10 et 11 de la Constitution", "article 144 de la Constitution"),
        ("la loi du 3 juillet 1978", "wet van 3 juli 1978", "wet van 10 april 1971"),
    ],
)
def test_statutes_are_the_same_in_both_languages(snippet: str, summary: str, other: str) -> None:
    match = topic_match(snippet, [[other], [summary]])
    assert match.index == 1
    assert match.strength in ("strong", "moderate")


@pytest.mark.parametrize(
    "snippet",
    [
        "",
        "Cass., 12 mars 2010, RG C.09.0123.F, Pas., 2010, n° 178",
        "Cass. 24 juni 2009, AR P.09.0355.F, AC 2009, nr. 436",
        "Voir Cour du travail de Bruxelles, 12 mars 2010, R.G. 2009/AB/52261, J.T.T. 2010, p. 123",
        "Trib. trav. Liège, 3 mai 2014",
        "Tribunal de l'entreprise de Liège, div. Namur, 4 mai 2020",
        "Arbeidsrechtbank Antwerpen, afdeling Hasselt, 3 mei 2014",
        "Politierechtbank Gent 5 mei 2011",
        "ECLI:BE:CASS:2022:ARR.20221115.2N.1",
    ],
)
def test_a_bare_citation_has_no_subject(snippet: str) -> None:
    candidates = [
        ["Contrat de travail; licenciement par l'entreprise"],
        ["Politie; verkeer; commerce"],
        ["Arbeidsovereenkomst van werknemer"],
    ]
    match = topic_match(snippet, candidates)
    assert (match.index, match.strength, match.quote, match.terms) == (None, "none", "", ())


def test_what_every_candidate_shares_decides_nothing() -> None:
    match = topic_match("licenciement", [["ontslag van een bediende"], ["ontslag van een arbeider"]])
    assert (match.index, match.strength) == (None, "none")
    assert match.scores == (0.0, 0.0)


def test_the_finer_subject_decides_between_related_candidates() -> None:
    match = topic_match("licenciement pour motif grave", [["ontslag; opzegtermijn"], ["ontslag om dringende reden"]])
    assert match.index == 1


def test_equal_support_leaves_the_question_open() -> None:
    match = topic_match("verjaring", [["prescription"], ["prescription"], ["douane"]])
    assert match.index is None
    assert match.scores[0] == match.scores[1] > 0


def test_a_lone_candidate_needs_evidence_but_no_margin() -> None:
    assert topic_match("bail commercial et loyer", [["handelshuur; huurprijs"]]).strength == "strong"
    assert topic_match("bail commercial", [["Douane; accijnzen"]]).index is None


def test_no_candidates_and_empty_candidates_give_nothing() -> None:
    assert topic_match("licenciement", []).scores == ()
    assert topic_match("licenciement", [[], [""]]).index is None


def test_the_quote_is_taken_word_for_word_from_the_winner() -> None:
    texts = ["Procédure.", "L'employeur invoque un MOTIF GRAVE; le congé est notifié; préavis et indemnité."]
    match = topic_match("ontslag om dringende reden, opzegging", [["Douane"], texts])
    assert match.index == 1
    assert match.quote
    assert match.quote in texts[1]
    assert "MOTIF GRAVE" in match.quote


def test_the_order_of_candidates_changes_nothing_but_the_index() -> None:
    snippet = "een arbeidsongeval en de faillite van de werkgever"
    reference = topic_match(snippet, DECISIONS)
    for order in itertools.permutations(range(len(DECISIONS))):
        match = topic_match(snippet, [DECISIONS[place] for place in order])
        assert match.scores == tuple(reference.scores[place] for place in order)
        assert match.strength == reference.strength
        assert match.index == (None if reference.index is None else order.index(reference.index))


words = st.sampled_from(
    [
        "licenciement",
        "ontslag",
        "bail",
        "huur",
        "verjaring",
        "art. 1382",
        "C. civ.",
        "faute",
        "grave",
        "de",
        "la",
    ]
)
texts = st.lists(words, max_size=12).map(" ".join)


@given(texts, st.lists(st.lists(texts, max_size=3), min_size=1, max_size=4))
def test_shuffled_candidates_give_the_shuffled_result(snippet: str, candidates: list[list[str]]) -> None:
    backwards = topic_match(snippet, candidates[::-1])
    match = topic_match(snippet, candidates)
    assert match.scores == backwards.scores[::-1]
    assert match.strength == backwards.strength
    if match.index is not None:
        assert backwards.index == len(candidates) - 1 - match.index
        assert match.quote in "\n".join(candidates[match.index])


@given(st.text(max_size=200), st.lists(st.lists(st.text(max_size=100), max_size=2), max_size=3))
def test_no_text_breaks_the_matcher(snippet: str, candidates: list[list[str]]) -> None:
    match = topic_match(snippet, candidates)
    assert len(match.scores) == len(candidates)
    if match.index is not None:
        assert any(match.quote in text for text in candidates[match.index])


@pytest.mark.parametrize(
    ("snippet", "summary"),
    [
        ("der schwache Verkehrsteilnehmer bei einem Verkehrsunfall", "Usager faible. Accident de la circulation."),
        ("die Entlassung einer schwangeren Arbeitnehmerin", "Licenciement d'une travailleuse enceinte"),
        ("die Telefonüberwachung durch den Untersuchungsrichter", "Telefoontap. Onderzoeksrechter."),
        ("ungerechtfertigte Bereicherung", "Enrichissement sans cause"),
        ("das Pflichtteil der Erben", "Réserve héréditaire"),
        ("die Berufskrankheit", "Beroepsziekte"),
        ("Fahrerflucht", "Vluchtmisdrijf"),
    ],
)
def test_a_german_snippet_finds_its_subject_in_french_and_dutch(snippet: str, summary: str) -> None:
    match = topic_match(snippet, [["Huurovereenkomst. Bail à ferme."], [summary]])
    assert match.index == 1
