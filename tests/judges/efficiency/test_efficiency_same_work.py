"""The same work scores the same in every format, and its steps are named so that a reader finds them."""

from __future__ import annotations

import json
from typing import Any

import pytest

import krino
from krino.judges.efficiency.traces.detect import read_trace
from made_views import view_of

TASK = "When is the museum open, and what does a ticket cost?"
ANSWER = "The museum opens at ten and closes at six; a ticket costs fourteen euros."
CALLS = [
    ("search_hours", {"place": "museum"}, "opens at ten and closes at six on weekdays"),
    ("search_prices", {"ticket": "museum"}, "fourteen euros, reduced seven"),
]
REPEATED = [*CALLS, CALLS[0]]
SPAN_ID = "00000000000000a{}"


def chat(calls: list[tuple[str, Any, str]]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": TASK}]
    for number, (name, given, result) in enumerate(calls):
        call = {"id": f"call_{number}", "function": {"name": name, "arguments": json.dumps(given)}}
        messages += [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": result},
        ]
    return [*messages, {"role": "assistant", "content": ANSWER}]


def span(number: int, parent: int | None, **attributes: Any) -> dict[str, Any]:
    named = [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in attributes.items()]
    return {
        "traceId": "7" * 32,
        "spanId": SPAN_ID.format(number),
        "parentSpanId": "" if parent is None else SPAN_ID.format(parent),
        "name": f"span {number}",
        "startTimeUnixNano": str(17 * 10**17 + number * 10**9),
        "endTimeUnixNano": str(17 * 10**17 + (number + 1) * 10**9),
        "attributes": named,
    }


def exported(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


SAID = [{"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"}]


def gen_ai(calls: list[tuple[str, Any, str]], output: str = json.dumps(SAID), *more: dict[str, Any]) -> dict[str, Any]:
    top = span(0, None, gen_ai__operation__name="invoke_agent", gen_ai__input__messages=TASK)
    if output:
        top["attributes"].append({"key": "gen_ai.output.messages", "value": {"stringValue": output}})
    tools = [
        span(
            number,
            0,
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name=name,
            gen_ai__tool__call__arguments=json.dumps(given),
            gen_ai__tool__call__result=result,
        )
        for number, (name, given, result) in enumerate(calls, 1)
    ]
    return exported(top, *tools, *more)


def openinference(calls: list[tuple[str, Any, str]]) -> dict[str, Any]:
    kind = "openinference__span__kind"
    top = span(0, None, **{kind: "AGENT"}, input__value=TASK, output__value=ANSWER)
    tools = [
        span(number, 0, **{kind: "TOOL"}, tool__name=name, input__value=json.dumps(given), output__value=result)
        for number, (name, given, result) in enumerate(calls, 1)
    ]
    return exported(top, *tools)


def runs(calls: list[tuple[str, Any, str]]) -> dict[str, Any]:
    children = [
        {"id": f"r{number}", "run_type": "tool", "name": name, "inputs": given, "outputs": {"output": result}}
        for number, (name, given, result) in enumerate(calls)
    ]
    messages = [{"type": "human", "content": TASK}, {"type": "ai", "content": ANSWER}]
    return {
        "id": "top",
        "run_type": "chain",
        "name": "agent",
        "inputs": {"input": TASK},
        "outputs": {"messages": messages},
        "child_runs": children,
    }


def score(trace: Any) -> tuple[Any, int]:
    judgement = krino.judge("efficiency", {"task": TASK, "trace": trace})
    assert judgement.verdict is not None, judgement
    return judgement.verdict["score"], len((judgement.labels or {})["steps"])


@pytest.mark.parametrize("calls", [CALLS, REPEATED], ids=["nothing wasted", "one repeat"])
@pytest.mark.parametrize("form", [gen_ai, openinference, runs])
def test_an_answer_that_stands_in_the_agents_span_alone_counts_as_in_messages(form: Any, calls: Any) -> None:
    assert score(form(calls)) == score(chat(calls))


def test_without_that_answer_there_is_a_step_less() -> None:
    assert score(gen_ai(CALLS, ""))[1] == score(gen_ai(CALLS))[1] - 1


def test_a_model_call_whose_words_were_not_recorded_gets_them_from_the_agent() -> None:
    model = span(8, 0, gen_ai__operation__name="chat", gen_ai__request__model="m")
    trace = read_trace(gen_ai(CALLS, json.dumps(SAID), model))
    assert [step.kind for step in trace.steps] == ["tool", "tool", "llm"]
    assert trace.steps[-1].output == ANSWER


def test_an_answer_that_a_model_said_is_no_second_step() -> None:
    model = span(8, 0, gen_ai__operation__name="chat", gen_ai__output__messages=json.dumps(SAID))
    late = span(9, 0, gen_ai__operation__name="execute_tool", gen_ai__tool__name="log", gen_ai__tool__call__result="ok")
    trace = read_trace(gen_ai(CALLS, json.dumps(SAID), model, late))
    assert [step.kind for step in trace.steps] == ["tool", "tool", "llm", "tool"]


def test_an_answer_that_a_last_call_hands_over_is_no_second_step() -> None:
    trace = read_trace(gen_ai([*CALLS, ("final_answer", {"answer": ANSWER}, "done")]))
    assert [step.kind for step in trace.steps] == ["tool"] * 3


def test_an_output_that_is_data_and_not_words_is_no_step() -> None:
    trace = read_trace(gen_ai(CALLS, '{"booked": true}'))
    assert [step.kind for step in trace.steps] == ["tool"] * 2
    assert trace.answer == '{"booked": true}'


# --- how steps are called --------------------------------------------------------------------------


def test_a_reason_names_steps_by_number_where_ids_are_a_machines() -> None:
    judgement = krino.judge("efficiency", {"task": TASK, "trace": gen_ai(REPEATED)})
    verdict = judgement.verdict or {}
    assert verdict["reason"].startswith("Step 3 repeats step 1: search_hours")
    assert SPAN_ID[:10] not in verdict["reason"]
    assert judgement.evidence["score"][1].startswith(f"step 3 ({SPAN_ID.format(3)}) redundant because of step 1")
    texts = " ".join(finding.text for finding in judgement.findings)
    assert "minimal sequence, 3 of 4 steps: 1, 2, 4" in texts
    assert SPAN_ID[:10] not in texts
    labelled = {item["step"] for item in (judgement.labels or {})["steps"]}
    assert SPAN_ID.format(3) in labelled, "labels keep the trace's own ids"


@pytest.mark.parametrize("own", ["a", "s{}", "step-{}", "{}0"])
def test_ids_that_a_reader_knows_are_kept(own: str) -> None:
    steps = [
        {"id": own.format(number) if "{" in own else own * number, "type": "tool", "name": name, "input": given}
        | {"output": result}
        for number, (name, given, result) in enumerate(REPEATED, 1)
    ]
    reason = (krino.judge("efficiency", {"task": TASK, "trace": steps}).verdict or {})["reason"]
    assert f"tep {steps[2]['id']} repeats step {steps[0]['id']}" in reason


@pytest.mark.parametrize(
    "own", ["call_{}Xk29fQw81", "5f2c9a7e-0b1d-4c3e-8f6a-00000000000{}", "toolu_{}", "{}" + "abcdefgh" * 3]
)
def test_one_id_that_nobody_can_read_makes_all_of_them_numbers(own: str) -> None:
    ids = ["first", "second", own.format("01A09q90")]
    steps = [
        {"id": step, "type": "tool", "name": name, "input": given, "output": result}
        for step, (name, given, result) in zip(ids, REPEATED, strict=True)
    ]
    reason = (krino.judge("efficiency", {"task": TASK, "trace": steps}).verdict or {})["reason"]
    assert "Step 3 repeats step 1" in reason


def test_the_report_shows_the_numbers_that_the_reason_names() -> None:
    *_, steps = view_of("efficiency", {"task": TASK, "trace": gen_ai(REPEATED)})
    assert [row[0] for row in steps.rows] == ["1", "2", "3", "4"]
