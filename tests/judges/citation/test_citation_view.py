"""A citation case in the report: the citation as read, the candidates with the chosen and the correct one marked."""

from __future__ import annotations

from typing import Any

import krino
from citation_cases import CASSATION, candidate, citation, match
from krino.blocks import Cell
from made_views import view_of

FIRST, SECOND = CASSATION.format(1), CASSATION.format(2)


def blocks(record: dict[str, Any]) -> list[Any]:
    return view_of("citation", record)


def block(record: dict[str, Any], title: str) -> Any:
    (found,) = [item for item in blocks(record) if item.title.startswith(title)]
    return found


def numbered(chosen: str, **more: Any) -> dict[str, Any]:
    candidates = [
        candidate(FIRST, "Cour de cassation", "C.17.0234.F"),
        candidate(SECOND, "Hof van Cassatie", "C.16.0001.N"),
    ]
    reason = "The number is that of the candidate."
    return citation("Cass.", "RG C.17.0234.F", candidates=candidates, matches=[match(chosen, 0.97, reason)], **more)


def test_the_chosen_candidate_that_is_correct_is_marked_as_both() -> None:
    table = block(numbered(FIRST), "Candidates")
    chosen, other = table.rows
    assert chosen[:2] == ("chosen, correct", FIRST)
    assert other[:2] == ("", SECOND)
    assert table.tones == ["good", None]


def test_a_wrong_choice_stands_beside_the_correct_decision() -> None:
    table = block(numbered(SECOND), "Candidates")
    assert [row[0] for row in table.rows] == ["chosen", "correct"]
    assert table.tones == ["bad", "info"]


def test_courts_and_numbers_are_compared_with_the_citation() -> None:
    rows = {row[1]: row for row in block(numbered(FIRST), "Candidates").rows}
    assert rows[FIRST][2] == Cell("Cour de cassation", below="the cited court")
    assert rows[FIRST][4] == Cell("C.17.0234.F", below="normalised")
    assert rows[SECOND][4] == Cell("C.16.0001.N", below="different")


def test_the_citation_is_shown_as_written_and_as_read() -> None:
    rows = {row[0]: row[1:] for row in block(numbered(FIRST), "Citation").rows}
    assert rows["court"] == ("Cass.", "cassation court, national")
    assert rows["date"] == ("2018-03-15", "2018-03-15")
    assert rows["ECLI"] == ("not given", None)


def test_the_matchers_answer_is_shown_with_its_confidence() -> None:
    answer = block(numbered(FIRST), "The matcher chose")
    assert answer.title == f"The matcher chose {FIRST}, 97 % sure"
    assert answer.segments[0].text == "The number is that of the candidate."
    nothing = citation("Cass.", candidates=[candidate(FIRST, "Cour de cassation")], no_match_reason="None fits.")
    assert block(nothing, "The matcher found no match").segments[0].text == "None fits."


def test_a_choice_that_is_not_in_the_list_says_so() -> None:
    rows = block(numbered(CASSATION.format(9)), "Candidates").rows
    assert rows[0][:2] == ("chosen, not in the list", CASSATION.format(9))


def test_the_words_that_the_labeller_quotes_are_marked() -> None:
    candidates = [
        candidate(FIRST, "Cour de cassation", None, "Licenciement pour motif grave, délai de trois jours"),
        candidate(SECOND, "Cour de cassation", None, "Accident du travail, événement soudain"),
    ]
    snippet = "le licenciement pour motif grave était tardif, le délai de trois jours étant passé"
    record = citation("Cass.", candidates=candidates, citation_snippet=snippet, matches=[match(FIRST, 0.8, "Context.")])
    text = block(record, f"Text of {FIRST}")
    quoted = [segment.text for segment in text.segments if segment.mark]
    assert quoted and quoted[0] in candidates[0]["summaries"][0]
    assert block(record, "Snippet").segments[0].text == snippet


def test_very_many_candidates_are_cut_and_the_title_says_so() -> None:
    candidates = [candidate(CASSATION.format(n), "Cour de cassation", f"C.17.{n:04}.F") for n in range(1, 101)]
    record = citation("Cass.", "C.17.0077.F", candidates=candidates, matches=[match(CASSATION.format(100), 0.9, "x")])
    table = block(record, "Candidates")
    assert table.title == "Candidates (the first 60 of 100)"
    assert [row[0] for row in table.rows[:3]] == ["chosen", "correct", ""]


def test_a_case_that_cannot_be_read_is_not_shown_by_the_view() -> None:
    assert view_of("citation", {"id": "x", "matches": 7}, krino.judge("citation", numbered(FIRST)).model_dump()) == []
