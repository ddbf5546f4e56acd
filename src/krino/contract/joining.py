"""Joins the labels of several ballots into one set: the majority decides each label, and a tie abstains.

A closed value (a word of a list, yes or no, a whole number) is voted on: most votes win. A measured number is the
median. Objects are joined field by field, lists of objects by the field that their class names as `vote_key`. Free
text is never voted on or mixed: it is copied as a whole from a ballot that agrees with what was decided around it. In
a tie the label becomes null, or a word for "unknown", if it may be that; otherwise the case cannot be judged. A judge
that knows better what its labels mean joins them itself (`Judge.join_votes`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from statistics import median
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import orjson
from pydantic import BaseModel

from krino.contract import Joined, LabelsT
from krino.contract.judgement import as_word
from krino.errors import CannotJudge

T = TypeVar("T", bound=Hashable)
ModelT = TypeVar("ModelT", bound=BaseModel)
UNKNOWN = ("unknown", "unclear", "undecided", "abstain", "cannot_tell", "not_sure")
"""Words by which a label may abstain; the first of them that the label allows is used."""


def join_labels(ballots: Sequence[LabelsT]) -> Joined[LabelsT]:
    """Joins labels by majority; raises `CannotJudge` if a tie leaves a label without any value."""
    joining = _Joining()
    labels = joining.join_objects(sorted(ballots, key=canonical_labels), "")
    if joining.hopeless:
        raise CannotJudge(f"the seats are evenly split: {'; '.join(joining.hopeless)}")
    return Joined(labels, tuple(joining.ties))


def leaders(votes: Iterable[T]) -> list[T]:
    """Returns the values with the most votes, whatever their order: one, or several that tie."""
    counts = Counter(votes)
    most = max(counts.values())
    return sorted((value for value, count in counts.items() if count == most), key=repr)


def spell(votes: Iterable[Hashable]) -> str:
    """Writes votes with their counts, most frequent first: `good 2, bad 1`."""
    counts = sorted(Counter(votes).items(), key=lambda item: (-item[1], repr(item[0])))
    return ", ".join(f"{as_word(value)} {count}" for value, count in counts)


def canonical_labels(labels: BaseModel) -> bytes:
    """Returns the same bytes for the same labels: the result must not depend on the order of the ballots."""
    return orjson.dumps(labels.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)


@dataclass(slots=True)
class _Joining:
    ties: list[str] = field(default_factory=list)
    hopeless: list[str] = field(default_factory=list)

    def join_objects(self, given: Sequence[ModelT], where: str) -> ModelT:
        """Joins objects field by field; free text is copied from the ballot that agrees with most of the decided
        fields."""
        kinds = {name: _Kind(info.annotation) for name, info in type(given[0]).model_fields.items()}
        decided = {
            name: self.join_values([getattr(item, name) for item in given], kind, f"{where}.{name}" if where else name)
            for name, kind in kinds.items()
            if not kind.copied
        }
        nearest = max(given, key=lambda item: sum(getattr(item, name) == value for name, value in decided.items()))
        return nearest.model_copy(update=decided)

    def join_values(self, votes: Sequence[Any], kind: _Kind, where: str) -> Any:
        """Joins the votes on one field by its kind: majority, median, nested object or list. Unanimous votes stay as
        they are."""
        if all(vote == votes[0] for vote in votes):
            return votes[0]
        if not kind.listed and kind.model is None:
            return median(votes) if kind.measured and None not in votes else self.choose_majority(votes, kind, where)
        given = [vote for vote in votes if vote is not None]
        if self.is_null(len(votes) - len(given), len(votes), where):
            return None
        if kind.model is not None:
            return self.join_objects(given, where)
        return self.join_keyed(given, kind.key, where) if kind.key else self.join_members(given, where)

    def choose_majority(self, votes: Sequence[Any], kind: _Kind, where: str) -> Any:
        """Returns the value with the most votes. A tie is recorded and gives null or the word for "unknown"; if the
        label has neither, it is recorded as hopeless."""
        best = leaders(votes)
        if len(best) == 1:
            return best[0]
        tie = f"{where}: {spell(votes)}"
        if kind.nullable or kind.unknown is not None:
            taken = None if kind.nullable else kind.unknown
            self.ties.append(f"{tie}; taken as {as_word(taken)}")
            return taken
        self.hopeless.append(f"{tie}, and the label has no value for that")
        return None

    def join_keyed(self, lists: Sequence[Sequence[BaseModel]], name: str, where: str) -> list[BaseModel]:
        """Joins lists of objects by their key; a key that at most half of the ballots name is left out."""
        tables = [{getattr(item, name): item for item in items} for items in lists]
        joined = []
        for key in _sort_by_position([list(table) for table in tables]):
            given = [table[key] for table in tables if key in table]
            if self.is_in(len(given), len(lists), f"{where}[{key}]"):
                joined.append(self.join_objects(given, f"{where}[{key}]"))
        return joined

    def join_members(self, lists: Sequence[Sequence[Any]], where: str) -> list[Any]:
        """Returns the plain values that more than half of the ballots list."""
        counts = Counter(value for items in lists for value in set(items))
        order = _sort_by_position(lists)
        return [value for value in order if self.is_in(counts[value], len(lists), f"{where}[{as_word(value)}]")]

    def is_null(self, nulls: int, seats: int, where: str) -> bool:
        """Did at least half vote for null? An even split is recorded as a tie."""
        if 2 * nulls == seats:
            self.ties.append(f"{where}: null {nulls}, given {seats - nulls}; taken as null")
        return 2 * nulls >= seats

    def is_in(self, votes: int, seats: int, where: str) -> bool:
        """Did more than half name this? An even split is recorded as a tie."""
        if 2 * votes == seats:
            self.ties.append(f"{where}: named by {votes} of {seats}; left out")
        return 2 * votes > seats


class _Kind:
    """How the values of a field are joined, from its annotation."""

    def __init__(self, annotation: Any) -> None:
        parts = list(_split_union(annotation))
        words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
        lists = [part for part in parts if get_origin(part) is list]
        items = [item for part in lists for item in _split_union(get_args(part)[0])]
        self.nullable = type(None) in parts or None in words
        self.unknown = next((word for word in UNKNOWN if word in words), None)
        self.model = next((part for part in parts if isinstance(part, type) and issubclass(part, BaseModel)), None)
        self.measured = float in parts
        self.listed = bool(lists)
        self.key: str | None = next((key for item in items if (key := getattr(item, "vote_key", None))), None)
        unkeyed = any(isinstance(item, type) and issubclass(item, BaseModel | str | dict) for item in items)
        # Whether text, mappings and lists without keys are "the same" in two replies cannot be decided.
        self.copied = self.model is None and not self.key and (unkeyed or str in parts or not _is_votable(parts, items))


def _is_votable(parts: Sequence[Any], items: Sequence[Any]) -> bool:
    """Can votes on a field of this type be counted?"""
    plain = (bool, int, float, type(None))
    return all(
        get_origin(part) in (Literal, list) or part in plain or (isinstance(part, type) and issubclass(part, Enum))
        for part in (*parts, *items)
    )


def _split_union(annotation: Any) -> Iterable[Any]:
    """Yields the members of a union, or the type itself, without `Annotated`."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _split_union(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from _split_union(part)
    else:
        yield annotation


def _sort_by_position(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """Returns every value once, sorted by its average position in the lists that hold it."""
    places: dict[Any, list[int]] = {}
    for items in lists:
        for place, value in enumerate(dict.fromkeys(items)):
            places.setdefault(value, []).append(place)
    return sorted(places, key=lambda value: (sum(places[value]) / len(places[value]), repr(value)))
