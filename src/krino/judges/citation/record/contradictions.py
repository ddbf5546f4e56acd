"""Compares two values that a record gives for one field: do they mean the same, and if not, how is that said?"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

from krino.contract.rivals import comparable, is_nothing
from krino.judges.citation.belgium.case_numbers import compare
from krino.judges.citation.belgium.courts import Unknown, identity, resolve_court
from krino.judges.citation.belgium.dates import parse_date
from krino.judges.citation.belgium.ecli import key_of

_LONGEST_SHOWN = 60


def disagree(field: str, one: Any, other: Any) -> bool:
    """Whether two values of a field mean different things; spellings of one court, date, number or ECLI do not."""
    if one == other or is_nothing(one) or is_nothing(other) or comparable(one) == comparable(other):
        return False
    texts = _text_of(one), _text_of(other)
    if texts[0] is None or texts[1] is None:
        return True
    if _plain(texts[0]) == _plain(texts[1]):
        return False
    same = _SAME.get(field)
    return same is None or not same(texts[0], texts[1])


def say(one: str, value: Any, other: str, another: Any) -> str:
    """Two keys with their values, in words."""
    return f"{one} says {_shown(value)}, {other} says {_shown(another)}"


def _text_of(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str | int | float) else f"another {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _same_court(one: str, other: str) -> bool:
    courts = resolve_court(one), resolve_court(other)
    return not any(isinstance(court, Unknown) for court in courts) and identity(courts[0]) == identity(courts[1])


def _same_date(one: str, other: str) -> bool:
    day = parse_date(one)
    return day is not None and day == parse_date(other)


def _same_number(one: str, other: str) -> bool:
    return compare(one, other).relation in ("EXACT", "NORMALISED")


def _same_decision(one: str, other: str) -> bool:
    return key_of(one) == key_of(other)


_SAME: dict[str, Callable[[str, str], bool]] = {
    "cited_court_name": _same_court,
    "court_name": _same_court,
    "cited_date": _same_date,
    "decision_date": _same_date,
    "cited_case_number": _same_number,
    "rol_number": _same_number,
    "cited_ecli": _same_decision,
    "decision_id": _same_decision,
    "ecli": _same_decision,
    "ground_truth": _same_decision,
}
