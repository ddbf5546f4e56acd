"""The edits that training pairs are made by: each does what its label says, and the same seed makes the same pairs."""

from __future__ import annotations

from random import Random

import edits
import pytest
import synthesis
from pairs import CONTRADICTED, SUPPORTED, UNSUPPORTED, Pair, tidy

STORY = [
    "The iron bridge at Varde was opened in 1904 by Mayor Holm.",
    "It carries two railway tracks, which were renewed in 1987.",
    "In 1950, the bridge was closed for a year (for repairs).",
    "Some engineers suggest that the pillars may be older than the deck.",
    "Boats pass under it every day on their way to Esbjerg harbour.",
]


@pytest.mark.parametrize(
    ("edit", "sentence", "allowed"),
    [
        (
            edits.change_number,
            "It opened on Monday.",
            {"Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"},
        ),
        (edits.turn_round, "Prices increased.", {"decreased", "reduced"}),
        (edits.make_stronger, "It may rain.", {"will"}),
    ],
)
def test_a_word_gives_way_to_one_of_its_table(edit: edits.Edit, sentence: str, allowed: set[str]) -> None:
    for seed in range(5):
        changed = edit(sentence, Random(seed))
        assert changed is not None and changed != sentence
        assert allowed & set(changed.rstrip(".").split())


def test_a_number_becomes_another_number() -> None:
    for seed in range(20):
        changed = edits.change_number("The bridge was opened in 1904.", Random(seed))
        assert changed is not None and "1904" not in changed
        assert changed.startswith("The bridge was opened in ")


def test_a_denial_is_put_in_or_taken_out() -> None:
    assert edits.deny("The bridge is open.", Random(0)) == "The bridge is not open."
    assert edits.deny("The bridge is not open.", Random(0)) == "The bridge is open."
    assert edits.deny("Boats pass daily.", Random(0)) is None


def test_a_sentence_with_nothing_to_edit_is_left_alone() -> None:
    for edit in (edits.change_number, edits.turn_round, edits.make_stronger, edits.change_name(["Ribe"])):
        assert edit("nothing to see here", Random(0)) is None


def test_shortening_and_rephrasing_keep_what_was_said() -> None:
    assert edits.shorten("The iron bridge (an old one) is open.", Random(0)) == "The iron bridge is open."
    changed = edits.rephrase("In 1950, the bridge was closed for about a year.", Random(3))
    assert changed is not None and "1950" in changed and "closed" in changed


def test_the_same_seed_makes_the_same_pairs_and_another_one_does_not() -> None:
    documents = [" ".join(STORY)] * 3
    first, again, other = (list(synthesis.Maker(documents, seed).pairs(5)) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_what_is_made_supported_stands_in_its_premise_and_what_is_not_stated_does_not() -> None:
    made = list(synthesis.Maker([" ".join(STORY)], 0).pairs(5))
    assert {SUPPORTED, UNSUPPORTED, CONTRADICTED} <= {pair.label for pair in made}
    for pair in made:
        if pair.origin == "made: not stated":
            assert pair.claim not in pair.premise
        if pair.origin == "made: shortened":
            assert len(pair.claim) < len(pair.premise)


def test_composed_pairs_are_false_as_soon_as_one_of_them_is() -> None:
    maker = synthesis.Maker([" ".join(STORY)], 0)
    true = [Pair(sentence, sentence, SUPPORTED, "t") for sentence in STORY]
    false = [Pair(STORY[0], "The bridge at Varde is made of wood.", CONTRADICTED, "f")]
    for pair in maker.composed([*true, *false], 40):
        assert (pair.label == CONTRADICTED) == ("made of wood" in pair.claim)


def test_tokenised_text_is_put_right() -> None:
    assert tidy("He said `` no '' -LRB- twice -RRB- , then left .") == 'He said " no " ( twice), then left.'
