"""Sums up a run in one pass over its judgements, in memory that does not grow with the number of cases.

Numbers and categories come only from judgements whose status is `ok`; the others are counted and say why.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from krino.contract import Usage
from krino.results import FrozenModel
from krino.results.compact_columns import NULL
from krino.results.field_kinds import column_kind
from krino.results.formatting import format_count, format_interval, format_number, format_outcomes
from krino.results.number_summary import NumberCounter, NumberField
from krino.results.slices import AutoSlicer, SliceTable
from krino.results.stability import LABELLER, Stability, StabilityCounter
from krino.results.table import FieldEncoder, Part, TableReader, Values
from krino.results.verdict_schema import Schema, closed_labels, declared_bounds
from krino.runs.journal import CODES
from krino.runs.manifest import Counts, Manifest
from krino.text.clean import clean_line, cut

TOP_MESSAGES = 10

_LONGEST_LINE = 200
_MOST_MESSAGES = 5


class CodeField(FrozenModel):
    """A categorical field of the verdict over all cases judged `ok`; a list counts once for each value in it."""

    name: str
    n: int
    nulls: int
    counts: dict[str, int]
    """From the most frequent down."""


class Deciders(FrozenModel):
    """How many verdict fields were decided by rules alone, and how many with the labeller's labels."""

    rules: int = 0
    labeller: int = 0

    @property
    def total(self) -> int:
        return self.rules + self.labeller


class MessageGroup(FrozenModel):
    """A reason or an error, how often it came, and one case where it did."""

    status: str
    text: str
    """The first such message, as it came; others of its kind differ in numbers and quoted parts."""
    count: int
    example: str
    """Id of the first such case."""


class Summary(FrozenModel):
    """What a run says. `interval` of a number is the 95 % interval of its mean."""

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

    def __str__(self) -> str:
        """Counts, then a line a field."""
        return "\n".join([f"{format_count(self.counts.total)}: {format_outcomes(self.counts)}", *self._lines()])

    def _lines(self) -> Iterator[str]:
        for item in self.numbers:
            interval = f" (95 % interval {format_interval(item.interval)})" if item.interval else ""
            nulls = f", {item.nulls:,} null" if item.nulls else ""
            yield f"{item.name}: mean {format_number(item.mean)}{interval} of {item.n:,}{nulls}"
        for codes in self.codes:
            said = ", ".join(f"{clean_line(label)} {count:,}" for label, count in codes.counts.items())
            yield f"{codes.name}: {said}{f', null {codes.nulls:,}' if codes.nulls else ''}"
        for group in self.messages[:_MOST_MESSAGES]:
            yield clean_line(
                f"{group.status}, {format_count(group.count)}: {group.text} (as {group.example})", _LONGEST_LINE
            )


class JudgementSink(Protocol):
    """Something that is made of judgements, one after the other in the order of the input."""

    def add(self, judgement: Mapping[str, Any], /) -> None: ...


@dataclass(frozen=True)
class Collected:
    """What a run comes to."""

    summary: Summary
    slices: list[SliceTable]
    """By every column of metadata that has few values."""


def summarise(judgements: Iterable[Mapping[str, Any]], schema: Schema | None = None) -> Summary:
    """One pass, nothing kept but tallies. `schema`: of the verdict, which says what lists of labels are closed."""
    tally = SummaryCounter(schema)
    for part in tally.reader.parts(judgements):
        tally.add(part)
    return tally.result()


def collect(judgements: Iterable[Mapping[str, Any]], *takers: JudgementSink, schema: Schema | None = None) -> Collected:
    """The same with slices; each judgement is read once and handed to everyone else who needs it."""
    summary, slices = SummaryCounter(schema), AutoSlicer(schema)
    for part in summary.reader.parts(judgements):
        summary.add(part)
        slices.add(part)
        for taker in takers:
            for judgement in part.records:
                taker.add(judgement)
    return Collected(summary.result(), slices.result())


def total_usage(summary: Summary, manifest: Manifest) -> Usage:
    """All that was spent in the run's folder, by every command. A killed run's manifest lags behind its journal: of the
    two the larger one is nearer."""
    return max(manifest.usage, summary.usage, key=lambda usage: (usage.calls + usage.cached, usage.seconds))


