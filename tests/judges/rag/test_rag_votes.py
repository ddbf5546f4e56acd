"""How the votes of several seats on a RAG case become one set of labels: majorities, ties, and whose words are kept."""

from __future__ import annotations

from typing import Any

import pytest

from krino.contract import Joined
from krino.judges.rag.labels import Claim, RagLabels
from krino.judges.rag.votes import join_votes
from rag_making import claim_of, facts_of, labels_of, refusal_of

SECOND = claim_of(text="It carries two tracks.", sentence=2, quote="carries two railway tracks")
NONE = {"passage": None, "quote": None}
SUPPORTED = claim_of()
UNSUPPORTED = claim_of(label="unsupported", why="not said", **NONE)
CONTRADICTED = claim_of(label="contradicted", why="says otherwise")
CRITICAL = claim_of(label="contradicted", critical=True, why="says otherwise")


def joined(*ballots: dict[str, Any], case: dict[str, Any] | None = None) -> Joined[RagLabels]:
    return join_votes(facts_of(**(case or {})), [labels_of(**ballot) for ballot in ballots])


def first_sentence(*seats: list[dict[str, Any]]) -> tuple[list[Claim], tuple[str, ...]]:
    """What the seats make of the first sentence; they agree on the second."""
    found = joined(*({"claims": [*claims, SECOND]} for claims in seats))
    return [claim for claim in found.labels.claims if claim.sentence == 1], found.ties


def test_a_seat_that_lists_a_claim_or_a_part_again_has_no_more_weight_for_it() -> None:
    parts = [{"part": "when", "sentence": 1, "answered": True}, {"part": "who", "sentence": None, "answered": False}]
    claims = [SUPPORTED, claim_of(text="It is old.", label="unsupported", **NONE), SECOND]
    once, twice = {"claims": claims, "parts": parts}, {"claims": [SUPPORTED, *claims], "parts": [parts[0], *parts]}
    assert joined(twice, twice, twice) == joined(once, once, once)


# --- claims ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seats", "claims", "ties"),
    [
        ([[SUPPORTED], [], []], False, ()),
        ([[SUPPORTED], [SUPPORTED], []], True, ()),
        ([[SUPPORTED], []], False, ("sentence 1: claims 1, none 1; taken as none",)),
        ([[CONTRADICTED], []], True, ("sentence 1: claims 1, none 1; taken as claims",)),
    ],
)
def test_a_sentence_claims_something_unless_most_seats_see_nothing_in_it(
    seats: list[list[dict[str, Any]]], claims: bool, ties: tuple[str, ...]
) -> None:
    found = joined(*({"claims": [*seat, SECOND]} for seat in seats))
    assert [claim.sentence for claim in found.labels.claims] == ([1, 2] if claims else [2])
    assert found.labels.empty_sentences == ([] if claims else [1])
    assert found.ties == ties


@pytest.mark.parametrize(
    ("seats", "label", "critical", "tie"),
    [
        ([SUPPORTED, SUPPORTED, CRITICAL], "supported", False, None),
        ([SUPPORTED, CONTRADICTED, CONTRADICTED], "contradicted", False, None),
        ([SUPPORTED, CRITICAL, CRITICAL], "contradicted", True, None),
        ([SUPPORTED, SUPPORTED, UNSUPPORTED, CONTRADICTED], "supported", False, None),
        ([SUPPORTED, UNSUPPORTED], "unsupported", False, "supported 1, unsupported 1; taken as unsupported"),
        ([UNSUPPORTED, CRITICAL], "unsupported", False, "critical 1, unsupported 1; taken as unsupported"),
        ([CONTRADICTED, CRITICAL], "contradicted", False, "contradicted 1, critical 1; taken as contradicted"),
        ([SUPPORTED, CONTRADICTED], "unsupported", False, "contradicted 1, supported 1; taken as unsupported"),
        ([SUPPORTED, CRITICAL], "unsupported", False, "critical 1, supported 1; taken as unsupported"),
        (
            [SUPPORTED, CONTRADICTED, CRITICAL],
            "unsupported",
            False,
            "contradicted 1, critical 1, supported 1; taken as unsupported",
        ),
    ],
)
def test_most_seats_decide_how_a_claim_stands_and_a_tie_shows_nothing(
    seats: list[dict[str, Any]], label: str, critical: bool, tie: str | None
) -> None:
    claims, ties = first_sentence(*([seat] for seat in seats))
    assert [(claim.label, claim.critical) for claim in claims] == [(label, critical)]
    assert ties == ((f"sentence 1: {tie}",) if tie else ())


