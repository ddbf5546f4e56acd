"""What is said between a starter and a desk arrives as it was."""

from __future__ import annotations

import pickle

from krino.contract import Usage
from krino.engine.case import Written
from krino.engine.desk import Done


def test_a_line_that_travels_bare_arrives_with_all_that_a_run_must_know_of_it() -> None:
    paid = Usage(calls=2, cached=1, input_tokens=30, output_tokens=4, cost=0.5, seconds=1.5)
    broken = Written(b'{"id":"a"}', "0f" * 16, "error", paid, "the judge broke", {"label": "good"})
    cases = [(7, broken), (9, None)]
    assert list(pickle.loads(pickle.dumps(Done.of(cases))).opened()) == cases
