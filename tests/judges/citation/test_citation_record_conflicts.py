"""What stands in a record under another name, or twice: it is read, told or refused, never dropped."""

from __future__ import annotations

import json
from typing import Any

import pytest

from citation_cases import CASSATION, JUDGE, candidate, citation, findings, match, settle, verdict
from krino.errors import CannotJudge

Record = dict[str, Any]
ONE, TWO = CASSATION.format(1), CASSATION.format(2)
NUMBER, OTHER_NUMBER = "C.17.0001.F", "C.17.0002.F"
REASON = "Court: Cassation, both fit. The context fits."


# --- an ECLI beside a database id --------------------------------------------------------------------


def by_database_id(chosen: str, name: str = "ecli", **more: Any) -> Record:
    listed = [candidate("dec-1", "Cour de cassation") | {name: ONE}, candidate("dec-2", "Cour de cassation")]
    return citation("Cass.", candidates=listed, matches=[match(chosen, 0.9, REASON)], **more)


@pytest.mark.parametrize(
    "name",
    [
        "ecli",
        "ECLI",
        "decision_ecli",
        "decisionEcli",
        "ecli_number",
        "ecliNumber",
        "full_ecli",
        "europeanCaseLawIdentifier",
    ],
)
def test_the_cited_ecli_decides_whatever_its_column_is_called(name: str) -> None:
    for chosen, correctness in (("dec-1", "CORRECT"), ("dec-2", "INCORRECT")):
        found = verdict(by_database_id(chosen, name, cited_ecli=ONE))
        assert (found.match_correctness, found.correct_decision_id) == (correctness, "dec-1")
    assert "CIT-F5" not in findings(by_database_id("dec-2", name, cited_ecli=ONE))


@pytest.mark.parametrize("part", [{"metadata": {"ecli": ONE}}, {"identifiers": {"ECLI": ONE}}])
def test_an_ecli_one_level_down_is_read(part: Record) -> None:
    record = by_database_id("dec-2", cited_ecli=ONE)
    record["candidates"][0] = candidate("dec-1", "Cour de cassation") | part
    assert verdict(record).correct_decision_id == "dec-1"


def test_a_match_and_the_ground_truth_may_use_either_identifier() -> None:
    assert verdict(by_database_id(ONE, cited_ecli=ONE)).match_correctness == "CORRECT"
    for truth in ("dec-1", ONE):
        assert verdict(by_database_id("dec-2", ground_truth=truth)).match_correctness == "INCORRECT"
        assert verdict(by_database_id("dec-1", ground_truth=truth)).match_correctness == "CORRECT"


def test_a_candidate_that_has_both_an_id_and_an_ecli_is_found_by_either() -> None:
    listed = [{"id": 11, "ecli": ONE, "court_name": "Cass."}, {"id": 12, "ecli": TWO, "court_name": "Cass."}]
    record = citation("Cass.", cited_ecli=ONE, candidates=listed)
    for chosen, correctness in ((11, "CORRECT"), (12, "INCORRECT"), (ONE, "CORRECT")):
        found = verdict(record | {"matches": [match(str(chosen), 0.97, REASON)]})
        assert found.match_correctness == correctness


def test_an_ecli_gives_a_database_id_its_court_and_date() -> None:
    listed = [{"decision_id": "dec-1", "ecli": "ECLI:BE:CALIE:2018:ARR.20180316.1"}]
    record = citation("Cass.", candidates=listed, matches=[match("dec-1", 0.9, REASON)])
    assert verdict(record).court_alignment_handling == "WRONG_COURT_ACCEPTED"
    assert "CIT-F10" in findings(record)


def test_the_cited_ecli_under_a_key_that_is_not_read_is_told() -> None:
    record = by_database_id("dec-2", "appeal_against", cited_ecli=ONE)
    told = [finding.text for finding in settle(record).findings if finding.rule == "CIT-F24"]
    assert len(told) == 1
    assert "appeal_against" in told[0]
    for value in ([ONE], [{"type": "ecli", "value": ONE}]):
        record["candidates"][0]["appeal_against"] = value
        assert [item.text for item in settle(record).findings if item.rule == "CIT-F24"] == told


def test_two_entries_of_one_decision_are_one_and_both_ids_name_it() -> None:
    record = by_database_id("dec-2", cited_ecli=ONE)
    record["candidates"][1]["ecli"] = ONE
    assert verdict(record).match_correctness == "CORRECT"
    assert "CIT-F9" in findings(record)