def test_what_split_seats_leave_of_a_contradiction_has_no_evidence_and_says_why() -> None:
    (claim,), _ = first_sentence([SUPPORTED], [CRITICAL])
    assert (claim.passage, claim.quote) == (None, None)
    assert claim.why == "the seats are split between supported and contradicted"
    claims, _ = first_sentence([SUPPORTED], [SUPPORTED, CONTRADICTED])
    assert [(claim.label, claim.passage) for claim in claims] == [("supported", 1), ("unsupported", None)]


def test_of_several_contradictions_on_a_tie_the_hardest_is_the_one_that_is_withdrawn() -> None:
    claims, _ = first_sentence([SUPPORTED], [SUPPORTED, CONTRADICTED], [CRITICAL])
    assert [(claim.label, claim.critical) for claim in claims] == [("unsupported", False)]


def test_a_tie_takes_the_words_of_a_seat_that_found_what_is_taken() -> None:
    (claim,), _ = first_sentence([SUPPORTED], [CONTRADICTED], [UNSUPPORTED])
    assert (claim.label, claim.why) == ("unsupported", "not said")


def test_a_sentence_stands_as_its_worst_claim() -> None:
    claims, ties = first_sentence([SUPPORTED, CONTRADICTED], [CONTRADICTED], [SUPPORTED])
    assert ("contradicted" in {claim.label for claim in claims}, ties) == (True, ())


def test_of_readings_that_stand_alike_the_one_with_the_middle_share_of_support_is_taken() -> None:
    shares = [[UNSUPPORTED], [SUPPORTED, UNSUPPORTED], [SUPPORTED, SUPPORTED, UNSUPPORTED]]
    for seats, taken in ((shares, 1), (shares[::-1], 1), (shares[:2], 0), (shares[1:], 1)):
        claims, ties = first_sentence(*seats)
        assert len(claims) == len(shares[taken])
        assert ties == ()


# --- passages, needs, parts, directness ------------------------------------------------------------


@pytest.mark.parametrize(
    ("votes", "useful", "ties"),
    [
        ([True, True, False], True, ()),
        ([True, False, False], False, ()),
        ([True, False], False, ("passage 2, sentence 1 useful: false 1, true 1; taken as false",)),
    ],
)
def test_a_sentence_is_useful_for_more_than_half(votes: list[bool], useful: bool, ties: tuple[str, ...]) -> None:
    first = {"passage": 1, "useful_sentences": [1]}
    ballots = ({"passages": [first, {"passage": 2, "useful_sentences": [1] if vote else []}]} for vote in votes)
    found = joined(*ballots)
    assert [item.useful_sentences for item in found.labels.passages] == [[1], [1] if useful else []]
    assert found.ties == ties


def listed(kind: str, *shares: tuple[int, int]) -> tuple[int, int, tuple[str, ...]]:
    """How many of how many hold in the list that is taken, of lists with so many of so many."""
    item, where, holds = ("need", "passage", "held") if kind == "needs" else ("part", "sentence", "answered")
    ballots = (
        {kind: [{item: f"{n} of {of}", where: 1 if n < yes else None, holds: n < yes} for n in range(of)]}
        for yes, of in shares
    )
    found = joined(*ballots)
    taken = getattr(found.labels, kind)
    return sum(getattr(entry, holds) for entry in taken), len(taken), found.ties


