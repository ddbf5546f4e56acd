"""Joins the labels of several seats. Seats cut an answer into claims of their own, so claims are joined by sentence.

For each sentence the seats vote first on whether it claims anything, then on its standing, which is that of its worst
claim. The claims themselves, with quotations and reasons, are those of one seat of the majority: never mixed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel

from krino.contract import Joined
from krino.contract.joining import canonical_labels, leaders, spell
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import (
    Claim,
    Directness,
    PassageUse,
    RagLabels,
    RefusalLabel,
    Similarity,
    answerable_refusal,
    merge_copies,
)

Standing = Literal["supported", "unsupported", "contradicted", "critical"]
ItemT = TypeVar("ItemT", bound=BaseModel)
WordT = TypeVar("WordT", bound=str)

_STANDINGS: tuple[Standing, ...] = get_args(Standing)
_DIRECTNESS: tuple[Directness, ...] = get_args(Directness)
_SIMILARITY: tuple[Similarity, ...] = get_args(Similarity)


def join_votes(facts: RagFacts, ballots: Sequence[RagLabels]) -> Joined[RagLabels]:
    """Joins the labels of all seats; ties are listed. What the case does not ask stays empty, as the request says."""
    ties: list[str] = []
    unreadable = [ballot.unreadable for ballot in ballots if ballot.unreadable is not None]
    joined = RagLabels(
        unreadable=min(unreadable) if 2 * len(unreadable) > len(ballots) else None,
        claims=[],
        empty_sentences=[],
        parts=[],
        direct="no",
        passages=[],
        needs=[],
        refusal=None,
        similarity=None,
        similarity_why=None,
        uncertain=_join_remarks(ballots, ties),
        measured=all(ballot.measured for ballot in ballots),
    )
    if unreadable and 2 * len(unreadable) == len(ballots):
        ties.append(f"unreadable: yes {len(unreadable)}, no {len(unreadable)}; taken as no")
    ballots = [merge_copies(ballot)[0] for ballot in ballots if ballot.unreadable is None]
    if joined.unreadable is not None:
        return Joined(joined, ())
    if facts.open.claims:
        joined = _join_claims(joined, facts, ballots, ties)
        joined = _join_context(joined, facts, ballots, ties)
    joined = _join_answer(joined, facts, ballots, ties)
    if facts.open.similarity:
        joined = _join_similarity(joined, ballots, ties)
    return Joined(joined, tuple(ties))


# --- claims ----------------------------------------------------------------------------------------


def _join_claims(joined: RagLabels, facts: RagFacts, ballots: Sequence[RagLabels], ties: list[str]) -> RagLabels:
    """Returns the labels with the claims of all seats, joined sentence by sentence.

    If no sentence keeps one although the answer states something, those count that any seat sees.
    """
    claims: list[Claim] = []
    empty: list[int] = []
    for number in range(1, len(facts.sentences) + 1):
        votes = [tuple(claim for claim in ballot.claims if claim.sentence == number) for ballot in ballots]
        found = _join_sentence(votes, f"sentence {number}", ties)
        claims += found
        if not found:
            empty.append(number)
    if not claims and facts.statements and not _mostly_decline(ballots):
        return joined.model_copy(update=_take_claims_of_any(facts, ballots, ties))
    return joined.model_copy(update={"claims": claims, "empty_sentences": empty})


def _mostly_decline(ballots: Sequence[RagLabels]) -> bool:
    return 2 * sum(vote.refusal is not None and vote.refusal.is_refusal for vote in ballots) > len(ballots)


def _take_claims_of_any(facts: RagFacts, ballots: Sequence[RagLabels], ties: list[str]) -> dict[str, Any]:
    """Returns the claims that any seat sees, and notes that in `ties`.

    They count where the seats agree on no claim of an answer that states something.
    """
    ties.append("claims: no sentence has claims for most seats; taken as what any seat claims")
    votes = {
        number: [made for ballot in ballots if (made := tuple(c for c in ballot.claims if c.sentence == number))]
        for number in range(1, len(facts.sentences) + 1)
    }
    found = {number: _join_sentence(made, f"sentence {number}", ties) for number, made in votes.items() if made}
    return {
        "claims": [claim for claims in found.values() for claim in claims],
        "empty_sentences": [number for number in votes if number not in found],
    }


def _join_sentence(votes: Sequence[tuple[Claim, ...]], where: str, ties: list[str]) -> tuple[Claim, ...]:
    """Returns the claims of one sentence: those of one seat with the standing that most seats give it.

    Empty if fewer than half of the seats see any. A claim that only half of the seats see, and these call
    supported, is left out: it is not shown to be one, and must not outweigh another that nothing supports.
    """
    made = [claims for claims in votes if claims]
    if 2 * len(made) < len(votes):
        return ()
    if 2 * len(made) == len(votes):
        split = f"{where}: claims {len(made)}, none {len(made)}"
        made = [left for claims in made if (left := _not_supported(claims))]
        ties.append(f"{split}; taken as {'claims' if made else 'none'}")
        if not made:
            return ()
    standings = [_standing(claims) for claims in made]
    best = leaders(standings)
    if len(best) == 1:
        return _choose_middle([claims for claims in made if _standing(claims) == best[0]])
    ties.append(f"{where}: {spell(standings)}; taken as {'contradicted' if _both_contradict(best) else 'unsupported'}")
    return _settle_tie(made, best)


def _standing(claims: tuple[Claim, ...]) -> Standing:
    return max(("critical" if claim.critical else claim.label for claim in claims), key=_STANDINGS.index)


def _not_supported(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    return tuple(claim for claim in claims if claim.label != "supported")


def _both_contradict(best: Sequence[Standing]) -> bool:
    return set(best) == {"contradicted", "critical"}


def _settle_tie(made: Sequence[tuple[Claim, ...]], best: Sequence[Standing]) -> tuple[Claim, ...]:
    """Returns the claims to take when readings tie.

    Nothing is shown then, neither support nor contradiction, nor that a claim is critical.
    """
    wanted: Standing = "contradicted" if _both_contradict(best) else "unsupported"
    if fitting := [claims for claims in made if _standing(claims) == wanted]:
        return _choose_middle(fitting)
    hardest = max(best, key=_STANDINGS.index)
    claims = _choose_middle([claims for claims in made if _standing(claims) == hardest])
    return tuple(_withdrawn(claim) if claim.label == "contradicted" else claim for claim in claims)


def _withdrawn(claim: Claim) -> Claim:
    doubt = {"label": "unsupported", "critical": False, "passage": None, "quote": None}
    return claim.model_copy(update={**doubt, "why": "the seats are split between supported and contradicted"})


def _choose_middle(choices: Sequence[tuple[Claim, ...]]) -> tuple[Claim, ...]:
    """Returns the reading with the middle share of supported claims, among those with the same standing."""

    def rank(claims: tuple[Claim, ...]) -> tuple[Fraction, list[bytes]]:
        supported = sum(claim.label == "supported" for claim in claims)
        return Fraction(supported, len(claims)), [canonical_labels(claim) for claim in claims]

    return sorted(choices, key=rank)[(len(choices) - 1) // 2]


# --- the other labels ------------------------------------------------------------------------------


def _join_context(joined: RagLabels, facts: RagFacts, ballots: Sequence[RagLabels], ties: list[str]) -> RagLabels:
    """Returns the labels with those of passages and needs joined."""
    uses = [{item.passage: item.useful_sentences for item in ballot.passages} for ballot in ballots]
    passages = []
    for item in facts.passages:
        where = f"passage {item.number}, sentence"
        useful = [
            number
            for number in range(1, len(item.sentences) + 1)
            if _yes([number in use[item.number] for use in uses], f"{where} {number} useful", ties)
        ]
        passages.append(PassageUse(passage=item.number, useful_sentences=useful))
    needs = _choose_list([ballot.needs for ballot in ballots], lambda need: need.held, "needs held", ties)
    return joined.model_copy(update={"passages": passages, "needs": needs})


def _join_answer(joined: RagLabels, facts: RagFacts, ballots: Sequence[RagLabels], ties: list[str]) -> RagLabels:
    """Returns the labels with parts, directness and refusal joined.

    A right to refuse that the joined needs refute is withdrawn.
    """
    parts = _choose_list([ballot.parts for ballot in ballots], lambda part: part.answered, "parts answered", ties)
    direct = _choose_lowest([ballot.direct for ballot in ballots], _DIRECTNESS, "direct", ties)
    refusal = _join_refusals([ballot.refusal for ballot in ballots], ties)
    claims_a_right = refusal is not None and refusal.is_refusal and refusal.right_to_refuse
    if refusal is not None and claims_a_right and answerable_refusal(facts, joined, refusal):
        ties.append("refusal.right_to_refuse: most say true, and most that every need is held; taken as false")
        refusal = refusal.model_copy(update={"right_to_refuse": False})
    return joined.model_copy(update={"parts": parts, "direct": direct, "refusal": refusal})


def _join_refusals(votes: Sequence[RefusalLabel | None], ties: list[str]) -> RefusalLabel | None:
    """Returns the refusal if more than half of the seats see one.

    Each thing it must show needs more than half of those. Otherwise a label that says it is no refusal, or None.
    """
    refusing = [vote for vote in votes if vote is not None and vote.is_refusal]
    others = [vote for vote in votes if vote is None or not vote.is_refusal]
    if 2 * len(refusing) == len(votes):
        ties.append(f"refusal: yes {len(refusing)}, no {len(others)}; taken as no")
    if 2 * len(refusing) <= len(votes):
        hedging = [vote for vote in others if vote is not None]
        return min(hedging, key=canonical_labels) if 2 * len(hedging) > len(others) else None
    decided = {
        name: _yes([getattr(vote, name) for vote in refusing], f"refusal.{name}", ties)
        for name in ("reason_stated", "validity_shown", "right_to_refuse")
    }
    categories = [vote.category for vote in refusing]
    best = leaders(categories)
    if len(best) > 1:
        ties.append(f"refusal.category: {spell(categories)}; taken as null")
    settled = {**decided, "category": best[0] if len(best) == 1 else None}
    nearest = max(
        sorted(refusing, key=canonical_labels),
        key=lambda vote: sum(getattr(vote, name) == value for name, value in settled.items()),
    )
    return nearest.model_copy(update=settled)


def _join_similarity(joined: RagLabels, ballots: Sequence[RagLabels], ties: list[str]) -> RagLabels:
    """Returns the labels with the step of most seats.

    Step, measure and reason belong together: all three come from one seat.
    """
    steps = [ballot.similarity for ballot in ballots if ballot.similarity is not None]
    step = _choose_lowest(steps, _SIMILARITY, "similarity", ties)
    chosen = min((ballot for ballot in ballots if ballot.similarity == step), key=canonical_labels)
    names = ("similarity", "similarity_why", "similarity_score")
    return joined.model_copy(update={name: getattr(chosen, name) for name in names})


def _join_remarks(ballots: Sequence[RagLabels], ties: list[str]) -> str | None:
    """Returns a remark that at least half of the seats made, so that people look at it; None otherwise."""
    remarks = sorted(ballot.uncertain for ballot in ballots if ballot.uncertain)
    if 2 * len(remarks) == len(ballots):
        ties.append(f"uncertain: a remark {len(remarks)}, none {len(ballots) - len(remarks)}; taken as a remark")
    return remarks[0] if 2 * len(remarks) >= len(ballots) else None


# --- ways to vote ----------------------------------------------------------------------------------


def _yes(votes: Sequence[bool], where: str, ties: list[str]) -> bool:
    """True for more than half: what the seats cannot agree on is not shown."""
    if 2 * sum(votes) == len(votes):
        ties.append(f"{where}: {spell(votes)}; taken as false")
    return 2 * sum(votes) > len(votes)


def _choose_lowest(votes: Sequence[WordT], best_first: Sequence[WordT], where: str, ties: list[str]) -> WordT:
    """Returns the word with most votes; of several, the one that is worth least, and notes the tie."""
    best = leaders(votes)
    taken = max(best, key=best_first.index)
    if len(best) > 1:
        ties.append(f"{where}: {spell(votes)}; taken as {taken}")
    return taken


def _choose_list(
    lists: Sequence[Sequence[ItemT]], holds: Callable[[ItemT], bool], where: str, ties: list[str]
) -> list[ItemT]:
    """Returns one list whole, as seats word theirs freely: of the seat with the middle share, the lower of two."""

    def share(items: Sequence[ItemT]) -> Fraction:
        return Fraction(sum(map(holds, items)), max(len(items), 1))

    ranked = sorted(lists, key=lambda items: (share(items), [canonical_labels(item) for item in items]))
    lower, upper = ranked[(len(ranked) - 1) // 2], ranked[len(ranked) // 2]
    if share(lower) != share(upper):
        ties.append(f"{where}: {share(lower)} or {share(upper)}; taken as {share(lower)}")
    return list(lower)
