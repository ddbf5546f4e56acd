"""Calls that hide: several in one step, under the user's role, behind ids that are new in every reply, in a chain."""

from __future__ import annotations

import json
from typing import Any

import pytest

from efficiency_making import JUDGE, labels, settle, study
from krino.judges.efficiency.facts import EfficiencyFacts

TASK = "What does article 12 cost?"
ARTICLE = {"article": 12}
SAID = {"type": "llm", "name": "answer", "input": "8.20", "output": "Article 12 costs 8.20."}


def of_record(record: dict[str, Any]) -> EfficiencyFacts:
    return JUDGE.study(JUDGE.read(record))


def score(facts: EfficiencyFacts) -> float:
    value: float = settle(facts).rulings["score"].value
    return value


# --- several calls in one step -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "step",
    [
        {"name": "price", "input": [ARTICLE] * 50, "output": ["8.20"] * 50},
        {"name": "price", "input": json.dumps([ARTICLE] * 50), "output": json.dumps(["8.20"] * 50)},
        {
            "name": "multi_tool_use.parallel",
            "input": {"tool_uses": [{"recipient_name": "functions.price", "parameters": ARTICLE}] * 50},
            "output": ["8.20"] * 50,
        },
        {
            "name": "batch",
            "input": {"calls": [{"tool": "price", "arguments": json.dumps(ARTICLE)}] * 50},
            "output": {"results": ["8.20"] * 50},
        },
        {"name": "bash", "input": {"command": "; ".join(["price 12"] * 50)}, "output": "\n".join(["8.20"] * 50)},
        {"name": "bash", "input": " && ".join(["price 12"] * 50), "output": "8.20"},
    ],
)
def test_fifty_calls_in_one_step_are_fifty(step: dict[str, Any]) -> None:
    facts = study({"type": "tool", **step}, SAID, task=TASK)
    assert len(facts.steps) == 51
    assert score(facts) == 0.0


def test_calls_of_a_parallel_step_have_their_own_name_arguments_result_and_id() -> None:
    uses = [{"recipient_name": f"functions.{name}", "parameters": {"id": name}} for name in ("price", "stock")]
    step = {"name": "multi_tool_use.parallel", "input": {"tool_uses": uses}, "output": ["8.20", "4"], "tokens": 10}
    facts = study({"type": "tool", **step}, SAID, task=TASK)
    assert [(one.id, one.name, one.input, one.output, one.tokens) for one in facts.steps[:2]] == [
        ("s1.1", "price", {"id": "price"}, "8.20", 5),
        ("s1.2", "stock", {"id": "stock"}, "4", 5),
    ]


def test_parallel_calls_in_a_conversation_are_opened_too() -> None:
    given = {"tool_uses": [{"recipient_name": "functions.price", "parameters": ARTICLE}] * 3}
    call = {"id": "c", "function": {"name": "multi_tool_use.parallel", "arguments": json.dumps(given)}}
    messages = [
        {"role": "user", "content": TASK},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": json.dumps(["8.20"] * 3)},
        {"role": "assistant", "content": "Article 12 costs 8.20."},
    ]
    assert [step.name for step in of_record({"messages": messages}).steps] == ["price"] * 3 + ["message"]


@pytest.mark.parametrize(
    "step",
    [
        {"name": "bash", "input": {"command": "echo --; cat a; echo --; cat b; echo --; cat c"}, "output": "x"},
        {"name": "bash", "input": {"command": "cd a && ls"}, "output": "x"},
        {"name": "price", "input": {"articles": [12, 13]}, "output": ["8.20", "9"]},
        {"name": "send", "input": {"to": [{"name": "Ann", "mail": "a@b.c"}]}, "output": "sent"},
        {"name": "price", "input": [ARTICLE, ARTICLE], "output": "8.20"},
    ],
)
def test_one_call_stays_one(step: dict[str, Any]) -> None:
    assert len(study({"type": "tool", **step}, SAID, task=TASK).steps) == 2


def test_calls_nested_in_calls_without_end_are_opened_to_a_limit() -> None:
    given: Any = ARTICLE
    for _ in range(60):
        given = {"calls": [{"tool": "run_all", "arguments": given}]}
    assert len(study({"type": "tool", "name": "run_all", "input": given, "output": "8.20"}, SAID).steps) == 2


# --- the role of the user ----------------------------------------------------------------------------

CALL = {"id": "c", "type": "function", "function": {"name": "price", "arguments": json.dumps(ARTICLE)}}
USED = {"type": "tool_use", "id": "c", "name": "price", "input": ARTICLE}
BROUGHT = {"type": "tool_result", "tool_use_id": "c", "content": "8.20"}
ACTION = f"Action: price {json.dumps(ARTICLE)}"


