"""Where one citation verdict ends and the next begins: truth, ceilings, errors, and what each ruling rests on."""

from __future__ import annotations

from typing import Any

import pytest

from citation_cases import CASSATION, by_hand, candidate, citation, findings, match, settle, settle_with, study, verdict
from krino.judges.citation.report.rollup import roll_up, slice_columns
from krino.judges.citation.scoring.outcome import score_answer
from krino.judges.citation.verdict import CitationVerdict

ONE, TWO = CASSATION.format(1), CASSATION.format(2)
LIEGE = "ECLI:BE:CTLIE:2018:ARR.20180315.1"
APPEAL = "ECLI:BE:CALIE:2018:ARR.20180315.3"
NUMBER, OTHER_NUMBER = "C.17.0001.F", "C.17.0002.F"
SUBJECT = "responsabilité précontractuelle, rupture brutale des négociations"
ORDERLY = "Court aligned. Case number compared: exact match. The other candidates do not fit the context."
LABOUR, APPEALS = "Cour du travail de Liège", "Cour d'appel de Liège"


def cassation(number: str | None, *carried: str | None, **more: Any) -> dict[str, Any]:
    """A citation of the Court of Cassation, with a candidate of that court for each number."""
    listed = [candidate(CASSATION.format(n), "Cour de cassation", item) for n, item in enumerate(carried, 1)]
    return citation("Cass.", number, candidates=listed, **more)


def matched(record: dict[str, Any], name: str, confidence: float, reason: str = ORDERLY) -> CitationVerdict:
    return verdict(record | {"matches": [match(name, confidence, reason)]})


def unmatched(record: dict[str, Any], reason: str = "Court checked: no candidate fits.") -> CitationVerdict:
    return verdict(record | {"matches": [], "no_match_reason": reason})


# --- what rulings rest on --------------------------------------------------------------------------


def test_labels_are_demanded_where_identifiers_decide_nothing() -> None:
    record = cassation(None, None, None, matches=[match(ONE, 0.5, ORDERLY)])
    with pytest.raises(ValueError, match="labels are needed"):
        settle_with(record, None)


def test_a_truth_by_number_shows_number_and_court_and_owes_nothing_to_labels() -> None:
    found = settle(cassation(NUMBER, NUMBER, OTHER_NUMBER, matches=[match(ONE, 0.97, ORDERLY)])).rulings
    assert found["correct_decision_id"].evidence == (
        "decided by: number",
        "case number: exact (the same text)",
        "court: same",
    )
    assert not found["match_correctness"].from_labels
    assert found["confidence_calibration"].evidence == ("confidence 97 %",)
    assert found["court_alignment_handling"].evidence == ("top match: same",)
    assert found["applicable_ceiling"].rule == "CIT-L0"
    assert (found["errors"].rule, found["improvement_suggestions"].rule) == ("CIT-E2", "CIT-W3")


def test_a_truth_by_context_shows_its_strength_and_comes_from_labels() -> None:
    listed = [candidate(ONE, "Cass.", None, SUBJECT), candidate(TWO, "Cass.", None, "bail commercial")]
    record = citation("Cass.", candidates=listed, citation_snippet=SUBJECT, matches=[match(ONE, 0.85, ORDERLY)])
    found = settle_with(record, by_hand(1, "strong")).rulings
    assert (found["correct_decision_id"].value, found["correct_decision_id"].rule) == (ONE, "CIT-T6")
    assert found["correct_decision_id"].evidence[0] == "decided by: context"
    assert found["correct_decision_id"].evidence[-1] == "context: strong"
    assert found["match_correctness"].from_labels
    assert found["correct_decision_id"].from_labels


@pytest.mark.parametrize(("strength", "shown"), [("moderate", True), ("none", False)])
def test_the_only_candidate_left_owes_nothing_to_labels_which_may_still_support_it(strength: str, shown: bool) -> None:
    record = citation("Cass.", candidates=[candidate(ONE, "Cass.", None, SUBJECT)], citation_snippet=SUBJECT)
    place = 1 if shown else None
    found = settle_with(record | {"matches": [match(ONE, 0.85, ORDERLY)]}, by_hand(place, strength)).rulings
    assert (found["correct_decision_id"].value, found["correct_decision_id"].rule) == (ONE, "CIT-T5")
    assert ("context: moderate" in found["correct_decision_id"].evidence) == shown
    assert any(item.startswith("context:") for item in found["correct_decision_id"].evidence) == shown
    assert not found["match_correctness"].from_labels


