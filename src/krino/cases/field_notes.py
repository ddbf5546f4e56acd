"""Notes about the fields of cases for users: names that the judge does not read, texts that look like lists."""

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
from krino.contract.record_fields import ELEMENT, list_names, unread_names
from krino.text.clean import clean_line
from krino.text.guessing import did_you_mean

_INSPECTED = 100
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
_SEARCHED = 10_000  # characters of a text
Notify = Callable[[str], None]


def note_odd_fields(
    items: Iterator[CaseItem], judge: AnyJudge, notify: Notify, mapping: Mapping[str, str] | None = None
) -> Iterator[CaseItem]:
    """The items unchanged. After the first hundred (or all), notes about their fields are passed to `notify`."""
    return note_separators(note_unread_fields(items, judge, notify, mapping), judge, notify)


def _inspect_first(
    items: Iterator[CaseItem], inspect: Callable[[CaseItem], None], conclude: Callable[[int], None]
) -> Iterator[CaseItem]:
    """The items unchanged. `inspect` is called for the first hundred, then (or at the end) `conclude`."""
    inspected = 0
    for item in items:
        if inspected < _INSPECTED:
            inspected += 1
            inspect(item)
            if inspected == _INSPECTED:
                conclude(inspected)
        yield item
    if inspected < _INSPECTED:
        conclude(inspected)


# --- fields that are not read ------------------------------------------------------------------------


def note_unread_fields(
    items: Iterator[CaseItem], judge: AnyJudge, notify: Notify, mapping: Mapping[str, str] | None = None
) -> Iterator[CaseItem]:
    """Yields the items unchanged. After the first hundred (or all), one note names the fields that the judge does not
    read.

    Fields at any depth count, except sources of the mapping.
    """
    unread = UnreadFields(judge, mapping)

    def inspect(item: CaseItem) -> None:
        unread.add(item.record or {})

    def conclude(_: int) -> None:
        if note := unread.describe():
            notify(note)

    return _inspect_first(items, inspect, conclude)


class UnreadFields:
    """Collects the paths that a judge does not read, with the number of records and the name that may be meant."""

    def __init__(self, judge: AnyJudge, mapping: Mapping[str, str] | None = None, *, leaves: bool = False) -> None:
        """`leaves`: list the names inside an unread object instead of the object."""
        self._leaves = leaves
        self._judge = judge
        self._spell = spelling_of(judge)
        self._sources = tuple(tuple(source.split(".")) for source in _sources(mapping or {}))
        self.records: Counter[str] = Counter()
        self.guesses: dict[str, str] = {}

    def add(self, record: Mapping[str, Any]) -> None:
        """Collects the fields of a record that the judge does not read, with a guess at what was meant."""
        reads = reads_of(self._judge, record)
        if reads is None:
            return
        found: dict[str, None] = {}
        for path, name, value, known in unread_names(record, reads, self._spell):
            if (path in found and not self._leaves) or path.startswith(PREFIX) or len(found) > _MOST_PATHS:
                continue
            parts = tuple(path.split("."))
            if any(source[: len(parts)] == parts for source in self._sources):
                rest = _find_unmapped(value, parts, self._sources)
            else:
                rest = iter([(path, value)])
            for where, inner in rest:
                found.update(dict.fromkeys(_leaf_paths(inner, where) if self._leaves else [where]))
            if path not in self.guesses:
                self.guesses[path] = did_you_mean(name, known)
        self.records.update(found.keys())

    def describe(self) -> str | None:
        """One line for users, names that may be misspelt first; None if everything is read."""
        if not self.records:
            return None
        names = sorted(self.records, key=lambda path: not self.guesses.get(path))
        shown = [f"{clean_line(path, _LONGEST_NAME)}{self.guesses.get(path, '')}" for path in names[:_MOST_NAMED]]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        return f"not read by {self._judge.name}: {', '.join(shown)}{more}"


def _sources(mapping: Mapping[str, str]) -> Iterator[str]:
    """The sources of a mapping; for fields of elements also their paths after the mapping."""
    for target, source in mapping.items():
        yield source
        target_list, each, _ = target.partition(EACH)
        if each:
            yield f"{target_list}{EACH}{source.partition(EACH)[2]}"


def _leaf_paths(value: Any, path: str, depth: int = 0) -> Iterator[str]:
    """The path itself, or the paths of all names inside an object or the objects of a list."""
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


def _find_unmapped(value: Any, path: tuple[str, ...], sources: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, Any]]:
    """Yields paths and values inside a source of the mapping that the mapping does not use."""
    if path in sources or any(source[: len(path) + 1] == (*path, ELEMENT) for source in sources):
        return  # the list is read under its new name
    if not any(source[: len(path)] == path for source in sources):
        yield ".".join(path), value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _find_unmapped(inner, (*path, str(name)), sources)
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value[:_MOST_PLACES]):
            if any(source[: len(path) + 1] == (*path, str(place)) for source in sources):
                yield from _find_unmapped(inner, (*path, str(place)), sources)


def note_misspelt_fields(items: Iterator[CaseItem], judge: AnyJudge, notify: Notify) -> Iterator[CaseItem]:
    """Yields the items unchanged. Notes an unread field at once, and only if a similar name that is read is missing."""
    noted: set[str] = set()
    spell = spelling_of(judge)

    def inspect(item: CaseItem) -> None:
        """Notifies the user of a field that is not read and resembles one that is missing."""
        record = item.record or {}
        reads = reads_of(judge, record)
        for path, name, _, known in unread_names(record, reads, spell) if reads is not None else ():
            if path in noted or len(noted) >= _MOST_PATHS or path.startswith(PREFIX):
                continue
            guess = did_you_mean(name, known)
            present = {spell(key) for key in record if isinstance(key, str)} if path == name else set()
            if guess and guess == did_you_mean(name, known.keys() - present):
                noted.add(path)
                notify(f"not read by {judge.name}: {clean_line(path, _LONGEST_NAME)}{guess}")

    return _inspect_first(items, inspect, lambda _: None)


# --- texts that look like several --------------------------------------------------------------------


def note_separators(items: Iterator[CaseItem], judge: AnyJudge, notify: Notify) -> Iterator[CaseItem]:
    """Yields the items unchanged. After the first hundred (or all), notes which texts contain a separator, for fields
    in which the judge wants a list of texts."""
    names = list_names(judge)
    found_by_field: Counter[tuple[str, str]] = Counter()

    def inspect(item: CaseItem) -> None:
        for name, value in (item.record or {}).items():
            if name in names and isinstance(value, str) and (found := _SEPARATORS.search(value[:_SEARCHED])):
                found_by_field[name, found.group().strip()] += 1

    def conclude(inspected: int) -> None:
        """Notifies the user of texts that look like lists, most frequent first."""
        for (name, separator), count in found_by_field.most_common(3):
            of = f"{count} of the first {inspected} cases" if inspected > 1 else "the case"
            notify(
                f"`{name}` of {of} is one text that holds `{separator}`, and is judged as it is: "
                f"if it separates several texts, add --split '{name}={separator}'"
            )

    return _inspect_first(items, inspect, conclude) if names else items
