"""Case numbers: which spellings are one number, which numbers are two, and what cannot be compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.citation.belgium.case_numbers import (
    Relation,
    compare,
    compare_with_ecli,
    is_absent,
    parse_case_numbers,
)
from krino.judges.citation.belgium.ecli import parse_ecli

PAIRS: dict[Relation, list[tuple[str, str]]] = {
    "EXACT": [
        ("C.17.0234.F", "C.17.0234.F"),
        ("2019/AB/456", "2019/AB/456"),
        ("12/2019", "12/2019"),
        ("7226", "7226"),
        ("C.17.O234.F", "C.17.O234.F"),
        (" P.09.1867.F", "P.09.1867.F "),
    ],
    "NORMALISED": [
        # Cassation: dots, spaces, case, padding, labels, translation tails
        ("C.17.0234.F", "C170234F"),
        ("c.17.234.f", "C.17.0234.F"),
        ("C.19,0123.N", "C.19.0123.N"),
        ("C.18.0210-0211.F", "C.18.0211.F"),
        ("C.18.0210 et 0211.F", "C.18.0210.F"),
        ("C. 09.0567.N", "C.09.0567.N"),
        ("S.04.0189. N", "S040189N"),
        ("P 04.0247.N", "P.04.0247.N"),
        ("P.13 1957.N", "P.13.1957.N"),
        ("P.15.0297N", "P.15.0297.N"),
        ("P93.0095F", "P.93.0095.F"),
        ("C-17-0234-F", "C.17.0234.F"),
        ("C/17/0234/F", "C.17.0234.F"),
        ("C.2017.0234.F", "C.17.0234.F"),
        ("RG C.17.0234.F", "C.17.0234.F"),
        ("R.G. C.17.0234.F", "C.17.0234.F"),
        ("R.G.C.17.0234.F", "C.17.0234.F"),
        ("RG n° C.17.0234.F", "C.17.0234.F"),
        ("RG nº C.17.0234.F", "C.17.0234.F"),
        ("R.G. N° : C.17.0234.F", "C.17.0234.F"),
        ("N°C.17.0234.F", "C.17.0234.F"),
        ("№ C.17.0234.F", "C.17.0234.F"),
        ("NDEG C.15.0011.F", "C.15.0011.F"),
        ("A.R. nr. P.09.1867.F", "P091867F"),
        ("AR P.09.1867.F", "P.09.1867.F"),
        ("AR.P.09.1867.F", "P.09.1867.F"),
        ("AR: P.09.1867.F", "P.09.1867.F"),
        ("rolnummer P.09.1867.F", "P.09.1867.F"),
        ("(C.17.0234.F).", "C.17.0234.F"),
        ("P010114FV", "P.01.0114.F"),
        ("S000194NT", "S.00.0194.N"),
        ("H.12.0003.F", "H120003F"),
        ("Cass. 24 juni 2009, AR P.09.0355.F", "P.09.0355.F"),
        ("P.09.0355.F, AC 2009, nr. 436", "P.09.0355.F"),
        # Joined numbers
        ("C.12.0406.F-C.12.0573.F", "C.12.0573.F"),
        ("C.16.0111.F - C.16.0286.F", "C.16.0111.F"),
        ("C970324F;C970325F", "RG C.97.0325.F"),
        ("C.12.0406.F/C.12.0573.F", "C.12.0573.F"),
        ("C.12.0406.F et C.12.0573.F", "C.12.0406.F"),
        ("C.17.0234.F-0235.F", "C.17.0235.F"),
        ("8505 et 8506", "8506"),
        ("8545-8620", "8545"),
        ("5590;5619", "5619"),
        ("2019/AB/456 - 2019/AB/457", "2019/AB/457"),
        ("2019/AB/456 et 457", "2019/AB/457"),
        ("2019/AB/1 en 2019/AB/2", "2019/AB/2"),
        # Old Cassation
        ("RG 7226", "7226"),
        ("A.R. nr 8004", "8004"),
        ("RG M.561.F", "M561F"),
        ("F 1217 N", "F1217N"),
        ("5599BIS", "5599 bis"),
        ("74/347", "1974/347"),
        ("75/41", "1975/41"),
        ("12.480", "12480"),
        # Labour courts and courts of appeal
        ("RG 2019/AB/456", "2019/AB/456"),
        ("R.G. n°2019/AB/0456", "2019/AB/456"),
        ("A.R. 2017/AR/1234", "2017/AR/1234"),
        ("AR 2017/AR/1234", "2017/AR/1234"),
        ("2017 AR 1234", "2017/AR/1234"),
        ("2017-AR-1234", "2017/AR/1234"),
        ("2017AR1234", "2017/AR/1234"),
        ("19/AB/456", "2019/AB/456"),
        ("1234/AR/2017", "2017/AR/1234"),
        ("2009/AB/52.261", "2009/AB/52261"),
        ("Rolnummer 2012/AH/264", "2012/AH/264"),
        ("rolnr. 2012/AH/264, tweede kamer", "2012/AH/264"),
        ("Numéro du rôle 2016/AM/152", "2016/AM/152"),
        ("rôle n°2019/BM/11", "2019/BM/11"),
        ("rôle général 2018/AL/77", "2018/AL/77"),
        # Tribunals
        ("R.G. 15/1299/B", "2015/1299/B"),
        ("15-1299-B", "15/1299/B"),
        ("AR 15510/07", "15510/2007"),
        ("R.G. 33758/05", "R.G. n°33.758/05"),
        ("A/17/01234", "A/17/1234"),
        ("N/17/01234", "N/2017/1234"),
        ("16A88", "16A0088"),
        ("16A88", "2016/A/88"),
        # Constitutional Court
        ("n° 12/2019", "12/2019"),
        ("arrêt nº 127/2000", "127/2000"),
        ("arrest nr. 127/2000", "127/2000"),
        ("nr. 2009/88", "88/2009"),
        ("2009-88", "88/2009"),
        ("n° 44/00", "44/2000"),
        ("n° 12/2019 du 5 février 2019", "12/2019"),
        # Council of State and Aliens Council
        ("nr. 243.112", "243112"),
        ("n° 210 123", "210.123"),
        ("A. 221.345/XI-12.345", "A. 221345/XI-12345"),
        ("G/A 233.710/XIII-9.282", "A. 233710/XIII-9282"),
        ("A.233.710/XIII-9.282", "A. 233.710 / XIII - 9282"),
        # Notices
        ("BR.45.98.1234/17", "BR45.98.001234/2017"),
        ("AN.30.L1.12345/2018", "AN30.L1.012345/18"),
        ("notitienummer GE.45.98.77/19", "GE.45.98.77/2019"),
    ],
    "FUZZY": [
        ("S.18.OOO1.F", "S.18.0001.F"),
        ("C.17.O234.F", "C.17.0234.F"),
        ("P.O9.1867.F", "P.09.1867.F"),
        ("P.09.I867.F", "P.09.1867.F"),
        ("P.09.l867.F", "P.09.1867.F"),
        ("C.17.0234", "C.17.0234.F"),
        ("C170234", "C.17.0234.F"),
        ("2O19/AB/456", "2019/AB/456"),
        ("72O6", "7206"),
        ("7226N", "7226"),
        ("09/12", "2009/12"),
    ],
    "PARTIAL": [
        ("C.17.0234.N", "C.17.0234.F"),
        ("C.17.O234.N", "C.17.0234.F"),
        ("17.0234.F", "C.17.0234.F"),
        ("2019/456", "2019/AB/456"),
        ("456/2019", "2019/AB/456"),
        ("33.758/05", "2005/AB/33758"),
        ("5599", "5599BIS"),
        ("A. 233.710", "A. 233.710/XIII-9.282"),
        ("1217", "F1217N"),
        ("M561N", "M561F"),
    ],
    "DIFFERENT": [
        ("C.17.O234.F", "C.17.0999.F"),
        ("C.17.0234.F", "P.17.0234.F"),
        ("C.17.0234.F", "C.18.0234.F"),
        ("C.18.0456.N", "C.18.0465.N"),
        ("C.18.0456.N", "C.18.0457.N"),
        ("C.18.0456", "C.18.0457.N"),
        ("C.12.0406.F-C.12.0573.F", "C.12.0574.F"),
        # a list cut off at its end does not stand for a shorter number
        ("P.22.0139.N-P.22.014", "P.22.0014.N"),
        ("2019/AB/456", "2019/AL/456"),
        ("2019/AB/456", "2018/AB/456"),
        ("2019/AB/456", "2019/AB/4560"),
        ("2019/456", "2019/AB/457"),
        ("15/1299/A", "15/1299/B"),
        ("n° 127/2000", "127/2001"),
        ("2009/88", "2009/89"),
        ("7226", "7227"),
        ("7226", "72260"),
        ("243.112", "243.113"),
        ("A. 221.345/XI-12.345", "A. 221.346/XI-12.345"),
        ("A. 221.345/XI-12.345", "A. 221.345/XI-12.346"),
        ("BR.45.98.1234/17", "BR.45.98.1235/17"),
        ("BR.45.98.1234/17", "AN.45.98.1234/17"),
        ("M561F", "F561F"),
        ("16A88", "16B88"),
        ("8505 et 8506", "8507"),
    ],
    "INCOMPARABLE": [
        ("S.OO.OOO1.F", "S.00.0001.F"),
        ("", "C.17.0234.F"),
        ("N/A", "C.17.0234.F"),
        ("Not provided", "C.17.0234.F"),
        ("unknown", "C.17.0234.F"),
        ("Onbekend", "C.17.0234.F"),
        ("N/A", "N/A"),
        ("nr. 243.112", "A. 221.345/XI-12.345"),
        ("12/2019", "6789"),
        ("7226", "P.92.7226.N"),
        ("2019/AB/456", "C.19.0456.F"),
        ("74/347", "3444"),
        ("XQ-7-ZZ", "XQ-8-ZZ"),
        ("geen nummer", "7226"),
    ],
}
CASES = [(relation, a, b) for relation, pairs in PAIRS.items() for a, b in pairs]


def test_the_table_is_large_enough_to_mean_something() -> None:
    assert len(CASES) >= 120


@pytest.mark.parametrize(("relation", "a", "b"), CASES)
def test_relation_of_two_numbers(relation: Relation, a: str, b: str) -> None:
    assert compare(a, b).relation == relation
    assert compare(b, a).relation == relation


def test_nothing_compares_with_nothing() -> None:
    assert compare(None, "7226").relation == "INCOMPARABLE"
    assert compare(None, None).relation == "INCOMPARABLE"


def test_the_reason_is_given_in_words() -> None:
    assert "language letter" in compare("C.17.0234.N", "C.17.0234.F").why
    assert "register" in compare("2019/AB/1", "2019/AL/1").why


@pytest.mark.parametrize("text", [None, "", "  ", "N/A", "n/a.", "Not provided", "Unknown", "néant", "onbekend", "-"])
def test_phrases_for_nothing_are_absent(text: str | None) -> None:
    assert is_absent(text)
    assert parse_case_numbers(text) == ()


def test_a_number_is_a_tuple_with_a_full_year() -> None:
    (number,) = parse_case_numbers("RG P010114FV")
    assert (number.family, number.matter, number.year, number.sequence, number.language) == (
        "cassation",
        "P",
        2001,
        114,
        "F",
    )
    (roll,) = parse_case_numbers("A.R. 17/AR/0012")
    assert (roll.family, roll.year, roll.register, roll.sequence) == ("roll", 2017, "AR", 12)
    assert roll.key == parse_case_numbers("2017/AR/12")[0].key


def test_joined_numbers_are_split_in_order() -> None:
    numbers = parse_case_numbers("P.13.1150.F-P.13.1151.F-P.13.1152.F")
    assert [number.sequence for number in numbers] == [1150, 1151, 1152]


@pytest.mark.parametrize(
    ("number", "ecli", "relation"),
    [
        ("27/2002", "ECLI:BE:GHCC:2002:ARR.027", "NORMALISED"),
        ("nr. 2009/88", "ECLI:BE:GHCC:2009:ARR.088", "NORMALISED"),
        ("arrêt n° 4/2007", "ECLI:BE:GHCC:2007:ARR.004", "NORMALISED"),
        ("4/07", "ECLI:BE:GHCC:2007:ARR.004", "NORMALISED"),
        ("141/2020", "ECLI:BE:CC:2020:141", "NORMALISED"),
        ("4/2008", "ECLI:BE:GHCC:2007:ARR.004", "DIFFERENT"),
        ("5/2007", "ECLI:BE:GHCC:2007:ARR.004", "DIFFERENT"),
        ("8505", "ECLI:BE:GHCC:2007:ARR.004", "INCOMPARABLE"),
        ("4", "ECLI:BE:GHCC:2007:ARR.004", "PARTIAL"),
        ("27/2002", "ECLI:BE:GHCC:2002:ARR.20020130.1", "INCOMPARABLE"),
        ("243.112", "ECLI:BE:RVSCE:2018:ARR.243.112", "NORMALISED"),
        ("n° 243112", "ECLI:BE:RSCE:2018:ARR.243.112", "NORMALISED"),
        ("243.113", "ECLI:BE:RVSCE:2018:ARR.243.112", "DIFFERENT"),
        ("A. 233.710/XIII-9.282", "ECLI:BE:RVSCE:2018:ARR.243.112", "INCOMPARABLE"),
        ("C.17.0234.F", "ECLI:BE:CASS:2018:ARR.20180103.2", "INCOMPARABLE"),
        ("", "ECLI:BE:GHCC:2007:ARR.004", "INCOMPARABLE"),
        (None, "ECLI:BE:GHCC:2007:ARR.004", "INCOMPARABLE"),
    ],
)
def test_judgment_numbers_are_compared_with_the_ordinal(number: str | None, ecli: str, relation: str) -> None:
    parsed = parse_ecli(ecli)
    assert parsed is not None
    assert compare_with_ecli(number, parsed) == relation


cassation = st.builds(
    "{}.{:02d}.{:04d}.{}".format,
    st.sampled_from("CPSFDMGAH"),
    st.integers(0, 99),
    st.integers(1, 9999),
    st.sampled_from("FN"),
)
roll = st.builds(
    "{}/{}/{}".format,
    st.integers(1990, 2030),
    st.sampled_from(["AB", "AL", "AR", "AG", "A", "FA"]),
    st.integers(1, 99999),
)
pair = st.builds("{}/{}".format, st.integers(1, 999), st.integers(1985, 2030))
plain = st.integers(1000, 999_999).map(str)
number = st.one_of(cassation, roll, pair, plain)
label = st.sampled_from(["", "RG ", "R.G. ", "AR ", "A.R. nr. ", "n° ", "nr. ", "NDEG ", "rôle n° ", "Rolnummer "])


@given(number, label, st.booleans(), st.sampled_from(["", ".", " ", ","]))
def test_labels_case_and_tails_never_change_a_number(text: str, mark: str, lower: bool, tail: str) -> None:
    written = mark + (text.lower() if lower else text) + tail
    assert compare(written, text).relation in ("EXACT", "NORMALISED")


@given(cassation, st.booleans())
def test_dots_and_spaces_never_change_a_cassation_number(text: str, spaced: bool) -> None:
    written = text.replace(".", ". ") if spaced else text.replace(".", "")
    assert compare(written, text).relation == "NORMALISED"


@given(number, st.data())
def test_one_changed_digit_is_another_case(text: str, data: st.DataObject) -> None:
    places = [place for place, character in enumerate(text) if character.isdigit()]
    if "/" in text and text[0] in "12" and len(text.split("/")) == 3:
        places = places[4:]
    if len(text.split("/")) == 2:
        places = places[:-4]
    if text.isdigit():
        places = places[1:]
    place = data.draw(st.sampled_from(places))
    other = data.draw(st.sampled_from([digit for digit in "0123456789" if digit != text[place]]))
    changed = text[:place] + other + text[place + 1 :]
    assert compare(text, changed).relation == "DIFFERENT"


@given(st.text(max_size=200), st.text(max_size=200))
def test_no_text_breaks_the_comparison_and_it_is_symmetric(a: str, b: str) -> None:
    assert compare(a, b).relation == compare(b, a).relation


@given(
    st.text(alphabet="0123456789OIL./-; ACFNPRGXV°", max_size=40),
    st.text(alphabet="0123456789./-CFN ", max_size=30),
)
def test_number_like_noise_is_compared_symmetrically(a: str, b: str) -> None:
    assert compare(a, b).relation == compare(b, a).relation
