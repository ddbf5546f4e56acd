"""Precision and recall of every single word (code) of a field of lists, whatever other words stand beside it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from krino.results.agreement.coding import BETWEEN, Coding
from krino.results.agreement.result import ClassAgreement, Figure
from krino.stats.arrays import MISSING, Codes
from krino.stats.confidence_intervals import Interval, wilson_interval

_CLUSTERED = "cases come in clusters, so single words have no interval"
_NONE = {"precision": "the judge never gives it", "recall": "people never give it", "f1": "neither gives it"}


def compare_words(judge: Codes, people: Codes, coding: Coding, clustered: bool) -> tuple[ClassAgreement, ...]:
    """Computes precision, recall and F1 of each word of a field of lists.

    `people` has one row a case and one column a rater, of whom more than half decide. A case in which raters are evenly
    split over a word is left out for that word. Intervals are Wilson's, that of F1 by way of the share of cases in
    which both give the word, of those in which either does.
    """
    words = coding.words
    has = np.array([[word in value.split(BETWEEN) for word in words] for value in coding.values], np.bool_)
    given = people != MISSING
    votes: NDArray[np.int64] = (has[np.maximum(people, 0)] & given[:, :, np.newaxis]).sum(axis=1)
    raters = given.sum(axis=1)
    found = []
    for place, word in enumerate(words):
        decided = votes[:, place] * 2 != raters
        theirs, ours = (votes[:, place] * 2 > raters)[decided], has[judge, place][decided]
        both = int((theirs & ours).sum())
        found.append(_score_word(word, both, int(theirs.sum()), int(ours.sum()), clustered))
    return tuple(found)


def _score_word(word: str, both: int, people: int, judge: int, clustered: bool) -> ClassAgreement:
    """Computes precision, recall and F1 of one word from how many cases both, people and the judge have with it."""
    either = people + judge - both
    precision, recall = _figure("precision", both, judge, clustered), _figure("recall", both, people, clustered)
    shared = _figure("f1", both, either, clustered)
    value = None if shared.value is None else _f1(shared.value)
    interval: Interval | None = None if shared.interval is None else (_f1(shared.interval[0]), _f1(shared.interval[1]))
    f1 = shared.model_copy(update={"value": value, "interval": interval})
    return ClassAgreement(value=word, people=people, judge=judge, precision=precision, recall=recall, f1=f1)


def _f1(shared: float) -> float:
    """F1 from the share of cases with the word in which both give it."""
    return 2 * shared / (1 + shared)


def _figure(name: str, part: int, whole: int, clustered: bool) -> Figure:
    """A share with Wilson's interval; without a value if the whole is zero, and without an interval for clustered
    cases."""
    if not whole:
        return Figure(value=None, n=0, why=_NONE[name])
    if clustered:
        return Figure(value=part / whole, n=whole, why=_CLUSTERED)
    return Figure(value=part / whole, interval=wilson_interval(part, whole), n=whole)
