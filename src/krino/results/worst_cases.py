"""Finds the worst cases of a run, by a field of the verdict or by the roll-up."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import Any, Generic, TypeVar

from krino.errors import UsageProblem
from krino.results.field_kinds import ROLL_UP, ROLL_UPS, as_codes, as_number, fields_of
from krino.results.table import Record
from krino.results.verdict_schema import Schema, declared_scales, lower_is_better, scale_position
from krino.text.clean import clean_line
from krino.text.guessing import did_you_mean

T = TypeVar("T")
_SAMPLE = 1_000  # judged cases, which show which fields are numbers
_MOST_LABELS = 12
_BADNESS: Mapping[Any, float] = {word: float(place) for place, word in enumerate(reversed(ROLL_UPS))}


@dataclass(frozen=True, slots=True)
class Order:
    """The order of cases: a field of the verdict, and which end or label of it is bad."""

    field: str
    bad: str | None = None
    falling: bool = False
    """Whether higher values are worse."""

    def describe(self) -> str:
        """Says in words what counts as worst."""
        if self.field == ROLL_UP and self.bad is None:
            return f"by {ROLL_UP}: {', '.join(reversed(ROLL_UPS))}"
        if self.bad is None or self.bad in ("low", "high"):
            return f"by {self.field}, the {'highest' if self.falling else 'lowest'} first"
        return f"with the label {self.bad} in {self.field}"


@dataclass(slots=True)
class WorstCases(Generic[T]):
    """The worst judged cases, and separately the cases that were not judged."""

    order: Order
    judged: list[T] = field(default_factory=list)
    ranked: int = 0
    """The number of judged cases with a value to rank by."""
    nulls: int = 0
    not_judged: list[T] = field(default_factory=list)
    all_not_judged: int = 0


def rank_worst(
    records: Callable[[], Iterable[Record]], most: int, by: str | None, schema: Schema | None
) -> WorstCases[Record]:
    """Finds the `most` worst cases. `by` is `FIELD`, `FIELD:high` if high is bad, or `FIELD:LABEL` for a bad label.

    The default is the roll-up, or else the first number of the verdict. `records` is called more than once.
    """
    order = _choose_order(records, by, schema)
    found = WorstCases[Record](order)
    ranking = _Ranking(order, schema)
    taken = heapq.nsmallest(most, ranking.ranked(records(), found, most), key=itemgetter(0, 1, 2))
    found.judged = [record for *_, record in taken]
    if not found.ranked and ranking.labels:
        labels = ", ".join(clean_line(label, 60) for label in sorted(ranking.labels)[:_MOST_LABELS])
        message = f"--by {order.field}: its values are labels; name the bad one, as --by {order.field}:LABEL"
        raise UsageProblem(f"{message}; there are {labels}")
    return found


@dataclass(slots=True)
class _Ranking:
    order: Order
    schema: Schema | None
    labels: set[str] = field(default_factory=set)

    def ranked(
        self, records: Iterable[Record], found: WorstCases[Record], most: int
    ) -> Iterable[tuple[float, float, int, Record]]:
        """Yields every judged case with its badness (less is worse); all others are counted, and the first kept, in
        `found`."""
        scales = declared_scales(self.schema)
        for place, record in enumerate(records):
            if record["status"] != "ok":
                found.all_not_judged += 1
                if len(found.not_judged) < most:
                    found.not_judged.append(record)
                continue
            value = fields_of(record).get(self.order.field)
            found.nulls += value is None
            badness = self._badness(value)
            if badness is not None:
                found.ranked += 1
                standings = [
                    scale_position(scales, name, known) for name, known in (record.get("verdict") or {}).items()
                ]
                known = [item for item in standings if item is not None]
                yield badness, sum(known) / len(known) if known else 0.0, place, record

    def _badness(self, value: Any) -> float | None:
        """Returns the sort key of a value, the worst first; None if it is not ranked. Collects labels where the bad one
        is not named."""
        number = as_number(value)
        if number is not None:
            return -number if self.order.falling else number
        if self.order.field == ROLL_UP and self.order.bad is None:
            return _BADNESS.get(value)
        codes = [] if value is None else as_codes(value) or []
        self.labels.update(codes if self.order.bad is None else ())
        return 0.0 if self.order.bad in codes else None


def _choose_order(records: Callable[[], Iterable[Record]], by: str | None, schema: Schema | None) -> Order:
    """Chooses what counts as worst: what the user asked for, else the roll-up or the first number. False is the bad end
    of a yes/no field. Raises `UsageProblem` if that is impossible."""
    verdicts = [fields_of(record) for record in islice((r for r in records() if r["status"] == "ok"), _SAMPLE)]
    names = list(dict.fromkeys(name for verdict in verdicts for name in verdict))
    numbers = [name for name in names if any(as_number(verdict.get(name)) is not None for verdict in verdicts)]
    wanted, colon, bad = (by or "").partition(":")
    if by is None:
        wanted = ROLL_UP if ROLL_UP in names else next(iter(numbers), "")
        if verdicts and not wanted:
            raise UsageProblem(
                f"the verdicts hold no number: say what is bad with --by FIELD:LABEL; {_list_fields(names)}"
            )
    elif verdicts and wanted not in names:
        raise UsageProblem(
            f"--by {by}: the verdicts have no field `{wanted}`{did_you_mean(wanted, names)}; {_list_fields(names)}"
        )
    if wanted in numbers and colon and bad not in ("low", "high"):
        raise UsageProblem(f"--by {by}: `{wanted}` is a number; write {wanted}, or {wanted}:high where high is bad")
    if not bad and any(isinstance(verdict.get(wanted), bool) for verdict in verdicts):
        bad = "false"
    falling = bad == "high" or (not bad and wanted in lower_is_better(schema))
    return Order(wanted, bad or None, falling)


def _list_fields(names: Iterable[str]) -> str:
    return f"they have {', '.join(clean_line(name, 60) for name in names)}"