def test_a_truth_that_was_given_does_not_speak_of_the_context() -> None:
    listed = [candidate(ONE, "Cass.", None, SUBJECT), candidate(TWO, "Cass.", None, "bail commercial")]
    record = citation("Cass.", candidates=listed, citation_snippet=SUBJECT, ground_truth=ONE)
    found = settle(record | {"matches": [match(ONE, 0.85, ORDERLY)]}).rulings["correct_decision_id"]
    assert (found.value, found.rule) == (ONE, "CIT-T1")
    assert not any(item.startswith("context:") for item in found.evidence)


def test_where_nothing_decides_there_is_no_candidate_to_show() -> None:
    record = cassation(None, None, None, matches=[match(ONE, 0.5, ORDERLY)])
    found = settle_with(record, by_hand()).rulings
    assert found["correct_decision_id"].evidence == ("decided by: nothing",)
    assert found["match_correctness"].from_labels


@pytest.mark.parametrize(
    ("court", "rule", "classified", "evidence"),
    [
        ("Cass.", "CIT-K1", "NATIONAL", 2),
        ("C. trav. Liège", "CIT-K2", "SPECIFIC", 2),
        ("Cour du travail", "CIT-K3", "GENERIC", 2),
        ("C.J.U.E.", "CIT-K4", "NATIONAL", 2),
        ("Kantoor van de heer Janssens", "CIT-K5", "GENERIC", 0),
    ],
)
def test_the_class_of_the_court_names_its_rule_and_the_alias_that_was_read(
    court: str, rule: str, classified: str, evidence: int
) -> None:
    found = settle(citation(court, no_match_reason="Court checked.")).rulings["cited_court_classification"]
    assert (found.value, found.rule, len(found.evidence)) == (classified, rule, evidence)
    assert not evidence or found.evidence[1] == "read from: name"


def test_without_a_match_nothing_was_scored_and_the_rulings_say_so() -> None:
    found = settle(cassation(NUMBER, NUMBER, no_match_reason="Court aligned, but no context.")).rulings
    assert found["court_alignment_handling"].evidence == ("no match",)
    assert found["confidence_calibration"].evidence == ("no match",)
    assert (found["applicable_ceiling"].value, found["applicable_ceiling"].rule) == (None, "CIT-L6")
    assert (found["errors"].rule, found["improvement_suggestions"].rule) == ("CIT-E1", "CIT-W2")


def test_the_faults_that_did_not_win_are_evidence_of_the_one_that_did() -> None:
    record = citation("C. trav. Mons", "2017/AL/1", candidates=[candidate(LIEGE, LABOUR, "2017/AL/1")])
    found = settle(record | {"matches": [match(LIEGE, 0.9, "Case number matches exactly.")]}).rulings
    assert found["court_alignment_handling"].evidence == ("top match: other_jurisdiction", "SKIPPED_COURT_CHECK")


def test_a_fault_of_court_or_jurisdiction_is_a_matter_of_code_and_one_of_words_a_labellers() -> None:
    listed = [candidate(ONE, "Cass.", None, SUBJECT), candidate(APPEAL, APPEALS)]
    record = citation("Cass.", candidates=listed, citation_snippet=SUBJECT)
    by_code = settle_with(record | {"matches": [match(APPEAL, 0.9, ORDERLY)]}, by_hand(1, "strong")).rulings
    assert by_code["court_alignment_handling"].value == "WRONG_COURT_ACCEPTED"
    assert not by_code["court_alignment_handling"].from_labels
    words = record | {"matches": [match(ONE, 0.85, "The summary fits.")]}
    by_words = settle_with(words, by_hand(1, "strong", no=("court_first",))).rulings
    assert by_words["court_alignment_handling"].value == "SKIPPED_COURT_CHECK"
    assert by_words["court_alignment_handling"].from_labels
    alone = settle(cassation(NUMBER, NUMBER, matches=[match(ONE, 0.97, "Case number matches.")])).rulings
    assert alone["court_alignment_handling"].value == "SKIPPED_COURT_CHECK"
    assert not alone["court_alignment_handling"].from_labels


# --- ceilings --------------------------------------------------------------------------------------


