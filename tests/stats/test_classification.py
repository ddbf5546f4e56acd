"""Confusion tables and class scores equal those of scikit-learn."""

from __future__ import annotations

import math
import warnings

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, f1_score, precision_recall_fscore_support

from krino.stats.classification import class_scores, confusion_counts

CODE = st.integers(0, 3)
PAIRS = st.lists(st.tuples(CODE, CODE), min_size=1, max_size=40)
SIZE = 4


@given(PAIRS)
@example([(1, 1)])
@example([(0, 1), (0, 1)])
def test_class_scores_equal_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    reference, tested = np.array(pairs).T
    ours = class_scores(reference, tested, SIZE)
    precision, recall, f1, true = precision_recall_fscore_support(
        reference, tested, labels=range(SIZE), zero_division=np.nan
    )
    for mine, theirs in ((ours.precision, precision), (ours.recall, recall), (ours.f1, f1), (ours.actual, true)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9, equal_nan=True)
    assert (confusion_counts(reference, tested, SIZE) == confusion_matrix(reference, tested, labels=range(SIZE))).all()


@given(PAIRS)
@example([(1, 1)])
@example([(0, 1), (0, 1)])
def test_macro_f1_and_balanced_accuracy_equal_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    reference, tested = np.array(pairs).T
    ours = class_scores(reference, tested, SIZE)
    assert math.isclose(ours.macro_f1, f1_score(reference, tested, average="macro"), rel_tol=1e-9, abs_tol=1e-9)
    with warnings.catch_warnings():  # it warns of classes that only the tested side has; they have no recall
        warnings.simplefilter("ignore")
        theirs = balanced_accuracy_score(reference, tested)
    assert math.isclose(ours.balanced_accuracy, theirs, rel_tol=1e-9, abs_tol=1e-9)


def test_what_was_never_said_has_no_precision_and_what_is_never_true_no_recall() -> None:
    scores = class_scores(np.array([0, 0]), np.array([0, 1]), 3)
    assert math.isnan(scores.recall[1])
    assert scores.precision[1] == 0.0
    assert scores.f1[1] == 0.0
    assert math.isnan(scores.precision[2])
    assert math.isnan(scores.f1[2])


def test_without_cases_nothing_is_defined() -> None:
    nothing = np.array([], np.intp)
    scores = class_scores(nothing, nothing, 2)
    assert math.isnan(scores.macro_f1)
    assert math.isnan(scores.balanced_accuracy)


def test_weights_and_missing_ratings_count() -> None:
    reference, tested = np.array([0, 1, -1, 1]), np.array([0, 0, 1, -1])
    table = confusion_counts(reference, tested, 2, np.array([3.0, 2.0, 5.0, 7.0]))
    assert table.tolist() == [[3.0, 0.0], [2.0, 0.0]]
