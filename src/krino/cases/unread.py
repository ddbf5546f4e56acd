"""Finds the fields of records that a judge does not read: a mistyped name would be scored as a missing value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from typing import Any

from pydantic import AliasChoices, AliasPath

from krino.cases.item import ID_FIELDS, CaseItem
from krino.cases.metadata import PREFIX
from krino.contract import Judge
from krino.text.clean import clean_line

_LOOKED_AT = 100
_MOST_NAMED = 10
_LONGEST_NAME = 60
AnyJudge = Judge[Any, Any, Any]


def watched(items: Iterator[CaseItem], judge: AnyJudge, tell: Callable[[str], None]) -> Iterator[CaseItem]:
    """The items as they are; after the first hundred (or all), the fields that went unread are told, if any."""
    known = names_read(judge)
    return items if known is None else _watched(items, judge, known, tell)


def _watched(
    items: Iterator[CaseItem], judge: AnyJudge, known: frozenset[str], tell: Callable[[str], None]
) -> Iterator[CaseItem]:
    spelled: Callable[[str], str] = getattr(judge.case_model, "spelled", str)
    unread: dict[str, None] = {}
    looked_at = 0
    for item in items:
        if looked_at < _LOOKED_AT:
            looked_at += 1
            fields = item.record or {}
            unread |= dict.fromkeys(
                name for name in fields if spelled(name) not in known and not name.startswith(PREFIX)
            )
            if looked_at == _LOOKED_AT and unread:
                tell(_told(judge.name, list(unread), known))
        yield item
    if unread and looked_at < _LOOKED_AT:
        tell(_told(judge.name, list(unread), known))


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
    near = get_close_matches(name[:_LONGEST_NAME].lower(), sorted(known), n=1, cutoff=0.75)
    return f"{shown} (did you mean {near[0]}?)" if near else shown
