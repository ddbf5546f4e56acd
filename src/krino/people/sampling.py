"""Sampling weights of labelled cases: one over the chance that the queue drew the case.

All raters share one random order of the cases. Labels up to some place in it are a random sample. To estimate a rate
with fewer labels, the queue may go on further among the cases with one answer of the judge: then each answer has a
place of its own, and its cases another weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b

from krino.people.store import Event

Order = tuple[str, str, str]
"""Whose way through the random order: run, rater and depth."""


def random_rank(input_hash: str) -> int:
    """Position of a case in the random order. It is a hash, so that all raters share one order."""
    return int.from_bytes(blake2b(f"krino {input_hash}".encode(), digest_size=8).digest())


def order_key(event: Event) -> Order:
    """Whose way through the random order an event belongs to."""
    return event.place.run, event.rater, event.depth


def find_random_reach(events: Iterable[Event]) -> dict[Order, int]:
    """The highest random rank that each rater has reached in each run.

    Cases below that rank count as random even if they were offered for another reason. Without them the random sample
    would lack exactly the disputed cases, and estimates made from it would be too good.
    """
    found: dict[Order, int] = {}
    for event in events:
        if event.random:
            found[order_key(event)] = max(found.get(order_key(event), -1), random_rank(event.place.input_hash))
    return found


def find_target(events: Iterable[Event]) -> str | None:
    """The rate that most cases were drawn for; None if they were drawn for none."""
    counts = Counter(event.target for event in events if event.target)
    return counts.most_common(1)[0][0] if counts else None


def weigh_cases(events: Sequence[Event], target: str, answers: Mapping[str, bool], run: str) -> dict[str, float]:
    """The weight of every labelled case that belongs to the sample, by content hash.

    `answers`: for every judged case of `run` whether the judge says that it has the `target`. Within one answer every
    case has the same weight: the number of cases with that answer over the number of them in the sample. As long as
    one of the answers has no case in it, only the simple random sample says something of all cases. Cases drawn in
    another run do not count, because its judge may have answered otherwise.
    """
    own = [event for event in events if event.place.run == run]
    simple = find_random_reach(own)
    further = _find_answer_reach(own, target, answers)
    plain, drawn = dict[str, bool](), dict[str, bool]()
    for event in own:
        digest, key = event.place.input_hash, order_key(event)
        answer = answers.get(digest)
        if event.action != "label" or answer is None:
            continue
        if random_rank(digest) <= simple.get(key, -1):
            plain[digest] = answer
        if random_rank(digest) <= max(simple.get(key, -1), further.get((key, answer), -1)):
            drawn[digest] = answer
    cases, labelled = Counter(answers.values()), Counter(drawn.values())
    if cases.keys() > labelled.keys():
        return dict.fromkeys(plain, len(answers) / max(len(plain), 1))
    return {digest: cases[answer] / labelled[answer] for digest, answer in drawn.items()}


def _find_answer_reach(
    events: Iterable[Event], target: str, answers: Mapping[str, bool]
) -> dict[tuple[Order, bool], int]:
    """The highest random rank that each rater has reached among the cases with one answer, without leaving one of them
    out."""
    limits: dict[tuple[Order, bool], int] = {}
    done: dict[Order, set[str]] = {}
    for event in events:
        digest, key = event.place.input_hash, order_key(event)
        done.setdefault(key, set()).add(digest)
        if event.target == target and (answer := answers.get(digest)) is not None:
            limits[key, answer] = max(limits.get((key, answer), -1), random_rank(digest))
    ranked = sorted((random_rank(digest), digest) for digest in answers)
    found = {}
    for (key, answer), limit in limits.items():
        missing = (rank for rank, digest in ranked if answers[digest] == answer and digest not in done[key])
        found[key, answer] = min(limit, next(missing, limit + 1) - 1)
    return found