@dataclass(slots=True)
class SummaryCounter:
    """Takes the parts of a run's table one after the other, as `reader` makes them."""

    schema: Schema | None = None
    """Of the verdict. A field with a closed list of labels is a category, however many of them a small run has."""
    reader: TableReader = field(default_factory=lambda: TableReader(marks=False))
    _statuses: Counter[str] = field(default_factory=Counter)
    _fields: dict[str, _FieldTally] = field(default_factory=dict)
    _by_rules: Counter[str] = field(default_factory=Counter)
    _by_labeller: Counter[str] = field(default_factory=Counter)
    _rules: Counter[str] = field(default_factory=Counter)
    _findings: Counter[str] = field(default_factory=Counter)
    _messages: MessageCounter = field(default_factory=lambda: MessageCounter())
    _usage: Usage = field(default_factory=Usage)
    _stability: StabilityCounter = field(default_factory=StabilityCounter)

    def add(self, part: Part) -> None:
        found = np.bincount(part.statuses, minlength=max(CODES.values()) + 1)
        self._statuses.update({status: int(found[code]) for status, code in CODES.items()})
        for name, values in part.fields.items():
            self._fields.setdefault(name, _FieldTally()).add(values, self.reader.coders[name])
        self._add_deciders(part.records)
        for judgement in part.records:
            self._add_rest(judgement)

    def _add_deciders(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Most verdicts are decided in one of a few ways: those are counted, not every field of every verdict."""
        judged = [record for record in records if record["status"] == "ok"]
        ways = Counter(tuple((record.get("decided_by") or {}).items()) for record in judged)
        for way, count in ways.items():
            for name, decider in way:
                (self._by_labeller if decider == LABELLER else self._by_rules)[name] += count
        for rules, count in Counter(tuple((record.get("rules") or {}).values()) for record in judged).items():
            for rule in rules:
                self._rules[rule] += count

    def _add_rest(self, judgement: Mapping[str, Any]) -> None:
        status = judgement["status"]
        if status != "ok":
            message = judgement.get("reason") or judgement.get("error") or "no reason was given"
            self._messages.add(str(status), str(message), str(judgement.get("id", "")))
        for finding in judgement.get("findings") or ():
            self._findings[str(finding["rule"])] += 1
        self._stability.add(judgement)
        if usage := judgement.get("usage"):
            self._usage.add(usage if isinstance(usage, Usage) else Usage.of(usage))

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

    def _numbers(self) -> Iterator[NumberField]:
        for name, tally in self._fields.items():
            if tally.numbers is not None:
                yield tally.numbers.result(name, tally.nulls, declared_bounds(self.schema, name))

    def _codes(self) -> Iterator[CodeField]:
        for name, tally in self._fields.items():
            text, closed = self.reader.coders[name].is_text, bool(closed_labels(self.schema, name))
            labels, coded = len(tally.counts), tally.coded
            kind = column_kind(name, has_numbers=False, is_text=text, labels=labels, coded=coded, closed=closed)
            if kind == "codes":
                counts = dict(sorted(tally.counts.items(), key=lambda item: (-item[1], item[0])))
                yield CodeField(name=name, n=tally.coded, nulls=tally.nulls, counts=counts)


@dataclass(slots=True)
class _FieldTally:
    nulls: int = 0
    numbers: NumberCounter | None = None
    coded: int = 0
    """Cases with a label, or several."""
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, values: Values, coder: FieldEncoder) -> None:
        self.nulls += int((values.codes == NULL).sum())
        numbers = values.numbers[~np.isnan(values.numbers)]
        if numbers.size:
            self.numbers = self.numbers or NumberCounter()
            self.numbers.add(numbers)
        if coder.is_text:
            self.counts.clear()
            return
        coded = values.codes[values.codes >= 0]
        if coded.size:
            self.coded += len(coded)
            for labels, count in zip(
                coder.values, np.bincount(coded, minlength=len(coder.values)).tolist(), strict=True
            ):
                for label in labels if count else ():
                    self.counts[label] += count
            coder.forget()


# --- messages --------------------------------------------------------------------------------------

_LONGEST = 600
_SHOWN = 240
_MOST_GROUPS = 2_000
_LONGEST_SHOWN = 2_000
_KEPT_GROUPS = 1_000
_QUOTED = re.compile(
    r'"[^"\n]{0,300}"'
    r"|`[^`\n]{0,300}`"
    r"|“[^”\n]{0,300}”"
    r"|«[^»\n]{0,300}»"
    r"|(?<!\w)'[^'\n]{0,300}'(?!\w)"  # an apostrophe inside a word opens no quotation
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(slots=True)
class MessageCounter:
    """Groups messages that differ only in their particulars: `line 12: "a" is missing`, `line 9: "b" is missing`.

    Of very many kinds only the frequent ones are kept.
    """

    _groups: dict[tuple[str, str], tuple[int, str, str]] = field(default_factory=dict)

    def add(self, status: str, message: str, case: str) -> None:
        key = (status, message_pattern(message))
        count, example, first = self._groups.get(key, (0, case, message))
        self._groups[key] = (count + 1, example, first)
        if len(self._groups) > _MOST_GROUPS:
            self._groups = dict(self._sorted()[:_KEPT_GROUPS])

    def top(self, most: int) -> tuple[MessageGroup, ...]:
        return tuple(
            MessageGroup(status=status, text=" ".join(text[:_LONGEST_SHOWN].split()), count=count, example=example)
            for (status, _), (count, example, text) in self._sorted()[:most]
        )

    def _sorted(self) -> list[tuple[tuple[str, str], tuple[int, str, str]]]:
        return sorted(self._groups.items(), key=lambda item: -item[1][0])


def message_pattern(message: str) -> str:
    """The message with its numbers and quoted parts taken out, on one line."""
    line = " ".join(message[:_LONGEST].split())
    return cut(_NUMBER.sub("#", _QUOTED.sub("‹…›", line)), _SHOWN)
