"""The settled points of the rubric: correctness, ceilings, ranges, calibration, alignment, errors, nulls."""

from __future__ import annotations

from typing import Any

import pytest

from citation_cases import CASSATION, candidate, citation, findings, match, verdict

ONE, TWO = CASSATION.format(1), CASSATION.format(2)
LIEGE = "ECLI:BE:CTLIE:2018:ARR.20180315.1"
GHENT = "ECLI:BE:AHGNT:2018:ARR.20180315.2"
APPEAL = "ECLI:BE:CALIE:2018:ARR.20180315.3"
COURTS = {LIEGE: "Cour du travail de Liège", GHENT: "Arbeidshof Gent", APPEAL: "Cour d'appel de Liège"}
SUBJECT = "responsabilité précontractuelle, rupture brutale des négociations"
ORDERLY = "Court aligned. Case number compared: exact match. The other candidates do not fit the context."


def labour(cited: str, number: str | None, *listed: str, **more: Any) -> dict[str, Any]:
    """A citation of a labour court; the first candidate is the one with the number and the subject."""
    rows = [candidate(name, COURTS[name]) for name in listed]
    if rows:
        rows[0]["rol_number"] = more.pop("carries", None)
        rows[0]["summaries"] = [SUBJECT]
    return citation(cited, number, candidates=rows, citation_snippet=f"... {SUBJECT} ...", **more)


def matched(record: dict[str, Any], name: str, confidence: float, reason: str = ORDERLY) -> Any:
    return verdict(record | {"matches": [match(name, confidence, reason)]})


# --- ceilings --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "name", "ceiling"),
    [
        (labour("C. trav. Liège", "2017/AL/1", LIEGE, carries="2017/AL/1"), LIEGE, None),
        (labour("Cour du travail", None, LIEGE, GHENT), LIEGE, "95%"),
        (labour("C. trav. Liège", None, LIEGE), LIEGE, "90%"),
        (labour("C. trav. Liège", "2017/AL/1", LIEGE), LIEGE, "85%"),
        (labour("Cour du travail", "2017/AL/1", LIEGE), LIEGE, "85%"),
        (labour("Cour du travail", "2017/AL/1", LIEGE, carries="2017/AL/1"), LIEGE, "95%"),
        (labour("C. trav. Mons", "2017/AL/1", LIEGE, carries="2017/AL/1"), LIEGE, "55%"),
        (labour("C. trav. Liège", "2017/AL/1", APPEAL, LIEGE, carries="2017/AL/1"), APPEAL, "15-20%"),
        (labour("C. trav. Liège", None, LIEGE, cited_ecli=LIEGE), LIEGE, None),
    ],
)
def test_the_lowest_ceiling_binds(record: dict[str, Any], name: str, ceiling: str | None) -> None:
    found = matched(record, name, 0.5).applicable_ceiling
    assert found is None if ceiling is None else found is not None and found.endswith(ceiling)


@pytest.mark.parametrize(
    ("record", "name", "limit"),
    [
        (labour("Cour du travail", None, LIEGE, GHENT), LIEGE, 0.95),
        (labour("C. trav. Liège", None, LIEGE), LIEGE, 0.90),
        (labour("C. trav. Liège", "2017/AL/1", LIEGE), LIEGE, 0.85),
        (labour("C. trav. Mons", None, LIEGE), LIEGE, 0.55),
        (labour("C. trav. Liège", None, APPEAL), APPEAL, 0.20),
    ],
)
def test_a_ceiling_is_violated_just_above_its_limit(record: dict[str, Any], name: str, limit: float) -> None:
    at, above = matched(record, name, limit), matched(record, name, limit + 0.01)
    assert "CEILING_VIOLATED" not in at.errors
    assert at.confidence_calibration == "WELL_CALIBRATED"
    assert "CEILING_VIOLATED" in above.errors
    assert above.confidence_calibration == "OVERCONFIDENT"


# --- court alignment -------------------------------------------------------------------------------


def test_another_jurisdiction_is_incorrect_and_only_above_55_underpunished() -> None:
    record = labour("Arbeidshof Brussel", "2017/AB/1", LIEGE, carries="2017/AB/1")
    high, low = matched(record, LIEGE, 0.56), matched(record, LIEGE, 0.3)
    assert (high.match_correctness, high.correct_decision_id) == ("INCORRECT", None)
    assert high.court_alignment_handling == "WRONG_JURISDICTION_UNDERPUNISHED"
    assert "JURISDICTION_MISMATCH_IGNORED" in high.errors
    assert (low.court_alignment_handling, low.confidence_calibration) == ("CORRECT_ALIGNMENT", "WELL_CALIBRATED")


