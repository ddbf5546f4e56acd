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
        "division": "namur",
        "language": None,
        "ecli_codes": ["CTLIE"],
        "alias": "Cour trav.",
        "own_alias": None,
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


ALIASES = {
    "comma.csv": "TTB,Tribunal du travail de Bruxelles\nCL,Cour du travail de Liège\n",
    "semicolon.csv": 'afkorting;rechtscollege\nTTB;Arbrb. Brussel\nCL;"Cour du travail de Liège, division Namur"\n',
    "header.csv": "alias,court\nTTB,Tribunal du travail de Bruxelles\nCL,Cour du travail de Liège\n",
    "tabs.csv": "\ufeffAlias\tMeans\n\nTTB\tTribunal du travail de Bruxelles\nCL\tCour du travail de Liège\n",
    "table.toml": '[aliases]\nTTB = "Tribunal du travail de Bruxelles"\nCL = "Cour du travail de Liège"\n',
}


@pytest.mark.parametrize("name", ALIASES)
def test_a_court_is_explained_by_the_aliases_of_a_file(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(ALIASES[name], "utf-8")
    tribunal, court, other = explain("court", "T.T.B.", "cl", "Cass.", "--aliases", str(file))
    assert (tribunal["type"], court["place"], other["own_alias"]) == ("labour_tribunal", "liege", None)
    assert court["own_alias"].startswith("Cour du travail de Liège")


def test_a_court_is_explained_by_the_aliases_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from krino.cli.settings import load_settings

    (tmp_path / "krino.toml").write_text('[options.citation.aliases]\nTTB = "Trib. trav. Liège, div. Huy"\n', "utf-8")
    monkeypatch.chdir(tmp_path)
    load_settings.cache_clear()
    found = explain("court", "TTB")[0]
    load_settings.cache_clear()
    assert (found["place"], found["division"]) == ("liege", "huy")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("TTB;Tribunal du travail de Bruxelles;x\nCL;Cass.;y\n", "a.csv:1: write two columns"),
        ("TTB,Trib. du travil de nulle part\n", "no known court"),
        ("TTB;Cass.\nTTB;C. const.\n", "a.csv:2: the alias 'TTB' has two meanings"),
    ],
)
def test_a_table_of_aliases_that_cannot_be_read_is_refused_with_its_line(
    text: str, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.csv"
    file.write_text(text, "utf-8")
    with pytest.raises(UsageProblem, match=problem):
        CliRunner().invoke(app, ["explain", "court", "TTB", "--aliases", str(file)], catch_exceptions=False)


OWN = """from pydantic import BaseModel
from krino import Judge


class Model(BaseModel):
    text: str


class Shouts(Judge[Model, int, Model, Model]):
    default_prompt = "?"

    def study(self, case):
        return 0

    def ask(self, case, facts):
        return None

    def settle(self, case, facts, labels):
        return case

    def explainers(self):
        return {"shout": lambda texts: [{"input": text, "loud": text.upper()} for text in texts]}
"""


def test_a_judge_of_ones_own_explains_what_it_says_it_does(tmp_path: Path) -> None:
    file = tmp_path / "shouts.py"
    file.write_text(OWN, "utf-8")
    assert explain("shout", "ho", "hey", "--judge", f"{file}:Shouts")[1] == {"input": "hey", "loud": "HEY"}
    with pytest.raises(UsageProblem, match=r"no judge explains `shut` \(did you mean shout\?\); there is shout$"):
        explain("shut", "ho", "--judge", f"{file}:Shouts")


def test_what_no_judge_explains_is_refused_with_what_there_is() -> None:
    with pytest.raises(UsageProblem, match=r"`cort` \(did you mean court\?\); there is court, case-number, ecli$"):
        explain("cort", "Cass.")