def test_a_match_whose_identifiers_name_two_candidates_is_refused() -> None:
    record = by_database_id("dec-2", cited_ecli=ONE)
    record["matches"][0]["ecli"] = ONE
    with pytest.raises(CannotJudge, match=r"matches\.0: its identifiers .* several candidates"):
        settle(record)


def test_a_match_whose_id_is_that_of_another_candidate_is_refused_and_one_that_counts_is_not() -> None:
    record = by_database_id("dec-2", cited_ecli=ONE)
    record["matches"][0]["id"] = 1
    settle(record)
    record["matches"][0]["id"] = "dec-1"
    with pytest.raises(CannotJudge, match=r"matches\.0: its identifiers .* several candidates"):
        settle(record)


def test_candidates_as_an_object_of_objects_are_refused() -> None:
    record = by_database_id("dec-2", cited_ecli=ONE)
    record["candidates"] = {item["decision_id"]: item for item in record["candidates"]}
    with pytest.raises(CannotJudge, match="candidates is an object of objects: give a list"):
        settle(record)


# --- two values for one field ------------------------------------------------------------------------


def numbered(**more: Any) -> Record:
    listed = [candidate(ONE, "Cour de cassation", NUMBER), candidate(TWO, "Cour de cassation", OTHER_NUMBER)]
    return citation("Cass.", NUMBER, candidates=listed, matches=[match(ONE, 0.97, REASON)], **more)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("citedCaseNumber", OTHER_NUMBER),
        ("citedCourtName", "Tribunal de police de Namur"),
        ("citedDate", "2018-03-16"),
        ("citation", {"cited_case_number": OTHER_NUMBER}),
        ("noMatchReason", "none fits"),
    ],
)
def test_a_citation_with_two_values_for_one_field_is_refused(key: str, value: Any) -> None:
    record = numbered(no_match_reason="another reason") if key == "noMatchReason" else numbered()
    with pytest.raises(CannotJudge, match="two values for"):
        JUDGE.read(record | {key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("citedCaseNumber", "RG C170001F"),
        ("citedCourtName", "Cour de cassation"),
        ("citedDate", "15 mars 2018"),
        ("citedDate", None),
        ("citedCaseNumber", "N/A"),
        ("citation", {"cited_case_number": NUMBER}),
    ],
)
def test_two_spellings_of_one_value_are_no_contradiction(key: str, value: Any) -> None:
    assert settle(numbered() | {key: value}).rulings == settle(numbered()).rulings


def test_a_null_does_not_hide_the_value_of_another_spelling() -> None:
    record = numbered() | {"cited_case_number": None, "citedCaseNumber": NUMBER}
    assert verdict(record).match_correctness == "CORRECT"


OTHER_ANSWERS: list[Any] = [
    {"matches": [match(TWO, 0.97, REASON)]},
    json.dumps({"matches": [match(TWO, 0.97, REASON)]}),
    {"matches": [match(ONE, 0.4, REASON)]},
    {"matches": [match(ONE, 0.97, "Another reasoning altogether.")]},
    {"matches": []},
    {"matches": [match(ONE, 0.97, REASON), match(TWO, 0.1, REASON)]},
    {"best_match": match(TWO, 0.97, REASON)},
]


@pytest.mark.parametrize("name", ["modelOutput", "model_output", "output", "matcher_output"])
@pytest.mark.parametrize("output", OTHER_ANSWERS)
def test_two_answers_in_one_record_are_refused(name: str, output: Any) -> None:
    with pytest.raises(CannotJudge, match="two answers"):
        JUDGE.read(numbered() | {name: output})


def test_a_best_match_that_is_not_the_first_of_the_matches_is_refused() -> None:
    output = {"matches": [match(ONE, 0.97, REASON)], "best_match": match(TWO, 0.97, REASON)}
    record = {name: value for name, value in numbered().items() if name != "matches"}
    with pytest.raises(CannotJudge, match="two answers"):
        JUDGE.read(record | {"model_output": output})
    output["best_match"] = match(ONE, 0.97, REASON)
    assert settle(record | {"model_output": output}).rulings == settle(numbered()).rulings


def test_the_same_answer_twice_is_read_once_and_filled_in() -> None:
    output = {"matches": [match(ONE, 97.0, REASON)]}
    record = numbered() | {"matches": [match(ONE, 0.97)], "modelOutput": json.dumps(output)}
    assert settle(record).rulings == settle(numbered()).rulings


