"""Spans become traces: by their ids, each once, whatever the order in which they come."""

from __future__ import annotations

import random

from krino.live import open_traces as module
from krino.live.open_traces import LATE, OpenTraces, make_trace
from live_traces import export, root, span, trace_id


def collected(*exports: object, known: tuple[str, ...] = ()) -> OpenTraces:
    traces = OpenTraces(60, known.__contains__)
    for each in exports:
        traces.add(each, 0.0)
    return traces


def test_the_order_of_spans_does_not_matter() -> None:
    given = [root(0, "fine"), *(span(0, place, parent=0) for place in range(1, 9))]
    random.Random(3).shuffle(given)
    (found,) = collected(*map(export, given)).take_complete(LATE)
    assert sorted(found) == sorted(each["spanId"] for each in given)


def test_late_spans_are_waited_for_a_moment_and_a_missing_root_longer() -> None:
    traces = collected(export(root(0, "fine")), export(span(1, 1, parent=0)))
    assert traces.take_complete(LATE - 0.1) == []
    assert len(traces.take_complete(LATE)) == 1
    assert traces.take_complete(59) == []
    assert len(traces.take_complete(60)) == 1


def test_a_span_that_comes_twice_counts_once_and_does_not_delay() -> None:
    traces = collected(export(root(0, "fine")))
    traces.add(export(root(0, "fine")), 1.9)
    (found,) = traces.take_complete(LATE)
    assert len(found) == 1


def test_spans_of_a_trace_that_was_judged_are_counted_and_left_out() -> None:
    traces = collected(export(root(0, "fine"), span(0, 1, parent=0)), known=(trace_id(0),))
    assert (traces.late, traces.take_complete(1_000)) == (2, [])


def test_a_trace_without_end_is_judged_as_it_is() -> None:
    traces = OpenTraces(60, lambda _: False)
    traces.add(export(*(span(0, place, parent=0) for place in range(1, module.MOST_SPANS + 1))), 0.0)
    assert len(traces.take_complete(0.0)) == 1


def test_single_spans_and_lists_of_requests_are_read_too() -> None:
    traces = collected(root(0, "fine"), [export(root(1, "fine"))], {"spans": [root(2, "fine")]}, 7, None, "x", {})
    assert len(traces.take_complete(LATE)) == 3


def test_the_input_of_the_root_gives_the_fields_of_the_case() -> None:
    found = make_trace({"one": root(0, "fine", question="How?")})
    assert (found.id, found.case["id"], found.case["trace_id"]) == (trace_id(0),) * 3
    assert (found.case["text"], found.case["question"]) == ("fine", "How?")
    assert found.case["trace"]["resourceSpans"][0]["scopeSpans"][0]["spans"] == [root(0, "fine", question="How?")]


def test_an_input_cannot_pass_for_another_trace() -> None:
    found = make_trace({"one": root(0, "fine", trace_id=trace_id(7), id="7", trace="none")})
    assert (found.id, found.case["trace_id"], found.case["id"]) == (trace_id(0),) * 3
    assert found.case["trace"] != "none"
