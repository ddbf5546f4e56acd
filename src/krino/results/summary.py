"""Sums up a run in one pass over its judgements, in memory that does not grow with the number of cases.

Numbers and categories come only from judgements whose status is `ok`; the others are counted and say why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import BaseModel, ConfigDict

from krino.contract import Usage
from krino.results.codes import CodeField, CodeTally
from krino.results.messages import MessageGroup, MessageTally
from krino.results.numbers import NumberField, NumberTally, as_number
from krino.results.stability import LABELLER as LABELLER
from krino.results.stability import Stability, StabilityTally
from krino.runs.fields import fields_of
from krino.runs.manifest import Counts, Manifest

TOP_MESSAGES = 10


class Deciders(BaseModel):
    """How many verdict fields were decided by rules alone, and how many with the labeller's labels."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rules: int = 0
    labeller: int = 0

    @property
    def total(self) -> int:
        return self.rules + self.labeller


class Summary(BaseModel):
    """What a run says. `interval` of a number is the 95 % interval of its mean."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    counts: Counts
    numbers: tuple[NumberField, ...]
    codes: tuple[CodeField, ...]
    decided_by: Deciders
    decided_by_field: dict[str, Deciders]
    rules: dict[str, int]
    """Rule id to how many verdict fields it gave, from the most frequent down."""
    findings: dict[str, int]
    """Rule id to how many findings it raised, from the most frequent down."""
    messages: tuple[MessageGroup, ...]
    """The most frequent reasons (status failed) and errors."""
    usage: Usage
    """Of the judgements summed up; a case that was tried again has cost more (see the manifest)."""
    stability: Stability | None = None
    """How far the seats agree, where a jury or repeats were asked."""


def summarise(judgements: Iterable[Mapping[str, Any]]) -> Summary:
    """One pass, nothing kept but tallies."""
    tally = SummaryTally()
    for judgement in judgements:
        tally.add(judgement)
    return tally.result()


def spent(summary: Summary, manifest: Manifest) -> Usage:
    """All that was spent in the run's folder, by every command. A killed run's manifest lags behind its journal: of the
    two the larger one is nearer."""
    return max(manifest.usage, summary.usage, key=lambda usage: (usage.calls + usage.cached, usage.seconds))


@dataclass(slots=True)
class _FieldTally:
    nulls: int = 0
    numbers: NumberTally = field(default_factory=NumberTally)
    codes: CodeTally = field(default_factory=CodeTally)

    def add(self, value: Any) -> None:
        number = as_number(value)
        if number is not None:
            self.numbers.add(number)
        elif value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
            self.nulls += 1  # a number that is none (nan, infinity) measures as little as null
        else:
            self.codes.add(value)


@dataclass(slots=True)
class SummaryTally:
    """For those who pass over the judgements themselves, to do something else with them too."""

    _statuses: Counter[str] = field(default_factory=Counter)
    _fields: dict[str, _FieldTally] = field(default_factory=dict)
    _by_rules: Counter[str] = field(default_factory=Counter)
    _by_labeller: Counter[str] = field(default_factory=Counter)
    _rules: Counter[str] = field(default_factory=Counter)
    _findings: Counter[str] = field(default_factory=Counter)
    _messages: MessageTally = field(default_factory=MessageTally)
    _usage: Usage = field(default_factory=Usage)
    _stability: StabilityTally = field(default_factory=StabilityTally)

    def add(self, judgement: Mapping[str, Any]) -> None:
        status = str(judgement["status"])
        self._statuses[status] += 1
        if status == "ok":
            self._add_verdict(judgement)
        else:
            message = judgement.get("reason") or judgement.get("error") or "no reason was given"
            self._messages.add(status, str(message), str(judgement.get("id", "")))
        for finding in judgement.get("findings") or ():
            self._findings[str(finding["rule"])] += 1
        self._stability.add(judgement)
        usage = judgement.get("usage")
        if usage:
            self._usage.add(usage if isinstance(usage, Usage) else Usage(**usage))

    def result(self) -> Summary:
        by_field = {
            name: Deciders(rules=self._by_rules[name], labeller=self._by_labeller[name])
            for name in self._fields
            if self._by_rules[name] or self._by_labeller[name]
        }
        return Summary(
            counts=Counts(**{status: self._statuses[status] for status in Counts.model_fields}),
            numbers=tuple(self._numbers()),
            codes=tuple(self._codes()),
            decided_by=Deciders(rules=self._by_rules.total(), labeller=self._by_labeller.total()),
            decided_by_field=by_field,
            rules=dict(self._rules.most_common()),
            findings=dict(self._findings.most_common()),
            messages=self._messages.top(TOP_MESSAGES),
            usage=replace(self._usage),
            stability=self._stability.result(),
        )

    def _add_verdict(self, judgement: Mapping[str, Any]) -> None:
        for name, value in fields_of(judgement).items():
            known = self._fields.get(name)
            if known is None:
                known = self._fields[name] = _FieldTally()
            known.add(value)
        for name, decider in (judgement.get("decided_by") or {}).items():
            if decider == LABELLER:
                self._by_labeller[name] += 1
            else:
                self._by_rules[name] += 1
        self._rules.update((judgement.get("rules") or {}).values())

    def _numbers(self) -> Iterator[NumberField]:
        for name, tally in self._fields.items():
            if tally.numbers.n:
                yield tally.numbers.result(name, tally.nulls)

    def _codes(self) -> Iterator[CodeField]:
        for name, tally in self._fields.items():
            found = tally.codes.result(name, tally.nulls)
            if found is not None:
                yield found
