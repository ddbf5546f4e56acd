"""Joining votes: the majority decides each label, ties abstain, nobody's place matters, no text is made up."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

import krino
from krino.contract.joining import join_labels, leaders


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tone(Enum):
    dry = "dry"
    warm = "warm"


class Item(Strict):
    vote_key: ClassVar[str] = "name"

    name: str
    kind: Literal["a", "b", "unknown"]
    why: str


class Inner(Strict):
    yes: bool | None
    why: str


class Labels(Strict):
    choice: Literal["x", "y", "z"] | None
    number: int | None
    measure: float
    tone: Tone | None
    inner: Inner | None
    items: list[Item]
    marks: list[Literal["p", "q", "r"]]
    remarks: list[str]
    text: str


items = st.lists(
    st.builds(Item, name=st.sampled_from("mno"), kind=st.sampled_from(["a", "b"]), why=st.sampled_from(["w1", "w2"])),
    max_size=3,
    unique_by=lambda item: item.name,
)
ballots = st.builds(
    Labels,
    choice=st.sampled_from(["x", "y", "z", None]),
    number=st.none() | st.integers(1, 3),
    measure=st.sampled_from([0.0, 0.5, 1.0]),
    tone=st.sampled_from([None, *Tone]),
    inner=st.none() | st.builds(Inner, yes=st.sampled_from([True, False, None]), why=st.sampled_from(["i1", "i2"])),
    items=items,
    marks=st.lists(st.sampled_from("pqr"), unique=True),
    remarks=st.lists(st.sampled_from(["r1", "r2"]), max_size=2),
    text=st.sampled_from(["t1", "t2", "t3"]),
)
PLAIN = Labels(choice="x", number=1, measure=0.5, tone=None, inner=None, items=[], marks=[], remarks=[], text="because")


def ballot(**changes: object) -> Labels:
    return Labels.model_validate({**PLAIN.model_dump(), **changes})


@given(st.lists(ballots, min_size=1, max_size=5), st.randoms())
def test_the_order_of_the_seats_does_not_matter(given_: list[Labels], draw: object) -> None:
    moved = list(given_)
    draw.shuffle(moved)  # type: ignore[attr-defined]
    assert join_labels(given_) == join_labels(moved)


@given(ballots, st.integers(1, 5))
def test_what_all_say_is_said(one: Labels, seats: int) -> None:
    joined = join_labels([one] * seats)
    assert (joined.labels, joined.ties) == (one, ())


@given(st.lists(ballots, min_size=1, max_size=5))
def test_an_absolute_majority_is_never_overruled_and_no_text_is_invented(given_: list[Labels]) -> None:
    joined = join_labels(given_).labels
    for name in ("choice", "number", "tone"):
        votes = [getattr(item, name) for item in given_]
        for value in set(votes):
            if 2 * votes.count(value) > len(votes):
                assert getattr(joined, name) == value
    assert (joined.text, joined.remarks) in [(item.text, item.remarks) for item in given_]
    for item in joined.items:
        given_items = [theirs for ballot_ in given_ for theirs in ballot_.items if theirs.name == item.name]
        assert item.why in {theirs.why for theirs in given_items}
        assert item.kind == "unknown" or item in given_items
    assert Labels.model_validate(joined.model_dump()) == joined


def test_most_votes_win() -> None:
    joined = join_labels([ballot(choice="x"), ballot(choice="y"), ballot(choice="y")])
    assert (joined.labels.choice, joined.ties) == ("y", ())


def test_a_tie_becomes_null_where_null_is_a_value() -> None:
    joined = join_labels([ballot(number=1), ballot(number=2)])
    assert (joined.labels.number, joined.ties) == (None, ("number: 1 1, 2 1; taken as null",))


def test_a_tie_becomes_the_word_for_unknown_where_there_is_one() -> None:
    item = {"name": "m", "why": ""}
    joined = join_labels([ballot(items=[{**item, "kind": "a"}]), ballot(items=[{**item, "kind": "b"}])])
    assert joined.labels.items[0].kind == "unknown"
    assert joined.ties == ("items[m].kind: a 1, b 1; taken as unknown",)


def test_a_tie_without_a_way_out_cannot_be_judged() -> None:
    class Bare(Strict):
        first: bool
        second: Literal["u", "v"]

    with pytest.raises(krino.CannotJudge, match=r"evenly split: first: .* 1, .*; second: u 1, v 1"):
        join_labels([Bare(first=True, second="u"), Bare(first=False, second="v")])


def test_measures_are_joined_by_their_median() -> None:
    assert join_labels([ballot(measure=m) for m in (0.1, 0.9, 0.2)]).labels.measure == 0.2


def test_objects_of_a_list_are_matched_by_their_key_and_rare_ones_left_out() -> None:
    m, n = {"name": "m", "kind": "a", "why": ""}, {"name": "n", "kind": "b", "why": ""}
    joined = join_labels([ballot(items=[m, n]), ballot(items=[n, {**m, "kind": "b"}]), ballot(items=[m])])
    assert [(item.name, item.kind) for item in joined.labels.items] == [("m", "a"), ("n", "b")]
    split = join_labels([ballot(items=[m]), ballot(items=[])])
    assert (split.labels.items, split.ties) == ([], ("items[m]: named by 1 of 2; left out",))


def test_plain_values_of_a_list_need_more_than_half() -> None:
    joined = join_labels([ballot(marks=["p", "q"]), ballot(marks=["p"]), ballot(marks=["r"])])
    assert joined.labels.marks == ["p"]


def test_text_comes_from_the_seat_that_fits_what_was_decided() -> None:
    joined = join_labels(
        [ballot(choice="x", text="for x"), ballot(choice="y", text="for y"), ballot(choice="y", text="for y too")]
    )
    assert joined.labels.text in ("for y", "for y too")


def test_leaders_are_all_that_are_level() -> None:
    assert leaders(["b", "a", "b", "a", "c"]) == ["a", "b"]
