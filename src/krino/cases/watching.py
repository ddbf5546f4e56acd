"""Notices what is odd about the fields of cases: names that the judge does not read, texts that look like several."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from krino.cases.content import reads_of, spelling_of
from krino.cases.item import CaseItem
from krino.cases.mapping import EACH
from krino.cases.metadata import PREFIX
from krino.contract import AnyJudge
from krino.contract.case_fields import list_names
from krino.contract.reads import ELEMENT, unread_names
from krino.text.clean import clean_line
from krino.text.guessing import guessed

_LOOKED_AT = 100
_MOST_NAMED = 10
_LONGEST_NAME = 60
_MOST_PATHS = 1_000
_MOST_PLACES = 100
_DEEPEST = 8
_SEPARATORS = re.compile(
    r"\|{2,}|<\|?/?sep\|?>|\[SEP\]|<br\s*/?>\s*<br\s*/?>|(?<=\n)[ \t]*(?:-{3,}|={3,}|\*{3,}|#{3,})[ \t]*(?=\r?\n)"
    r"|(?<=\s)(?:#{3,}|@{3,}|~{3,}|%{3,}|\${3,}|;{2,})(?=\s)|(?<=[^\s|])\|(?=[^\s|])",
    re.IGNORECASE,
)
_TOLD_FOR = 10_000  # characters of a text are enough to see how it is made
Tell = Callable[[str], None]


def watched(
    items: Iterator[CaseItem], judge: AnyJudge, tell: Tell, mapping: Mapping[str, str] | None = None
) -> Iterator[CaseItem]:
    """The items as they are; after the first hundred (or all), what is odd about their fields is told, if anything."""
    return looked_for_separators(looked_for_unread(items, judge, tell, mapping), judge, tell)


def _after_a_look(
    items: Iterator[CaseItem], look: Callable[[CaseItem], None], conclude: Callable[[int], None]
) -> Iterator[CaseItem]:
    """The items as they are; the first hundred are looked at, then (or at the end) what follows from it is told."""
    looked_at = 0
    for item in items:
        if looked_at < _LOOKED_AT:
            looked_at += 1
            look(item)
            if looked_at == _LOOKED_AT:
                conclude(looked_at)
        yield item
    if looked_at < _LOOKED_AT:
        conclude(looked_at)


# --- fields that nobody reads ------------------------------------------------------------------------


def looked_for_unread(
    items: Iterator[CaseItem], judge: AnyJudge, tell: Tell, mapping: Mapping[str, str] | None = None
) -> Iterator[CaseItem]:
    """Tells which fields of the records the judge does not read, at any depth, except those that were mapped from."""
    unread = UnreadFields(judge, mapping)

    def look(item: CaseItem) -> None:
        unread.add(item.record or {})

    def conclude(_: int) -> None:
        if told := unread.told():
            tell(told)

    return _after_a_look(items, look, conclude)


class UnreadFields:
    """Collects the paths that a judge does not read, with how many records have each and the name perhaps meant."""

    def __init__(self, judge: AnyJudge, mapping: Mapping[str, str] | None = None, *, leaves: bool = False) -> None:
        """`leaves`: list what lies inside an unread object, name by name, and not the object."""
        self._leaves = leaves
        self._judge = judge
        self._spell = spelling_of(judge)
        self._sources = tuple(tuple(source.split(".")) for source in _sources(mapping or {}))
        self.records: Counter[str] = Counter()
        self.guesses: dict[str, str] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        reads = reads_of(self._judge, record)
        if reads is None:
            return
        found: dict[str, None] = {}
        for path, name, value, known in unread_names(record, reads, self._spell):
            if (path in found and not self._leaves) or path.startswith(PREFIX) or len(found) > _MOST_PATHS:
                continue
            parts = tuple(path.split("."))
            if any(source[: len(parts)] == parts for source in self._sources):
                rest = _beside(value, parts, self._sources)
            else:
                rest = iter([(path, value)])
            for where, inner in rest:
                found.update(dict.fromkeys(_leaf_paths(inner, where) if self._leaves else [where]))
            if path not in self.guesses:
                self.guesses[path] = guessed(name, known)
        self.records.update(found.keys())

    def told(self) -> str | None:
        """One line for a user: names that may be misspelt come first."""
        if not self.records:
            return None
        names = sorted(self.records, key=lambda path: not self.guesses.get(path))
        shown = [f"{clean_line(path, _LONGEST_NAME)}{self.guesses.get(path, '')}" for path in names[:_MOST_NAMED]]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        return f"not read by {self._judge.name}: {', '.join(shown)}{more}"


def _sources(mapping: Mapping[str, str]) -> Iterator[str]:
    """What is mapped from, as it was and, of elements, where it lies after the mapping."""
    for target, source in mapping.items():
        yield source
        target_list, each, _ = target.partition(EACH)
        if each:
            yield f"{target_list}{EACH}{source.partition(EACH)[2]}"


def _leaf_paths(value: Any, path: str, depth: int = 0) -> Iterator[str]:
    """The path itself, or those of all names inside an object or the objects of a list."""
    inner = [item for item in value if isinstance(item, Mapping)] if isinstance(value, list | tuple) else []
    if isinstance(value, Mapping) and value and depth < _DEEPEST:
        for name, item in value.items():
            yield from _leaf_paths(item, f"{path}.{name}", depth + 1)
    elif inner and depth < _DEEPEST:
        for item in inner[:_MOST_PLACES]:
            for name, part in item.items():
                yield from _leaf_paths(part, f"{path}.{ELEMENT}.{name}", depth + 1)
    else:
        yield path


def _beside(value: Any, path: tuple[str, ...], sources: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, Any]]:
    """Paths below one that fields are mapped from, as far as no field is, with what is there."""
    if path in sources or any(source[: len(path) + 1] == (*path, ELEMENT) for source in sources):
        return  # a list that is mapped element by element is read under its new name
    if not any(source[: len(path)] == path for source in sources):
        yield ".".join(path), value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _beside(inner, (*path, str(name)), sources)
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value[:_MOST_PLACES]):
            if any(source[: len(path) + 1] == (*path, str(place)) for source in sources):
                yield from _beside(inner, (*path, str(place)), sources)


def looked_for_slips(items: Iterator[CaseItem], judge: AnyJudge, tell: Tell) -> Iterator[CaseItem]:
    """Tells of fields that nobody reads where a name near to theirs is missing; any other field may be there."""
    told: set[str] = set()
    spell = spelling_of(judge)

    def look(item: CaseItem) -> None:
        record = item.record or {}
        reads = reads_of(judge, record)
        for path, name, _, known in unread_names(record, reads, spell) if reads is not None else ():
            if path in told or len(told) >= _MOST_PATHS or path.startswith(PREFIX):
                continue
            guess = guessed(name, known)
            there = {spell(key) for key in record if isinstance(key, str)} if path == name else set()
            if guess and guess == guessed(name, known.keys() - there):
                told.add(path)
                tell(f"not read by {judge.name}: {clean_line(path, _LONGEST_NAME)}{guess}")

    return _after_a_look(items, look, lambda _: None)


# --- texts that look like several --------------------------------------------------------------------


def looked_for_separators(items: Iterator[CaseItem], judge: AnyJudge, tell: Tell) -> Iterator[CaseItem]:
    """Tells which texts hold a separator, where the judge wants a list of texts."""
    names = list_names(judge)
    met: Counter[tuple[str, str]] = Counter()

    def look(item: CaseItem) -> None:
        for name, value in (item.record or {}).items():
            if name in names and isinstance(value, str) and (found := _SEPARATORS.search(value[:_TOLD_FOR])):
                met[name, found.group().strip()] += 1

    def conclude(looked_at: int) -> None:
        for (name, separator), count in met.most_common(3):
            of = f"{count} of the first {looked_at} cases" if looked_at > 1 else "the case"
            tell(
                f"`{name}` of {of} is one text that holds `{separator}`, and is judged as it stands: "
                f"if this is where a new one begins, add --split '{name}={separator}'"
            )

    return _after_a_look(items, look, conclude) if names else items