def test_another_court_type_is_a_false_positive_and_tolerated_up_to_20() -> None:
    record = labour("C. trav. Liège", None, APPEAL)
    reason = "Court of another type, kept as a faint possibility."
    high, low = matched(record, APPEAL, 0.21, reason), matched(record, APPEAL, 0.2, reason)
    assert (high.match_correctness, low.match_correctness) == ("FALSE_POSITIVE", "FALSE_POSITIVE")
    assert high.court_alignment_handling == "WRONG_COURT_ACCEPTED"
    assert "COURT_TYPE_MISMATCH_IGNORED" in high.errors
    assert (low.court_alignment_handling, low.errors) == ("CORRECT_ALIGNMENT", ["NONE"])


def test_a_generic_citation_may_not_be_punished_for_its_jurisdiction() -> None:
    record = labour("Arbh.", None, LIEGE, GHENT)
    blamed = matched(record, LIEGE, 0.6, "Which labour court is meant is uncertain; the context fits candidate 1.")
    assert blamed.court_alignment_handling == "WRONG_JURISDICTION_OVERPUNISHED"
    assert blamed.errors == ["GENERIC_OVERPUNISHED"]
    assert (blamed.match_correctness, blamed.expected_confidence_range) == ("CORRECT", (75, 95))
    silent = matched(record, LIEGE, 0.6, "Court: generic. The context fits candidate 1, not candidate 2.")
    assert (silent.court_alignment_handling, silent.errors) == ("CORRECT_ALIGNMENT", ["NONE"])
    assert silent.confidence_calibration == "UNDERCONFIDENT"


@pytest.mark.parametrize(
    ("cited", "listed", "reason", "error"),
    [
        ("Cour du travail de Gand", "Arbeidshof Gent", "Different courts.", "FR_NL_CONFUSION"),
        ("Arbh. Gent", "Arbeidshof Gent", "Arbh. is not the same court as Arbeidshof.", "ABBREVIATION_MISSED"),
        ("C. trav. Gand", "Arbeidshof Gent", "The Dutch court is a different court.", "FR_NL_CONFUSION"),
        ("C. trav. Gand", "Arbeidshof Gent", "C. trav. means cour du travail, not the arbeidshof.", "FR_NL_CONFUSION"),
        ("C. trav. Gand", "Arbeidshof Gent", "C. trav. is unknown, not the arbeidshof.", "ABBREVIATION_MISSED"),
        ("C. trav. Gand", "Arbeidshof Gent", "Cour du travail de Gand is a different court.", "FR_NL_CONFUSION"),
        ("C. trav. Gand", "Arbeidshof Gent", "C. trav. Gand: a different court.", "ABBREVIATION_MISSED"),
        ("Arbeidshof te Gent", "Arbeidshof Gent", "Unrecognised court.", "ABBREVIATION_MISSED"),
        ("Arbeidshof te Gent", "Cour du travail de Gand", "Ander hof dan het geciteerde.", "FR_NL_CONFUSION"),
        ("Cour du travail de Gand", "Arbeidshof Gent", "Ce n'est pas la même juridiction.", "FR_NL_CONFUSION"),
    ],
)
def test_a_court_that_was_not_recognised(cited: str, listed: str, reason: str, error: str) -> None:
    record = citation(cited, candidates=[candidate(GHENT, listed)], no_match_reason=reason)
    found = verdict(record)
    assert (found.match_correctness, found.court_alignment_handling) == ("FALSE_NEGATIVE", "MISSED_COURT_MATCH")
    assert found.errors == [error]
    assert (found.expected_confidence_range, found.applicable_ceiling) == ((75, 95), None)


def test_who_argues_from_the_jurisdiction_has_looked_at_the_court() -> None:
    record = labour("Cour du travail", None, LIEGE, GHENT)
    found = matched(record, LIEGE, 0.3, "The citation does not specify the city; confidence lowered.")
    assert "COURT_CHECK_SKIPPED" not in found.errors


def test_a_claim_that_courts_differ_is_right_where_they_do() -> None:
    record = citation("Cass.", candidates=[candidate(GHENT, "Arbeidshof Gent")], no_match_reason="Different court.")
    found = verdict(record)
    assert (found.match_correctness, found.court_alignment_handling) == ("CORRECT_NO_MATCH", "CORRECT_ALIGNMENT")
    assert (found.expected_confidence_range, found.errors) == ((0, 15), ["NONE"])
    assert found.applicable_ceiling == "Different court type: max 15-20%"


