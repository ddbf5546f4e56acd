"""Sums up a whole run: is the matcher's confidence justified, what decided the cases, and which courts were cited?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from krino.blocks import Block, Cell, DataTable, Paragraph, Reliability, ReliabilityBin, Section, Value
from krino.judges.citation.scoring.truth import Signal
from krino.judges.citation.verdict import RIGHT

_BIN = 10  # points of confidence
_MOST_NAMES = 1_000
_SHOWN_NAMES = 30
_SHOWN_ERRORS = 3
_SIGNALS: Mapping[Signal, str] = {
    "given": "the given ground truth",
    "given_none": "the given ground truth: no decision",
    "ecli": "the ECLI",
    "number": "the case number",
    "only": "the court: one candidate is left",
    "lone": "one aligned candidate, no number known",
    "context": "the context",
    "numbers_differ": "the case number: none carries it",
    "court": "the court: no candidate is of it",
    "date": "the date: no candidate is of it",
    "no_candidates": "no candidates",
    "nothing": "nothing decides",
}


class _Outcome(NamedTuple):
    """The fields of a verdict that are counted. Few combinations occur, so counting them takes little memory."""

    signal: str
    court: str
    correctness: str
    calibration: str
    errors: tuple[str, ...]


class _Tally:
    """Judged cases that have something in common."""

    def __init__(self) -> None:
        self.n = 0
        self.correctness, self.calibration, self.errors = Counter[str](), Counter[str](), Counter[str]()

    def add(self, ending: _Outcome, count: int) -> None:
        """Adds cases that ended alike."""
        self.n += count
        self.correctness[ending.correctness] += count
        self.calibration[ending.calibration] += count
        for error in ending.errors:
            self.errors[error] += count

    @property
    def right(self) -> int:
        """How many of the cases have a right answer."""
        return sum(self.correctness[code] for code in RIGHT)


@dataclass(slots=True)
class CitationOverview:
    """Counts judgements as they arrive, in constant memory."""

    _confidence: dict[int, list[float]] = field(default_factory=dict)
    """By bin: cases, the sum of their confidences, and how many are right."""
    _endings: Counter[_Outcome] = field(default_factory=Counter)
    _unread: Counter[str] = field(default_factory=Counter)

    def add(self, judgement: Mapping[str, Any], /) -> None:
        """Counts one judgement: an unread court always, outcome and confidence only if the case was judged."""
        known = judgement.get("metadata") or {}
        if (name := known.get("unread_court")) and (name in self._unread or len(self._unread) < _MOST_NAMES):
            self._unread[name] += 1
        if judgement["status"] != "ok":
            return
        verdict, signal = judgement["verdict"], known.get("decided_by") or "nothing"
        correctness = verdict["match_correctness"]
        errors, calibration = tuple(verdict["errors"]), verdict["confidence_calibration"]
        self._endings[_Outcome(signal, known.get("court") or "unknown", correctness, calibration, errors)] += 1
        if (percent := known.get("confidence")) is not None and signal != "nothing":
            bin_ = self._confidence.setdefault(min(int(percent // _BIN), 100 // _BIN - 1), [0, 0.0, 0])
            bin_[0] += 1
            bin_[1] += percent
            bin_[2] += correctness in RIGHT

    def _tally_by(self, part: Callable[[_Outcome], str]) -> dict[str, _Tally]:
        """Sums the outcomes by one of their properties."""
        found: dict[str, _Tally] = {}
        for ending, count in self._endings.items():
            found.setdefault(part(ending), _Tally()).add(ending, count)
        return found

    def blocks(self) -> Sequence[Block]:
        return list(self._build_sections())

    def _build_sections(self) -> Iterator[Block]:
        """Yields the sections of the overview."""
        if self._confidence:
            yield Section("Is the matcher's confidence justified?", list(self._build_reliability()), "reliability")
        if self._endings:
            table = self._build_signal_table()
            note = "Where nothing decides, an answer is called correct because nothing contradicts it."
            yield Section("Accuracy by what decided", [table, Paragraph(note, small=True)], "signals")
            yield Section("Courts", [self._build_court_table()], "courts")
        if self._unread:
            rows: list[Sequence[Value]] = [(name, f"{count:,}") for name, count in self._unread.most_common()]
            table = DataTable("", ("Court not recognised", "cases"), rows, figures=(1,), most=_SHOWN_NAMES)
            note = "Their citations are for review. `--option aliases=FILE` says which court a name means."
            yield Section("Courts that were not recognised", [table, Paragraph(note, small=True)], "unread")

    def _build_reliability(self) -> Iterator[Block]:
        """Yields the reliability diagram and the expected calibration error."""
        bins = [
            ReliabilityBin(place * _BIN, (place + 1) * _BIN, int(n), total / n, right / n)
            for place, (n, total, right) in sorted(self._confidence.items())
        ]
        yield Reliability("", bins, most=100.0)
        cases = sum(item.n for item in bins)
        gap = sum(item.n * abs(item.confidence / 100 - item.right) for item in bins) / cases
        yield Paragraph(
            f"{cases:,} matches whose truth something decides. Confidence and accuracy are {100 * gap:.1f} points "
            "apart on average (expected calibration error).",
            small=True,
        )

    def _build_signal_table(self) -> DataTable:
        """Returns the table of accuracy by what decided."""
        signals = self._tally_by(attrgetter("signal"))
        codes = [code for code in _CODES if any(tally.correctness[code] for tally in signals.values())]
        rows: list[Sequence[Value]] = []
        for signal, words in _SIGNALS.items():
            if (tally := signals.get(signal)) is not None:
                counts = (f"{tally.correctness[code]:,}" for code in codes)
                rows.append((words, f"{tally.n:,}", _bold_percent(tally.right, tally.n), *counts))
        heads = ("Decided by", "n", "right", *(code.lower().replace("_", " ") for code in codes))
        return DataTable("", heads, rows, figures=range(1, len(heads)), names=3)

    def _build_court_table(self) -> DataTable:
        """Returns the table of accuracy and errors by court."""
        rows: list[Sequence[Value]] = []
        for court, tally in sorted(self._tally_by(attrgetter("court")).items(), key=lambda item: -item[1].n):
            wrong = [(code, count) for code, count in tally.errors.most_common() if code != "NONE"]
            errors = ", ".join(f"{code} {_percent(count, tally.n)}" for code, count in wrong[:_SHOWN_ERRORS])
            more = len(wrong) - _SHOWN_ERRORS
            rows.append(
                (
                    court.replace("_", " "),
                    f"{tally.n:,}",
                    _bold_percent(tally.right, tally.n),
                    _bold_percent(tally.calibration["WELL_CALIBRATED"], tally.n),
                    _percent(tally.calibration["OVERCONFIDENT"], tally.n),
                    _percent(tally.n - tally.errors["NONE"], tally.n),
                    errors + (f" and {more} more" if more > 0 else ""),
                )
            )
        heads = ("Court", "n", "right", "well calibrated", "overconfident", "with errors", "most frequent errors")
        return DataTable("", heads, rows, figures=range(1, 6), names=2)


_CODES = ("CORRECT", "CORRECT_NO_MATCH", "PARTIALLY_CORRECT", "INCORRECT", "FALSE_POSITIVE", "FALSE_NEGATIVE")


def _bold_percent(part: int, whole: int) -> Cell:
    return Cell(_percent(part, whole), strong=True)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %"
