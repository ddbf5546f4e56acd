"""The order in which people label cases: first where panel seats, runs or raters disagree, then where the judge is
unsure, then at random. Or, for the true rate of a label: at random among the cases with one answer of the judge, with
more cases of the answer whose errors make the estimate less certain.

One case in five comes at random whatever else is waiting, and is marked as such, so that estimates from those cases are
unbiased. All raters share one random order, so that they meet on the same cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from krino.contract.judgement import as_word
from krino.people.sampling import random_rank
from krino.people.store import Depth, Event, QueueReason, group_by_case
from krino.results.agreement.labelled_verdicts import names_confidence
from krino.results.field_kinds import as_number, comparison_key, fields_of, is_text, names_explanation
from krino.results.gates.rules import Target, parse_target
from krino.stats.prediction_powered import Strata, share_labels

SHARE = 5
"""One case in this many comes at random."""
REASON_TEXTS: Mapping[QueueReason, str] = {
    "seats": "the seats of the panel disagree on it",
    "runs": "other runs of the same judge reached a different verdict",
    "raters": "people disagree on it",
    "unsure": "the judge is unsure about it",
    "random": "it was drawn at random, as one case in five is, to keep estimates unbiased",
    "rate": "it was drawn at random for the true rate",
    "chosen": "you chose it",
}
_APART = 0.1
"""Smaller differences between numbers do not count as disagreement."""
_SURE = 0.5
_IN_DOUBT = 0.4
"""Assumed confidence if a labeller marks a case as uncertain or the judge asks for review."""
_PROBABILITY = frozenset({"probability", "confidence", "certainty"})
_MOST_VALUES = 2_000
_MOST_TARGETS = 40
LONGEST_TARGET = 400

FieldValues = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CaseInterest:
    """What makes a judged case worth labelling. Of its verdict only the comparable fields."""

    input_hash: str
    values: FieldValues
    split: float = 0.0
    """Disagreement of the panel's seats, from 0 to 1."""
    unsure: float = 0.0
    rolled_up: bool = False


def measure_interest(judgement: Mapping[str, Any]) -> CaseInterest:
    """Measures what makes a case worth labelling, from its judgement, which must be ok."""
    ballots = [fields_of(ballot) for ballot in judgement.get("ballots") or () if ballot["verdict"]]
    values = comparable_fields(fields_of(judgement))
    return CaseInterest(
        judgement["input_hash"],
        values,
        split=max((verdict_distance(values, comparable_fields(ballot)) for ballot in ballots), default=0.0),
        unsure=1.0 - min(_confidences(judgement), default=1.0),
        rolled_up=judgement.get("roll_up") is not None,
    )


def comparable_fields(fields: FieldValues) -> dict[str, Any]:
    """Returns the numbers and codes of a verdict: different wording is not disagreement."""
    return {
        name: value
        for name, value in fields.items()
        if not is_text(value) and not (names_explanation(name) and isinstance(value, str | list))
    }


def verdict_distance(one: FieldValues, other: FieldValues) -> float:
    """Returns the largest difference, from 0 to 1, over the fields that both verdicts have: numbers by distance (at
    most 1), codes 0 or 1."""
    return max((_distance(one[name], other[name]) for name in one.keys() & other.keys()), default=0.0)


def _distance(one: Any, other: Any) -> float:
    """Returns how far two values are apart, from 0 to 1."""
    numbers = as_number(one), as_number(other)
    if numbers[0] is not None and numbers[1] is not None:
        return min(abs(numbers[0] - numbers[1]), 1.0)
    return float(comparison_key(one) != comparison_key(other))


def _confidences(judgement: Mapping[str, Any]) -> Iterator[float]:
    """Yields signs of confidence from 0 to 1: probabilities in the labels, stated confidence, stated doubt."""
    labels = judgement.get("labels")
    for value in _probabilities(labels):
        yield abs(2.0 * value - 1.0)
    if isinstance(labels, Mapping) and labels.get("uncertain"):
        yield _IN_DOUBT
    for name, value in (judgement.get("verdict") or {}).items():
        number = as_number(value)
        if number is not None and names_confidence(name):
            yield min(max(number / 100.0 if number > 1.0 else number, 0.0), 1.0)
    if judgement.get("roll_up") == "review":
        yield _IN_DOUBT