def test_matches_beside_an_empty_list_at_the_top_are_not_overlooked() -> None:
    with pytest.raises(CannotJudge, match="two answers"):
        JUDGE.read(numbered() | {"matches": [], "model_output": {"matches": [match(ONE, 0.97, REASON)]}})


@pytest.mark.parametrize("name", ["matches", "model_output"])
@pytest.mark.parametrize(
    "around",
    [
        "I will not match. Example: {}",
        "Example: {}",
        "{} would be wrong.",
        "Ik kies niets. Voorbeeld:\n```json\n{}\n```",
        "Pas de correspondance, par exemple {}",
    ],
)
def test_prose_around_an_example_is_no_match(name: str, around: str) -> None:
    record = {key: value for key, value in numbered().items() if key != "matches"}
    given = json.dumps([match(ONE, 0.97, REASON)])
    with pytest.raises(CannotJudge, match="mixed with text"):
        JUDGE.read(record | {name: around.replace("{}", given)})


@pytest.mark.parametrize("around", ["{}", "Here is my answer:\n{}\nHope it helps.", "```json\n{}\n```", "Voici : {}"])
def test_a_greeting_around_an_answer_takes_nothing_back(around: str) -> None:
    record = {key: value for key, value in numbered().items() if key != "matches"}
    given = around.replace("{}", json.dumps([match(ONE, 0.97, REASON)]))
    assert settle(record | {"matches": given}).rulings == settle(numbered()).rulings


def test_a_candidate_with_two_numbers_carries_both() -> None:
    record = numbered()
    record["candidates"][0] |= {"rol_number": "C.17.0009.F", "case_number": NUMBER}
    assert verdict(record).match_correctness == "CORRECT"


def test_an_entry_with_two_courts_or_dates_is_told() -> None:
    record = numbered()
    record["candidates"][0] |= {"court": "Cour d'appel de Liège", "decision_date": "2018-03-15", "date": "2018-03-16"}
    told = [finding.text for finding in settle(record).findings if finding.rule == "CIT-F24"]
    assert len(told) == 2
    assert "Cour d'appel de Liège" in told[0]


def test_a_match_with_the_court_of_another_candidate_is_told() -> None:
    record = numbered()
    record["matches"][0]["court_name"] = "Cour d'appel de Liège"
    assert "CIT-F24" in findings(record)
    record["matches"][0]["court_name"] = "Hof van Cassatie"
    assert "CIT-F24" not in findings(record)


def test_lists_of_candidates_that_name_different_decisions_are_refused() -> None:
    other = f"1. {TWO} | Cour de cassation"
    with pytest.raises(CannotJudge, match="candidates_list"):
        JUDGE.read(numbered() | {"candidates_list": other})


# --- text that is read, and text that is not ---------------------------------------------------------


def test_every_text_of_a_candidate_is_read_whatever_its_key() -> None:
    listed = candidate(ONE, "Cass.", None, "un résumé") | {"abstract": "bail commercial", "teachings": ["congé"]}
    listed["summaries"].append({"title": "un titre", "text": "un texte", "nl": "een tekst"})
    case = JUDGE.read(citation("Cass.", candidates=[listed]))
    texts = {*case.candidates[0].summaries, *case.candidates[0].teaching_texts}
    assert texts == {"un résumé", "bail commercial", "congé", "un titre", "un texte", "een tekst"}


def test_a_reasoning_under_two_keys_is_read_whole() -> None:
    record = numbered()
    record["matches"][0]["explanation"] = "Candidate 2 carries another number."
    assert "Candidate 2 carries another number." in (JUDGE.read(record).matches[0].reasoning or "")


def test_reasonings_that_are_not_judged_are_listed_as_unread() -> None:
    record = numbered(no_match_reason="none fits", reasoning="Beside the matches.")
    record["matches"].append(match(TWO, 0.2, "The second one."))
    left = {item.where: item.text for item in settle(record).unread}
    assert left == {
        "matches[1].reasoning": "The second one.",
        "no_match_reason": "none fits",
        "reasoning": "Beside the matches.",
    }
    assert settle(numbered()).unread == ()


def test_the_end_of_a_very_long_reasoning_is_listed_as_unread() -> None:
    record = numbered()
    record["matches"][0]["reasoning"] = f"{REASON} ".ljust(8_000, ".") + "The match is withdrawn."
    assert [item.text for item in settle(record).unread] == ["The match is withdrawn."]


