"""Notices what is odd about the fields of cases: names that the judge does not read, texts that look like several."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic import AliasChoices, AliasPath

from krino.cases.item import ID_FIELDS, CaseItem
from krino.cases.metadata import PREFIX
from krino.contract import AnyJudge
from krino.contract.case_fields import list_names
from krino.text.clean import clean_line
from krino.text.guessing import guessed

_LOOKED_AT = 100
_MOST_NAMED = 10
_LONGEST_NAME = 60
_SEPARATORS = re.compile(
    r"\|{2,}|<\|?/?sep\|?>|\[SEP\]|<br\s*/?>\s*<br\s*/?>|(?<=\n)[ \t]*(?:-{3,}|={3,}|\*{3,}|#{3,})[ \t]*(?=\r?\n)"
    r"|(?<=\s)(?:#{3,}|@{3,}|~{3,}|%{3,}|\${3,}|;{2,})(?=\s)",
    re.IGNORECASE,
)
_TOLD_FOR = 10_000  # characters of a text are enough to see how it is made
Tell = Callable[[str], None]


def watched(items: Iterator[CaseItem], judge: AnyJudge, tell: Tell) -> Iterator[CaseItem]:
    """The items as they are; after the first hundred (or all), what is odd about their fields is told, if anything."""
    return looked_for_separators(looked_for_unread(items, judge, tell), judge, tell)


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


def looked_for_unread(items: Iterator[CaseItem], judge: AnyJudge, tell: Tell) -> Iterator[CaseItem]:
    """Tells which fields of the records the judge does not read."""
    known = names_read(judge)
    if known is None:
        return items
    spelled: Callable[[str], str] = getattr(judge.case_model, "spelled", str)
    unread: dict[str, None] = {}

    def look(item: CaseItem) -> None:
        names = item.record or {}
        unread.update(dict.fromkeys(n for n in names if spelled(n) not in known and not n.startswith(PREFIX)))

    def conclude(_: int) -> None:
        if unread:
            tell(_told(judge.name, list(unread), known))

    return _after_a_look(items, look, conclude)


def looked_for_slips(items: Iterator[CaseItem], judge: AnyJudge, tell: Tell) -> Iterator[CaseItem]:
    """Tells of fields that nobody reads where a name near to theirs is missing; any other field may be there."""
    known = names_read(judge)
    if known is None:
        return items
    spelled: Callable[[str], str] = getattr(judge.case_model, "spelled", str)
    told: set[str] = set()

    def look(item: CaseItem) -> None:
        names = {spelled(name): name for name in item.record or {} if isinstance(name, str)}
        for near, name in names.items():
            if near in known or name in told:
                continue
            guess = guessed(name, known)
            if guess and guess == guessed(name, known - names.keys()):
                told.add(name)
                tell(f"not read by {judge.name}: {clean_line(name, _LONGEST_NAME)}{guess}")

    return _after_a_look(items, look, lambda _: None)


def names_read(judge: AnyJudge) -> frozenset[str] | None:
    """Every name that the judge looks for in a record; None where it takes the whole record, whatever its fields.

    A case that takes a record whole to rename its keys says itself what it reads: `names_read()`, and `spelled(key)`
    where keys may be written in several ways.
    """
    if (stated := getattr(judge.case_model, "names_read", None)) is not None:
        return frozenset({*stated(), *ID_FIELDS, PREFIX.rstrip(".")})
    asked = _Asked()
    with suppress(Exception):  # an empty record is rarely a case: only what was looked for matters
        judge.case_model.model_validate(asked)
    if asked.taken_whole or judge.case_model.model_config.get("extra") == "allow":
        return None
    return frozenset({*asked.names, *_declared(judge), *ID_FIELDS, PREFIX.rstrip(".")})


class _Asked(Mapping[str, Any]):
    """A record without fields that remembers which were looked for."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.taken_whole = False

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        self.taken_whole = True
        return iter(())

    def __len__(self) -> int:
        return 0


def _declared(judge: AnyJudge) -> Iterator[str]:
    config = judge.case_model.model_config
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    for name, field in judge.case_model.model_fields.items():
        alias = field.validation_alias
        if alias is None or by_name:
            yield name
        for choice in alias.choices if isinstance(alias, AliasChoices) else [alias]:
            first = choice.path[0] if isinstance(choice, AliasPath) else choice
            if isinstance(first, str):
                yield first


def _told(judge: str, unread: list[str], known: frozenset[str]) -> str:
    names = [_with_guess(name, known) for name in unread[:_MOST_NAMED]]
    more = f" and {len(unread) - _MOST_NAMED} more" if len(unread) > _MOST_NAMED else ""
    return f"not read by {judge}: {', '.join(names)}{more}"


def _with_guess(name: str, known: frozenset[str]) -> str:
    shown = clean_line(name, _LONGEST_NAME)
    return f"{shown}{guessed(name, known)}"


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
