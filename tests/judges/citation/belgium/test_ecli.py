"""Identifiers as authors write them, and when two of them name the same decision."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.citation.belgium.ecli import Ecli, cut_ecli, decision_key, parse_ecli


def ecli(text: str) -> Ecli:
    parsed = parse_ecli(text)
    assert parsed is not None
    return parsed


def test_a_cassation_identifier_of_today_is_split_into_its_parts() -> None:
    parsed = ecli("ECLI:BE:CASS:2022:ARR.20221115.2N.1")
    assert (parsed.country, parsed.court_code, parsed.year) == ("BE", "CASS", 2022)
    assert (parsed.document_type, parsed.date, parsed.chamber, parsed.sequence) == (
        "ARR",
        date(2022, 11, 15),
        "2N",
        1,
    )
    assert parsed.number is None
    assert parsed.warnings == ()


def test_an_older_cassation_identifier_has_no_chamber() -> None:
    parsed = ecli("ECLI:BE:CASS:2009:ARR.20090114.6")
    assert (parsed.chamber, parsed.sequence, parsed.date) == (None, 6, date(2009, 1, 14))


@pytest.mark.parametrize("chamber", ["1F", "3N", "VAC", "VAK", "REUN", "BSAV", "ORPS", "PPEV"])
def test_every_chamber_code_is_known(chamber: str) -> None:
    assert ecli(f"ECLI:BE:CASS:2021:ARR.20210825.{chamber}.2").chamber == chamber


@pytest.mark.parametrize(
    ("text", "number", "document_type"),
    [
        ("ECLI:BE:GHCC:2007:ARR.004", 4, "ARR"),
        ("ECLI:BE:GHCC:2019:ARR.112", 112, "ARR"),
        ("ECLI:BE:RVSCE:2025:ARR.265.513", 265513, "ARR"),
        ("ECLI:BE:RVSCE:2025:ORD.16.292", 16292, "ORD"),
        ("ECLI:BE:RVSCE:2018:ARR.243112", 243112, "ARR"),
        ("ECLI:BE:CC:2020:141", 141, None),
        ("ECLI:BE:CTBRL:2014:ARR.001", 1, "ARR"),
    ],
)
def test_numbered_ordinals_give_the_judgment_number(text: str, number: int, document_type: str | None) -> None:
    parsed = ecli(text)
    assert (parsed.number, parsed.document_type, parsed.date) == (number, document_type, None)


@pytest.mark.parametrize(
    "text",
    [
        "ecli:be:cass:2019:arr.20191126.2n.4",
        "ECLI: BE : CASS : 2019 : ARR. 20191126 . 2N . 4",
        "BE:CASS:2019:ARR.20191126.2N.4",
        "CASS:2019:ARR.20191126.2N.4",
        "(ECLI:BE:CASS:2019:ARR.20191126.2N.4).",
        "ECLI%3ABE%3ACASS%3A2019%3AARR.20191126.2N.4",
        "ECLI:BE:CASS:2019:\nARR.20191126.2N.4",
        "ECLI:BE:CASS:2019:ARR.2019\u00ad1126.2N.4",
        "https://juportal.be/content/ECLI:BE:CASS:2019:ARR.20191126.2N.4/FR",
    ],
)
def test_spelling_does_not_matter(text: str) -> None:
    assert ecli(text).text == "ECLI:BE:CASS:2019:ARR.20191126.2N.4"


@pytest.mark.parametrize(
    ("text", "ordinal"),
    [
        ("ECLI:EU:C:2014:317", "317"),
        ("ECLI:NL:HR:2012:BX0001", "BX0001"),
        ("ECLI:CE:ECHR:2010:1125JUD003024010", "1125JUD003024010"),
    ],
)
def test_foreign_identifiers_are_read_without_belgian_warnings(text: str, ordinal: str) -> None:
    assert ecli(text).ordinal == ordinal
    assert ecli(text).warnings == ()


@pytest.mark.parametrize("text", [None, "", "N/A", "C.17.0234.F", "ECLI:BE:CASS:2020", "ECLI", "Cass., 3 mai 2001"])
def test_what_is_no_identifier_is_not_read(text: str | None) -> None:
    assert parse_ecli(text) is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("ECLI:BE:ARBRL:2014:JUD.001", "JUD does not exist"),
        ("ECLI:BE:CASS:2020:CONC.20200102.1F.3", "not the judgment"),
        ("ECLI:BE:CASS:2019:ARR.20200102.1F.3", "disagrees with the year 2019"),
        ("ECLI:BE:CASS:2020:ARR.20201399.1", "does not exist"),
        ("ECLI:BE:GHCC:2104:ARR.012", "impossible"),
        ("ECLI:BE:HBANT:1913:ARR.19130101.1", "impossible"),
    ],
)
def test_doubtful_identifiers_parse_with_a_warning(text: str, part: str) -> None:
    assert any(part in warning for warning in ecli(text).warnings)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("ECLI:BE:CASS:2009:ARR.20090114.6", "ecli:be:cass:2009:arr.20090114.06", True),
        ("ECLI:BE:CASS:2009:ARR.20090114.6", "ECLI:BE:CASS:2009:ARR.20090114.7", False),
        ("ECLI:BE:CASS:2009:ARR.20090114.6", "ECLI:BE:CASS:2009:CONC.20090114.6", False),
        ("ECLI:BE:CASS:2021:ARR.20210114.1F.6", "ECLI:BE:CASS:2021:ARR.20210114.1N.6", False),
        ("ECLI:BE:CASS:2020:ARR.20201399.1", "ECLI:BE:CASS:2020:ARR.20201398.1", False),
        ("ECLI:BE:CTBRL:2009:ARR.20090114.6", "ECLI:BE:CTLIE:2009:ARR.20090114.6", False),
        ("ECLI:BE:GHCC:2007:ARR.004", "ECLI:BE:GHCC:2007:ARR.4", True),
        ("ECLI:BE:GHCC:2007:ARR.004", "ECLI:BE:GHCC:2008:ARR.004", False),
        ("ECLI:BE:CC:2020:141", "ECLI:BE:GHCC:2020:ARR.141", True),
        ("ECLI:BE:RSCE:2018:ARR.243.112", "ECLI:BE:RVSCE:2018:ARR.243112", True),
        ("ECLI:BE:RVSCE:2018:ARR.243.112", "ECLI:BE:RVSCE:2019:ARR.243.112", True),
        ("ECLI:BE:RVSCE:2018:ARR.16.292", "ECLI:BE:RVSCE:2018:ORD.16.292", False),
        ("ECLI:EU:C:2014:317", "ECLI:EU:C:2015:317", False),
        ("ECLI:BE:AHBRL:2018:ARR.20180315.1", "ECLI:BE:CTBRL:2018:ARR.20180315.1", True),
        ("ECLI:BE:CTGND:2018:ARR.20180315.1", "ECLI:BE:AHGNT:2018:ARR.20180315.1", True),
        ("ECLI:BE:TCLIE:2016:JUG.20160315.1", "ECLI:BE:TELIE:2016:JUG.20160315.1", True),
        ("ECLI:BE:RVS:2018:ARR.243.112", "ECLI:BE:RVSCE:2018:ARR.243.112", True),
        ("ECLI:BE:TTBRL:2018:JUD.20180315.1", "ECLI:BE:TTBRL:2018:JUG.20180315.1", True),
        ("ECLI:BE:TTBRL:2018:JUG.20180315.1", "ECLI:BE:ARBRL:2018:JUG.20180315.1", False),
    ],
)
def test_same_decision(a: str, b: str, same: bool) -> None:
    assert (decision_key(ecli(a)) == decision_key(ecli(b))) is same


def test_aliases_can_be_given_by_the_caller() -> None:
    a, b = ecli("ECLI:BE:CTMNS:2014:ARR.20140103.2"), ecli("ECLI:BE:CTMON:2014:ARR.20140103.2")
    assert decision_key(a) == decision_key(b)
    assert decision_key(a, {}) != decision_key(b, {})


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    parse_ecli(text)
    parse_ecli("ECLI:BE:" + text)


@given(
    st.from_regex(r"ECLI:BE:[A-Z]{4,6}:20[0-2][0-9]:ARR\.20[01][0-9]0[1-9]1[0-9](\.[123][FN])?\.[1-9]", fullmatch=True)
)
def test_reading_an_identifier_and_writing_it_changes_nothing(text: str) -> None:
    parsed = ecli(text)
    assert parsed.text == text
    assert ecli(f"zie {text.lower()}, noot") == parsed


@pytest.mark.parametrize(
    "text",
    [
        "ECLI-BE-CASS-2018-ARR.20180315.1",
        "ECLI BE CASS 2018 ARR.20180315.1",
        "ECLI:BE:CASS:2O18:ARR.2O18O315.1",
        "ECLI:BE:CASS:2018:ARR.2O180315.1",
    ],
)
def test_dashes_spaces_and_the_letter_o_for_zero_name_the_same_decision(text: str) -> None:
    assert decision_key(ecli(text)) == decision_key(ecli("ECLI:BE:CASS:2018:ARR.20180315.1"))


def test_the_letter_o_stays_where_it_belongs_to_a_foreign_ordinal() -> None:
    assert ecli("ECLI:FR:CCASS:2018:CO00123").ordinal == "CO00123"


@pytest.mark.parametrize("text", ["C.17.0001.F", "BE:CASS:2018", "", "ECLI onbekend"])
def test_a_field_without_an_identifier_is_left_as_it_is(text: str) -> None:
    assert cut_ecli(text) == (None, text)


def test_an_identifier_is_cut_out_of_a_field_for_something_else() -> None:
    found, rest = cut_ecli("C.17.0001.F (ecli:be:cass:2018:arr.20180315.1)")
    assert found == ecli("ECLI:BE:CASS:2018:ARR.20180315.1")
    assert rest.split() == ["C.17.0001.F", "(", ")"]
