"""Measures how far the seats of a panel agree, by field and by member, in memory that does not grow with cases.

The verdicts of single seats are compared, before votes are merged. Cases that a tie left undecided are counted, fields
that rules decided are not: the opposite choices would overstate the agreement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, sqrt
from typing import Any

from krino.labellers.panel import TIE
from krino.results import FrozenModel
from krino.results.field_kinds import as_number, comparison_key, fields_of, is_text, names_explanation

LABELLER = "labeller"
"""In `decided_by`: the field depends on labels, not on facts alone."""


class FieldStability(FrozenModel):
    """One field of the verdict, over cases with at least two seats in which labels decided it."""

    name: str
    n: int
    agreement: float
    """Mean share of seats that gave the most common value; for repeats of one model, its self-agreement."""
    split: int
    """Cases in which seats differ."""
    spread: float | None
    """For numbers: the mean distance between the highest and the lowest seat."""
    widest: float | None
    sd: float | None
    """For numbers: the mean standard deviation over the seats of a case."""


class MemberStability(FrozenModel):
    """One member over all its seats. `agreement` is the share of its fields that equal the panel's decision."""

    name: str
    seats: int
    absent: int
    agreement: float | None


class Stability(FrozenModel):
    """How far the seats of a run's panels agree."""

    cases: int
    """Cases that went to a panel."""
    seats: int
    absent: int
    """Seats that gave no labels."""
    shuffled: int
    """Seats that saw parts of the case in another order."""
    split: int
    """Cases in which the seats differ in any field below."""
    tied: int
    """Cases with a label on which the seats were evenly split, so that the panel abstained."""
    undecided: int
    """Tied cases that therefore have no verdict."""
    fields: tuple[FieldStability, ...]
    members: tuple[MemberStability, ...]


@dataclass(slots=True)
class _SeatSpread:
    n: int = 0
    split: int = 0
    agreement: float = 0.0
    numbers: int = 0
    spread: float = 0.0
    widest: float = 0.0
    sd: float = 0.0

    def add(self, values: Sequence[Any]) -> None:
        """Adds what all seats said about one field of one case."""
        commonest = Counter(map(comparison_key, values)).most_common(1)[0][1]
        self.n += 1
        self.agreement += commonest / len(values)
        self.split += commonest < len(values)
        numbers = [number for value in values if (number := as_number(value)) is not None]
        if len(numbers) == len(values):
            spread = max(numbers) - min(numbers)
            mean = fsum(numbers) / len(numbers)
            self.numbers += 1
            self.spread += spread
            self.widest = max(self.widest, spread)
            self.sd += sqrt(fsum((number - mean) ** 2 for number in numbers) / len(numbers))

    def result(self, name: str) -> FieldStability:
        """Returns the mean agreement and spread of one field."""
        of_numbers = (self.spread / self.numbers, self.widest, self.sd / self.numbers) if self.numbers else (None,) * 3
        spread, widest, sd = of_numbers
        agreement = self.agreement / self.n
        return FieldStability(
            name=name, n=self.n, agreement=agreement, split=self.split, spread=spread, widest=widest, sd=sd
        )


@dataclass(slots=True)
class StabilityCounter:
    """Counts judgements of the journal one by one; those without ballots are ignored."""

    _counts: Counter[str] = field(default_factory=Counter)
    _fields: dict[str, _SeatSpread] = field(default_factory=dict)
    _texts: set[str] = field(default_factory=set)
    _members: dict[str, Counter[str]] = field(default_factory=dict)
    """For each member: its seats, absent seats, fields given, and fields equal to the decision."""

    def add(self, judgement: Mapping[str, Any]) -> None:
        """Adds a judgement of a panel; others are ignored."""
        ballots = judgement.get("ballots")
        if not ballots:
            return
        undecided = judgement["status"] == "failed"
        tied = undecided or any(finding["rule"] == TIE for finding in judgement.get("findings") or ())
        counts = {"cases": 1, "seats": len(ballots), "tied": tied, "undecided": undecided}
        counts["absent"] = sum(ballot["labels"] is None for ballot in ballots)
        counts["shuffled"] = sum(ballot["order"] is not None for ballot in ballots)
        by_rule = {name for name, by in (judgement.get("decided_by") or {}).items() if by != LABELLER}
        counts["split"] = self._compare([fields_of(ballot) for ballot in ballots if ballot["verdict"]], by_rule)
        self._counts.update(counts)
        decided = fields_of(judgement) if judgement["status"] == "ok" else {}
        labelled = {name: value for name, value in decided.items() if name not in by_rule}
        for ballot in ballots:
            self._add_ballot(ballot, labelled)

    def result(self) -> Stability | None:
        """Returns the stability; None for a run without panels."""
        if not self._counts["cases"]:
            return None
        fields = tuple(counter.result(name) for name, counter in self._fields.items() if name not in self._texts)
        members = tuple(
            MemberStability(
                name=name,
                seats=counter["seats"],
                absent=counter["absent"],
                agreement=counter["as decided"] / counter["fields"] if counter["fields"] else None,
            )
            for name, counter in self._members.items()
        )
        names = ("cases", "seats", "absent", "shuffled", "split", "tied", "undecided")
        return Stability(**{name: self._counts[name] for name in names}, fields=fields, members=members)

    def _compare(self, verdicts: Sequence[Mapping[str, Any]], by_rule: Collection[str]) -> bool:
        """Counts each field; returns whether the seats differ in anything but text."""
        if len(verdicts) < 2:
            return False
        split = False
        for name in dict.fromkeys(name for verdict in verdicts for name in verdict):
            values = [verdict.get(name) for verdict in verdicts]
            if name in self._texts or names_explanation(name) or any(map(is_text, values)):
                self._texts.add(name)  # wording always differs, so that it measures nothing
                continue
            differ = len(set(map(comparison_key, values))) > 1
            if differ or not (name in by_rule or values[0] is None):
                self._fields.setdefault(name, _SeatSpread()).add(values)
            split |= differ
        return split

    def _add_ballot(self, ballot: Mapping[str, Any], decided: Mapping[str, Any]) -> None:
        """Counts a ballot for its member: whether it is absent, and in which fields its verdict is the decided one."""
        member = self._members.setdefault(str(ballot["member"]), Counter())
        member.update(seats=1, absent=ballot["labels"] is None)
        if ballot["verdict"] is None:
            return
        own = fields_of(ballot)
        for name, value in decided.items():
            if name not in self._texts and not names_explanation(name) and not is_text(value):
                member["fields"] += 1
                member["as decided"] += comparison_key(own.get(name)) == comparison_key(value)
