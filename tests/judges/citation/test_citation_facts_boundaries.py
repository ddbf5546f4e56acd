"""What the matcher answered: its confidence on either scale, its reasoning, and the decision that it names."""

from __future__ import annotations

from typing import Any

import pytest

from citation_cases import CASSATION, candidate, citation, match, study
from krino import CannotJudge
from krino.judges.citation.scoring.candidates import read_percent

ONE, TWO = CASSATION.format(1), CASSATION.format(2)


@pytest.mark.parametrize(
    ("confidence", "percent", "remark"),
    [
        (0.0, 0.0, None),
        (0.55, 55.0, None),
        (1.0, 100.0, None),
        (1.5, 1.5, "confidence 1.5 is written on the other scale (0 to 100)"),
        (100.0, 100.0, "confidence 100 is written on the other scale (0 to 100)"),
        (100.5, None, "confidence 100.5 is outside its scale and is ignored"),
        (-0.1, None, "confidence -0.1 is outside its scale and is ignored"),
        (None, None, None),
    ],
)
def test_a_confidence_is_read_as_a_share_up_to_one_and_in_percent_above(
    confidence: float | None, percent: float | None, remark: str | None
) -> None:
    assert read_percent(confidence, None) == (percent, (remark,) if remark else ())


@pytest.mark.parametrize(
    ("score", "percent", "remark"),
    [
        (0.0, 0.0, None),
        (0.97, 97.0, "score 0.97 is written on the other scale (0 to 1)"),
        (1.0, 1.0, None),
        (1.5, 1.5, None),
        (100.0, 100.0, None),
        (101.0, None, "score 101 is outside its scale and is ignored"),
    ],
)
def test_a_score_is_read_in_percent_from_one_on_and_as_a_share_below(
    score: float, percent: float | None, remark: str | None
) -> None:
    assert read_percent(None, score) == (percent, (remark,) if remark else ())


@pytest.mark.parametrize(("score", "told"), [(97.0, False), (98.0, False), (98.1, True), (95.9, True), (None, False)])
def test_confidence_comes_first_and_more_than_a_point_between_the_two_is_told(score: float | None, told: bool) -> None:
    percent, remarks = read_percent(0.97, score)
    assert percent == 97.0
    wanted = f"confidence says 97 % and score says {score:g} %: confidence is taken" if told and score else None
    assert remarks == ((wanted,) if wanted else ())


def test_a_confidence_off_its_scale_leaves_the_score() -> None:
    assert read_percent(-3.0, 80.0) == (80.0, ("confidence -3 is outside its scale and is ignored",))


def answered(**more: Any) -> Any:
    return study(citation("Cass.", candidates=[candidate(ONE, "Cass.")], **more)).answer


def test_only_the_first_match_must_have_a_usable_number() -> None:
    assert answered(matches=[match(ONE, 0.9), match(TWO, None)]).matches[1].percent is None
    with pytest.raises(CannotJudge, match=r"matches\.0: neither confidence"):
        answered(matches=[match(ONE, None), match(TWO, 0.9)])


def test_the_reasoning_is_that_of_the_first_match_or_of_the_refusal_or_one_beside_them() -> None:
    said = "Beside the matches."
    assert answered(matches=[match(ONE, 0.9, "First."), match(TWO, 0.8, "Second.")]).reasoning == "First."
    assert answered(matches=[match(ONE, 0.9, "First.")], reasoning=said).reasoning == "First."
    assert answered(no_match_reason="None fits.", reasoning=said).reasoning == "None fits."
    assert answered(matches=[match(ONE, 0.9)], reasoning=said).reasoning == said
    assert answered(matches=[match(ONE, 0.9)], reasoning={"text": said}).reasoning is None
    assert answered(matches=[match(ONE, 0.9)]).reasoning is None


def test_a_match_is_tied_to_the_candidate_it_names_in_any_spelling() -> None:
    found = answered(matches=[match(ONE.lower(), 0.9), match(TWO, 0.8), {"confidence": 0.7, "court_name": "Cass."}])
    assert [item.candidate.listed for item in found.matches] == [True, False, False]
    assert [item.candidate.id for item in found.matches] == [ONE, TWO, None]


@pytest.mark.parametrize(
    ("written", "number"),
    [
        (ONE, None),
        (f"{ONE.lower()} (C.17.0001.F)", "C.17.0001.F"),
        (f"RG C.17.0001.F, {ONE}", "C.17.0001.F"),
    ],
)
def test_an_ecli_in_the_field_of_the_number_is_the_cited_one(written: str, number: str | None) -> None:
    listed = [candidate(ONE, "Cour de cassation", "C.17.0001.F"), candidate(TWO, "Cour de cassation", "C.17.0002.F")]
    facts = study(citation("Cass.", written, candidates=listed, matches=[match(ONE, 0.97)]))
    assert facts.cited.ecli is not None
    assert facts.cited.ecli.text == ONE
    assert (facts.cited.number or "").find(number or "") >= 0
    assert (facts.cited.number is None) is (number is None)
    assert facts.truth.key == facts.cited.key


def test_the_field_of_the_ecli_counts_before_one_in_the_field_of_the_number() -> None:
    facts = study(citation("Cass.", ONE, cited_ecli=TWO, matches=[match(TWO, 0.97)]))
    assert facts.cited.ecli is not None
    assert facts.cited.ecli.text == TWO