def _probabilities(labels: Any) -> Iterator[float]:
    """Yields the probabilities that occur anywhere in the labels."""
    waiting, seen = [labels], 0
    while waiting and seen < _MOST_VALUES:
        value = waiting.pop()
        seen += 1
        if isinstance(value, Mapping):
            found = (as_number(value.get(name)) for name in _PROBABILITY)
            yield from (number for number in found if number is not None and 0.0 <= number <= 1.0)
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


# --- the queue -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NextCase:
    """The case that a rater gets next."""

    input_hash: str
    why: QueueReason
    random: bool
    target: str = ""
    """The rate that it was drawn for."""


RankKey = tuple[int, float, int, str, QueueReason]
"""Sort key: disagreement before doubt, larger before smaller, then random order; with the case and the reason."""


class QueueRanking:
    """The judged cases of a run, most useful first, as far as runs alone can tell. Shared by all raters."""

    def __init__(self, cases: Iterable[CaseInterest], others: Sequence[Mapping[str, FieldValues]] = ()) -> None:
        """`others`: comparable fields by content hash, from other runs of the same judge."""
        self.cases = {case.input_hash: case for case in cases}
        self.keys = {digest: key for digest, case in self.cases.items() if (key := _rank_key(case, others)) is not None}
        self.order = sorted(self.keys.values())
        self.random_order = sorted(self.cases, key=random_rank)
        self.rolls_up = any(case.rolled_up for case in self.cases.values())
        self._answers: dict[str, dict[str, bool]] = {}

    def answers(self, target: str) -> Mapping[str, bool]:
        """Returns the judge's answer on a target (`pass`, `match:exact`) by content hash, in random order; cases
        without an answer are left out."""
        if target not in self._answers:
            wanted = parse_target(target)
            said = ((digest, wanted.answer_in(self.cases[digest].values)) for digest in self.random_order)
            self._answers[target] = {digest: answer for digest, answer in said if answer is not None}
        return self._answers[target]

    def targets(self) -> list[str]:
        """Lists the labels whose true rate can be estimated: each occurs, and not in every case."""
        counts: Counter[str] = Counter()
        for case in self.cases.values():
            for name, value in case.values.items():
                for word in value if isinstance(value, list) else [value]:
                    if isinstance(word, str | bool):
                        counts[str(Target(name, as_word(word)))] += 1
        named = [target for target, count in counts.items() if count < len(self.cases)]
        return sorted(named, key=lambda target: ":" in target)[:_MOST_TARGETS]


def _rank_key(case: CaseInterest, others: Sequence[Mapping[str, FieldValues]]) -> RankKey | None:
    """Returns the place of a case in the queue: disputed ones first, then unsure ones; None for all others."""
    digest = case.input_hash
    between_runs = max((verdict_distance(case.values, run[digest]) for run in others if digest in run), default=0.0)
    if max(case.split, between_runs) > _APART:
        why: QueueReason = "seats" if case.split >= between_runs else "runs"
        return (0, -max(case.split, between_runs), random_rank(digest), digest, why)
    return (1, -case.unsure, random_rank(digest), digest, "unsure") if case.unsure > _SURE else None


