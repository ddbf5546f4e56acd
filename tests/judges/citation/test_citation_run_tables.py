"""What a run of the citation judge is counted by: columns, reliability, signals, courts, errors, unread names."""

from __future__ import annotations

from typing import Any

import pytest

import krino
from citation_cases import CASSATION, candidate, citation, match
from krino.blocks import blocks_of
from krino.judges.citation.run_tables import (
    by_court,
    by_signal,
    columns,
    errors,
    reliability,
    run_blocks,
    unread_courts,
)

ONE, TWO = CASSATION.format(1), CASSATION.format(2)
REASON = "NATIONAL court, aligned. Number {}: that of candidate 1."


def judged(record: dict[str, Any]) -> dict[str, Any]:
    return krino.judge("citation", record).model_dump(mode="json")


def numbered(chosen: str, confidence: float) -> dict[str, Any]:
    listed = [candidate(ONE, "Cour de cassation", "C.17.0234.F"), candidate(TWO, "Cour de cassation", "C.16.0001.N")]
    made = match(chosen, confidence, REASON.format("C.17.0234.F"))
    return judged(citation("Cass.", "C.17.0234.F", candidates=listed, matches=[made]))


def unnumbered(confidence: float, reason: str, court: str = "Cour de cassation") -> dict[str, Any]:
    """The only decision of the court, cited without a number and listed in the other language."""
    return judged(
        citation(court, candidates=[candidate(ONE, "Hof van Cassatie")], matches=[match(ONE, confidence, reason)])
    )


def test_the_columns_hold_the_match_its_confidence_and_what_decided() -> None:
    found = columns(numbered(ONE, 0.97))
    assert (found["matched_id"], found["confidence"], found["decided_by"]) == (ONE, 97.0, "case number")
    assert (found["ceiling"], found["points_over_ceiling"], found["errors"]) == (None, None, "NONE")


@pytest.mark.parametrize(("confidence", "over"), [(0.9, 0.0), (0.93, 3.0), (1.0, 10.0)])
def test_the_points_over_the_ceiling_are_counted_from_what_is_tolerated(confidence: float, over: float) -> None:
    found = columns(unnumbered(confidence, "NATIONAL court, aligned. No number is cited, at most 90 %."))
    assert (found["ceiling"], found["points_over_ceiling"]) == (90, over)


def test_the_reliability_sets_confidence_against_being_right() -> None:
    low, high = reliability([numbered(ONE, 0.97), numbered(TWO, 0.95), numbered(ONE, 1.0), numbered(ONE, 0.32)])
    assert (low.low, low.high, low.matches, low.right) == (30, 40, 1, 1)
    assert (high.low, high.high, high.matches, high.right) == (90, 100, 3, 2)
    assert high.mean_confidence == pytest.approx((97 + 95 + 100) / 3)
    assert high.share_right == pytest.approx(2 / 3)


def test_matches_of_which_nothing_says_whether_they_are_right_are_no_part_of_the_reliability() -> None:
    listed = [candidate(ONE, "Cour de cassation"), candidate(TWO, "Cour de cassation")]
    open_case = judged(citation("Cass.", candidates=listed, matches=[match(ONE, 0.5, "Court aligned.")]))
    assert open_case["verdict"]["match_correctness"] == "CORRECT"
    assert reliability([open_case]) == []
    assert [(item.name, item.right) for item in by_signal([open_case, numbered(TWO, 0.9)])] == [
        ("case number", 0),
        ("nothing decides", 1),
    ]


def test_courts_are_counted_with_what_came_out() -> None:
    (row,) = by_court([numbered(ONE, 0.97), numbered(TWO, 0.97)])
    assert (row.name, row.cases, row.right, row.with_errors) == ("cassation", 2, 1, 1)


def test_every_type_of_error_is_listed_with_its_share() -> None:
    listed = errors([numbered(ONE, 0.97), numbered(TWO, 0.97)])
    counts = {name: (count, share) for name, count, share in listed}
    assert len(counts) == 14
    assert counts["CASE_NUMBER_IGNORED"] == (1, 50.0)
    assert counts["FR_NL_CONFUSION"] == (0, 0.0)


def test_names_that_were_not_understood_are_counted() -> None:
    made = [unnumbered(0.8, "Court aligned.", court) for court in ("Zork", "Zork", "Blurb", "Cass.")]
    assert unread_courts(made) == [("Zork", 2), ("Blurb", 1)]


def test_a_case_that_failed_is_in_no_count() -> None:
    failed = judged(citation("Cass.", candidates=[], matches=[match(ONE, None)]))
    assert failed["status"] == "failed"
    assert reliability([failed]) == by_signal([failed]) == by_court([failed]) == []


def test_the_blocks_of_a_run_are_tables_with_rows() -> None:
    titles = [block.title for block in run_blocks([numbered(ONE, 0.97)])]
    assert titles == ["Reliability of the matcher's confidence", "By what decided", "By cited court", "Errors"]


def test_the_words_that_show_an_error_are_marked_in_the_reasoning() -> None:
    reason = "The date fits. Hof van Cassatie is not the Cour de cassation. So 40 %."
    judgement = unnumbered(0.4, reason)
    assert judgement["evidence"]["errors"] == ["FR_NL_CONFUSION: Hof van Cassatie is not the Cour de cassation"]
    record = citation(
        "Cour de cassation", candidates=[candidate(ONE, "Hof van Cassatie")], matches=[match(ONE, 0.4, reason)]
    )
    (answer,) = [item for item in blocks_of({**judgement, "case": record}) if item["title"].startswith("The matcher")]
    marked = [segment["text"] for segment in answer["segments"] if segment["mark"] == "FR_NL_CONFUSION"]
    assert marked == ["Hof van Cassatie is not the Cour de cassation"]
    assert "".join(segment["text"] for segment in answer["segments"]) == reason