def test_the_court_check_is_skipped_where_the_number_is_argued_first() -> None:
    record = labour("C. trav. Liège", "2017/AL/1", LIEGE, GHENT, carries="2017/AL/1")
    jumped = matched(record, LIEGE, 0.97, "Case number matches exactly.")
    assert jumped.court_alignment_handling == "SKIPPED_COURT_CHECK"
    assert jumped.errors == ["COURT_CHECK_SKIPPED"]
    assert jumped.improvement_suggestions


def test_one_label_wins_and_the_other_faults_stay_among_the_errors() -> None:
    record = labour("C. trav. Mons", "2017/AL/1", LIEGE, carries="2017/AL/1")
    found = matched(record, LIEGE, 0.9, "Case number matches exactly.")
    assert found.court_alignment_handling == "WRONG_JURISDICTION_UNDERPUNISHED"
    assert found.errors == ["COURT_CHECK_SKIPPED", "JURISDICTION_MISMATCH_IGNORED", "CEILING_VIOLATED"]


# --- numbers, identifiers, context -----------------------------------------------------------------


def test_a_number_passed_over_and_a_number_match_that_is_none() -> None:
    listed = [candidate(ONE, "Cass.", "C.17.0001.F"), candidate(TWO, "Cass.", "C.17.0010.F")]
    record = citation("Cass.", "C.17.0001.F", candidates=listed)
    passed = matched(record, TWO, 0.7, "Court aligned (national). The context fits candidate 2.")
    assert (passed.match_correctness, passed.errors) == ("INCORRECT", ["CASE_NUMBER_IGNORED"])
    claimed = matched(record, TWO, 0.97, "Court aligned (national). Case number: exact match.")
    assert claimed.errors == ["CASE_NUMBER_IGNORED", "CASE_NUMBER_FALSE_MATCH"]
    assert claimed.reasoning_quality <= 2


@pytest.mark.parametrize(
    "reason",
    [
        "Le numéro de rôle correspond exactement à celui du candidat.",
        "Hof aanvaard. Het rolnummer komt overeen met dat van kandidaat 1.",
        "Court aligned. Candidate 1 has the same case number.",
    ],
)
def test_a_false_claim_on_numbers_is_seen_in_three_languages(reason: str) -> None:
    record = citation("Cass.", "C.17.0001.F", candidates=[candidate(ONE, "Cass.", "C.17.0002.F")])
    assert "CASE_NUMBER_FALSE_MATCH" in matched(record, ONE, 0.8, reason).errors


def test_a_missing_number_may_not_cost_confidence() -> None:
    record = labour("Arbeidshof te Luik", None, LIEGE)
    for reason in ("Court fits. No case number to verify, heavily penalized.", "Hof past. Geen rolnummer: verlaagd."):
        found = matched(record, LIEGE, 0.6, reason)
        assert (found.match_correctness, found.errors) == ("CORRECT", ["MISSING_CASE_NUMBER_PENALIZED"])
        assert found.expected_confidence_range == (80, 90)
    fair = matched(record, LIEGE, 0.85, "Court fits. No case number, so 90 % at most. The context agrees.")
    assert (fair.errors, fair.improvement_suggestions) == (["NONE"], None)


def test_an_ecli_that_contradicts_the_cited_year_must_be_remarked() -> None:
    listed = [candidate("ECLI:BE:CASS:2017:ARR.20170315.1", "Cass.", "C.17.0001.F") | {"decision_date": "2018-03-15"}]
    record = citation("Cass.", "C.17.0001.F", candidates=listed)
    name = listed[0]["decision_id"]
    assert "ECLI_MISMATCH_IGNORED" in matched(record, name, 0.97).errors
    remarked = matched(record, name, 0.97, "Court aligned. Case number matches. The year of the ECLI differs.")
    assert remarked.errors == ["NONE"]
    assert "CIT-F20" in findings(record | {"matches": [match(name, 0.97)]})


def test_a_wrong_choice_by_context_is_a_misreading() -> None:
    listed = [candidate(ONE, "Cass.", None, SUBJECT), candidate(TWO, "Cass.", None, "bail commercial, éviction")]
    record = citation("Cass.", candidates=listed, citation_snippet=f"... {SUBJECT} ...")
    misread = matched(record, TWO, 0.8, "Court aligned. The summary of candidate 2 fits the context.")
    assert (misread.match_correctness, misread.errors) == ("INCORRECT", ["CONTEXT_MISREAD"])
    overfit = matched(record, TWO, 0.8, "Court aligned. Keywords of the snippet occur in candidate 2.")
    assert overfit.errors == ["OVERFIT_TO_KEYWORDS"]


