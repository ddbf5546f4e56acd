"""Which decision is meant, at the edges of each signal, and what a labeller may still say about it."""

from __future__ import annotations

from typing import Any

import pytest

from citation_cases import CASSATION, by_hand, candidate, citation, match, settle_with, study
from krino.judges.citation.labels import CitationLabels
from krino.judges.citation.scoring.truth import decide_with_context

ONE, TWO, THREE = (CASSATION.format(number) for number in (1, 2, 3))
APPEAL = "ECLI:BE:CALIE:2018:ARR.20180315.3"
APPEALS = "Cour d'appel de Liège"
NUMBER, OTHER_NUMBER = "C.17.0001.F", "C.17.0002.F"
SUBJECT = "responsabilité précontractuelle, rupture brutale des négociations"
OTHER_DAY = {"decision_date": "2018-03-16"}
NO_ECLI = "decision 1"


def cassation(number: str | None, *carried: str | None, **more: Any) -> dict[str, Any]:
    listed = [candidate(CASSATION.format(n), "Cour de cassation", item, SUBJECT) for n, item in enumerate(carried, 1)]
    return citation("Cass.", number, candidates=listed, citation_snippet=SUBJECT, **more)


def of(*listed: dict[str, Any], number: str | None = None, **more: Any) -> dict[str, Any]:
    return citation("Cass.", number, candidates=list(listed), **more)


def stranger(court: str) -> dict[str, Any]:
    """A match of a fast path, which kept no candidates."""
    return match(APPEAL if court == APPEALS else ONE, 0.5, court_name=court)


@pytest.mark.parametrize(
    ("record", "signal", "contenders"),
    [
        (cassation(None), "no_candidates", 0),
        (of(candidate(APPEAL, APPEALS)), "court", 0),
        (of(candidate(ONE, "Cass.") | OTHER_DAY), "date", 0),
        (of(candidate(NO_ECLI, None) | OTHER_DAY), "date", 0),
        (of(candidate(APPEAL, APPEALS), candidate(ONE, "Cass.") | OTHER_DAY), "date", 0),
        (of(candidate(APPEAL, APPEALS), candidate_count=5), "nothing", 0),
        (of(candidate_count=1, matches=[stranger(APPEALS)]), "court", 0),
        (of(candidate_count=1), "nothing", 0),
        (of(candidate_count=5), "nothing", 0),
        (cassation(NUMBER, OTHER_NUMBER, OTHER_NUMBER), "numbers_differ", 2),
        (cassation(NUMBER, OTHER_NUMBER, OTHER_NUMBER, candidate_count=5), "nothing", 2),
        (cassation(NUMBER, OTHER_NUMBER, None), "nothing", 2),
        (cassation(NUMBER, None), "lone", 1),
        (cassation(None, None), "only", 1),
        (of(candidate_count=1, matches=[stranger("Cass.")]), "only", 1),
        (cassation(None, None, candidate_count=5), "nothing", 1),
        (cassation(None, None, None), "nothing", 2),
        (cassation(NUMBER, NUMBER, OTHER_NUMBER), "number", 0),
        (cassation(NUMBER, NUMBER, NUMBER, OTHER_NUMBER), "nothing", 2),
        (cassation(NUMBER, "C.17.0001.N", NUMBER), "number", 0),
        (cassation(NUMBER, OTHER_NUMBER, cited_ecli=ONE), "ecli", 0),
        (cassation(NUMBER, NUMBER, cited_ecli=TWO), "number", 0),
        (cassation(NUMBER, NUMBER, OTHER_NUMBER, ground_truth=TWO), "given", 0),
        (cassation(NUMBER, NUMBER, ground_truth=None, ground_truth_known=True), "given_none", 0),
    ],
)
def test_the_first_signal_that_speaks_decides_and_what_stays_open_names_its_contenders(
    record: dict[str, Any], signal: str, contenders: int
) -> None:
    truth = study(record).truth
    assert (truth.signal, len(truth.contenders)) == (signal, contenders)
    assert truth.open == (signal in ("nothing", "only", "lone", "numbers_differ"))


def test_the_closest_spelling_of_the_number_is_the_only_one_in_play() -> None:
    found = study(cassation(NUMBER, "C.17.0001.N", NUMBER, "C.17.0001"))
    assert [item.id for item in found.carriers] == [TWO]
    assert found.truth.id == TWO


def test_a_truth_that_was_given_but_not_listed_has_an_id_and_no_candidate() -> None:
    truth = study(cassation(NUMBER, NUMBER, ground_truth=THREE)).truth
    assert (truth.signal, truth.id, truth.candidate) == ("given", THREE, None)


# --- what the context may say ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "labels", "found"),
    [
        (cassation(None, None, None), by_hand(2, "strong"), (TWO, "CIT-T6")),
        (cassation(None, None, None), by_hand(2, "moderate"), (TWO, "CIT-T6")),
        (cassation(None, None, None), by_hand(2, "weak"), (None, "CIT-T11")),
        (cassation(None, None, None), by_hand(), (None, "CIT-T11")),
        (cassation(NUMBER, None, OTHER_NUMBER), by_hand(1, "moderate"), (ONE, "CIT-T6")),
        (cassation(NUMBER, None, OTHER_NUMBER), by_hand(2, "moderate"), (None, "CIT-T11")),
        (cassation(NUMBER, None, OTHER_NUMBER), by_hand(2, "strong"), (TWO, "CIT-T6")),
        (cassation(NUMBER, OTHER_NUMBER), by_hand(1, "strong"), (ONE, "CIT-T6")),
        (cassation(NUMBER, OTHER_NUMBER), by_hand(1, "moderate"), (None, "CIT-T7")),
        (cassation(None, None), by_hand(1, "weak"), (ONE, "CIT-T5")),
        (cassation(NUMBER, NUMBER, OTHER_NUMBER), by_hand(2, "strong"), (ONE, "CIT-T4")),
        (cassation(None, None, None), by_hand(3, "strong"), (None, "CIT-T11")),
        (cassation(None, None, None), by_hand(0, "strong"), (None, "CIT-T11")),
    ],
)
def test_the_context_decides_between_contenders_and_must_be_strong_against_another_number(
    record: dict[str, Any], labels: CitationLabels, found: tuple[str | None, str]
) -> None:
    ruling = settle_with(record | {"matches": [match(ONE, 0.5, "Court.")]}, labels).rulings["correct_decision_id"]
    assert (ruling.value, ruling.rule) == found


def test_the_only_candidate_keeps_the_strength_with_which_the_context_supports_it() -> None:
    facts = study(cassation(None, None))
    assert decide_with_context(facts.truth, facts.candidates[0], "weak").strength == "weak"
    assert decide_with_context(facts.truth, None, "none").strength == "none"


def test_a_decision_that_is_no_contender_cannot_be_pointed_at() -> None:
    facts = study(of(candidate(ONE, "Cass."), candidate(TWO, "Cass."), candidate(APPEAL, APPEALS)))
    outsider = next(item for item in facts.candidates if item.id == APPEAL)
    assert decide_with_context(facts.truth, outsider, "strong") == facts.truth
