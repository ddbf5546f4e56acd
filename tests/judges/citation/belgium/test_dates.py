"""Dates in citations: three languages mixed, accents lost, and nothing read that is not there."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.citation.belgium.dates import find_dates, full_year, parse_date


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24 juin 2009", date(2009, 6, 24)),
        ("24 juni 2009", date(2009, 6, 24)),
        ("24. Juni 2009", date(2009, 6, 24)),
        ("1er octobre 1997", date(1997, 10, 1)),
        ("1ᵉʳ octobre 1997", date(1997, 10, 1)),
        ("1 er mai 2014", date(2014, 5, 1)),
        ("3de december 2010", date(2010, 12, 3)),
        ("3 de december 2010", date(2010, 12, 3)),
        ("3 december 2010", date(2010, 12, 3)),
        ("8 dec. 1998", date(1998, 12, 8)),
        ("5 okt. 1992", date(1992, 10, 5)),
        ("14 sept. 64", date(1964, 9, 14)),
        ("30 jan. 2002", date(2002, 1, 30)),
        ("2 MRT 2001", date(2001, 3, 2)),
        ("5 fevrier 2001", date(2001, 2, 5)),
        ("5 févr. 2001", date(2001, 2, 5)),
        ("5 fe\u0301vrier 2001", date(2001, 2, 5)),
        ("5 f\ufffdvrier 2001", date(2001, 2, 5)),
        ("5 aoÃ»t 2010", date(2010, 8, 5)),
        ("5 dècembre 2001", date(2001, 12, 5)),
        ("3. März 2011", date(2011, 3, 3)),
        ("Cass.19 maart 1992", date(1992, 3, 19)),
        ("10.1.2007", date(2007, 1, 10)),
        ("10/1/2007", date(2007, 1, 10)),
        ("10-01-2007", date(2007, 1, 10)),
        ("10/01/07", date(2007, 1, 10)),
        ("10.1.98", date(1998, 1, 10)),
        ("2007-01-10", date(2007, 1, 10)),
        ("2007-01-10T00:00:00Z", date(2007, 1, 10)),
        ("20070110", date(2007, 1, 10)),
        ("May 5, 2014", date(2014, 5, 5)),
        ("du 5 mai 2014 (5 mei 2014)", date(2014, 5, 5)),
    ],
)
def test_a_date_is_read_in_every_spelling(text: str, expected: date) -> None:
    assert parse_date(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "N/A",
        "31 février 2001",
        "31/02/2001",
        "12/25/2014",
        "20201399",
        "mai 2014",
        "5 mai",
        "C.17.0234.F",
        "2019/AB/456",
        "5 mai 2014 et 6 mai 2014",
    ],
)
def test_what_is_no_single_possible_date_is_not_read(text: str | None) -> None:
    assert parse_date(text) is None


def test_dates_in_running_text_come_with_their_place() -> None:
    text = "Cass., 1er octobre 1997 (contra: Brussel, 2 maart 2010; R.G. 2009/AB/52261)"
    found = find_dates(text)
    assert [item.date for item in found] == [date(1997, 10, 1), date(2010, 3, 2)]
    assert [text[item.start : item.end] for item in found] == ["1er octobre 1997", "2 maart 2010"]
    assert [item.text for item in found] == ["1er octobre 1997", "2 maart 2010"]


def test_a_day_list_does_not_become_a_two_digit_year() -> None:
    assert [item.date for item in find_dates("les 5 mai, 12 juin 2020")] == [date(2020, 6, 12)]


def test_a_paragraph_number_is_not_a_date_in_running_text() -> None:
    assert find_dates("zie randnummer 1.2.12 en B.6.2.2010") == ()


@pytest.mark.parametrize(("digits", "year"), [("49", 2049), ("50", 1950), ("99", 1999), ("00", 2000), ("1985", 1985)])
def test_two_digit_years_turn_at_fifty(digits: str, year: int) -> None:
    assert full_year(digits) == year


MONTHS = {
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
}


@given(st.dates(date(1800, 1, 1), date(2150, 12, 31)), st.sampled_from(sorted(MONTHS)), st.booleans())
def test_every_day_survives_being_written_out(day: date, language: str, capitals: bool) -> None:
    text = f"{day.day} {MONTHS[language].split()[day.month - 1]} {day.year}"
    assert parse_date(text.upper() if capitals else text) == day


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text: str) -> None:
    parse_date(text)
    for item in find_dates(text):
        assert text[item.start : item.end] == item.text