# --- correctness -----------------------------------------------------------------------------------


def test_partly_correct_false_negative_and_known_none() -> None:
    listed = [candidate(ONE, "Cass.", "C.17.0001.F"), candidate(TWO, "Cass.", "C.17.0002.F")]
    record = citation("Cass.", "C.17.0001.F", candidates=listed)
    second = verdict(record | {"matches": [match(TWO, 0.6, "Court."), match(ONE, 0.5)]})
    assert (second.match_correctness, second.correct_decision_id) == ("PARTIALLY_CORRECT", ONE)
    missed = verdict(record | {"no_match_reason": "Court aligned, but no context."})
    assert (missed.match_correctness, missed.confidence_calibration) == ("FALSE_NEGATIVE", "UNDERCONFIDENT")
    assert missed.expected_confidence_range == (95, 100)
    none = record | {"ground_truth": None, "ground_truth_known": True}
    assert verdict(none | {"no_match_reason": "x"}).match_correctness == "CORRECT_NO_MATCH"
    assert verdict(none | {"matches": [match(ONE, 0.9)]}).match_correctness == "FALSE_POSITIVE"


def test_where_nothing_decides_the_most_reasonable_answer_is_correct_and_for_review() -> None:
    listed = [candidate(ONE, "Cass."), candidate(TWO, "Cass."), candidate(APPEAL, COURTS[APPEAL])]
    record = citation("Cass.", candidates=listed)
    answer = record | {"matches": [match(TWO, 0.5, "Court aligned for both.")]}
    assert (verdict(answer).match_correctness, verdict(answer).correct_decision_id) == ("CORRECT", None)
    assert verdict(answer).expected_confidence_range == (40, 60)
    assert verdict(answer | {"snippet_match_type": "COURT_ONLY"}).expected_confidence_range == (30, 50)
    assert "CIT-F22" in findings(answer)
    assert verdict(record | {"no_match_reason": "Court unclear"}).match_correctness == "CORRECT_NO_MATCH"
    assert verdict(record | {"matches": [match(APPEAL, 0.1)]}).match_correctness == "INCORRECT"


def test_a_body_outside_the_belgian_courts_matches_none_of_them() -> None:
    record = citation("C.J.U.E.", candidates=[candidate(ONE, "Cass.")])
    assert matched(record, ONE, 0.9).match_correctness == "FALSE_POSITIVE"
    assert verdict(record | {"no_match_reason": "Another court."}).match_correctness == "CORRECT_NO_MATCH"


def test_odd_answers_are_findings() -> None:
    listed = [candidate(ONE, "Cass.", "C.17.0001.F")]
    stranger = match(CASSATION.format(7), 0.4, "Court aligned")
    matches = [stranger, match(ONE, 0.8), match(ONE, 0.7), match(ONE, 0.6)]
    record = citation("Cass.", "C.17.0001.F", candidates=listed, matches=matches, no_match_reason="none fits")
    assert {"CIT-F15", "CIT-F17", "CIT-F18", "CIT-F19"} <= findings(record)
    assert "CIT-F1" in findings(citation("Kantoor van de heer Janssens", candidates=listed))
    assert "CIT-F2" in findings(citation("Cass.", cited_date="ergens in 2018"))
    assert "CIT-F3" in findings(citation("Cass.", cited_ecli="ECLI:BE:CASS:2018:JUD.20180315.1"))
    assert "CIT-F4" in findings(citation("Cass.", citation_snippet="Cass., 3 mai 2001"))


def test_a_confirmed_number_in_a_generic_citation_stays_under_95() -> None:
    record = labour("Arbeidshof", "2017/AL/1", LIEGE, GHENT, carries="2017/AL/1")
    assert matched(record, LIEGE, 0.95).expected_confidence_range == (90, 95)
    assert matched(record, LIEGE, 0.95).confidence_calibration == "WELL_CALIBRATED"


def test_reasoning_is_marked_from_missing_to_complete() -> None:
    record = labour("C. trav. Liège", "2017/AL/1", LIEGE, GHENT, carries="2017/AL/1")
    marks = [
        matched(record, LIEGE, 0.97, reason).reasoning_quality
        for reason in ("", "Case number matches exactly.", "Court aligned.", ORDERLY)
    ]
    assert marks == [1, 2, 3, 5]
