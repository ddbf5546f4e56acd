"""Reading a record: names, nesting, absent values, and the confidence that is meant."""

from __future__ import annotations

import json
from typing import Any

import pytest

from citation_cases import CASSATION, JUDGE, candidate, citation, findings, match, settle, study
from krino.errors import CannotJudge
from krino.judges.citation.scoring.candidates import read_percent


def test_camel_case_and_a_nested_model_output_read_like_the_flat_record() -> None:
    listed = [candidate(CASSATION.format(1), "Cass.", "C.17.0001.F")]
    output = {"matches": [match(CASSATION.format(1), 0.97)], "no_match_reason": None}
    flat = citation("Cass.", "C.17.0001.F", candidates=listed, **output)
    nested: dict[str, Any] = {
        "citedCourtName": "Cass.",
        "citedDate": "2018-03-15",
        "citedCaseNumber": "C.17.0001.F",
        "candidatesList": [{"decisionId": CASSATION.format(1), "courtName": "Cass.", "rolNumber": "C.17.0001.F"}],
    }
    expected = settle(flat).rulings
    assert settle(nested | {"modelOutput": output}).rulings == expected
    assert settle(nested | {"model_output": json.dumps(output)}).rulings == expected
    assert settle(nested | {"modelOutput": f"```json\n{json.dumps(output)}\n```"}).rulings == expected


@pytest.mark.parametrize("nothing", [None, "", "  ", "N/A", "Not provided", "unknown", "null"])
def test_what_stands_for_absent_is_absent(nothing: str | None) -> None:
    case = JUDGE.read(citation(nothing, nothing, cited_ecli=nothing, citation_snippet=nothing, ground_truth=nothing))
    assert (case.cited_court_name, case.cited_case_number, case.cited_ecli, case.citation_snippet) == (None,) * 4
    assert case.ground_truth_known is False


def test_unknown_keys_are_kept() -> None:
    case = JUDGE.read(citation("Cass.", pipelineRun="r7", candidates=[candidate("x", None) | {"rank": 3}]))
    assert case.model_extra == {"pipeline_run": "r7"}
    assert case.candidates[0].model_extra == {"rank": 3}


def test_a_model_output_that_is_no_json_fails_with_its_name() -> None:
    with pytest.raises(CannotJudge, match="model_output"):
        JUDGE.read({"model_output": "the best match is the first one"})


def test_none_of_them_is_a_known_ground_truth_and_null_alone_is_not() -> None:
    assert JUDGE.read(citation("Cass.", ground_truth=None, ground_truth_known=True)).ground_truth_known
    assert not JUDGE.read(citation("Cass.", ground_truth=None)).ground_truth_known
    assert JUDGE.read(citation("Cass.", ground_truth={"ecli": CASSATION.format(2)})).ground_truth == CASSATION.format(2)


def test_the_court_of_a_candidate_is_read_from_any_of_its_fields() -> None:
    listed: list[dict[str, Any]] = [
        {"decision_id": "a", "court_name_fr": "Cour du travail de Liège"},
        {"decision_id": "b", "court_name_nl": "Arbeidshof te Luik"},
        {"decision_id": "c", "court_ecli_code": "CTLIE"},
        {"decision_id": "ECLI:BE:CTLIE:2018:ARR.20180315.1"},
        {"decision_id": "e", "court_name": "Cour du travail", "court_ecli_code": "CTLIE"},
    ]
    facts = study(citation("C. trav. Liège", candidates=listed))
    assert {item.alignment for item in facts.candidates} == {"SAME"}


def test_a_brussels_tribunal_takes_its_language_from_its_code() -> None:
    listed = [candidate("ECLI:BE:TTBRL:2018:JUG.20180315.1", "Tribunal du travail de Bruxelles")]
    assert study(citation("Nederlandstalige arbeidsrechtbank Brussel", candidates=listed)).eligible == ()
    assert len(study(citation("Arbeidsrechtbank Brussel", candidates=listed)).eligible) == 1


@pytest.mark.parametrize(
    ("confidence", "score", "percent"),
    [(0.55, None, 55), (0.29, 29, 29), (88, None, 88), (None, 72, 72), (None, 0.72, 72), (1, None, 100), (0, 40, 0)],
)
def test_confidence_in_percent(confidence: float | None, score: float | None, percent: float) -> None:
    assert read_percent(confidence, score)[0] == percent


def test_confidence_comes_before_score_and_the_disagreement_is_reported() -> None:
    percent, remarks = read_percent(0.9, 60)
    assert percent == 90
    assert remarks
    assert read_percent(0.9, 90)[1] == ()
    listed = [candidate(CASSATION.format(1), "Cass.", "C.17.0001.F")]
    record = citation("Cass.", "C.17.0001.F", candidates=listed, matches=[match(CASSATION.format(1), 0.97, score=50)])
    assert "CIT-F14" in findings(record)


@pytest.mark.parametrize("value", [-0.2, 140, "high", float("nan"), None, True])
def test_a_match_without_a_usable_number_is_not_judged(value: object) -> None:
    with pytest.raises(CannotJudge, match="neither confidence"):
        study(citation("Cass.", matches=[{"decision_id": CASSATION.format(1), "confidence": value}]))
