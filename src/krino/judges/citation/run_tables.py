"""Counts the judgements of a run for people who tune a matcher: columns, reliability, signals, courts, errors, names.

A judgement is a line of the journal as plain data; those without a verdict are left out of every count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from krino.blocks import Block, DataTable
from krino.judges.citation import table
from krino.judges.citation.truth import RULES, Signal
from krino.judges.citation.verdict import RIGHT, ErrorType

Judgement = Mapping[str, Any]
_SIGNALS: dict[str, Signal] = {rule: signal for signal, rule in RULES.items()}
_SIGNAL_WORDS: dict[Signal, str] = {
    "given": "given ground truth",
    "given_none": "given ground truth: none of them",
    "ecli": "ECLI",
    "number": "case number",
    "only": "court: the only candidate left",
    "lone": "the only candidate, number not known",
    "context": "context",
    "numbers_differ": "other numbers throughout",
    "court": "no candidate of the court",
    "date": "no candidate of the date",
    "no_candidates": "no candidates",
    "nothing": "nothing decides",
}
_BINS = 10


@dataclass(frozen=True, slots=True)
class Reliability:
    """The matches of one stretch of confidence, and how many of them were right; undecided ones are not counted."""

    low: int
    high: int
    matches: int
    mean_confidence: float
    right: int

    @property
    def share_right(self) -> float:
        return self.right / self.matches


@dataclass(frozen=True, slots=True)
class Slice:
    """How the cases of one signal or one court came out."""

    name: str
    cases: int
    right: int
    well_calibrated: int
    well_aligned: int
    with_errors: int

    def row(self) -> tuple[str | float, ...]:
        shares = (self.right, self.well_calibrated, self.well_aligned, self.with_errors)
        return (self.name, self.cases, *(round(100 * share / self.cases, 1) for share in shares))


def judged(judgements: Iterable[Judgement]) -> Iterator[Judgement]:
    return (item for item in judgements if item.get("status") == "ok" and item.get("verdict"))


def columns(judgement: Judgement) -> dict[str, Any]:
    """What a table or an export of cases shows beside the verdict, under names that stay."""
    metadata, rules = judgement.get("metadata") or {}, judgement.get("rules") or {}
    confidence, cap = metadata.get("confidence"), _tolerated(rules.get("applicable_ceiling"))
    over = max(0.0, confidence - cap) if confidence is not None and cap is not None else None
    return {
        "citation": (judgement.get("inputs") or {}).get("citation"),
        "matched_id": metadata.get("matched_id"),
        "confidence": confidence,
        "ceiling": cap,
        "points_over_ceiling": over,
        "decided_by": _SIGNAL_WORDS[signal] if (signal := signal_of(judgement)) else None,
        "errors": ", ".join(judgement["verdict"]["errors"]) if judgement.get("verdict") else None,
        "error_words": list((judgement.get("evidence") or {}).get("errors", ())),
    }


def signal_of(judgement: Judgement) -> Signal | None:
    """What decided which decision is meant, by the rule on record."""
    return _SIGNALS.get((judgement.get("rules") or {}).get("correct_decision_id", ""))


def reliability(judgements: Iterable[Judgement]) -> list[Reliability]:
    """Confidence against being right, in ten stretches; empty ones are left out."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for item in judged(judgements):
        confidence = (item.get("metadata") or {}).get("confidence")
        if confidence is not None and signal_of(item) != "nothing":
            place = min(int(confidence * _BINS / 100), _BINS - 1)
            bins.setdefault(place, []).append((confidence, item["verdict"]["match_correctness"] in RIGHT))
    width = 100 // _BINS
    return [
        Reliability(
            place * width,
            (place + 1) * width,
            len(found),
            sum(confidence for confidence, _ in found) / len(found),
            sum(right for _, right in found),
        )
        for place, found in sorted(bins.items())
    ]


def by_signal(judgements: Iterable[Judgement]) -> list[Slice]:
    """Accuracy by what decided, so that "right" where nothing decides is told apart."""
    groups: dict[str, list[Judgement]] = {}
    for item in judged(judgements):
        signal = signal_of(item)
        groups.setdefault(_SIGNAL_WORDS[signal] if signal else "not on record", []).append(item)
    order = [*_SIGNAL_WORDS.values(), "not on record"]
    return [_slice(name, groups[name]) for name in order if name in groups]


def by_court(judgements: Iterable[Judgement]) -> list[Slice]:
    """The same by the type of the cited court, the most cited first."""
    groups: dict[str, list[Judgement]] = {}
    for item in judged(judgements):
        groups.setdefault(str((item.get("metadata") or {}).get("court", "unknown")), []).append(item)
    return [_slice(name, found) for name, found in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))]


def errors(judgements: Iterable[Judgement]) -> list[tuple[str, int, float]]:
    """Every type of the closed list with its count and its share of the judged cases in percent."""
    found = [item["verdict"]["errors"] for item in judged(judgements)]
    counts = Counter(error for names in found for error in names)
    return [(name, counts[name], 100 * counts[name] / len(found) if found else 0.0) for name in get_args(ErrorType)]


def unread_courts(judgements: Iterable[Judgement]) -> list[tuple[str, int]]:
    """Names of cited courts that were not understood, the most frequent first: what to add as aliases."""
    names = ((item.get("metadata") or {}).get("unread_court") for item in judgements)
    counts = Counter(name for name in names if name)
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))


def run_blocks(judgements: Sequence[Judgement]) -> list[Block]:
    """The tables of a run, each where it has rows."""
    heads = ("cases", "right %", "well calibrated %", "well aligned %", "with errors %")
    rows = [
        (f"{item.low}-{item.high} %", item.matches, round(item.mean_confidence, 1), round(100 * item.share_right, 1))
        for item in reliability(judgements)
    ]
    tables = [
        DataTable("Reliability of the matcher's confidence", ("confidence", "matches", "mean %", "right %"), rows),
        DataTable("By what decided", ("decided by", *heads), [item.row() for item in by_signal(judgements)]),
        DataTable("By cited court", ("court", *heads), [item.row() for item in by_court(judgements)]),
        DataTable(
            "Errors",
            ("error", "cases", "% of judged"),
            [(name, count, round(share, 1)) for name, count, share in errors(judgements)],
        ),
        DataTable("Court names that were not understood", ("name", "cases"), unread_courts(judgements)),
    ]
    return [block for block in tables if block.rows]


def _slice(name: str, found: Sequence[Judgement]) -> Slice:
    verdicts = [item["verdict"] for item in found]
    return Slice(
        name,
        len(verdicts),
        sum(verdict["match_correctness"] in RIGHT for verdict in verdicts),
        sum(verdict["confidence_calibration"] == "WELL_CALIBRATED" for verdict in verdicts),
        sum(verdict["court_alignment_handling"] == "CORRECT_ALIGNMENT" for verdict in verdicts),
        sum(verdict["errors"] != ["NONE"] for verdict in verdicts),
    )


def _tolerated(rule: str | None) -> int | None:
    """The highest confidence that does not break the ceiling of a rule."""
    return _ceilings().get(rule) if rule is not None else None


@cache
def _ceilings() -> dict[str, int]:
    return {row["rule"]: row["tolerated"] for row in table("ceilings").values()}
