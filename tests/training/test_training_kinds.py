"""Statements and retellings of known truth: both answers to every statement, labels that follow from its meaning."""

from __future__ import annotations

from random import Random

import pytest
import retelling
from kinds import Kinds
from lexicon import Lexicon
from pairs import SUPPORTED


@pytest.mark.parametrize("kept", [False, True])
def test_every_statement_has_claims_that_hold_and_claims_that_do_not(kept: bool) -> None:
    kinds = Kinds(0, kept)
    pairs = list(kinds.pairs(len(kinds.makers) * 20, ["The lake is deep."]))
    assert len(pairs) == len(kinds.makers) * 40
    for good, bad in zip(pairs[::2], pairs[1::2], strict=True):
        assert good.premise == bad.premise and good.origin == bad.origin
        assert good.label == SUPPORTED != bad.label
        assert good.claim != bad.claim


def test_what_is_kept_out_has_verbs_that_training_never_sees() -> None:
    learned, kept = ({Kinds(seed, side)._verb_ways()[0] for seed in range(300)} for side in (False, True))
    assert kept and not learned & kept


def claims(text: str, kind: str) -> set[tuple[str, bool]]:
    found = set()
    for seed in range(30):
        for claim, label, said in retelling.retell(text, Random(seed), Lexicon({"attorney": ["lawyer"]}, {})):
            if said == kind:
                found.add((claim, label == SUPPORTED))
    return found


@pytest.mark.parametrize(
    ("text", "kind", "holds", "fails"),
    [
        (
            "Elba was conquered by Genoa in 1290.",
            "roles",
            "Genoa conquered Elba in 1290.",
            "Elba conquered Genoa in 1290.",
        ),
        (
            "Most of the rivers froze that year.",
            "quantifiers",
            "The majority of rivers froze that year.",
            "",
        ),
        (
            "The hall seats more than 300 guests.",
            "comparators",
            "The hall seats over 300 guests.",
            "The hall seats fewer than 300 guests.",
        ),
        (
            "The trail is 12 kilometres long.",
            "units",
            "The trail is 12 km long.",
            "The trail is 12 miles long.",
        ),
        (
            "The pilot refused to land there.",
            "negation",
            "The pilot did not land there.",
            "The pilot managed to land there.",
        ),
        (
            "Otto Vik, a chemist from Bergen, was hired by Nils Lie.",
            "taken apart",
            "Otto Vik was a chemist from Bergen.",
            "Nils Lie was a chemist from Bergen.",
        ),
    ],
)
def test_a_sentence_is_retold_rightly_and_wrongly(text: str, kind: str, holds: str, fails: str) -> None:
    found = claims(text, kind)
    assert (holds, True) in found
    assert not fails or (fails, False) in found
    assert not {claim for claim, good in found if good} & {claim for claim, good in found if not good}


@pytest.mark.parametrize(
    "text",
    ["She was seen by him.", "Otto met Nils in Oslo.", "It is the most dangerous road.", "He ran 12 of them."],
)
def test_what_may_be_true_both_ways_is_left_alone(text: str) -> None:
    assert all(
        label == SUPPORTED for seed in range(20) for _, label, _ in retelling.retell(text, Random(seed), Lexicon())
    )


def test_of_two_dated_clauses_the_earlier_comes_first() -> None:
    one, two = retelling.dated_clause("In 1904, the bridge was opened by the mayor."), (1950, "the ferry was sold")
    assert one == (1904, "the bridge was opened by the mayor")
    for claim, label, _ in retelling.in_order((two, one), Random(0)):
        told = claim.lower()
        first_is_first = told.index("bridge") < told.index("ferry")
        swapped = told.startswith("before") or (" after " in told and not told.startswith("after"))
        assert (label == SUPPORTED) == (first_is_first != swapped)