def test_only_the_match_that_bears_the_cited_ecli_needs_no_number() -> None:
    record = cassation(None, None, None, cited_ecli=ONE)
    assert matched(record, ONE, 0.97).applicable_ceiling is None
    assert matched(record, TWO, 0.5).applicable_ceiling == "No case number in citation: max 90%"


@pytest.mark.parametrize(("carried", "ceiling"), [(None, None), (OTHER_NUMBER, "85%")])
def test_the_cited_ecli_makes_up_for_a_missing_number_and_not_for_another_one(
    carried: str | None, ceiling: str | None
) -> None:
    found = matched(cassation(NUMBER, carried, cited_ecli=ONE), ONE, 0.8).applicable_ceiling
    assert found is None if ceiling is None else found is not None and found.endswith(ceiling)


@pytest.mark.parametrize(
    ("count", "carried", "ceiling"),
    [
        (5, None, None),
        (5, OTHER_NUMBER, "85%"),
        (5, "A. 233.710/XIII-9.282", "85%"),
        (None, None, "85%"),
    ],
)
def test_a_fast_path_that_kept_no_number_is_not_held_to_it(
    count: int | None, carried: str | None, ceiling: str | None
) -> None:
    """With five candidates counted and none listed only the match is known; what it does say still counts."""
    record = citation("Cass.", NUMBER, candidate_count=count)
    top = match(ONE, 0.8, ORDERLY, court_name="Cour de cassation", rol_number=carried)
    found = verdict(record | {"matches": [top]}).applicable_ceiling
    assert found is None if ceiling is None else found is not None and found.endswith(ceiling)


@pytest.mark.parametrize(
    ("listed", "ceiling"),
    [
        ([(APPEAL, APPEALS)], "Different court type: max 15-20%"),
        ([(LIEGE, LABOUR)], "Specific court, different jurisdiction: max 55%"),
        ([(LIEGE, LABOUR), (APPEAL, APPEALS)], "Specific court, different jurisdiction: max 55%"),
        ([], None),
    ],
)
def test_without_a_match_only_a_court_that_fits_nowhere_is_a_ceiling_to_tell(
    listed: list[tuple[str, str]], ceiling: str | None
) -> None:
    record = citation("C. trav. Mons", candidates=[candidate(*item) for item in listed])
    found = unmatched(record)
    assert (found.match_correctness, found.applicable_ceiling) == ("CORRECT_NO_MATCH", ceiling)


def test_without_a_match_no_ceiling_is_told_where_a_candidate_is_of_the_cited_court() -> None:
    found = unmatched(cassation(NUMBER, OTHER_NUMBER))
    assert (found.match_correctness, found.applicable_ceiling) == ("CORRECT_NO_MATCH", None)
    mixed = citation("Cass.", NUMBER, candidates=[candidate(ONE, "Cass.", OTHER_NUMBER), candidate(APPEAL, APPEALS)])
    assert unmatched(mixed).applicable_ceiling is None


def test_without_a_match_no_ceiling_is_told_where_one_was_due_or_nothing_is_known() -> None:
    other_type = citation("C. trav. Mons", candidates=[candidate(APPEAL, APPEALS)])
    missed = unmatched(other_type | {"ground_truth": APPEAL})
    assert (missed.match_correctness, missed.applicable_ceiling) == ("FALSE_NEGATIVE", None)
    not_kept = unmatched(other_type | {"candidate_count": 5})
    assert (not_kept.match_correctness, not_kept.applicable_ceiling) == ("CORRECT_NO_MATCH", None)


# --- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("confidence", "reason", "ignored"),
    [
        (0.6, "Court aligned. The context fits.", True),
        (0.6, "Court aligned. The case number was compared.", False),
        (0.97, "Court aligned. The context fits.", False),
    ],
)
def test_a_right_match_ignores_the_number_only_when_it_is_too_unsure_for_not_having_looked(
    confidence: float, reason: str, ignored: bool
) -> None:
    found = matched(cassation(NUMBER, NUMBER, OTHER_NUMBER), ONE, confidence, reason)
    assert found.match_correctness == "CORRECT"
    assert ("CASE_NUMBER_IGNORED" in found.errors) == ignored


