"""Which case a person should label next, and why: where seats, runs or raters disagree, then where the judge is least
sure, then at random.

One case in five comes at random whatever else is waiting, and is marked: estimates made of those are not led astray by
the choice of the others. The random order is the same for everybody, so that raters meet on the same cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from krino.people.rows import random_rank
from krino.people.store import Depth, Event, QueueReason, group_by_case
from krino.results.agreement.verdicts import names_a_confidence
from krino.results.kinds import as_number, is_explanation, is_text, key_of
from krino.runs.fields import fields_of

SHARE = 5
"""One in so many comes at random."""
WORDS: Mapping[QueueReason, str] = {
    "seats": "the seats of the panel disagree about it",
    "runs": "other runs of the same judge came to another verdict",
    "raters": "people disagree about it",
    "unsure": "the judge is least sure of it",
    "random": "it was drawn at random: one in five is, so that estimates stay unbiased",
    "chosen": "you chose it",
}
_APART = 0.1
"""Numbers that differ by less say the same."""
_SURE = 0.5
_IN_DOUBT = 0.4
"""How sure a labeller is taken to be that says it is not, or a judge that wants a person to look."""
_PROBABILITY = frozenset({"probability", "confidence", "certainty"})
_MOST_VALUES = 2_000

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Interest:
    """What makes a judged case worth a person's time. Of its verdict only what can be compared."""

    input_hash: str
    values: Values
    split: float = 0.0
    """How far the seats are apart, from 0 to 1."""
    unsure: float = 0.0
    rolled_up: bool = False


def interest_of(judgement: Mapping[str, Any]) -> Interest:
    """Of a case that is ok, as it stands in the journal."""
    ballots = [fields_of(ballot) for ballot in judgement.get("ballots") or () if ballot["verdict"]]
    values = comparable(fields_of(judgement))
    return Interest(
        judgement["input_hash"],
        values,
        split=max((apart(values, comparable(ballot)) for ballot in ballots), default=0.0),
        unsure=1.0 - min(_sureness(judgement), default=1.0),
        rolled_up=judgement.get("roll_up") is not None,
    )


def comparable(fields: Values) -> dict[str, Any]:
    """Numbers and codes: two who say the same in other words do not differ."""
    return {
        name: value
        for name, value in fields.items()
        if not is_text(value) and not (is_explanation(name) and isinstance(value, str | list))
    }


def apart(one: Values, other: Values) -> float:
    """How far two verdicts are apart where both say something: numbers by their difference, the rest wholly or not."""
    return max((_distance(one[name], other[name]) for name in one.keys() & other.keys()), default=0.0)


def _distance(one: Any, other: Any) -> float:
    numbers = as_number(one), as_number(other)
    if numbers[0] is not None and numbers[1] is not None:
        return min(abs(numbers[0] - numbers[1]), 1.0)
    return float(key_of(one) != key_of(other))


def _sureness(judgement: Mapping[str, Any]) -> Iterator[float]:
    """From 0 to 1: how far a probability in the labels is from a half, a confidence, a doubt in words."""
    labels = judgement.get("labels")
    for value in _probabilities(labels):
        yield abs(2.0 * value - 1.0)
    if isinstance(labels, Mapping) and labels.get("uncertain"):
        yield _IN_DOUBT
    for name, value in (judgement.get("verdict") or {}).items():
        number = as_number(value)
        if number is not None and names_a_confidence(name):
            yield min(max(number / 100.0 if number > 1.0 else number, 0.0), 1.0)
    if judgement.get("roll_up") == "review":
        yield _IN_DOUBT


def _probabilities(labels: Any) -> Iterator[float]:
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
class Turn:
    """The next case of a rater."""

    input_hash: str
    why: QueueReason
    random: bool


Key = tuple[int, float, int, str, QueueReason]
"""Disagreement before doubt, more before less, then the random order; the case, and why it is worth a look."""


class Ranking:
    """The judged cases of a run in the order of their use, as far as runs can tell: made once, for all raters."""

    def __init__(self, cases: Iterable[Interest], others: Sequence[Mapping[str, Values]] = ()) -> None:
        """`others`: what other runs of the same judge say of each content."""
        self.cases = {case.input_hash: case for case in cases}
        self.keys = {digest: key for digest, case in self.cases.items() if (key := _key(case, others)) is not None}
        self.order = sorted(self.keys.values())
        self.random_order = sorted(self.cases, key=random_rank)
        self.rolls_up = any(case.rolled_up for case in self.cases.values())


