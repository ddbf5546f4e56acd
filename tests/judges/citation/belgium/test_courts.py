"""Belgian courts: what a string names, what a code stands for, and when two courts are the same."""

import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.citation.belgium import table
from krino.judges.citation.belgium.courts import (
    Court,
    Other,
    Unknown,
    alignment,
    court_of_ecli_code,
    resolve_court,
    resolve_court_in_citation,
)
from krino.judges.citation.belgium.gazetteer import gazetteer

TYPES = table("court_types")["type"]
PLACES = table("places")["place"]
COURTS = table("courts")["court"]
BODIES = table("other_bodies")["body"]
CODES = table("ecli_codes")["code"]
CONFIDENCES = {"sourced", "known", "doubtful"}
EVERY_EXAMPLE = [text for rows in (TYPES, PLACES, COURTS, BODIES) for row in rows for text in row["examples"]]


def court(text: str) -> Court:
    found = resolve_court(text)
    assert isinstance(found, Court), f"{text!r} is {found}"
    return found


def key(text: str) -> tuple[object, ...]:
    """What a string resolves to, apart from how it was written."""
    found = resolve_court(text)
    if isinstance(found, Court):
        return found.type, found.place, found.division, found.language, found.classification
    return (found.body,) if isinstance(found, Other) else ("unknown",)


# --- the data keeps its promises ---


@pytest.mark.parametrize("text, row", [(e, row) for row in TYPES for e in row["examples"]], ids=str)
def test_type_examples(text: str, row: dict[str, object]) -> None:
    found = court(text)
    assert found.type == row["id"]
    assert found.classification == ("NATIONAL" if row["national"] else "GENERIC")
    assert found.place is None


@pytest.mark.parametrize("text, place", [(e, row["id"]) for row in PLACES for e in row["examples"]])
def test_place_examples(text: str, place: str) -> None:
    assert place in (court(text).place, court(text).division)


@pytest.mark.parametrize("text, row", [(e, row) for row in COURTS for e in row["examples"]], ids=str)
def test_court_examples(text: str, row: dict[str, object]) -> None:
    found = court(text)
    assert (found.type, found.place, found.language) == (row["type"], row["place"], row.get("language"))
    assert found.classification == "SPECIFIC"


@pytest.mark.parametrize("text, body", [(e, row["id"]) for row in BODIES for e in row["examples"]])
def test_body_examples(text: str, body: str) -> None:
    found = resolve_court(text)
    assert isinstance(found, Other)
    assert found.body == body


@pytest.mark.parametrize("rows", [TYPES, PLACES, COURTS, BODIES], ids=["types", "places", "courts", "bodies"])
def test_every_entry_has_examples_and_a_confidence_mark(rows: list[dict[str, object]]) -> None:
    assert all(row["examples"] and row["confidence"] in CONFIDENCES for row in rows)


def aliases_of_types() -> Iterator[tuple[str, str]]:
    for row in TYPES:
        for group in ("names", "historic", "abbreviations"):
            for texts in row.get(group, {}).values():
                for text in texts:
                    vague = text in row.get("needs_place", []) or text in row.get("needs_context", [])
                    yield (f"{text} Bruxelles" if vague and not row["national"] else text), row["id"]


@pytest.mark.parametrize("text, court_type", sorted(set(aliases_of_types())))
def test_every_alias_leads_to_its_type(text: str, court_type: str) -> None:
    if text in ("C.C.", "CC", "Const."):
        text = f"{text}, n° 62/2008"
    assert court(text).type == court_type


def test_marks_of_weak_abbreviations_name_real_abbreviations() -> None:
    for row in TYPES:
        written = {text for texts in row.get("abbreviations", {}).values() for text in texts}
        for mark in ("known_only", "needs_place", "needs_context"):
            assert set(row.get(mark, [])) <= written, (row["id"], mark)


def test_places_and_courts_refer_to_places_that_exist() -> None:
    known = gazetteer().places
    for place in known.values():
        assert place.ressort in known
        assert place.district is None or place.district in known
    for row in COURTS:
        assert {row["place"], *row.get("divisions", [])} <= set(known)