@pytest.mark.parametrize(
    "pair",
    [
        [
            {"role": "user", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c", "content": "8.20"},
        ],
        [{"role": "user", "content": [USED]}, {"role": "user", "content": [BROUGHT]}],
        [{"role": "user", "content": ACTION}, {"role": "user", "content": "Observation: 8.20"}],
        [
            {"role": "user", "content": 'Action: price\nAction Input: {"article": 12}'},
            {"role": "user", "content": "Observation: 8.20"},
        ],
        [
            {"role": "user", "content": '<tool_call>{"name": "price", "arguments": {"article": 12}}</tool_call>'},
            {"role": "user", "content": "8.20"},
        ],
    ],
)
def test_actions_under_the_user_are_the_agents_and_reported(pair: list[dict[str, Any]]) -> None:
    opening = {"role": "user", "content": TASK}
    closing = {"role": "assistant", "content": "Article 12 costs 8.20."}
    facts = of_record({"messages": [opening, *pair * 20, closing]})
    assert (facts.task, len(facts.steps), score(facts)) == (TASK, 21, 0.0)
    told = [finding.text for finding in settle(facts).findings if finding.rule == "EFF-N10"]
    assert told == ["20 actions are recorded under another role; only an agent can take them: read as its own"]


@pytest.mark.parametrize("role", ["system", "developer", "tool", "function"])
@pytest.mark.parametrize("act", [{"content": None, "tool_calls": [CALL]}, {"content": ACTION}])
def test_actions_under_any_other_role_are_the_agents_too(role: str, act: dict[str, Any]) -> None:
    seen = {"role": "user", "content": "Observation: 8.20"}
    if "tool_calls" in act:
        seen = {"role": "tool", "tool_call_id": "c", "content": "8.20"}
    closing = {"role": "assistant", "content": "Article 12 costs 8.20."}
    prompt = {"role": "system", "content": f"{ACTION} is the form of an action."}
    opening = {"role": "user", "content": TASK}
    facts = of_record({"messages": [prompt, opening, *[{"role": role, **act}, seen] * 20, closing]})
    assert (facts.task, len(facts.steps), facts.trace.moved, score(facts)) == (TASK, 21, 20, 0.0)


def test_a_result_that_begins_like_an_action_is_none() -> None:
    asked = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "c", "content": ACTION}
    facts = of_record({"messages": [{"role": "user", "content": TASK}, asked, result]})
    assert (len(facts.steps), facts.trace.moved) == (1, 0)


def test_what_a_user_says_is_no_action() -> None:
    shown = f"{TASK}\nAnswer in this form:\nThought: ...\n{ACTION}\nObservation: ..."
    messages = [
        {"role": "user", "content": shown},
        {"role": "assistant", "content": "Which one?"},
        {"role": "user", "content": "Actions speak louder than words: twelve."},
        {"role": "assistant", "content": "It costs 8.20."},
    ]
    facts = of_record({"messages": messages})
    assert [step.kind for step in facts.steps] == ["message", "message"]
    assert facts.trace.moved == 0


def test_a_call_of_a_plain_step_of_the_user_counts() -> None:
    call = {"type": "user", "name": "price", "input": ARTICLE, "output": "8.20"}
    facts = study(*[call] * 20, SAID, task=TASK)
    assert (len(facts.steps), facts.trace.moved, score(facts)) == (21, 20, 0.0)


# --- marks of a single request -----------------------------------------------------------------------

MARKS = [
    "[req {0:010x}]",
    "request_id: {0}a{0}-7",
    "at 2026-11-18T08:00:{0:02d}Z",
    "{0:08x}-0000-4000-8000-000000000000",
    "served 17000000{0:02d}",
    "sha {0:039x}a",
]


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_of_the_request_in_a_result_makes_no_other_result(mark: str) -> None:
    calls = [
        {"type": "tool", "name": "timetable", "input": {"line": 4}, "output": f"06:30 and 07:30 {mark.format(number)}"}
        for number in range(10, 30)
    ]
    facts = study(*calls, {**SAID, "output": "At 06:30 and 07:30."}, task="When does line 4 leave?")
    assert score(facts) == 0.0
    assert facts.is_certain(1)


def test_a_mark_that_is_taken_up_later_is_content() -> None:
    keys = [f"{number:010x}" for number in (10**10, 10**11)]
    calls = [{"type": "tool", "name": "new_basket", "input": {}, "output": f"your basket {key}"} for key in keys]
    uses = [{"type": "tool", "name": "pay_basket", "input": {"basket": key}, "output": "paid"} for key in keys]
    facts = study(*calls, *uses, task="Make two baskets and pay them.")
    assert facts.calls[0].result != facts.calls[1].result


def test_a_result_that_is_nothing_but_a_mark_is_content() -> None:
    calls = [{"type": "tool", "name": "head", "input": {}, "output": f"{number:040x}"} for number in (10**40, 10**41)]
    facts = study(*calls, SAID)
    assert facts.calls[0].result != facts.calls[1].result


# --- chains ------------------------------------------------------------------------------------------


def chain(last: str, name: str = "resolve") -> list[dict[str, Any]]:
    found = [
        {"type": "tool", "name": name, "input": {"id": f"K{number}X"}, "output": f"next K{number + 1}X"}
        for number in range(1, 8)
    ]
    return [*found, {"type": "tool", "name": name, "input": {"id": "K8X"}, "output": last}]


@pytest.mark.parametrize("name", ["resolve", "get_ref", "lookup"])
def test_a_chain_of_look_ups_that_leads_nowhere_is_unnecessary(name: str) -> None:
    price = {"type": "tool", "name": "price", "input": ARTICLE, "output": "8.20"}
    assert score(study(price, *chain("next K9X", name), SAID, task=TASK)) == 0.0


def test_a_chain_of_look_ups_whose_end_is_used_is_necessary() -> None:
    said = {**SAID, "output": "The head of the group is Marguerite Delvaux."}
    facts = study(*chain("Marguerite Delvaux"), said, task="Who is the head of the group of K1X?")
    assert score(facts) == 1.0


def test_labels_of_a_model_are_settled_on_the_opened_calls() -> None:
    facts = study({"type": "tool", "name": "price", "input": [ARTICLE] * 3, "output": ["8.20"] * 3}, SAID, task=TASK)
    assert settle(facts, labels(facts)).rulings["score"].value == 0.25


def test_a_step_is_opened_to_a_limit_and_its_result_is_not_copied() -> None:
    step = {"type": "tool", "name": "bash", "input": {"command": "a;" * 5_000}, "output": "8.20"}
    facts = study(step, SAID, task=TASK)
    assert len(facts.steps) == 1_001
    assert [one.output for one in facts.steps[:3]] == ["8.20", None, None]
