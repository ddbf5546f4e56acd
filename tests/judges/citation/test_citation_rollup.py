"""Pass, review and fail, and the counts by court, language, classification and match type."""

from __future__ import annotations

from typing import Any

from citation_cases import CASSATION, JUDGE, candidate, citation, match, settle
from krino.judges.citation.report.rollup import roll_up_with_reason

ONE, TWO = CASSATION.format(1), CASSATION.format(2)
GOOD = "Court aligned. Case number: exact match to candidate 1, the other differs."


def rolled(record: dict[str, Any]) -> str:
    rulings = settle(record).rulings
    verdict = {name: ruling.value for name, ruling in rulings.items()}
    return JUDGE.roll_up(verdict, {name: ruling.rule for name, ruling in rulings.items()})


def numbered(name: str, confidence: float, reason: str = GOOD) -> dict[str, Any]:
    listed = [candidate(ONE, "Cass.", "C.17.0001.F"), candidate(TWO, "Cass.", "C.17.0002.F")]
    return citation("Hof van Cassatie", "C.17.0001.F", candidates=listed, matches=[match(name, confidence, reason)])


def test_a_faultless_answer_passes_a_wrong_one_fails_the_rest_is_for_review() -> None:
    assert rolled(numbered(ONE, 0.97)) == "pass"
    assert rolled(numbered(ONE, 0.6)) == "review"
    assert rolled(numbered(TWO, 0.97)) == "fail"
    undecided = citation("Cass.", candidates=[candidate(ONE, "Cass."), candidate(TWO, "Cass.")])
    answer = [match(ONE, 0.5, "Court aligned for both.")]
    assert rolled(undecided | {"matches": answer}) == "review"


def test_a_roll_up_comes_with_its_reason() -> None:
    def reason(record: dict[str, Any]) -> str:
        rulings = settle(record).rulings
        verdict = {name: ruling.value for name, ruling in rulings.items()}
        return roll_up_with_reason(verdict, {name: ruling.rule for name, ruling in rulings.items()})[1]

    assert reason(numbered(ONE, 0.97)) == "nothing is wrong"
    assert "UNDERCONFIDENT" in reason(numbered(ONE, 0.6))
    assert "reasoning quality" in reason(numbered(ONE, 0.97, "Court."))
    assert "INCORRECT" in reason(numbered(TWO, 0.97))


def test_the_slice_columns_of_a_case() -> None:
    case = JUDGE.read(citation("C. trav. Liège", snippet_match_type="court_date"))
    assert JUDGE.metadata(case) == {
        "court": "labour_court",
        "place": "liege",
        "language": "fr",
        "unread_court": None,
        "classification": "SPECIFIC",
        "match_type": "COURT_DATE",
        "answer": "no_match",
    }