@dataclass(frozen=True)
class Queue:
    """The queue of a run at one depth, given the labels so far."""

    ranking: QueueRanking
    events: Sequence[Event]
    """Labels and skips that count, of all raters and depths."""
    depth: Depth
    target: str = ""
    """The rate that labels are wanted for; empty: disputed cases first."""

    def list_done(self, rater: str) -> set[str]:
        """Returns the cases that a rater has labelled; skipped ones are not included."""
        return {event.place.input_hash for event in self._events_of(rater) if event.action == "label"}

    def list_skipped(self, rater: str) -> list[str]:
        """Returns the cases that a rater skipped and has not labelled since, oldest first."""
        return [event.place.input_hash for event in self._events_of(rater) if event.action == "skip"]

    def _events_of(self, rater: str) -> list[Event]:
        """Returns the labels and skips of a rater at this depth."""
        return [event for event in self.own_events if event.rater == rater]

    def next(self, rater: str) -> NextCase | None:
        """Chooses the next case of a rater; None if every case was offered. Skipped cases are not offered again."""
        done = {event.place.input_hash for event in self._events_of(rater)}
        drawn = next((digest for digest in self.ranking.random_order if digest not in done), None)
        if drawn is None:
            return None
        if self.target:
            return self._next_for_rate(rater, drawn, done)
        useful = next((key for key in self.ranking.order if key[3] not in done), None)
        disputed = min((key for digest, key in self._disputed.items() if digest not in done), default=None)
        best = min((key for key in (useful, disputed) if key is not None), default=None)
        if best is None or len(done) % SHARE == SHARE - 1:
            return NextCase(drawn, "random", random=True)
        return NextCase(best[3], self.why(best[3]), random=False)

    def _next_for_rate(self, rater: str, drawn: str, done: Set[str]) -> NextCase:
        """Chooses the first case, in random order, among those with the answer that has the fewest labels for its
        share.

        One case in five comes from the whole random order, which keeps other estimates possible.
        """
        answers = self.ranking.answers(self.target)
        waiting = {
            side: next((digest for digest, answer in answers.items() if answer == side and digest not in done), None)
            for side in set(answers.values())
        }
        lacking = self._find_lacking(rater, answers)
        best = max((side for side in waiting if waiting[side] is not None), key=lacking.__getitem__, default=None)
        digest = None if best is None else waiting[best]
        if digest is None or len(done) % SHARE == SHARE - 1:
            return NextCase(drawn, "random", random=True)
        return NextCase(digest, "rate", random=False, target=self.target)

    def _find_lacking(self, rater: str, answers: Mapping[str, bool]) -> dict[bool, float]:
        """Returns for each answer of the judge how many labels it lacks to its share; infinite for one without a
        label."""
        wanted, sizes = parse_target(self.target), Counter(answers.values())
        labels, hits = Counter[bool](), Counter[bool]()
        for event in self._events_of(rater):
            if event.action == "label" and (answer := answers.get(event.place.input_hash)) is not None:
                labels[answer] += 1
                hits[answer] += bool(wanted.answer_in(event.fields))
        sides = sorted(sizes)
        shares, said, given = (np.array([float(part[side]) for side in sides]) for part in (sizes, hits, labels))
        shared = share_labels(Strata.of(shares / len(answers), said, given, len(answers)))
        lacking = np.where(given > 0, shared * (labels.total() + 1) - given, np.inf)
        return dict(zip(sides, lacking.tolist(), strict=True))

    def explain_offer(self, rater: str, input_hash: str) -> NextCase:
        """Returns why a rater is at this case: as recorded with an earlier answer, as the queue offers it now, or
        because it was chosen. The server decides this, not the client, because estimates depend on it."""
        before = [event for event in self.own_events if event.place.input_hash == input_hash and event.rater == rater]
        if before:
            return NextCase(input_hash, before[-1].why, before[-1].random, before[-1].target)
        turn = self.next(rater)
        if turn is not None and turn.input_hash == input_hash:
            return turn
        return NextCase(input_hash, self.why(input_hash), random=False)

    def why(self, input_hash: str) -> QueueReason:
        """Returns what ranks this case highest for any rater; `chosen` if nothing does."""
        keys = (self.ranking.keys.get(input_hash), self._disputed.get(input_hash))
        best = min((key for key in keys if key is not None), default=None)
        return "chosen" if best is None else best[4]

    @cached_property
    def own_events(self) -> list[Event]:
        """The labels and skips at this depth, of cases that the ranking has."""
        cases = self.ranking.cases
        return [event for event in self.events if event.depth == self.depth and event.place.input_hash in cases]

    @cached_property
    def _disputed(self) -> dict[str, RankKey]:
        """The cases on which raters disagree, each with its place in the queue."""
        found: dict[str, RankKey] = {}
        for digest, said in group_by_case(event for event in self.own_events if event.action == "label").items():
            values = [comparable_fields(event.fields) for event in said]
            far = max((verdict_distance(*pair) for pair in combinations(values, 2)), default=0.0)
            if far > _APART:
                found[digest] = (0, -far, random_rank(digest), digest, "raters")
        return found


@dataclass(frozen=True, slots=True)
class RaterProgress:
    rater: str
    labelled: int
    skipped: int
    random: int


def list_progress(queue: Queue) -> list[RaterProgress]:
    """Lists the progress of each rater at this depth, most labels first."""
    found: dict[str, list[int]] = {}
    for event in queue.own_events:
        counts = found.setdefault(event.rater, [0, 0, 0])
        counts[0 if event.action == "label" else 1] += 1
        counts[2] += event.random and event.action == "label"
    ranked = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))
    return [RaterProgress(rater, *counts) for rater, counts in ranked]
