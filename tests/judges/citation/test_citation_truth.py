"""Which decision is meant: the order of signals, and what happens where none decides."""

from __future__ import annotations

from typing import Any

import pytest

from citation_cases import CASSATION, JUDGE, candidate, citation, findings, match, settle, study, verdict
from krino.judges.citation.report.rollup import roll_up

ONE, TWO, THREE = (CASSATION.format(number) for number in (1, 2, 3))
RENT = "bail commercial, renouvellement, indemnité d'éviction"
DISMISSAL = "licenciement pour motif grave, délai de trois jours"


def truth(record: dict[str, Any]) -> tuple[str | None, str]:
    found = settle(record).rulings["correct_decision_id"]
    return found.value, found.rule


def cassation(number: str | None, *numbers: str | None, **more: Any) -> dict[str, Any]:
    listed = [candidate(CASSATION.format(place), "Cour de cassation", rol) for place, rol in enumerate(numbers, 1)]
    return citation("Cass.", number, candidates=listed, **more)


def test_the_given_truth_comes_before_everything() -> None:
    record = cassation("C.17.0001.F", "C.17.0001.F", "C.17.0002.F", cited_ecli=ONE, ground_truth=TWO.lower())
    assert truth(record) == (TWO, "CIT-T1")
    assert "CIT-F7" in findings(record)


def test_the_cited_ecli_comes_before_the_number_and_the_disagreement_is_reported() -> None:
    record = cassation("C.17.0001.F", "C.17.0001.F", "C.17.0002.F", cited_ecli=TWO)
    assert truth(record) == (TWO, "CIT-T3")
    assert "CIT-F7" in findings(record)


def test_an_identifier_from_before_the_ecli_is_read_with_the_court_that_is_cited() -> None:
    record = cassation(None, None, None)
    assert truth(record | {"cited_ecli": "F-20180315-2"}) == (TWO, "CIT-T3")
    assert truth(record | {"cited_case_number": "n-20180315-1"}) == (ONE, "CIT-T3")
    assert truth(record | {"cited_ecli": "F-20180315-9"}) == (None, "CIT-T11")
    unnamed = record | {"cited_court_name": "Cour d'appel", "cited_case_number": "F-20180315-2"}
    assert truth(unnamed) == (None, "CIT-T8")  # several courts of appeal, and the id does not say which


def test_a_cited_ecli_of_no_candidate_falls_through_and_is_reported() -> None:
    record = cassation("C.17.0001.F", "C.17.0001.F", "C.17.0002.F", cited_ecli=CASSATION.format(9))
    assert truth(record) == (ONE, "CIT-T4")
    assert "CIT-F5" in findings(record)


@pytest.mark.parametrize("cited", ["C.17.0001.F", "RG C170001F", "C.17.O001.F", "C.17.0001", "C.17.0001.N"])
def test_the_number_decides_in_any_spelling(cited: str) -> None:
    assert truth(cassation(cited, "C.17.0002.F", "C.17.0001.F")) == (TWO, "CIT-T4")


def test_the_closest_spelling_wins() -> None:
    assert truth(cassation("C.17.0001.F", "C.17.0001.N", "C.17.0001.F")) == (TWO, "CIT-T4")


def test_a_number_that_two_candidates_carry_does_not_decide() -> None:
    record = cassation("C.17.0001.F", "C.17.0001.F", "C170001F;C170002F", "C.17.0009.F")
    assert truth(cassation("C.17.0001.F", "C170001F", "C170001F"))[1] == "CIT-T11"
    assert truth(record) == (ONE, "CIT-T4")


def test_a_number_carried_by_another_jurisdiction_does_not_decide() -> None:
    listed = [candidate("ECLI:BE:AHGNT:2018:ARR.20180315.1", "Arbeidshof Gent", "2017/AG/12")]
    assert truth(citation("Cour du travail de Mons", "2017/AG/12", candidates=listed)) == (None, "CIT-T8")


def test_constitutional_and_council_of_state_numbers_are_held_against_the_ecli() -> None:
    eclis = ("ECLI:BE:GHCC:2018:ARR.031", "ECLI:BE:GHCC:2018:ARR.032")
    listed = [candidate(ecli, "Grondwettelijk Hof", "6543") for ecli in eclis]
    assert truth(citation("C. const.", "n° 32/2018", candidates=listed)) == (eclis[1], "CIT-T4")
    state = [candidate("ECLI:BE:RVSCE:2018:ARR.241.002", "Conseil d'État", "A. 220.111/XV-3.444")]
    assert truth(citation("RvS", "nr. 241.002", candidates=state))[1] == "CIT-T4"


