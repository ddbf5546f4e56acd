"""A reasoning split into clauses: what its cues say, and where the words of an objection are."""

from __future__ import annotations

import pytest

from citation_cases import CASSATION, candidate, citation, match, settle, study

ONE = CASSATION.format(1)


def stances(text: str) -> set[tuple[str, bool]]:
    record = citation("Arbrb. Gent", candidates=[candidate(ONE, "Arbeidsrechtbank Gent")], no_match_reason=text)
    return {(item.kind, item.negated) for clause in study(record).objections.clauses for item in clause.stances}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the courts are the same", ("agree", False)),
        ("the courts are not the same", ("agree", True)),
        ("ce n'est pas la meme juridiction", ("agree", True)),
        ("het gerecht komt niet overeen", ("agree", True)),
        ("ik herken de afkorting niet", ("known", True)),
        ("ze verschillen niet", ("differ", True)),
        ("no court mismatch", ("differ", True)),
        ("i cannot go above that", ("costs", False)),
        ("i do not lower anything", ("excused", False)),
        ("that is no reason to lower it", ("excused", False)),
    ],
)
def test_a_cue_is_read_with_its_negation(text: str, said: tuple[str, bool]) -> None:
    assert said in stances(text)


def test_an_objection_is_kept_with_its_words_and_their_place() -> None:
    reason = "The date fits.  Hof van Cassatie is not\nthe Cour de cassation. So 40 %."
    record = citation(
        "Cour de cassation", candidates=[candidate(ONE, "Hof van Cassatie")], matches=[match(ONE, 0.4, reason)]
    )
    found = study(record).objections.court
    assert found is not None
    assert found.words in ("Hof van Cassatie is not", "Hof van Cassatie is not the Cour de cassation")
    assert reason[found.start : found.end].split() == found.words.split()
    assert settle(record).rulings["errors"].evidence == (f"FR_NL_CONFUSION: {found.words}",)


def test_another_candidate_of_another_court_is_not_taken_for_a_confusion() -> None:
    listed = [
        candidate(ONE, "Hof van Cassatie"),
        candidate("ECLI:BE:CALIE:2018:ARR.20180315.3", "Cour d'appel de Liège"),
    ]
    reason = "Same court. Candidate 2 is of a different court."
    assert study(citation("Cass.", candidates=listed, matches=[match(ONE, 0.4, reason)])).objections.court is None
