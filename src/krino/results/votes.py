"""The votes of one case as a table: a row for each field that is no text, a column for each seat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from krino.results.stability import is_text, key_of
from krino.runs.fields import fields_of

SPLIT = "split"
_LONGEST = 200


class Votes(NamedTuple):
    """All text; the last column says where the seats differ."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def votes_of(judgement: Mapping[str, Any]) -> Votes | None:
    """None where no panel was asked."""
    ballots: Sequence[Mapping[str, Any]] = judgement.get("ballots") or ()
    if not ballots:
        return None
    seats = [_seat(ballot) for ballot in ballots]
    verdicts = [fields_of(ballot) for ballot in ballots]
    rows = []
    for name in dict.fromkeys(name for verdict in verdicts for name in verdict):
        given = [verdict[name] for verdict in verdicts if name in verdict]
        if any(map(is_text, given)) or all(value is None for value in given):
            continue
        cells = [_word(verdict[name]) if name in verdict else "–" for verdict in verdicts]
        rows.append((name, *cells, SPLIT if len(set(map(key_of, given))) > 1 else ""))
    if any(ballot["order"] for ballot in ballots):
        rows.append(("order shown", *(_order(ballot["order"]) for ballot in ballots), ""))
    if any(ballot["problem"] for ballot in ballots):
        rows.append(("problem", *(str(ballot["problem"] or "")[:_LONGEST] for ballot in ballots), ""))
    return Votes(("Field", *seats, "Seats"), tuple(rows))


def _seat(ballot: Mapping[str, Any]) -> str:
    return str(ballot["member"]) if ballot["repeat"] == 1 else f"{ballot['member']} ({ballot['repeat']})"


def _order(order: Sequence[int] | None) -> str:
    return "as given" if order is None else " ".join(map(str, order))


def _word(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, default=repr).decode()
