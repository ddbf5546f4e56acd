"""Summarises a run in one pass over its judgements, in memory that does not grow with the number of cases.

Numbers and categories come only from judgements with status `ok`; of the others, statuses and reasons are counted.
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
from krino.results.table import EncodedValues, FieldEncoder, TablePart, TableReader
from krino.results.verdict_schema import Schema, closed_labels, declared_bounds
from krino.runs.index import CODES
from krino.runs.manifest import Counts, Manifest
from krino.text.clean import clean_line, cut

TOP_MESSAGES = 10

_LONGEST_LINE = 200
_MOST_MESSAGES = 5


class CodeField(FrozenModel):
    """A categorical field of the verdict over all judged cases; a list counts once for each of its values."""

    name: str
    n: int
    nulls: int
    counts: dict[str, int]
    """Most frequent first."""


class Deciders(FrozenModel):
    """How many verdict fields rules alone decided, and how many depend on labels."""

    rules: int = 0
    labeller: int = 0

    @property
    def total(self) -> int:
        return self.rules + self.labeller


class MessageGroup(FrozenModel):
    """A reason or an error, the number of cases with it, and one of them."""

    status: str
    text: str
    """The first such message; the others differ only in numbers and quoted parts."""
    count: int
    example: str
    """Id of the first such case."""


class Summary(FrozenModel):
    """The summary of a run. `interval` is the 95 % interval of a mean."""

    counts: Counts
    numbers: tuple[NumberField, ...]
    codes: tuple[CodeField, ...]
    decided_by: Deciders
    decided_by_field: dict[str, Deciders]
    rules: dict[str, int]
    """Number of verdict fields that each rule decided, most frequent first."""
    findings: dict[str, int]
    """Number of findings of each rule, most frequent first."""
    messages: tuple[MessageGroup, ...]
    """The most frequent reasons (status `failed`) and errors."""
    usage: Usage
    """Usage of these judgements; retried cases have cost more (see the manifest)."""
    stability: Stability | None = None
    """How far the seats of a jury or of repeats agree."""

    def __str__(self) -> str:
        """The counts, then one line for each field."""
        return "\n".join([f"{format_count(self.counts.total)}: {format_outcomes(self.counts)}", *self._lines()])

    def _lines(self) -> Iterator[str]:
        """Yields the summary as lines of text."""
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
    """Receives every judgement once, in the order of the input."""

    def add(self, judgement: Mapping[str, Any], /) -> None: ...


@dataclass(frozen=True)
class Collected:
    """Summary and slices of a run."""

    summary: Summary
    slices: list[SliceTable]
    """One table for every metadata column with few values."""


def summarise(judgements: Iterable[Mapping[str, Any]], schema: Schema | None = None) -> Summary:
    """Summarises judgements in one pass. `schema` is that of the verdict: it lists the labels of closed fields."""
    counter = SummaryCounter(schema)
    for part in counter.reader.parts(judgements):
        counter.add(part)
    return counter.result()


def collect(judgements: Iterable[Mapping[str, Any]], *sinks: JudgementSink, schema: Schema | None = None) -> Collected:
    """Makes summary and slices; each judgement is read once and also passed to the `sinks`."""
    summary, slices = SummaryCounter(schema), AutoSlicer(schema)
    for part in summary.reader.parts(judgements):
        summary.add(part)
        slices.add(part)
        for sink in sinks:
            for judgement in part.records:
                sink.add(judgement)
    return Collected(summary.result(), slices.result())


def total_usage(summary: Summary, manifest: Manifest) -> Usage:
    """The usage of all commands on the run's folder.

    The manifest of a killed run lags behind its journal, so the larger of the two is closer to the truth.
    """
    return max(manifest.usage, summary.usage, key=lambda usage: (usage.calls + usage.cached, usage.seconds))


@dataclass(slots=True)
class SummaryCounter:
    """Counts the parts of a run's table, as `reader` makes them."""

    schema: Schema | None = None
    """Schema of the verdict. A field with a closed list of labels is always a category."""
    reader: TableReader = field(default_factory=lambda: TableReader(marks=False))
    _statuses: Counter[str] = field(default_factory=Counter)
    _fields: dict[str, _FieldCounter] = field(default_factory=dict)
    _by_rules: Counter[str] = field(default_factory=Counter)
    _by_labeller: Counter[str] = field(default_factory=Counter)
    _rules: Counter[str] = field(default_factory=Counter)
    _findings: Counter[str] = field(default_factory=Counter)
    _messages: MessageCounter = field(default_factory=lambda: MessageCounter())
    _usage: Usage = field(default_factory=Usage)
    _stability: StabilityCounter = field(default_factory=StabilityCounter)

    def add(self, part: TablePart) -> None:
        """Adds a part of the run to all counts."""
        found = np.bincount(part.statuses, minlength=max(CODES.values()) + 1)
        self._statuses.update({status: int(found[code]) for status, code in CODES.items()})
        for name, values in part.fields.items():
            self._fields.setdefault(name, _FieldCounter()).add(values, self.reader.encoders[name])
        self._add_deciders(part.records)
        for judgement in part.records:
            self._add_messages_and_usage(judgement)

    def _add_deciders(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Counts who decided the fields. Most verdicts are decided in one of a few ways, so these are counted instead
        of single fields."""
        judged = [record for record in records if record["status"] == "ok"]
        ways = Counter(tuple((record.get("decided_by") or {}).items()) for record in judged)
        for way, count in ways.items():
            for name, decider in way:
                (self._by_labeller if decider == LABELLER else self._by_rules)[name] += count
        for rules, count in Counter(tuple((record.get("rules") or {}).values()) for record in judged).items():
            for rule in rules:
                self._rules[rule] += count

    def _add_messages_and_usage(self, judgement: Mapping[str, Any]) -> None:
        """Counts a judgement's message, findings and usage."""
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
        """Returns the summary of all that was added."""
        by_field = {
            name: Deciders(rules=self._by_rules[name], labeller=self._by_labeller[name])
            for name in self._fields
            if self._by_rules[name] or self._by_labeller[name]
        }
        return Summary(
            counts=Counts(**{status: self._statuses[status] for status in Counts.model_fields}),
            numbers=tuple(self._number_fields()),
            codes=tuple(self._code_fields()),
            decided_by=Deciders(rules=self._by_rules.total(), labeller=self._by_labeller.total()),
            decided_by_field=by_field,
            rules=dict(self._rules.most_common()),
            findings=dict(self._findings.most_common()),
            messages=self._messages.top(TOP_MESSAGES),
            usage=replace(self._usage),
            stability=self._stability.result(),
        )

    def _number_fields(self) -> Iterator[NumberField]:
        """Yields the summary of each field that holds numbers."""
        for name, counter in self._fields.items():
            if counter.numbers is not None:
                yield counter.numbers.result(name, counter.nulls, declared_bounds(self.schema, name))

    def _code_fields(self) -> Iterator[CodeField]:
        """Yields the summary of each field that holds labels."""
        for name, counter in self._fields.items():
            text, closed = self.reader.encoders[name].is_text, bool(closed_labels(self.schema, name))
            labels, coded = len(counter.counts), counter.coded
            kind = column_kind(name, has_numbers=False, is_text=text, labels=labels, coded=coded, closed=closed)
            if kind == "codes":
                counts = dict(sorted(counter.counts.items(), key=lambda item: (-item[1], item[0])))
                yield CodeField(name=name, n=counter.coded, nulls=counter.nulls, counts=counts)


@dataclass(slots=True)
class _FieldCounter:
    nulls: int = 0
    numbers: NumberCounter | None = None
    coded: int = 0
    """Cases with at least one label."""
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, values: EncodedValues, encoder: FieldEncoder) -> None:
        """Adds values of one field to its numbers, labels and nulls."""
        self.nulls += int((values.codes == NULL).sum())
        numbers = values.numbers[~np.isnan(values.numbers)]
        if numbers.size:
            self.numbers = self.numbers or NumberCounter()
            self.numbers.add(numbers)
        if encoder.is_text:
            self.counts.clear()
            return
        coded = values.codes[values.codes >= 0]
        if coded.size:
            self.coded += len(coded)
            for labels, count in zip(
                encoder.values, np.bincount(coded, minlength=len(encoder.values)).tolist(), strict=True
            ):
                for label in labels if count else ():
                    self.counts[label] += count
            encoder.forget()


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
    r"|(?<!\w)'[^'\n]{0,300}'(?!\w)"  # not an apostrophe inside a word
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(slots=True)
class MessageCounter:
    """Groups messages that differ only in details: `line 12: "a" is missing`, `line 9: "b" is missing`.

    If there are very many kinds, only the frequent ones are kept.
    """

    _groups: dict[tuple[str, str], tuple[int, str, str]] = field(default_factory=dict)

    def add(self, status: str, message: str, case: str) -> None:
        """Counts a message together with others of the same pattern."""
        key = (status, message_pattern(message))
        count, example, first = self._groups.get(key, (0, case, message))
        self._groups[key] = (count + 1, example, first)
        if len(self._groups) > _MOST_GROUPS:
            self._groups = dict(self._sorted()[:_KEPT_GROUPS])

    def top(self, most: int) -> tuple[MessageGroup, ...]:
        """Returns the most frequent messages with their numbers of cases, one example each."""
        return tuple(
            MessageGroup(status=status, text=" ".join(text[:_LONGEST_SHOWN].split()), count=count, example=example)
            for (status, _), (count, example, text) in self._sorted()[:most]
        )

    def _sorted(self) -> list[tuple[tuple[str, str], tuple[int, str, str]]]:
        return sorted(self._groups.items(), key=lambda item: -item[1][0])


def message_pattern(message: str) -> str:
    """The message on one line, with placeholders for numbers and quoted parts."""
    line = " ".join(message[:_LONGEST].split())
    return cut(_NUMBER.sub("#", _QUOTED.sub("‹…›", line)), _SHOWN)
