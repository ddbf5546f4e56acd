"""How single fields of labels are joined, by their type: where a vote is won, tied or not taken at all."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, ClassVar, Literal, Optional, Union

import pytest
from pydantic import BaseModel, ConfigDict, Field, create_model

import krino
from krino.contract.joining import join_labels, leaders, spell


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tone(Enum):
    dry = "dry"
    warm = "warm"


class Keyed(Strict):
    vote_key: ClassVar[str] = "name"

    name: str
    good: bool | None


class Unkeyed(Strict):
    name: str


class Inner(Strict):
    yes: bool | None
    why: str


def voted(annotation: Any, *votes: Any) -> tuple[Any, tuple[str, ...]]:
    """What becomes of a field of this type, and what is told of ties; a second field keeps the ballots apart."""
    model = create_model("Made", __base__=Strict, field=(annotation, ...), text=(str, ...))
    ballots = [model.model_validate({"field": vote, "text": f"seat {place}"}) for place, vote in enumerate(votes)]
    joined = join_labels(ballots)
    return joined.labels.model_dump()["field"], joined.ties


# --- closed values ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "votes", "taken", "tie"),
    [
        (bool | None, (True, True, False), True, None),
        (bool | None, (True, False), None, "false 1, true 1; taken as null"),
        (Optional[int], (1, 2, 2), 2, None),  # noqa: UP045
        (Union[int, None], (1, 2), None, "1 1, 2 1; taken as null"),  # noqa: UP007
        (Annotated[int | None, Field(ge=0)], (1, 2), None, "1 1, 2 1; taken as null"),
        (Annotated[int, Field(ge=0)] | None, (1, 2), None, "1 1, 2 1; taken as null"),
        (Literal["a", "b", None], ("a", "b"), None, "a 1, b 1; taken as null"),
        (Literal["a", "b", "unclear"], ("a", "b"), "unclear", "a 1, b 1; taken as unclear"),
        (Literal["a", "b", "unclear", "unknown"], ("a", "b"), "unknown", "a 1, b 1; taken as unknown"),
        (Literal["a", "b", "unknown"] | None, ("a", "b"), None, "a 1, b 1; taken as null"),
        (Tone | None, (Tone.dry, Tone.dry, Tone.warm), Tone.dry, None),
        (Literal["a", "b", "c"] | None, ("a", "b", "c", "c"), "c", None),
    ],
)
def test_most_votes_win_and_a_tie_is_what_the_label_has_for_nothing(
    annotation: Any, votes: tuple[Any, ...], taken: Any, tie: str | None
) -> None:
    assert voted(annotation, *votes) == (taken, (f"field: {tie}",) if tie else ())


def test_a_tie_on_a_label_that_has_no_value_for_it_cannot_be_judged() -> None:
    with pytest.raises(krino.CannotJudge, match="field: a 1, b 1, and the label has no value for that"):
        voted(Literal["a", "b"], "a", "b")
    assert voted(Literal["a", "b"], "a", "b", "b") == ("b", ())


# --- measures --------------------------------------------------------------------------------------


def test_a_measure_is_the_median_unless_a_seat_leaves_it_out() -> None:
    assert voted(float, 0.1, 0.2, 0.9) == (0.2, ())
    assert voted(float | None, 0.25, 0.75) == (0.5, ())
    assert voted(float | None, 0.1, None, None) == (None, ())
    assert voted(float | None, 0.1, 0.1, None) == (0.1, ())
    assert voted(float | None, 0.1, None) == (None, ("field: 0.1 1, null 1; taken as null",))


# --- objects ---------------------------------------------------------------------------------------

YES, NO = {"yes": True, "why": "y"}, {"yes": False, "why": "n"}


def test_an_object_is_null_for_half_of_the_seats_and_joined_field_by_field_for_fewer() -> None:
    assert voted(Inner | None, YES, None) == (None, ("field: null 1, given 1; taken as null",))
    assert voted(Inner | None, YES, None, None) == (None, ())
    assert voted(Inner | None, YES, YES, None) == (YES, ())
    taken, ties = voted(Inner | None, YES, NO, None)
    assert (taken["yes"], ties) == (None, ("field.yes: false 1, true 1; taken as null",))


def test_text_comes_whole_from_the_seat_that_agrees_most_with_what_was_decided() -> None:
    class Three(Strict):
        a: int
        b: int
        c: int
        why: str

    ballots = [Three(a=1, b=2, c=2, why="one"), Three(a=1, b=1, c=2, why="two"), Three(a=2, b=1, c=1, why="three")]
    for seats in (ballots, ballots[::-1]):
        found = join_labels([*seats, Three(a=1, b=1, c=1, why="four"), Three(a=3, b=1, c=2, why="five")]).labels
        assert (found.a, found.b, found.c, found.why) == (1, 1, 2, "two")


# --- lists -----------------------------------------------------------------------------------------


def test_an_object_of_a_list_is_in_for_more_than_half_and_its_fields_are_voted_by_those_that_name_it() -> None:
    good, bad = {"name": "m", "good": True}, {"name": "m", "good": False}
    assert voted(list[Keyed], [good], [good], []) == ([good], ())
    assert voted(list[Keyed], [good], [], []) == ([], ())
    assert voted(list[Keyed], [good], []) == ([], ("field[m]: named by 1 of 2; left out",))
    taken, ties = voted(list[Keyed], [good], [bad])
    assert (taken, ties) == ([{"name": "m", "good": None}], ("field[m].good: false 1, true 1; taken as null",))


def test_a_list_that_may_be_null_is_so_for_half_of_the_seats() -> None:
    assert voted(list[Keyed] | None, [{"name": "m", "good": True}], None) == (
        None,
        ("field: null 1, given 1; taken as null",),
    )
    assert voted(list[int] | None, [1], [1], None) == ([1], ())


@pytest.mark.parametrize(
    ("annotation", "votes", "taken", "ties"),
    [
        (list[int], ([1, 2], [1], [3]), [1], ()),
        (list[int], ([1, 1], [2], [2]), [2], ()),
        (list[int], ([1, 1], [1, 1]), [1, 1], ()),
        (list[int], ([1, 1],), [1, 1], ()),
        (list[int], ([1], [2]), [], ("field[1]: named by 1 of 2; left out", "field[2]: named by 1 of 2; left out")),
        (list[Literal["a", "b"]], (["a", "b"], ["b", "a"], ["b", "a"]), ["b", "a"], ()),
        (list[Literal["a", "b"]], (["b", "b", "a"], ["a", "b"]), ["a", "b"], ()),
        (list[Tone], ([Tone.dry], [Tone.dry], []), [Tone.dry], ()),
    ],
)
def test_plain_values_are_in_for_more_than_half_in_the_order_of_their_average_place(
    annotation: Any, votes: tuple[Any, ...], taken: Any, ties: tuple[str, ...]
) -> None:
    assert voted(annotation, *votes) == (taken, ties)


# --- what is never voted on ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "one", "other"),
    [
        (str, "a", "b"),
        (str | None, "a", None),
        (list[str], ["a"], ["b"]),
        (dict[str, int], {"a": 1}, {"a": 2}),
        (list[dict[str, int]], [{"a": 1}], []),
        (list[Unkeyed], [{"name": "a"}], [{"name": "b"}]),
        (list[Unkeyed] | None, [{"name": "a"}], None),
        (tuple[int, ...], (1,), (2,)),
        (bytes, b"a", b"b"),
    ],
)
def test_text_mappings_and_lists_without_a_key_are_copied_whole_and_never_tied(
    annotation: Any, one: Any, other: Any
) -> None:
    for votes in ((one, other), (one, other, other)):
        taken, ties = voted(annotation, *votes)
        assert taken in (one, other)
        assert ties == ()


# --- words -----------------------------------------------------------------------------------------


def test_votes_are_spelled_most_first_and_leaders_are_all_that_tie() -> None:
    assert spell(["b", "a", "a", None, True, 2]) == "a 2, b 1, 2 1, null 1, true 1"
    assert leaders(["b", "a", "a"]) == ["a"]
    assert leaders(["b", "a"]) == ["a", "b"]
