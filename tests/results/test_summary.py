"""What a summary says of a run, checked against figures worked out by hand."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.contract import Usage
from krino.results.number_summary import NumberCounter
from krino.results.slices import slice_by
from krino.results.summary import Deciders, collect, message_pattern, summarise, total_usage
from krino.stats.confidence_intervals import Moments, gate_interval
from made_judgements import error, failed, manifest, many, ok


def test_cases_are_counted_by_status() -> None:
    counts = summarise([ok(score=1.0), failed(), error(), error()]).counts
    assert (counts.ok, counts.failed, counts.error, counts.total) == (1, 1, 2, 4)


def test_an_empty_run_has_a_summary_too() -> None:
    summary = summarise([])
    assert summary.counts.total == 0
    assert not summary.numbers and not summary.codes and not summary.messages


def test_mean_and_interval_of_numbers() -> None:
    (found,) = summarise(ok(count=value) for value in (2.0, 4.0, 9.0, None)).numbers
    assert (found.n, found.nulls, found.min, found.max) == (3, 1, 2.0, 9.0)
    assert found.mean == pytest.approx(5.0)
    deviation = math.sqrt((3.0**2 + 1.0**2 + 4.0**2) / 2)
    half = 4.303 * deviation / math.sqrt(3)
    assert found.interval == pytest.approx((5.0 - half, 5.0 + half))


def test_few_perfect_scores_are_not_certainty_and_the_interval_is_what_a_gate_goes_by() -> None:
    (score,) = summarise(ok(score=1.0) for _ in range(3)).numbers
    assert score.interval == gate_interval(Moments.of([1.0] * 3))
    assert score.interval is not None
    assert score.interval[0] == pytest.approx(0.382, abs=0.001)


def test_one_number_that_is_no_score_has_no_interval() -> None:
    (found,) = summarise([ok(count=5)]).numbers
    assert found.interval is None


def test_numbers_come_only_from_ok_cases() -> None:
    beside = {**failed(), "verdict": {"score": 0.0}}  # a journal of another hand: the contract forbids it
    (score,) = summarise([ok(score=1.0), beside]).numbers
    assert (score.n, score.mean) == (1, 1.0)


def test_booleans_are_categories_and_ranges_are_neither() -> None:
    summary = summarise([ok(right=True, range=[40, 60]), ok(right=False, range=[0, 5]), ok(right=True, range=[1, 2])])
    assert summary.numbers == ()
    assert [(field.name, field.counts) for field in summary.codes] == [("right", {"true": 2, "false": 1})]


def test_a_list_of_codes_counts_each_code_once_a_case() -> None:
    summary = summarise([ok(errors=["A", "B"]), ok(errors=["A", "A"]), ok(errors=[]), ok(errors=None)])
    (field,) = summary.codes
    assert (field.n, field.nulls) == (3, 1)
    assert field.counts == {"A": 2, "(empty list)": 1, "B": 1}


@pytest.mark.parametrize(
    "values",
    [
        ["a sentence of more than four words"] * 3,
        ["x" * 41, "OK", "OK"],
        [f"v{number % 31}" for number in range(200)],
        [f"id-{number}" for number in range(12)],
        ["two\nlines", "A"],
        [{"nested": 1}, "A"],
    ],
    ids=["words", "long", "many", "names", "lines", "object"],
)
def test_free_text_and_names_are_left_out(values: list[Any]) -> None:
    assert summarise(ok(field=value) for value in values).codes == ()


def test_short_explanations_that_come_again_are_not_tabulated() -> None:
    summary = summarise(ok(kind="A", score_explanation="not supported") for _ in range(9))
    assert [field.name for field in summary.codes] == ["kind"]


def test_thirty_values_are_still_a_category() -> None:
    (field,) = summarise(ok(field=f"v{number % 30}") for number in range(90)).codes
    assert len(field.counts) == 30


def test_who_decided_is_counted_by_field_and_in_all() -> None:
    summary = summarise([ok(score=1.0, labelled=True), ok(score=0.5), failed()])
    assert summary.decided_by == Deciders(rules=1, labeller=1)
    assert summary.decided_by_field == {"score": Deciders(rules=1, labeller=1)}
    assert summary.rules == {"R1": 2}


def test_findings_are_counted_by_rule() -> None:
    assert summarise([ok(0, ("N1", "N2")), ok(1, ("N2",))]).findings == {"N2": 2, "N1": 1}


def test_alike_messages_are_one_group_with_an_example() -> None:
    cases = [failed(0, 'line 12: "a" is missing'), failed(1, 'line 9: "bc" is missing'), error(2, "timeout")]
    first, second = summarise(cases).messages
    assert (first.status, first.text, first.count, first.example) == (
        "failed",
        'line 12: "a" is missing',
        2,
        "case-0",
    )
    assert (second.status, second.text, second.count) == ("error", "timeout", 1)


def test_only_the_ten_most_frequent_messages_are_kept() -> None:
    cases = [failed(0, f"kind {letter}") for letter in "abcdefghijklmnop"] + [failed(0, "kind p")]
    messages = summarise(cases).messages
    assert len(messages) == 10
    assert messages[0].text == "kind p"


def test_an_apostrophe_opens_no_quotation() -> None:
    assert message_pattern("it doesn't fit and can't fit") == "it doesn't fit and can't fit"
    assert message_pattern("got 'x y' and `z`, 3.5") == "got ‹…› and ‹…›, #"


def test_usage_is_added_up() -> None:
    usage = summarise([ok(score=1.0), ok(score=1.0)]).usage
    assert usage == Usage(calls=2, input_tokens=20, output_tokens=10, cost=0.5, seconds=1.0)


def test_what_a_run_spent_includes_tries_that_were_replaced() -> None:
    summary = summarise([ok(score=1.0)])
    assert total_usage(summary, manifest(usage=Usage(calls=3))).calls == 3
    assert total_usage(summary, manifest()).calls == 1


def _histogram(*values: float) -> tuple[float, float, tuple[int, ...]]:
    tally = NumberCounter()
    for value in values:  # one at a time, as the worst that can come
        tally.add(np.array([value], np.float64))
    shape = tally.result("x", 0).histogram
    return shape.low, shape.step, shape.counts


def test_scores_from_0_to_1_get_twenty_bins_and_1_falls_in_the_last() -> None:
    low, step, counts = _histogram(0.0, 0.05, 0.3, 0.3, 1.0)
    assert (low, step, len(counts)) == (0.0, 0.05, 20)
    assert {place: count for place, count in enumerate(counts) if count} == {0: 1, 1: 1, 6: 2, 19: 1}


def test_scores_that_are_all_0_or_1_are_drawn_on_the_scale_of_scores() -> None:
    assert _histogram(0, 1, 1, 1) == (0.0, 0.05, (1, *[0] * 18, 3))


def test_few_whole_numbers_get_a_bin_each() -> None:
    assert _histogram(1, 2, 2, 5) == (1.0, 1.0, (1, 2, 0, 0, 1))


def test_scores_to_100_get_bins_of_5() -> None:
    low, step, counts = _histogram(*range(101))
    assert (low, step, counts) == (0.0, 5.0, (5,) * 19 + (6,))


def test_negative_numbers_have_their_bins() -> None:
    low, step, counts = _histogram(-1.5, 0.25, 2.0)
    assert (low, step) == (-1.6, 0.2)
    assert (sum(counts), counts[0], counts[-1]) == (3, 1, 1)


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=60))
def test_a_histogram_holds_every_number_in_at_most_twenty_bins(values: list[float]) -> None:
    low, step, counts = _histogram(*values)
    assert sum(counts) == len(values)
    assert 1 <= len(counts) <= 20
    slack = step / 100 + 1e-5 + 1e-12 * max(abs(value) for value in values)
    assert low - slack <= min(values) and max(values) <= low + len(counts) * step + slack


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(st.text(), _anything, max_size=4), max_size=5), st.text())
def test_no_verdict_or_message_breaks_it(verdicts: list[dict[str, Any]], message: str) -> None:
    cases: list[dict[str, Any]] = [{"id": "a", "status": "ok", "verdict": verdict} for verdict in verdicts]
    cases.append({"id": "b", "status": "error", "error": message})
    assert summarise(cases).counts.ok == len(verdicts)


def test_memory_does_not_grow_with_the_number_of_cases() -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        summarise(failed(n, chr(97 + n % 26) * (1 + n % 97)) if n % 2 else ok(n, x=n / 7) for n in range(count))
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    small, large = peak(4_000), peak(20_000)
    assert large < small * 1.5


def test_a_summary_can_be_dumped_as_json() -> None:
    summary = summarise(many(50))
    assert type(summary).model_validate_json(summary.model_dump_json()) == summary


def test_intervals_stay_on_the_scale_that_the_judge_declares_in_slices_too() -> None:
    schema = {"properties": {"quality": {"type": "integer", "minimum": 1, "maximum": 5}}}
    run = [{**ok(0, quality=1), "metadata": {"court": "A"}}, {**ok(1, quality=3), "metadata": {"court": "A"}}]
    run += [{**ok(2, quality=5), "metadata": {"court": "B"}}, {**ok(3, quality=1), "metadata": {"court": "B"}}]
    found = collect(run, schema=schema)
    (table,) = found.slices
    slices = [part.numbers["quality"].interval for part in table.slices]
    (whole,) = found.summary.numbers
    for interval in (whole.interval, *slices):
        assert interval is not None
        assert 1.0 <= interval[0] <= interval[1] <= 5.0
    assert slice_by(run, [("court",)], schema)[0].slices[0].numbers["quality"].interval == slices[0]
