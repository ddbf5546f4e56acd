"""`krino explain`: courts, case numbers and ECLIs, for people and for machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from krino.cli import app
from krino.errors import UsageProblem


def explain(*arguments: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(app, ["explain", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_courts_one_object_a_line() -> None:
    court, other, unknown = explain("court", "Cour trav. Liège, sect. Namur, 13e ch.", "CJUE", "een zin zonder gerecht")
    assert court == {
        "input": "Cour trav. Liège, sect. Namur, 13e ch.",
        "kind": "court",
        "classification": "SPECIFIC",
        "type": "labour_court",
        "place": "liege",
        "ecli_codes": ["CTLIE"],
        "alias": "Cour trav.",
        "mended": [],
    }
    assert (other["kind"], other["classification"]) == ("other", "NATIONAL")
    assert (unknown["kind"], unknown["ecli_codes"]) == ("unknown", [])
    assert court.keys() == other.keys() == unknown.keys()


def test_case_numbers_are_compared_with_the_first() -> None:
    first, same, other = explain("case-number", "C.17.0234.F", "RG C170234F", "C.17.0235.F")
    assert (first["relation"], same["relation"], other["relation"]) == (None, "NORMALISED", "DIFFERENT")
    assert first["numbers"][0]["sequence"] == 234


def test_eclis_with_their_warnings() -> None:
    good, odd, none = explain("ecli", "ECLI:BE:CASS:2018:ARR.20180315.1", "be:ctmns:2018:jud.20180315.1", "no ecli")
    assert good == {
        "input": "ECLI:BE:CASS:2018:ARR.20180315.1",
        "valid": True,
        "court": "CASS",
        "year": 2018,
        "document_type": "ARR",
        "date": "2018-03-15",
        "warnings": [],
    }
    assert (odd["court"], len(odd["warnings"])) == ("CTMON", 2)
    assert (none["valid"], none["court"]) == (False, None)


def test_a_file_gives_one_text_a_line(tmp_path: Path) -> None:
    names = tmp_path / "courts.txt"
    names.write_text("Cass.\n\nHof van beroep te Gent\n", encoding="utf-8")
    assert [item["type"] for item in explain("court", "--file", str(names))] == ["cassation", "appeal"]


def test_words_for_people() -> None:
    result = CliRunner().invoke(app, ["explain", "court", "Arbrb. Gent"])
    assert "classification: SPECIFIC" in result.stdout


@pytest.mark.parametrize("arguments", [["court"], ["ecli", "--file", "no/such/file"]])
def test_nothing_to_explain_is_wrong_usage(arguments: list[str]) -> None:
    with pytest.raises(UsageProblem):
        CliRunner().invoke(app, ["explain", *arguments], catch_exceptions=False)
