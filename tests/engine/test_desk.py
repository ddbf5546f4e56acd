"""What is said between a starter and a desk arrives as it was."""

from __future__ import annotations

import datetime
import pickle

from krino.cases.item import CaseItem
from krino.contract import Source, Usage
from krino.engine.case import Written
from krino.engine.crew import Sent
from krino.engine.desk import Done, opened, packed_lot
from krino.engine.protocol import OpenCase


def test_a_line_that_travels_bare_arrives_with_all_that_a_run_must_know_of_it() -> None:
    paid = Usage(calls=2, cached=1, input_tokens=30, output_tokens=4, cost=0.5, seconds=1.5)
    broken = Written(b'{"id":"a"}', "0f" * 16, "error", paid, "the judge broke", {"label": "good"})
    cases = [(7, broken), (9, None)]
    assert list(pickle.loads(pickle.dumps(Done.of(cases))).opened()) == cases


def test_cases_arrive_in_their_order_as_they_were() -> None:
    records = [{"text": "é", "at": datetime.date(2024, 2, 29), "n": [1, 2.5, None]}, None]
    cases = [
        OpenCase(CaseItem(n, f"c{n}", records[n % 2], Source("a.jsonl", n), None, None, n or None), f"{n:032x}")
        for n in range(5)
    ]
    lot = packed_lot(cases)
    assert list(opened(lot)) == cases
    assert [Sent(case.number, case.digest, lot).case for case in cases] == cases
