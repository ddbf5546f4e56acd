"""One reasoning in English, French and Dutch: the same quality, the same errors, the same handling of the court."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from citation_cases import CASSATION, candidate, citation, match, verdict

Row = dict[str, Any]
TEXTS: list[dict[str, str]] = tomllib.loads(Path(__file__).with_name("parallel.toml").read_text("utf-8"))["text"]
LANGUAGES = ("en", "fr", "nl")
ONE, TWO = CASSATION.format(1), CASSATION.format(2)
LABOUR = "ECLI:BE:CTLIE:2018:ARR.20180315.{}"
HOUSE = "vente d'une maison, vice caché, garantie"
DISMISSAL = "licenciement pour motif grave, délai de trois jours"


def cassation(number: str | None, *carried: str | None, **more: Any) -> Row:
    listed = [candidate(CASSATION.format(n), "Cour de cassation", item, HOUSE) for n, item in enumerate(carried, 1)]
    return citation("Cass.", number, candidates=listed, **more)


CASES: dict[str, tuple[Row, str | None, float]] = {
    "number": (cassation("C.17.0001.F", "C.17.0001.F", "C.17.0002.F"), ONE, 0.97),
    "unmatched": (cassation("C.17.0009.F", "C.17.0001.F", citation_snippet=HOUSE), ONE, 0.92),
    "specific": (
        citation(
            "Cour d'appel de Bruxelles",
            candidates=[candidate("ECLI:BE:CABRL:2018:ARR.20180315.1", "Hof van beroep Brussel", None, HOUSE)],
            citation_snippet=HOUSE,
        ),
        "ECLI:BE:CABRL:2018:ARR.20180315.1",
        0.72,
    ),
    "generic": (
        citation(
            "Cour du travail",
            candidates=[
                candidate(LABOUR.format(1), "Cour du travail de Liège", None, DISMISSAL),
                candidate("ECLI:BE:AHGNT:2018:ARR.20180315.2", "Arbeidshof Gent", None, "vakantiegeld"),
            ],
            citation_snippet=DISMISSAL,
        ),
        LABOUR.format(1),
        0.85,
    ),
    "elsewhere": (
        citation(
            "Cour du travail de Liège",
            "2017/AL/5",
            candidates=[candidate("ECLI:BE:CTMON:2018:ARR.20180315.1", "Cour du travail de Mons", "2017/AL/5")],
        ),
        "ECLI:BE:CTMON:2018:ARR.20180315.1",
        0.5,
    ),
    "ecli": (cassation(None, None, None, cited_ecli=ONE), ONE, 0.97),
    "false_ecli": (cassation(None, None, cited_ecli=CASSATION.format(7)), ONE, 0.85),
    "refused": (
        citation("Cour de cassation", candidates=[candidate(ONE, "Hof van Cassatie", None, HOUSE)]),
        None,
        0.0,
    ),
    "type": (
        citation("Cass.", candidates=[candidate("ECLI:BE:TTLIE:2018:JUG.20180315.1", "Tribunal du travail de Liège")]),
        "ECLI:BE:TTLIE:2018:JUG.20180315.1",
        0.1,
    ),
}


def judged(case: str, reasoning: str) -> tuple[int, str, tuple[str, ...]]:
    record, chosen, confidence = CASES[case]
    answer: Row = {"no_match_reason": reasoning}
    if chosen is not None:
        answer = {"matches": [match(chosen, confidence, reasoning)]}
    found = verdict(record | answer)
    return found.reasoning_quality, found.court_alignment_handling, tuple(found.errors)


@pytest.mark.parametrize("text", TEXTS, ids=[f"{text['case']}-{text['en'][:40]}" for text in TEXTS])
def test_one_reasoning_gets_one_quality_in_every_language(text: dict[str, str]) -> None:
    found = {language: judged(text["case"], text[language]) for language in LANGUAGES}
    assert len(set(found.values())) == 1, found


@pytest.mark.parametrize(
    "reasoning",
    [
        "The court is only named in general, so I take 10 points off. The number is the same.",
        "La juridiction citée est générique, je retire donc 10 points. Le numéro correspond.",
        "Het hof is enkel algemeen vermeld, daarom trek ik 10 punten af. Het nummer komt overeen.",
        "Das zitierte Gericht ist allgemein genannt, deshalb ziehe ich 10 Punkte ab. Die Nummer stimmt überein.",
    ],
)
def test_points_taken_off_for_a_generic_court_are_seen_in_every_language(reasoning: str) -> None:
    listed = [candidate("A", "Cour du travail de Liège", "2018/AL/12")]
    record = citation("Cour du travail", "2018/AL/12", candidates=listed, matches=[match("A", 0.9, reasoning)])
    assert verdict(record).errors == ["GENERIC_OVERPUNISHED"]