def test_what_a_labeller_is_not_shown_of_snippet_and_candidates_is_listed_as_unread() -> None:
    subject = "bail commercial, congé, renouvellement"
    long = candidate(ONE, "Cass.", None, subject.ljust(2_000, ".") + "THE END")
    listed = [long, *(candidate(CASSATION.format(n), "Cass.", None, f"divorce {n}") for n in range(2, 30))]
    record = citation("Cass.", candidates=listed, citation_snippet=subject.ljust(4_000, ".") + "MORE")
    unread = settle(record | {"matches": [match(ONE, 0.8, REASON)]}).unread
    assert [item.text for item in unread[:2]] == ["MORE", "THE END"]
    assert len(unread) == 2 + 29 - 24
    by_number = record | {"cited_case_number": NUMBER, "matches": [match(ONE, 0.8, REASON)]}
    by_number["candidates"][0]["rol_number"] = NUMBER
    assert settle(by_number).unread == ()  # an identifier decides: no text is needed


# --- places and ids that are numbers -------------------------------------------------------------------


def listing(*ids: Any, **chosen: Any) -> Record:
    listed = [{"decision_id": each, "court_name": "Cour de cassation"} for each in ids]
    return citation("Cass.", candidates=listed, matches=[{"confidence": 0.9, "reasoning": REASON, **chosen}])


def chosen_in(record: Record) -> str | None:
    return JUDGE.read(record).matches[0].decision_id


def test_a_bare_number_is_a_place_only_where_the_ids_are_no_numbers() -> None:
    assert chosen_in(listing(5, 9, decision_id=1)) == "1"
    assert chosen_in(listing("5", "9", decision_id="1")) == "1"
    assert chosen_in(listing("dec-5", "dec-9", decision_id=1)) == "dec-5"
    assert chosen_in(listing(5, 9, decision_id="Candidate 1")) == "5"
    assert chosen_in(listing(5, 9, candidate=2)) == "9"
    assert chosen_in(listing(5, 9, candidate=9)) == "9"


@pytest.mark.parametrize("place", [{"candidate_index": 0}, {"candidate": 1}, {"candidateNumber": "1"}])
def test_an_id_and_a_place_that_disagree_are_refused(place: Record) -> None:
    with pytest.raises(CannotJudge, match="is another candidate than decision_id"):
        JUDGE.read(listing("dec-5", "dec-7", "dec-9", decision_id="dec-9", **place))


@pytest.mark.parametrize("place", [{"candidate_index": 1}, {"candidate_index": 2}, {"candidate": 2}, {"index": 0}])
def test_an_id_and_a_place_that_may_agree_are_read(place: Record) -> None:
    assert chosen_in(listing("dec-5", "dec-7", "dec-9", decision_id="dec-7", **place)) == "dec-7"


def test_an_id_that_came_as_a_float_is_the_whole_number() -> None:
    for listed, named, truth in ((101.0, 101, "101"), (101, "101", 101.0), ("101", 101.0, 101)):
        found = verdict(listing(listed, 7, decision_id=named) | {"ground_truth": truth})
        assert (found.match_correctness, found.correct_decision_id) == ("CORRECT", "101")


@pytest.mark.parametrize(
    ("name", "value", "twin", "other"),
    [
        ("cited_case_number", 27, "citedCaseNumber", "27"),
        ("ground_truth", 101, "groundTruth", "101"),
        ("ground_truth", 101.0, "groundTruth", "101"),
        ("citation_snippet", "Li\u00e8ge", "citationSnippet", "Lie\u0300ge"),
        ("no_match_reason", "none fits", "noMatchReason", " \u200b"),
    ],
)
def test_one_value_in_two_types_or_spellings_is_no_contradiction(name: str, value: Any, twin: str, other: Any) -> None:
    JUDGE.read(listing("dec-5", 7, decision_id="dec-5") | {name: value, twin: other})
    if other.strip(" \u200b"):
        with pytest.raises(CannotJudge, match="two values"):
            JUDGE.read(listing("dec-5", 7, decision_id="dec-5") | {name: value, twin: "28"})


# --- an ECLI that nobody cited -----------------------------------------------------------------------


def test_a_match_with_the_cited_ecli_is_a_false_claim_where_none_is_cited() -> None:
    record = numbered()
    claims = "Court: aligned for all candidates. The ECLI of the candidate is identical to the cited ECLI."
    record["matches"][0]["reasoning"] = claims
    assert verdict(record).reasoning_quality == 1
    assert verdict(record | {"citation_snippet": f"Cass., {ONE}"}).reasoning_quality > 1
    record["matches"][0]["reasoning"] = "Court: aligned for all candidates. No ECLI is cited, so none can be compared."
    assert verdict(record).reasoning_quality > 1