@pytest.mark.parametrize(("kind", "told"), [("needs", "needs held"), ("parts", "parts answered")])
def test_a_list_is_taken_whole_from_the_seat_with_the_middle_share(kind: str, told: str) -> None:
    assert listed(kind, (0, 1), (1, 2), (3, 3)) == (1, 2, ())
    assert listed(kind, (3, 3), (1, 2)) == (1, 2, (f"{told}: 1/2 or 1; taken as 1/2",))
    assert listed(kind, (1, 2), (2, 4)) == (1, 2, ())
    assert listed(kind, (0, 1), (1, 3), (2, 3), (1, 1)) == (1, 3, (f"{told}: 1/3 or 2/3; taken as 1/3",))


@pytest.mark.parametrize(
    ("votes", "taken", "ties"),
    [
        (["full", "full", "no"], "full", ()),
        (["full", "partly"], "partly", ("direct: full 1, partly 1; taken as partly",)),
        (["no", "partly", "full"], "no", ("direct: full 1, no 1, partly 1; taken as no",)),
    ],
)
def test_of_words_with_as_many_votes_the_one_worth_least_is_taken(
    votes: list[str], taken: str, ties: tuple[str, ...]
) -> None:
    found = joined(*({"direct": vote} for vote in votes))
    assert (found.labels.direct, found.ties) == (taken, ties)


# --- refusals --------------------------------------------------------------------------------------

NOT_HELD = [{"need": "the year", "passage": None, "held": False}]
HEDGES = refusal_of(is_refusal=False)


def refused(*votes: dict[str, Any] | None, needs: list[dict[str, Any]] | None = None) -> Joined[RagLabels]:
    return joined(*({"refusal": vote, "needs": needs or NOT_HELD} for vote in votes))


@pytest.mark.parametrize(
    ("votes", "refuses", "ties"),
    [
        ([refusal_of(), refusal_of(), None], True, ()),
        ([refusal_of(), refusal_of(), HEDGES], True, ()),
        ([refusal_of(), None, None], None, ()),
        ([refusal_of(), None], None, ("refusal: yes 1, no 1; taken as no",)),
        ([refusal_of(), HEDGES], False, ("refusal: yes 1, no 1; taken as no",)),
        ([HEDGES, None], None, ()),
        ([HEDGES, HEDGES, None], False, ()),
        ([None, None], None, ()),
    ],
)
def test_a_refusal_needs_more_than_half_of_the_seats(
    votes: list[dict[str, Any] | None], refuses: bool | None, ties: tuple[str, ...]
) -> None:
    found = refused(*votes)
    assert (found.labels.refusal and found.labels.refusal.is_refusal, found.ties) == (refuses, ties)


@pytest.mark.parametrize("name", ["reason_stated", "validity_shown", "right_to_refuse"])
def test_what_a_refusal_must_show_needs_more_than_half_of_those_that_see_one(name: str) -> None:
    most = refused(refusal_of(), refusal_of(), refusal_of(**{name: False}), None)
    assert most.labels.refusal is not None
    assert (getattr(most.labels.refusal, name), most.ties) == (True, ())
    split = refused(refusal_of(), refusal_of(**{name: False}))
    assert split.labels.refusal is not None
    assert getattr(split.labels.refusal, name) is False
    assert split.ties == (f"refusal.{name}: false 1, true 1; taken as false",)


def test_a_refusal_keeps_the_category_of_most_and_none_where_they_are_split() -> None:
    most = refused(refusal_of(), refusal_of(), refusal_of(category="safety"))
    assert most.labels.refusal is not None
    assert (most.labels.refusal.category, most.ties) == ("insufficient_context", ())
    split = refused(refusal_of(), refusal_of(category="safety"))
    assert split.labels.refusal is not None
    assert split.labels.refusal.category is None
    assert split.ties == ("refusal.category: insufficient_context 1, safety 1; taken as null",)


def test_the_reason_of_a_refusal_is_that_of_the_seat_nearest_to_what_was_decided() -> None:
    found = refused(
        refusal_of(why="a: nothing shown", reason_stated=False, validity_shown=False),
        refusal_of(why="b: all of it"),
        refusal_of(why="c: all of it"),
    )
    assert found.labels.refusal is not None
    assert found.labels.refusal.why == "b: all of it"


