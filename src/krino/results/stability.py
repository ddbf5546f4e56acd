"""Sums up how far the seats of panels agree: by field, by member, in how many cases; memory does not grow with cases.

Each seat's own verdict is compared with the others', before any votes are joined. Cases that a tie left undecided
count too, and what rules decided does not: either way a panel would look more of one mind than it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, sqrt
from typing import Any

from krino.labellers.panel import TIE
from krino.results import FrozenModel
from krino.results.field_kinds import as_number, comparison_key, is_text, names_explanation
from krino.runs.fields import fields_of

LABELLER = "labeller"
"""In `decided_by`: labels fed the field, not facts alone."""


class FieldStability(FrozenModel):
    """One field of the verdict, over the cases with two seats at least that labels and not rules alone decided."""

    name: str
    n: int
    agreement: float
    """Mean share of the seats that gave the commonest value: the self-agreement of a model that was repeated."""
    split: int
    """Cases in which the seats differ."""
    spread: float | None
    """Of numbers: the mean distance between the highest and the lowest seat."""
    widest: float | None
    sd: float | None
    """Of numbers: the mean standard deviation over the seats of a case."""


class MemberStability(FrozenModel):
    """One member over all its seats. `agreement`: share of fields that it gave as the panel decided them."""

    name: str
    seats: int
    absent: int
    agreement: float | None


class Stability(FrozenModel):
    """What the ballots of a run say about its labellers."""

    cases: int
    """Cases that a panel was asked about."""
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
    """Of those, cases that ended without a verdict for it."""
    fields: tuple[FieldStability, ...]
    members: tuple[MemberStability, ...]


@dataclass(slots=True)
class _Field:
    n: int = 0
    split: int = 0
    agreement: float = 0.0
    numbers: int = 0
    spread: float = 0.0
    widest: float = 0.0
    sd: float = 0.0

    def add(self, values: Sequence[Any]) -> None:
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
        of_numbers = (self.spread / self.numbers, self.widest, self.sd / self.numbers) if self.numbers else (None,) * 3
        spread, widest, sd = of_numbers
        agreement = self.agreement / self.n
        return FieldStability(
            name=name, n=self.n, agreement=agreement, split=self.split, spread=spread, widest=widest, sd=sd
        )


@dataclass(slots=True)
class StabilityCounter:
    """Takes judgements one at a time, as they stand in the journal; those without ballots say nothing here."""

    _counts: Counter[str] = field(default_factory=Counter)
    _fields: dict[str, _Field] = field(default_factory=dict)
    _texts: set[str] = field(default_factory=set)
    _members: dict[str, Counter[str]] = field(default_factory=dict)
    """Of each its seats, how many of them were absent, the fields it gave, and those that it gave as was decided."""

    def add(self, judgement: Mapping[str, Any]) -> None:
        ballots = judgement.get("ballots")
        if not ballots:
            return
        undecided = judgement["status"] == "failed"
        tied = undecided or any(finding["rule"] == TIE for finding in judgement.get("findings") or ())
        told = {"cases": 1, "seats": len(ballots), "tied": tied, "undecided": undecided}
        told["absent"] = sum(ballot["labels"] is None for ballot in ballots)
        told["shuffled"] = sum(ballot["order"] is not None for ballot in ballots)
        by_rule = {name for name, by in (judgement.get("decided_by") or {}).items() if by != LABELLER}
        told["split"] = self._compare([fields_of(ballot) for ballot in ballots if ballot["verdict"]], by_rule)
        self._counts.update(told)
        decided = fields_of(judgement) if judgement["status"] == "ok" else {}
        labelled = {name: value for name, value in decided.items() if name not in by_rule}
        for ballot in ballots:
            self._add_member(ballot, labelled)

    def result(self) -> Stability | None:
        """None for a run without panels."""
        if not self._counts["cases"]:
            return None
        fields = tuple(tally.result(name) for name, tally in self._fields.items() if name not in self._texts)
        members = tuple(
            MemberStability(
                name=name,
                seats=tally["seats"],
                absent=tally["absent"],
                agreement=tally["as decided"] / tally["fields"] if tally["fields"] else None,
            )
            for name, tally in self._members.items()
        )
        names = ("cases", "seats", "absent", "shuffled", "split", "tied", "undecided")
        return Stability(**{name: self._counts[name] for name in names}, fields=fields, members=members)

    def _compare(self, verdicts: Sequence[Mapping[str, Any]], by_rule: Collection[str]) -> bool:
        """Whether the seats differ in anything that is no text."""
        if len(verdicts) < 2:
            return False
        split = False
        for name in dict.fromkeys(name for verdict in verdicts for name in verdict):
            values = [verdict.get(name) for verdict in verdicts]
            if name in self._texts or names_explanation(name) or any(map(is_text, values)):
                self._texts.add(name)  # wording differs whenever anything does: it is no measure
                continue
            differ = len(set(map(comparison_key, values))) > 1
            if differ or not (name in by_rule or values[0] is None):
                self._fields.setdefault(name, _Field()).add(values)
            split |= differ
        return split

    def _add_member(self, ballot: Mapping[str, Any], decided: Mapping[str, Any]) -> None:
        member = self._members.setdefault(str(ballot["member"]), Counter())
        member.update(seats=1, absent=ballot["labels"] is None)
        if ballot["verdict"] is None:
            return
        own = fields_of(ballot)
        for name, value in decided.items():
            if name not in self._texts and not names_explanation(name) and not is_text(value):
                member["fields"] += 1
                member["as decided"] += comparison_key(own.get(name)) == comparison_key(value)