# --- traps ---


@pytest.mark.parametrize(
    "text",
    [
        "",
        "N/A",
        "Not provided",
        "Unknown",
        "A.C.",
        "AC",
        "Arr. Cass.",
        "Pas.",
        "Pas., 2007, n° 12",
        "Comm. Strafr.",
        "Comm. Sr. 2014, 24p.",
        "A.R.",
        "A.R. du 28/11/1969",
        "AR",
        "T.Pol.",
        "T. Vred.",
        "C. civ.",
        "C.C.",
        "Directive 2004/38/CE",
        "2004/38/CE",
        "la Cour",
        "het Hof",
        "Tribunal",
        "Tribunal arbitral",
        "Charleroi",
        "Paris",
        "Bruxelles, Bruylant, 2012",
        "Gent Law Review",
        "Bruxelles Environnement",
        "Bergen op Zoom",
        "Trib. trav. Atlantis",
        "Tribunal de commerce d'Atlantis",
        "Верховный суд",
        "Conseil de la Région de Bruxelles-Capitale",
        "Gouverneur van de Provincie Vlaams-Brabant",
        "directeur van het werkloosheidsbureau te Antwerpen",
        "greffe de la justice de paix",
        "Gerechtshof te Mechelen",
        "premier président de la Cour",
    ],
)
def test_text_that_names_no_court_stays_unknown(text: str) -> None:
    assert resolve_court(text) == Unknown(text)


def test_no_text_is_unknown() -> None:
    assert resolve_court(None) == Unknown("")
    assert resolve_court_in_citation(None, "12/2003") == Unknown("")


@pytest.mark.parametrize("text", table("court_types")["words"]["not_court"])
def test_reports_journals_and_codes_are_not_courts(text: str) -> None:
    assert isinstance(resolve_court(text), Unknown)