@pytest.mark.parametrize(
    ("refusal", "needs", "right", "tied"),
    [
        (refusal_of(), [{"need": "the year", "passage": 1, "held": True}], False, True),
        (refusal_of(), NOT_HELD, True, False),
        (refusal_of(category="safety"), [{"need": "the year", "passage": 1, "held": True}], True, False),
        (refusal_of(right_to_refuse=False), [{"need": "the year", "passage": 1, "held": True}], False, False),
    ],
)
def test_seats_that_see_every_need_held_take_the_right_to_refuse_for_want_of_context_away(
    refusal: dict[str, Any], needs: list[dict[str, Any]], right: bool, tied: bool
) -> None:
    found = refused(refusal, refusal, needs=needs)
    assert found.labels.refusal is not None
    assert found.labels.refusal.right_to_refuse is right
    told = "refusal.right_to_refuse: most say true, and most that every need is held; taken as false"
    assert found.ties == ((told,) if tied else ())


def test_an_answer_that_most_do_not_call_a_refusal_loses_no_right() -> None:
    hedging = refusal_of(is_refusal=False, right_to_refuse=True)
    found = refused(hedging, hedging, needs=[{"need": "the year", "passage": 1, "held": True}])
    assert found.labels.refusal is not None
    assert (found.labels.refusal.right_to_refuse, found.ties) == (True, ())


# --- similarity, doubt, and what is not asked ------------------------------------------------------


def test_step_measure_and_reason_of_similarity_come_from_one_seat() -> None:
    close = {"similarity": "close", "similarity_why": "b", "similarity_score": 0.8}
    found = joined(
        close,
        {"similarity": "partial", "similarity_why": "a"},
        {**close, "similarity_why": "c", "similarity_score": 0.7},
        case={"reference": "1904"},
    ).labels
    assert (found.similarity, found.similarity_why, found.similarity_score) in (
        ("close", "b", 0.8),
        ("close", "c", 0.7),
    )
    tied = joined(close, {"similarity": "partial", "similarity_why": "a"}, case={"reference": "1904"})
    assert (tied.labels.similarity, tied.labels.similarity_why) == ("partial", "a")
    assert tied.ties == ("similarity: close 1, partial 1; taken as partial",)


def test_a_seat_without_a_step_has_no_vote_on_similarity() -> None:
    found = joined({"similarity": None}, {"similarity": "close"}, case={"reference": "1904"})
    assert (found.labels.similarity, found.ties) == ("close", ())


@pytest.mark.parametrize(
    ("remarks", "taken", "ties"),
    [
        (["odd", "garbled", None], "garbled", ()),
        (["odd", None], "odd", ("uncertain: a remark 1, none 1; taken as a remark",)),
        (["odd", None, None], None, ()),
        (["", None, None], None, ()),
    ],
)
def test_a_remark_of_half_of_the_seats_is_kept(
    remarks: list[str | None], taken: str | None, ties: tuple[str, ...]
) -> None:
    found = joined(*({"uncertain": remark} for remark in remarks))
    assert (found.labels.uncertain, found.ties) == (taken, ties)


def test_what_the_case_does_not_ask_stays_empty() -> None:
    nothing_retrieved = joined({}, {}, case={"context": []}).labels
    assert (nothing_retrieved.claims, nothing_retrieved.passages, nothing_retrieved.needs) == ([], [], [])
    assert (len(nothing_retrieved.parts), nothing_retrieved.direct) == (1, "full")
    assert joined({"similarity": "close"}, {"similarity": "close"}).labels.similarity is None


# --- what cannot be read ---------------------------------------------------------------------------


def test_a_case_is_unreadable_where_more_than_half_say_so() -> None:
    lost = {"unreadable": "it is in Frisian", "claims": [], "passages": [], "needs": [], "parts": []}
    assert joined(lost, lost, {}).labels.unreadable == "it is in Frisian"
    assert joined(lost, {}, {}).labels == joined({}, {}).labels
    split = joined(lost, {})
    assert (split.labels.unreadable, split.ties) == (None, ("unreadable: yes 1, no 1; taken as no",))