def _key(case: Interest, others: Sequence[Mapping[str, Values]]) -> Key | None:
    digest = case.input_hash
    between_runs = max((apart(case.values, run[digest]) for run in others if digest in run), default=0.0)
    if max(case.split, between_runs) > _APART:
        why: QueueReason = "seats" if case.split >= between_runs else "runs"
        return (0, -max(case.split, between_runs), random_rank(digest), digest, why)
    return (1, -case.unsure, random_rank(digest), digest, "unsure") if case.unsure > _SURE else None


@dataclass(frozen=True)
class Queue:
    """The cases of a run for the raters of one depth, as far as labels have come."""

    ranking: Ranking
    events: Sequence[Event]
    """The labels and skips that count, of everybody and at every depth."""
    depth: Depth

    def done(self, rater: str) -> set[str]:
        """The cases of this run that a rater has labelled; one that was skipped is not done."""
        return {event.place.input_hash for event in self._of(rater) if event.action == "label"}

    def skipped(self, rater: str) -> list[str]:
        """The cases that a rater has passed over and not labelled since, the first of them first."""
        return [event.place.input_hash for event in self._of(rater) if event.action == "skip"]

    def _of(self, rater: str) -> list[Event]:
        return [event for event in self.own_events if event.rater == rater]

    def next(self, rater: str) -> Turn | None:
        """None where the rater has been brought every case; what was skipped is not brought a second time."""
        done = {event.place.input_hash for event in self._of(rater)}
        drawn = next((digest for digest in self.ranking.random_order if digest not in done), None)
        if drawn is None:
            return None
        useful = next((key for key in self.ranking.order if key[3] not in done), None)
        disputed = min((key for digest, key in self._disputed.items() if digest not in done), default=None)
        best = min((key for key in (useful, disputed) if key is not None), default=None)
        if best is None or len(done) % SHARE == SHARE - 1:
            return Turn(drawn, "random", random=True)
        return Turn(best[3], self.why(best[3]), random=False)

    def turn_of(self, rater: str, input_hash: str) -> Turn:
        """Why a rater is at this case: it is for the server to say, since estimates rest on it."""
        before = [event for event in self.own_events if event.place.input_hash == input_hash and event.rater == rater]
        if before:
            return Turn(input_hash, before[-1].why, before[-1].random)
        turn = self.next(rater)
        if turn is not None and turn.input_hash == input_hash:
            return turn
        return Turn(input_hash, self.why(input_hash), random=False)

    def why(self, input_hash: str) -> QueueReason:
        keys = (self.ranking.keys.get(input_hash), self._disputed.get(input_hash))
        best = min((key for key in keys if key is not None), default=None)
        return "chosen" if best is None else best[4]

    @cached_property
    def own_events(self) -> list[Event]:
        cases = self.ranking.cases
        return [event for event in self.events if event.depth == self.depth and event.place.input_hash in cases]

    @cached_property
    def _disputed(self) -> dict[str, Key]:
        """The cases on which raters are apart."""
        found: dict[str, Key] = {}
        for digest, said in group_by_case(event for event in self.own_events if event.action == "label").items():
            values = [comparable(event.fields) for event in said]
            far = max((apart(*pair) for pair in combinations(values, 2)), default=0.0)
            if far > _APART:
                found[digest] = (0, -far, random_rank(digest), digest, "raters")
        return found


@dataclass(frozen=True, slots=True)
class Progress:
    rater: str
    labelled: int
    skipped: int
    random: int


def progress_of(queue: Queue) -> list[Progress]:
    """How far each rater has come at this depth, the busiest first."""
    found: dict[str, list[int]] = {}
    for event in queue.own_events:
        counts = found.setdefault(event.rater, [0, 0, 0])
        counts[0 if event.action == "label" else 1] += 1
        counts[2] += event.random and event.action == "label"
    ranked = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))
    return [Progress(rater, *counts) for rater, counts in ranked]