@pytest.mark.parametrize(
    "text, number, expected",
    [
        ("C.A.", "127/2000", ("constitutional", None)),
        ("C.A.", None, ("constitutional", None)),
        ("C.A., 12 mai 2015", None, ("appeal", None)),
        ("CA", None, ("appeal", None)),
        ("CA", "127/2000", ("constitutional", None)),
        ("CA", "2013/AR/1234", ("appeal", None)),
        ("C.A. Bruxelles", None, ("appeal", "bruxelles")),
        ("C.A. Mons", "12/2003", ("appeal", "mons")),
        ("Arbh.", None, ("labour_court", None)),
        ("Arbh.", "27/2002", ("constitutional", None)),
        ("Arbh.", "nr. 27/02", ("constitutional", None)),
        ("Arbh.", "2009/88", ("constitutional", None)),
        ("Arbh.", "2011/AB/1050", ("labour_court", None)),
        ("Arbh.", "33.758/05", ("labour_court", None)),
        ("Arbh. Gent", "27/2002", ("labour_court", "gent")),
        ("Arbh., nr. 27/2002", None, ("constitutional", None)),
        ("Arbh., 30/01/2002", None, ("labour_court", None)),
        ("Bruxelles", None, ("appeal", "bruxelles")),
        ("Gent", "2015/AR/2133", ("appeal", "gent")),
        ("Liège", None, ("appeal", "liege")),
        ("Antwerpen", None, ("appeal", "antwerpen")),
        ("Mons", None, ("appeal", "mons")),
    ],
)
def test_the_number_settles_aliases_of_two_courts(
    text: str, number: str | None, expected: tuple[str, str | None]
) -> None:
    found = resolve_court_in_citation(text, number)
    assert isinstance(found, Court)
    assert (found.type, found.place) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Cour trav. Liège, sect. Namur, 13e ch.", ("labour_court", "liege", "namur")),
        ("Cour du travail, section de Namur", ("labour_court", "liege", "namur")),
        ("Cour trav. Gand", ("labour_court", "gent", None)),
        ("Arbeidshof te Brugge", ("labour_court", "gent", "brugge")),
        ("Arbh. Antwerpen (afd. Hasselt)", ("labour_court", "antwerpen", "hasselt")),
        ("Arbrb. Hasselt", ("labour_tribunal", "antwerpen", "hasselt")),
        ("Trib. trav. Charleroi", ("labour_tribunal", "hainaut", "charleroi")),
        ("tribunal de commerce de Verviers", ("enterprise", "liege", "verviers")),
        ("division de Verviers du tribunal de l'entreprise de Liège", ("enterprise", "liege", "verviers")),
        ("Entr. Hainaut, div. Tournai", ("enterprise", "hainaut", "tournai")),
        ("Ond.rb. Gent afd. Kortrijk", ("enterprise", "gent", "kortrijk")),
        ("Prés. Comm. Bruxelles", ("enterprise", "bruxelles", None)),
        ("président du tribunal de l'entreprise de Bruxelles", ("enterprise", "bruxelles", None)),
        ("Comm. (réf.) Liège", ("enterprise", "liege", None)),
        ("Voorz. Rb. Gent", ("first_instance", "oost_vlaanderen", "gent")),
        ("Civ. Bruxelles (réf.)", ("first_instance", "bruxelles", None)),
        ("Tribunal de première instance du Limbourg", ("first_instance", "limburg", None)),
        ("Civ. Arlon", ("first_instance", "luxembourg", "arlon")),
        ("Corr. Liège, div. Huy", ("first_instance", "liege", "huy")),
        ("Trib. fam. Luxembourg, div. Marche-en-Famenne", ("first_instance", "luxembourg", "marche")),
        ("tribunal de la jeunesse de Namur", ("first_instance", "namur", None)),
        ("Juge des saisies de Nivelles", ("first_instance", "brabant_wallon", "nivelles")),
        ("het hof van beroep te Gent, correctionele kamer", ("appeal", "gent", None)),
        ("Cour d'appel de Bruxelles (9ème chambre)", ("appeal", "bruxelles", None)),
        ("Liège (14e ch. civ.), 3 mai 2012", ("appeal", "liege", None)),
        ("Bruxelles (mis. acc.), 3 mai 2012", ("appeal", "bruxelles", None)),
        ("Brussel 2de kamer", ("appeal", "bruxelles", None)),
        ("K.I. Gent", ("appeal", "gent", None)),
        ("Marktenhof", ("appeal", "bruxelles", None)),
        ("Hof van Beroep te Luik, zitting houdende in het Duits", ("appeal", "liege", None)),
        ("arrêt rendu le 3 mai 2012 par la cour du travail de Mons", ("labour_court", "mons", None)),
        ("Liège, Cour du travail, 3 mai 2010", ("labour_court", "liege", None)),
        ("Hof van Assisen van de provincie Antwerpen", ("assize", "antwerpen", None)),
        ("Politierechtbank Oost-Vlaanderen, afdeling Aalst", ("police", "oost_vlaanderen", "aalst")),
        ("Tribunal de police de Hal", ("police", "halle", None)),
        ("juge de paix du 3e canton de Liège", ("justice_of_peace", "liege", None)),
        ("J.P. Limbourg", ("justice_of_peace", "limbourg_ville", None)),
        ("TT Bruxelles, 3 mai 2012, R.G. 10/1234/A", ("labour_tribunal", "bruxelles", None)),
        ("ECLI:BE:CTLIE:2020:ARR.20200101.1", ("labour_court", "liege", None)),
        ("Hbant", ("appeal", "antwerpen", None)),
        ("Cour d'appel du ressort d'Anvers", ("appeal", "antwerpen", None)),
        ("voir Mons, 3 mai 2012", ("appeal", "mons", None)),
        ("Arbeidshof Antwerpen afdeling Antwerpen", ("labour_court", "antwerpen", "antwerpen")),
        ("Cour du travail de Mons / Arbeidshof te Bergen", ("labour_court", "mons", None)),
        ("cour d'assises de la province de Luxembourg", ("assize", "luxembourg", None)),
        ("Politierechtbank te Beringen", ("police", "limburg", "beringen")),
        ("Appel Bruxelles", ("appeal", "bruxelles", None)),
        ("Ct. app. Liège", ("appeal", "liege", None)),
        ("Raadk. Brussel", ("first_instance", "bruxelles", None)),
        ("Rb. 1ste aanleg Gent", ("first_instance", "oost_vlaanderen", "gent")),
        ("Arbeitshof Lüttich", ("labour_court", "liege", None)),
        ("Vred. Sint-Kwintens-Lennik", ("justice_of_peace", "lennik", None)),
    ],
)
def test_real_shapes_of_names(text: str, expected: tuple[str, str, str | None]) -> None:
    found = court(text)
    assert (found.type, found.place, found.division) == expected
    assert found.classification == "SPECIFIC"