def test_the_only_aligned_candidate_is_meant_when_no_number_is_cited() -> None:
    listed = [candidate("ECLI:BE:CALIE:2018:ARR.20180315.1", "Cour d'appel de Liège"), candidate(ONE, "Cass.")]
    assert truth(citation("Luik", candidates=listed)) == (listed[0]["decision_id"], "CIT-T5")


def test_a_candidate_without_a_number_is_meant_when_there_is_no_other() -> None:
    assert truth(cassation("C.17.0001.F", None)) == (ONE, "CIT-T12")
    assert truth(cassation("C.17.0001.F", "C.17.0002.F")) == (None, "CIT-T7")


def test_beside_other_courts_the_only_aligned_candidate_without_a_number_is_meant() -> None:
    elsewhere = candidate("ECLI:BE:CALIE:2018:ARR.20180315.9", "Cour d'appel de Liège", None, RENT)
    record = cassation("C.17.0001.F", None)
    record["candidates"].append(elsewhere)
    assert truth(record) == (ONE, "CIT-T12")
    refused = verdict(record | {"no_match_reason": "The court fits, nothing confirms the number."})
    assert (refused.match_correctness, refused.expected_confidence_range) == ("FALSE_NEGATIVE", (50, 85))
    assert "only aligned candidate left" in refused.evaluation_notes


def test_the_only_aligned_candidate_with_a_number_of_another_form_asks_for_context() -> None:
    record = cassation("C.17.0001.F", "6120", citation_snippet=DISMISSAL)
    assert truth(record) == (None, "CIT-T11")
    assert "only aligned candidate left" in verdict(record).evaluation_notes
    record["candidates"][0]["summaries"] = [DISMISSAL]
    assert truth(record) == (ONE, "CIT-T6")


def test_other_numbers_everywhere_need_strong_context_or_nothing_is_meant() -> None:
    record = cassation("C.17.0001.F", "C.17.0002.F", "C.17.0003.F", citation_snippet=f"... {DISMISSAL} ...")
    assert truth(record) == (None, "CIT-T7")
    record["candidates"][1]["summaries"] = [DISMISSAL]
    record["candidates"][0]["summaries"] = [RENT]
    assert truth(record) == (TWO, "CIT-T6")


def test_context_decides_between_aligned_candidates() -> None:
    listed = [candidate(ONE, "Cass.", None, RENT), candidate(TWO, "Hof van Cassatie", None, DISMISSAL)]
    snippet = "... het ontslag om dringende reden moet binnen drie dagen ..."
    assert truth(citation("Cass.", candidates=listed, citation_snippet=snippet)) == (TWO, "CIT-T6")


def test_candidates_of_another_date_are_reported_and_not_meant() -> None:
    listed = [candidate(ONE, "Cass.", "C.17.0001.F") | {"decision_date": "2018-03-16"}]
    record = citation("Cass.", "C.17.0001.F", candidates=listed)
    assert truth(record) == (None, "CIT-T9")
    assert "CIT-F10" in findings(record)
    assert truth(record | {"cited_ecli": ONE}) == (ONE, "CIT-T3")


def test_an_opinion_is_never_the_judgment() -> None:
    opinion = candidate("ECLI:BE:CASS:2018:CONC.20180315.1", "Cass.", "C.17.0001.F")
    record = citation("Cass.", "C.17.0001.F", candidates=[opinion, candidate(ONE, "Cass.", "C.17.0001.F")])
    assert truth(record) == (ONE, "CIT-T4")
    assert "CIT-F11" in findings(record)


def test_a_decision_listed_twice_counts_once() -> None:
    record = cassation(None, None)
    record["candidates"] *= 2
    assert truth(record) == (ONE, "CIT-T5")
    assert "CIT-F9" in findings(record)


def test_a_fast_path_is_judged_from_the_match_itself() -> None:
    kept: dict[str, Any] = {"candidates": [], "candidate_count": 5}
    by_ecli = citation("Cass.", cited_ecli=ONE, matches=[match(ONE, 1.0, "ECLI exact match")], **kept)
    assert truth(by_ecli) == (ONE, "CIT-T3")
    assert verdict(by_ecli).confidence_calibration == "WELL_CALIBRATED"
    assert "CIT-F13" in findings(by_ecli)
    assert "fast path" in verdict(by_ecli).evaluation_notes
    single = citation("Cass.", matches=[match(ONE, 0.85, "Court aligned, single candidate")], candidate_count=1)
    assert truth(single) == (ONE, "CIT-T5")
    many = citation("Cass.", matches=[match(ONE, 0.5, "Court aligned")], candidate_count=5)
    assert (truth(many), verdict(many).match_correctness) == ((None, "CIT-T11"), "CORRECT")