@pytest.mark.parametrize(
    ("cited", "count", "carried", "false"),
    [
        (NUMBER, 5, None, False),
        (NUMBER, 5, OTHER_NUMBER, True),
        (NUMBER, 5, "A. 233.710/XIII-9.282", True),
        (NUMBER, None, None, True),
        (None, 5, None, True),
    ],
)
def test_a_number_match_that_cannot_be_checked_is_not_called_false(
    cited: str | None, count: int | None, carried: str | None, false: bool
) -> None:
    """A fast path keeps no number to compare with; but where none was cited, or one was kept, the claim is checked."""
    top = match(ONE, 0.8, "Court aligned. Exact case number match.", court_name="Cass.", rol_number=carried)
    found = verdict(citation("Cass.", cited, candidate_count=count, matches=[top]))
    assert ("CASE_NUMBER_FALSE_MATCH" in found.errors) == false


def test_a_listed_match_is_checked_also_where_other_candidates_were_not_kept() -> None:
    record = cassation(NUMBER, None, candidate_count=5)
    found = matched(record, ONE, 0.8, "Court aligned. Exact case number match.")
    assert "CASE_NUMBER_FALSE_MATCH" in found.errors


def test_to_pass_over_the_candidate_with_the_cited_ecli_is_an_error_in_any_form() -> None:
    record = cassation(None, None, None, cited_ecli=ONE)
    wrong, missed = matched(record, TWO, 0.4), unmatched(record)
    assert (wrong.match_correctness, missed.match_correctness) == ("INCORRECT", "FALSE_NEGATIVE")
    assert "ECLI_MISMATCH_IGNORED" in wrong.errors
    assert "ECLI_MISMATCH_IGNORED" in missed.errors
    assert matched(record, ONE, 0.97, "Court aligned. The ECLI is the cited one.").errors == ["NONE"]


def test_an_ecli_of_another_court_than_the_name_beside_it_must_be_remarked() -> None:
    record = citation("Cass.", NUMBER, candidates=[candidate(APPEAL, "Cour de cassation", NUMBER)])
    assert "ECLI_MISMATCH_IGNORED" in matched(record, APPEAL, 0.97).errors
    assert "CIT-F20" in findings(record | {"matches": [match(APPEAL, 0.97, ORDERLY)]})
    remarked = "Court aligned by name. Case number matches. The ECLI does not fit the court."
    assert "ECLI_MISMATCH_IGNORED" not in matched(record, APPEAL, 0.97, remarked).errors


def test_a_court_of_another_type_is_that_fault_and_no_fault_of_its_ecli_too() -> None:
    record = citation("Cass.", candidates=[candidate(APPEAL, APPEALS)])
    found = matched(record, APPEAL, 0.9)
    assert "COURT_TYPE_MISMATCH_IGNORED" in found.errors
    assert "ECLI_MISMATCH_IGNORED" not in found.errors


def test_a_match_without_an_ecli_has_none_to_contradict() -> None:
    listed = candidate("decision 1", "Cour de cassation", NUMBER) | {"court_ecli_code": "CALIE"}
    record = citation("Cass.", NUMBER, candidates=[listed])
    assert "ECLI_MISMATCH_IGNORED" not in matched(record, "decision 1", 0.97).errors


def test_the_council_of_state_is_known_by_its_number_whatever_the_year_of_its_ecli() -> None:
    name = "ECLI:BE:RVSCE:2019:ARR.243.112"
    by_number = citation("C.E.", "243.112", candidates=[candidate(name, "Conseil d'État")])
    assert matched(by_number, name, 0.97).errors == ["NONE"]
    by_ecli = citation("C.E.", cited_ecli="ECLI:BE:RVSCE:2018:ARR.243.112")
    by_ecli["candidates"] = by_number["candidates"]
    found = matched(by_ecli, name, 0.97, "Court aligned. The ECLI is the cited one.")
    assert (found.match_correctness, found.errors) == ("CORRECT", ["NONE"])


def test_a_misread_context_is_named_beside_errors_that_do_not_explain_the_choice() -> None:
    listed = [candidate(ONE, "Cass.", None, SUBJECT), candidate(TWO, "Cass.", None, "bail commercial")]
    record = citation("Cass.", candidates=listed, citation_snippet=SUBJECT)
    wrong = record | {"matches": [match(TWO, 0.95, "The summary of candidate 2 fits.")]}
    found = settle_with(wrong, by_hand(1, "strong", no=("court_first",))).rulings["errors"].value
    assert found == ["COURT_CHECK_SKIPPED", "CONTEXT_MISREAD", "CEILING_VIOLATED"]