@pytest.mark.parametrize("phrase", table("court_types")["words"]["prose"])
def test_a_court_that_is_said_to_do_something_is_named_before_it(phrase: str) -> None:
    court = resolve_court(f"Cass. {phrase} tout autre chose")
    assert isinstance(court, Court)
    assert court.type == "cassation"


def test_a_place_behind_the_name_that_is_not_known_stays_unknown() -> None:
    assert isinstance(resolve_court("Tribunal du travail à Xyz"), Unknown)
    assert isinstance(resolve_court("L'auteur rappelle que Cass."), Unknown)


def test_what_was_matched_is_kept_as_evidence() -> None:
    found = court("TRIB.TRAV. LIEGE")
    assert (found.alias, found.abbreviated, found.name_language) == ("Trib. trav.", True, "fr")
    assert found.ecli_codes == ("TTLIE",)
    spelled_out = court("het Arbitragehof")
    assert (spelled_out.alias, spelled_out.abbreviated, spelled_out.name_language) == (
        "Arbitragehof",
        False,
        "nl",
    )
    assert court("Cass.").name_language is None
    assert court("Corr. Luik").name_language == "nl"


def test_a_generic_court_lists_the_codes_of_its_type() -> None:
    assert set(court("Arbeidshof").ecli_codes) == {"CTBRL", "CTLIE", "CTMON", "AHANT", "AHGNT"}
    assert court("Raad van State").ecli_codes == ("RVSCE", "RSCE")


# --- ECLI codes ---


@pytest.mark.parametrize("row", CODES, ids=lambda row: row["code"])
def test_every_code_resolves_to_its_court(row: dict[str, object]) -> None:
    found = court_of_ecli_code(str(row["code"]))
    if "body" in row:
        assert isinstance(found, Other)
        assert (found.body, found.alias) == (row["body"], row["code"])
        assert row["code"] in found.ecli_codes
        return
    assert isinstance(found, Court)
    assert [found.type, *found.other_types] == row["types"]
    assert (found.place, found.language) == (row.get("place"), row.get("language"))
    assert row["code"] in found.ecli_codes


def test_all_known_codes_are_there() -> None:
    assert len({row["code"] for row in CODES}) == 87


@pytest.mark.parametrize("row", table("ecli_codes")["alias"], ids=lambda row: row["code"])
def test_mistaken_codes_lead_to_the_code_meant(row: dict[str, str]) -> None:
    assert alignment(court_of_ecli_code(row["code"]), court_of_ecli_code(row["means"])) == "SAME"


def test_unheard_of_codes_stay_unknown() -> None:
    assert court_of_ecli_code("XXLIE") == Unknown("XXLIE")
    assert court_of_ecli_code("") == Unknown("")


# --- alignment ---


