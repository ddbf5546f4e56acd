"""The entailment model: three classes and ten roles, each summing to one, the same in any company, as trained."""

from __future__ import annotations

import pytest

from krino.models.entailment import ROLES, Entailment, RoleInput, entail, roles

BRIDGE = "The bridge over the Senne was opened in 1904 by Mayor De Mot. It carries two lanes of traffic."


@pytest.mark.parametrize(
    ("claim", "likeliest"),
    [
        ("The bridge over the Senne was opened in 1904.", "supported"),
        ("Mayor De Mot opened the bridge over the Senne in 1904.", "supported"),
        ("The bridge carries two lanes of traffic.", "supported"),
        ("The bridge was opened in 1914.", "contradicted"),
        ("The bridge was not opened in 1904.", "contradicted"),
        ("The bridge was repaired after a fire, at the cost of the city.", "unsupported"),
        ("The bridge was opened in 1904, which made it the longest in the country.", "unsupported"),
    ],
)
def test_a_claim_is_told_apart_by_what_the_text_says_of_it(claim: str, likeliest: str) -> None:
    said = entail([(BRIDGE, claim)])[0]
    assert max(Entailment._fields, key=lambda name: getattr(said, name)) == likeliest


def test_probabilities_sum_to_one() -> None:
    for said in entail([(BRIDGE, "Traffic has two lanes."), ("", ""), (BRIDGE, BRIDGE)]):
        assert sum(said) == pytest.approx(1)
        assert min(said) >= 0


def test_a_pair_is_judged_the_same_alone_and_in_company() -> None:
    pairs = [(BRIDGE * (1 + place % 3), f"The bridge was opened in {1900 + place}.") for place in range(20)]
    together = entail(pairs)
    assert together[4] == pytest.approx(entail([pairs[4]])[0], abs=1e-5)
    assert entail([pairs[4], pairs[7], pairs[4]])[2] == pytest.approx(together[4], abs=1e-5)


def test_nothing_asked_loads_nothing_and_says_nothing() -> None:
    assert entail([]) == []


def test_very_long_texts_lose_their_end_and_not_the_claim() -> None:
    said = entail([(BRIDGE + " Cars pass." * 5_000, "The bridge over the Senne was opened in 1904.")])[0]
    assert said.supported > 0.5


REFUSED = "I'm sorry, but the provided passages do not say how much the repair costs."


@pytest.mark.parametrize(
    ("asked", "likeliest"),
    [
        (RoleInput("", REFUSED, "Please ask your dealer."), "refusal"),
        (RoleInput("", "The bridge was opened in 1904 and carries two lanes.", ""), "claim"),
        (RoleInput("The bridge was opened in 1904.", "Let me know if you need anything else!", ""), "offer"),
        (RoleInput("", "Here are the steps to reset the device:", "Hold the button for ten seconds."), "lead_in"),
    ],
)
def test_a_sentence_is_classified_by_its_role(asked: RoleInput, likeliest: str) -> None:
    assert ROLES[int(roles([asked])[0].argmax())] == likeliest


def test_roles_are_probabilities_and_do_not_depend_on_the_other_sentences() -> None:
    asked = [RoleInput("", REFUSED, BRIDGE), RoleInput(BRIDGE * 9, f"{BRIDGE} " * 9, ""), RoleInput("", "", "")]
    together = roles(asked)
    assert together.shape == (3, len(ROLES))
    assert together.sum(axis=1) == pytest.approx(1)
    assert roles([asked[0], asked[0]])[1] == pytest.approx(together[0], abs=1e-5)
    assert roles([]).shape == (0, len(ROLES))


def test_neighbours_are_told_from_the_sentence() -> None:
    """A refusal next to a claim does not make the claim a refusal."""
    assert ROLES[int(roles([RoleInput(REFUSED, "The bridge was opened in 1904.", REFUSED)])[0].argmax())] == "claim"


def test_a_very_long_sentence_before_counts_by_its_end() -> None:
    asked = RoleInput("x " * 100_000 + BRIDGE, REFUSED, "y " * 100_000)
    assert ROLES[int(roles([asked])[0].argmax())] == "refusal"