# --- right and wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "answered", "silent"),
    [(None, "FALSE_POSITIVE", "CORRECT_NO_MATCH"), (5, "INCORRECT", "FALSE_NEGATIVE")],
)
def test_a_given_truth_that_was_not_offered_cannot_have_been_missed(
    count: int | None, answered: str, silent: str
) -> None:
    """With a complete list the decision was not there to be found; with one that was not kept it may have been."""
    record = cassation(NUMBER, NUMBER, ground_truth=CASSATION.format(9), candidate_count=count)
    assert matched(record, ONE, 0.97).match_correctness == answered
    assert unmatched(record).match_correctness == silent


def test_where_nothing_decides_a_candidate_with_another_number_is_still_wrong() -> None:
    record = cassation(NUMBER, None, OTHER_NUMBER)
    assert matched(record, ONE, 0.6).match_correctness == "CORRECT"
    assert matched(record, TWO, 0.6).match_correctness == "INCORRECT"


def test_without_a_match_there_is_no_confidence() -> None:
    assert score_answer(study(cassation(NUMBER, NUMBER, no_match_reason="x")), None).percent == 0.0


@pytest.mark.parametrize(
    ("correctness", "truth_rule", "suggestions", "rolled"),
    [
        ("CORRECT", "CIT-T4", None, "pass"),
        ("CORRECT", "CIT-T4", "Look at the court first.", "review"),
        ("CORRECT", "CIT-T11", None, "review"),
        ("CORRECT_NO_MATCH", "CIT-T11", None, "review"),
        ("INCORRECT", "CIT-T11", "Take another.", "fail"),
        ("CORRECT_NO_MATCH", "CIT-T8", None, "pass"),
        ("PARTIALLY_CORRECT", "CIT-T4", "Rank it first.", "review"),
        ("INCORRECT", "CIT-T4", "Take another.", "fail"),
        ("FALSE_POSITIVE", "CIT-T8", "Take none.", "fail"),
        ("FALSE_NEGATIVE", "CIT-T4", "Take it.", "fail"),
    ],
)
def test_a_verdict_passes_is_reviewed_or_fails(
    correctness: str, truth_rule: str, suggestions: str | None, rolled: str
) -> None:
    found = {"match_correctness": correctness, "improvement_suggestions": suggestions, "errors": ["NONE"]}
    assert roll_up(found, {"correct_decision_id": truth_rule}) == rolled


def test_an_error_a_court_that_is_not_understood_or_a_code_of_another_court_is_for_review() -> None:
    clean = {"match_correctness": "CORRECT", "improvement_suggestions": None, "errors": ["NONE"]}
    assert roll_up(clean, {"correct_decision_id": "CIT-T4"}) == "pass"
    assert roll_up({**clean, "errors": ["ECLI_MISMATCH_IGNORED"]}, {"correct_decision_id": "CIT-T4"}) == "review"
    assert roll_up(clean, {"cited_court_classification": "CIT-K5"}) == "review"
    assert roll_up({**clean, "match_correctness": "INCORRECT"}, {"cited_court_classification": "CIT-K5"}) == "fail"
    assert roll_up(clean, {"court_alignment_handling": "CIT-A7"}) == "review"


@pytest.mark.parametrize(
    ("court", "number", "columns"),
    [
        ("Arbeidshof Gent", None, {"court": "labour_court", "place": "gent", "language": "nl"}),
        ("Cass.", "C.17.0001.F", {"court": "cassation", "place": None, "language": "fr"}),
        ("Cass.", "C.17.0001.N", {"language": "nl"}),
        ("Cass.", "243.112", {"language": None}),
        ("C.J.U.E.", None, {"court": "other", "place": None, "language": None}),
        ("Kantoor van de heer Janssens", None, {"court": "unknown", "place": None, "language": None}),
    ],
)
def test_verdicts_are_counted_by_court_place_and_language(
    court: str, number: str | None, columns: dict[str, str | None]
) -> None:
    found = slice_columns(study(citation(court, number)).case)
    assert {name: found[name] for name in columns} == columns


def test_verdicts_are_counted_by_whether_a_match_was_returned() -> None:
    assert slice_columns(study(cassation(NUMBER, NUMBER, no_match_reason="x")).case)["answer"] == "no_match"
    assert slice_columns(study(cassation(NUMBER, NUMBER, matches=[match(ONE)])).case)["answer"] == "match"