@pytest.mark.parametrize(
    "cited, candidate, expected",
    [
        ("Cass.", "Hof van Cassatie", "SAME"),
        ("Cour d'arbitrage", "Grondwettelijk Hof", "SAME"),
        ("Tribunal du Travail", "Arbeidsrechtbank Gent", "SAME"),
        ("Trib. trav. Gand", "Arbeidsrechtbank Gent", "SAME"),
        ("Trib. trav. Namur", "Tribunal du travail de Liège, division Verviers", "SAME"),
        ("Trib. trav. Liège", "Trib. trav. Mons", "OTHER_JURISDICTION"),
        ("Trib. trav. Liège", "Tribunal du travail", "UNKNOWN"),
        ("Trib. trav. Liège", "Cour du travail de Liège", "OTHER_TYPE"),
        ("Kh. Brussel", "Tribunal de l'entreprise francophone de Bruxelles", "SAME"),
        ("Corr. Bruges", "Rb. West-Vlaanderen, afd. Brugge", "SAME"),
        ("Civ. Bruxelles", "Tribunal de première instance francophone de Bruxelles", "SAME"),
        ("Civ. Bruxelles", "Nederlandstalige rechtbank van eerste aanleg Brussel", "SAME"),
        ("Trib. trav. fr. Bruxelles", "Nederlandstalige arbeidsrechtbank Brussel", "OTHER_JURISDICTION"),
        ("Cass. fr.", "Cour de cassation", "OTHER_TYPE"),
        ("Cass. fr.", "Cour de cassation française", "SAME"),
        ("C.J.U.E.", "EHRM", "OTHER_TYPE"),
        ("Pas.", "Cour de cassation", "UNKNOWN"),
        ("Cour de cassation", "", "UNKNOWN"),
        ("J.P. Uccle", "J.P. Ixelles", "OTHER_JURISDICTION"),
        ("J.P. Uccle", "JPBRL", "UNKNOWN"),
        ("Vred. Antwerpen VII", "Vredegerecht Lier", "OTHER_JURISDICTION"),
        ("Friedensgericht Sankt Vith", "Justice de paix d'Eupen", "OTHER_JURISDICTION"),
        ("Liège (6e ch. C)", "Cour d'appel de Liège", "SAME"),
        ("Mons, 21e ch. bis", "Hof van beroep Bergen", "SAME"),
        ("Trib. trav. Eupen", "TREUP", "SAME"),
        ("Cour d'appel de Liège", "TREUP", "OTHER_TYPE"),
    ],
)
def test_alignment(cited: str, candidate: str, expected: str) -> None:
    assert alignment(resolve_court(cited), resolve_court(candidate)) == expected


@given(st.sampled_from(EVERY_EXAMPLE))
def test_every_court_is_the_same_as_itself(text: str) -> None:
    assert alignment(resolve_court(text), resolve_court(text)) == "SAME"


# --- properties ---


@given(st.text(max_size=600), st.none() | st.text(max_size=40))
def test_no_text_makes_it_fail(text: str, number: str | None) -> None:
    assert isinstance(resolve_court(text), Court | Other | Unknown)
    assert isinstance(resolve_court_in_citation(text, number), Court | Other | Unknown)
    assert isinstance(court_of_ecli_code(text), Court | Other | Unknown)


PIECES = sorted({word for text in EVERY_EXAMPLE for word in text.split()} | {",", "(", ")", "3", "1re", "afd."})


@given(st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join))
def test_no_mixture_of_court_words_makes_it_fail(text: str) -> None:
    found = resolve_court(text)
    assert alignment(found, found) in ("SAME", "UNKNOWN")


@given(
    st.sampled_from([row for row in TYPES if not row["national"]]),
    st.sampled_from(PLACES),
)
def test_french_and_dutch_names_mean_the_same_court(
    row: dict[str, dict[str, list[str]]], place: dict[str, str]
) -> None:
    french = key(f"{row['names']['fr'][0]} de {place['fr']}")
    dutch = key(f"{row['names']['nl'][0]} te {place['nl']}")
    assert french == dutch != ("unknown",)


def without_accents(text: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))


@given(st.sampled_from(EVERY_EXAMPLE), st.sampled_from("'’`´ʼ"))
def test_case_accents_and_apostrophes_do_not_matter(text: str, apostrophe: str) -> None:
    expected = key(text)
    for variant in (text.upper(), text.lower(), without_accents(text), text.replace("'", apostrophe)):
        assert key(variant) == expected
    assert key(without_accents(text).upper()) == expected


@given(st.sampled_from(EVERY_EXAMPLE))
def test_trailing_dates_and_numbers_do_not_change_a_full_court(text: str) -> None:
    expected = key(text)
    if expected[-1] == "SPECIFIC":
        assert key(f"{text}, 3 mai 1999, R.G. 98/1234/A") == expected
