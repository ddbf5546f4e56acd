"""Pass, review and fail, and the counts by court, language, classification and match type."""

from __future__ import annotations

from typing import Any

from citation_cases import CASSATION, JUDGE, candidate, citation, match, settle
from krino import Judgement
from krino.judges.citation.rollup import count_roll_ups, roll_up

ONE, TWO = CASSATION.format(1), CASSATION.format(2)
GOOD = "Court aligned. Case number: exact match to candidate 1, the other differs."


def judgement(record: dict[str, Any]) -> Judgement:
    rulings = settle(record).rulings
    return Judgement(
        id="x",
        judge="citation",
        judge_version="1",
        status="ok",
        verdict={name: ruling.value for name, ruling in rulings.items()},
        decided_by={name: ruling.rule for name, ruling in rulings.items()},
        rules={name: ruling.rule for name, ruling in rulings.items()},
        metadata=JUDGE.metadata(JUDGE.read(record)),
        input_hash="x",
    )


def numbered(name: str, confidence: float, reason: str = GOOD) -> dict[str, Any]:
    listed = [candidate(ONE, "Cass.", "C.17.0001.F"), candidate(TWO, "Cass.", "C.17.0002.F")]
    return citation("Hof van Cassatie", "C.17.0001.F", candidates=listed, matches=[match(name, confidence, reason)])


def test_a_faultless_answer_passes_a_wrong_one_fails_the_rest_is_for_review() -> None:
    assert roll_up(judgement(numbered(ONE, 0.97))) == "pass"
    assert roll_up(judgement(numbered(ONE, 0.6))) == "review"
    assert roll_up(judgement(numbered(TWO, 0.97))) == "fail"
    undecided = citation("Cass.", candidates=[candidate(ONE, "Cass."), candidate(TWO, "Cass.")])
    answer = [match(ONE, 0.5, "Court aligned for both.")]
    assert roll_up(judgement(undecided | {"matches": answer})) == "review"


def test_what_has_no_verdict_has_no_roll_up() -> None:
    failed = Judgement(
        id="x", judge="citation", judge_version="1", status="failed", verdict=None, reason="r", input_hash="x"
    )
    assert roll_up(failed) is None
    assert count_roll_ups([failed])["all"] == {"all": {"no verdict": 1}}


def test_counts_by_the_columns_that_teams_look_at() -> None:
    counts = count_roll_ups([judgement(numbered(ONE, 0.97)), judgement(numbered(TWO, 0.97))])
    assert counts["court"] == {"cassation": {"pass": 1, "fail": 1}}
    assert counts["language"] == {"nl": {"pass": 1, "fail": 1}}
    assert counts["classification"] == {"NATIONAL": {"pass": 1, "fail": 1}}
    assert counts["match_type"] == {"none": {"pass": 1, "fail": 1}}


def test_the_slice_columns_of_a_case() -> None:
    case = JUDGE.read(citation("C. trav. Liège", snippet_match_type="court_date"))
    assert JUDGE.metadata(case) == {
        "court": "labour_court",
        "place": "liege",
        "language": "fr",
        "classification": "SPECIFIC",
        "match_type": "COURT_DATE",
        "answer": "no_match",
    }
