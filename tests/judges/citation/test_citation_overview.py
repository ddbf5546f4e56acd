"""What a run of the citation judge says as a whole, and what it keeps of a case beside the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

import krino
from citation_cases import CASSATION, candidate, citation, match
from krino.blocks import DataTable, Reliability, Section
from krino.exports.columns import column_values, find_columns
from krino.judges.citation.report.overview import CitationOverview
from made_views import view_of

FIRST, SECOND = CASSATION.format(1), CASSATION.format(2)
CANDIDATES = [
    candidate(FIRST, "Cour de cassation", "C.17.0234.F"),
    candidate(SECOND, "Hof van Cassatie", "C.16.0001.N"),
]


def case(chosen: str = FIRST, sure: float = 0.97, court: str = "Cass.", **more: Any) -> dict[str, Any]:
    reason = more.pop("reason", "The court is the Court of Cassation and the case number C.17.0234.F is the same.")
    return citation(court, "RG C.17.0234.F", candidates=CANDIDATES, matches=[match(chosen, sure, reason)], **more)


def sections(*cases: dict[str, Any]) -> dict[str, Section]:
    overview = CitationOverview()
    for judgement in krino.judge_many("citation", list(cases)):
        overview.add(judgement.model_dump(mode="json"))
    return {block.title: block for block in overview.blocks() if isinstance(block, Section)}


def test_confidence_match_and_citation_are_columns_of_their_own() -> None:
    judgement = krino.judge("citation", case())
    known = judgement.metadata
    assert (known["decided_by"], known["matched"], known["confidence"]) == ("number", FIRST, 97.0)
    assert known["cited_court_name"] == "Cass." and known["cited_case_number"] == "RG C.17.0234.F"
    record = judgement.model_dump(mode="json")
    exported = {name: cells[0] for name, cells in column_values([record], find_columns([record])).items()}
    assert exported["metadata_confidence"] == 97.0 and exported["metadata_matched"] == FIRST


def test_points_over_the_ceiling_are_counted_from_the_cap() -> None:
    labour = candidate(FIRST, "Cour du travail de Mons", "C.17.0234.F")
    record = citation(
        "Cass.", "RG C.17.0234.F", candidates=[labour], matches=[match(FIRST, 0.80, "The number agrees.")]
    )
    assert krino.judge("citation", record).metadata["over_ceiling"] == 65.0, "another court type: 15 at most"
    assert krino.judge("citation", case()).metadata["over_ceiling"] is None, "no ceiling binds it"


def test_the_confidence_is_held_against_how_often_it_is_right() -> None:
    chart, note = sections(case(), case(), case(SECOND, 0.62))["Is the matcher's confidence justified?"].blocks
    assert isinstance(chart, Reliability)
    low, high = chart.bins
    assert (low.low, low.n, low.confidence, low.right) == (60, 1, 62.0, 0.0)
    assert (high.low, high.n, high.right) == (90, 2, 1.0)
    assert "22.7 points apart" in note.text  # type: ignore[union-attr]  # (2 * 3 + 62) / 3


def test_accuracy_is_told_by_what_decided() -> None:
    table = sections(case(), case(SECOND))["Accuracy by what decided"].blocks[0]
    assert isinstance(table, DataTable)
    (row,) = table.rows
    assert row[:2] == ("the case number", "2") and row[2].text == "50 %"  # type: ignore[union-attr]


def test_courts_have_their_accuracy_calibration_and_errors() -> None:
    table = sections(case(), case(SECOND))["Courts"].blocks[0]
    assert isinstance(table, DataTable)
    ((court, n, *_, errors),) = table.rows
    assert (court, n) == ("cassation", "2") and "CASE_NUMBER_IGNORED 50 %" in str(errors)


def test_court_names_that_were_not_understood_are_listed_with_their_counts() -> None:
    odd = citation("Xyzzy", "12/345", candidates=CANDIDATES, matches=[match(FIRST, 0.5, "It looks alike.")])
    table = sections(odd, odd, case())["Courts that were not recognised"].blocks[0]
    assert isinstance(table, DataTable) and table.rows == [("Xyzzy", "2")]
    assert "Courts that were not recognised" not in sections(case())


def marks(record: dict[str, Any]) -> dict[str, str]:
    (answer,) = (block for block in view_of("citation", record) if block.title.startswith("The matcher"))
    assert "".join(segment.text for segment in answer.segments) == record["matches"][0]["reasoning"], "no word is lost"
    return {segment.text: segment.mark for segment in answer.segments if segment.mark}


def test_an_error_is_marked_at_the_words_that_show_it() -> None:
    reason = "The Court of Cassation fits. The case number C.17.0234.F agrees with the candidate. So it is taken."
    record = case(SECOND, reason=reason)
    assert marks(record) == {"The case number C.17.0234.F agrees with the candidate": "CASE_NUMBER_FALSE_MATCH"}


def test_a_claim_about_courts_is_marked_at_its_clause() -> None:
    lines = (Path(krino.__file__).parent / "examples/citation.jsonl").read_bytes().splitlines()
    (record,) = (record for record in map(orjson.loads, lines) if record["id"] == "language-confusion")
    *_, answer = (block for block in view_of("citation", record) if block.title.startswith("The matcher"))
    (marked,) = (segment for segment in answer.segments if segment.mark)
    assert marked.mark == "FR_NL_CONFUSION" and "is not the same court as" in marked.text
    assert marked.title == "treated the French and the Dutch name of one court as two courts"


def test_a_verdict_without_errors_marks_nothing() -> None:
    (answer,) = (block for block in view_of("citation", case()) if block.title.startswith("The matcher chose"))
    assert not any(segment.mark for segment in answer.segments)
