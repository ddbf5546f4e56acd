"""A reasoning parted into clauses: what is said, whether it is denied, of what, and which look spares the reading."""

from __future__ import annotations

import pytest

from citation_cases import CASSATION, candidate, citation, match, settle, study
from krino.judges.citation.reasoning.clauses import may_object, sentences

ONE = CASSATION.format(1)


def stances(text: str) -> set[tuple[str, bool]]:
    return {(stance, denied) for clauses in sentences(text) for item in clauses for stance, denied, *_ in item.stances}


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
        ("le score n'est que moyen", ("costs", False)),
    ],
)
def test_a_word_is_read_with_its_denial(text: str, said: tuple[str, bool]) -> None:
    assert said in stances(text)


def test_what_is_only_asked_is_not_said() -> None:
    assert stances("it may be asked whether the courts differ") == set()
    assert ("differ", False) in stances("the courts differ")


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("the city is unknown, so I lower it", ["", "effect"]),
        ("although the names differ, the court fits", ["concession", ""]),
        ("I lower it because no number is cited", ["", "cause"]),
        ("the date fits but the court differs", ["", "contrast"]),
    ],
)
def test_a_sentence_is_parted_where_its_sense_may_turn(text: str, links: list[str]) -> None:
    assert [clause.link for clauses in sentences(text) for clause in clauses] == links


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("court aligned. case number: exact match", False),
        ("la cour est la meme. le numero correspond", False),
        ("zelfde hof; de andere vallen af", False),
        ("the court differs", True),
        ("the court isn't the cited one", True),
        ("een ander hof", True),
        ("la cour n'est pas la bonne", True),
    ],
)
def test_a_text_without_any_word_that_objects_is_not_read_closely(text: str, may: bool) -> None:
    assert may_object(text) is may


def test_a_claim_is_kept_with_its_words_and_their_place() -> None:
    reason = "The date fits.  Hof van Cassatie is not\nthe Cour de cassation. So 40 %."
    record = citation(
        "Cour de cassation", candidates=[candidate(ONE, "Hof van Cassatie")], matches=[match(ONE, 0.4, reason)]
    )
    claim = study(record).claims.court
    assert claim is not None
    assert claim.words in ("Hof van Cassatie is not", "Hof van Cassatie is not the Cour de cassation")
    assert reason[claim.start : claim.end].split() == claim.words.split()
    assert settle(record).rulings["errors"].evidence == (f"FR_NL_CONFUSION: {claim.words}",)


def test_another_candidate_of_another_court_is_not_taken_for_a_confusion() -> None:
    listed = [
        candidate(ONE, "Hof van Cassatie"),
        candidate("ECLI:BE:CALIE:2018:ARR.20180315.3", "Cour d'appel de Liège"),
    ]
    reason = "Same court. Candidate 2 is of a different court."
    assert study(citation("Cass.", candidates=listed, matches=[match(ONE, 0.4, reason)])).claims.court is None
