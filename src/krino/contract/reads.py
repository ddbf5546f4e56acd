"""Which names of a record are read, at any depth: what they leave out is neither content nor unknown to the user."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

Reads: TypeAlias = Mapping[str, "Reads | None"]
"""Names that are read, each with the names that are read inside its object, or inside each object of its list.

None: all of it is read, or may be.
"""
Spell: TypeAlias = Callable[[str], str]


class Whole(dict[str, "Reads | None"]):
    """Names that are read inside an object all of which is content: more than its names may bear on the verdict."""

    def __init__(self, names: Reads, in_objects: Collection[str] = ()) -> None:
        """`in_objects`: what is looked for in every object that lies inside, whatever its name."""
        super().__init__(names)
        self.in_objects: Reads = dict.fromkeys(in_objects)


ELEMENT = "*"
"""Stands for every element of a list in a path: `candidates.*.court`."""


def prune(record: Mapping[Any, Any], reads: Reads, spell: Spell = str) -> dict[Any, Any]:
    """The record without the names that are not read."""
    return {name: _pruned(value, inner, spell) for name, value, inner in _read(record, reads, spell)}


def _read(record: Mapping[Any, Any], reads: Reads, spell: Spell) -> Iterator[tuple[Any, Any, Reads | None]]:
    for name, value in record.items():
        if not isinstance(name, str):
            yield name, value, None  # no judge declares it: whether it is read is not known
        elif (spelled := spell(name)) in reads:
            yield name, value, reads[spelled]


def _pruned(value: Any, reads: Reads | None, spell: Spell) -> Any:
    if reads is None or isinstance(reads, Whole):
        return value
    if isinstance(value, Mapping):
        return prune(value, reads, spell)
    if isinstance(value, list | tuple):
        return [prune(item, reads, spell) if isinstance(item, Mapping) else item for item in value]
    return value


class UnreadName(NamedTuple):
    """A name that is not read, where it is, and what is read beside it."""

    path: str
    name: str
    value: Any
    known: Reads


def unread_names(record: Mapping[str, Any], reads: Reads, spell: Spell = str) -> Iterator[UnreadName]:
    """Every name of a record that is not read, at any depth; not what lies inside it."""
    return _unread(record, reads, spell, "")


def _unread(value: Any, reads: Reads | None, spell: Spell, where: str) -> Iterator[UnreadName]:
    if reads is None:
        return
    if isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, Mapping):
                yield from _unread(item, reads, spell, f"{where}{ELEMENT}.")
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(name, str):
                if (spelled := spell(name)) in reads:
                    yield from _unread(inner, reads[spelled], spell, f"{where}{name}.")
                elif searched := _searched(inner, reads, spell):
                    yield from _unread(inner, searched, spell, f"{where}{name}.")
                else:
                    yield UnreadName(f"{where}{name}", name, inner, reads)


def _searched(value: Any, reads: Reads, spell: Spell) -> Reads | None:
    """What is read inside an object of any name, where it has any of it."""
    if not (isinstance(reads, Whole) and isinstance(value, Mapping)):
        return None
    there = any(isinstance(name, str) and spell(name) in reads.in_objects for name in value)
    return reads.in_objects if there else None
