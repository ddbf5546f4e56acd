"""What is kept out of training shares no sentence with it, however the pairs were made."""

from __future__ import annotations

from hashlib import blake2b

from pairs import SUPPORTED, UNSUPPORTED, Pair
from split import HELD_OUT, part_sources, sentence_keys
from synthesis import Maker

SOURCES = [
    Pair(
        f"Harbour {number} was dredged by the crew of a ship named Sword {number}.",
        f"Ship {number} worked.",
        SUPPORTED,
        "s",
    )
    for number in range(400)
]
STRANGERS = [f"Mill number {number} grinds rye for the bakers of the valley." for number in range(400)]


def texts(source: Pair | str) -> tuple[str, ...]:
    return (source,) if isinstance(source, str) else (source.premise, source.claim)


def made(sources: list[Pair | str]) -> list[Pair]:
    """One side's pairs, and the same in longer surroundings."""
    pairs = [source for source in sources if isinstance(source, Pair)]
    maker = Maker([source for source in sources if isinstance(source, str)], 0)
    return [*pairs, *maker.surrounded(pairs, 1.0)]


def sentences(pairs: list[Pair]) -> set[str]:
    return {key for pair in pairs for key in sentence_keys(pair.premise)}


def test_no_sentence_kept_out_is_learned_in_longer_surroundings() -> None:
    sources: list[Pair | str] = [*SOURCES, *STRANGERS]
    learned, kept = part_sources(sources, texts)
    kept_pairs = made(kept)
    assert any(pair.origin == "s: surrounded" for pair in kept_pairs)
    assert not sentences(kept_pairs) & sentences(made(learned))


def test_the_beginning_of_the_premise_would_not_have_kept_them_apart() -> None:
    def by_its_beginning(pair: Pair) -> bool:
        return int.from_bytes(blake2b(pair.premise[:60].encode(), digest_size=4).digest(), "big") % HELD_OUT == 0

    pairs = made([*SOURCES, *STRANGERS])
    kept = [pair for pair in pairs if by_its_beginning(pair)]
    assert sentences(kept) & sentences([pair for pair in pairs if not by_its_beginning(pair)])


def test_sources_that_share_a_sentence_by_way_of_a_third_stay_together() -> None:
    chain: list[Pair | str] = []
    for number in range(200):
        first, second = f"The first fact is number {number}.", f"The second fact is number {number}."
        chain += [
            Pair(first, f"Claim one of {number} here.", SUPPORTED, "s"),
            f"{first} Something lies between. {second}".replace(
                "Something lies between.", f"Between lies item {number}."
            ),
            Pair(second, f"Claim two of {number} here.", UNSUPPORTED, "s"),
        ]
    learned, kept = part_sources(chain, texts)
    assert learned and kept
    for side in (learned, kept):
        assert len(side) % 3 == 0


def test_the_sides_do_not_depend_on_the_order() -> None:
    _, kept = part_sources(SOURCES, texts)
    _, again = part_sources(SOURCES[::-1], texts)
    assert set(kept) == set(again)
    assert 1 <= len(kept) <= 60