def test_no_model_is_asked_where_identifiers_or_courts_decide() -> None:
    decided = [
        cassation("C.17.0001.F", "C.17.0001.F", "C.17.0002.F"),
        cassation(None, None, None, cited_ecli=ONE),
        cassation(None, None, None, ground_truth=TWO),
        citation("Cass.", candidates=[candidate("x", "Tribunal du travail de Liège")]),
        citation("Cass."),
    ]
    for record in decided:
        facts = study(record)
        assert JUDGE.ask(facts.case, facts) is None
    facts = study(cassation(None, None, None))
    assert JUDGE.ask(facts.case, facts) is not None


OLD = {
    "cited_court_name": "Cour de cassation",
    "cited_date": "2013-01-08",
    "candidates": [
        {"decision_id": "N-20130108-12", "court_name": "Hof van Cassatie", "decision_date": "2013-01-08"},
        {"decision_id": "N-20130108-3", "court_name": "Hof van Cassatie", "decision_date": "2013-01-08"},
    ],
    "matches": [{"decision_id": "N-20130108-12", "confidence": 0.9, "reasoning": "The ECLI is the same."}],
}
TWELVE = "ECLI:BE:CASS:2013:ARR.20130108.12"


def test_a_candidate_known_by_its_old_identifier_is_the_decision_of_the_cited_ecli() -> None:
    assert truth(OLD | {"cited_ecli": TWELVE}) == ("N-20130108-12", "CIT-T3")
    assert truth(OLD | {"cited_ecli": "n - 20130108 - 12"}) == ("N-20130108-12", "CIT-T3")
    assert truth(OLD | {"cited_ecli": "ECLI:BE:CASS:2013:ARR.20130108.9"}) == (None, "CIT-T11")


@pytest.mark.parametrize("named", ["N-20130108-12", TWELVE, "n-20130108-12", TWELVE.lower()])
def test_matches_and_given_truth_may_name_it_either_way(named: str) -> None:
    named_so = {"decision_id": named, "confidence": 0.9, "reasoning": "The ECLI is the same."}
    told = OLD | {"cited_ecli": TWELVE, "matches": [named_so]}
    assert verdict(told).match_correctness == "CORRECT"
    assert truth(OLD | {"ground_truth": named}) == ("N-20130108-12", "CIT-T1")


def test_the_code_of_the_court_tells_where_its_name_does_not() -> None:
    bare = [{"decision_id": "N-20130108-12", "court_ecli_code": "cass"}]
    assert truth(OLD | {"candidates": bare, "cited_ecli": TWELVE}) == ("N-20130108-12", "CIT-T3")
    many = [{"decision_id": "N-20130108-12", "court_name": "Tribunal de première instance"}]
    assert truth(OLD | {"candidates": many, "cited_ecli": TWELVE})[0] is None


def test_an_old_identifier_tells_the_day_where_no_date_is_listed() -> None:
    other = [{"decision_id": "N-20120108-12", "court_name": "Hof van Cassatie"}]
    assert truth(OLD | {"candidates": other, "matches": []}) == (None, "CIT-T9")


def test_a_decision_listed_by_both_identifiers_is_one() -> None:
    both = [{"decision_id": TWELVE, "court_name": "Hof van Cassatie"}, OLD["candidates"][0]]
    assert truth(OLD | {"candidates": both, "cited_ecli": TWELVE})[1] == "CIT-T3"


def test_where_nothing_decides_a_match_is_the_most_reasonable_one_and_for_review() -> None:
    """Rule 10 of the rubric: CORRECT beside a null id stands where notes and roll-up say that it is open."""
    record = cassation(None, None, None, matches=[match(ONE, 0.5)])
    told = verdict(record)
    assert (told.match_correctness, told.correct_decision_id) == ("CORRECT", None)
    assert "Nothing decides" in told.evaluation_notes
    rules = {name: ruling.rule for name, ruling in settle(record).rulings.items()}
    assert roll_up(told.model_dump(), rules) == "review"
