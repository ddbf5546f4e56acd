"""Actions written inside a model's text, and what is none."""

from __future__ import annotations

import pytest

from krino.judges.efficiency.traces.text_actions import find_actions, find_final_answer, find_observations

TEA = {"item": "tea"}


@pytest.mark.parametrize(
    ("text", "name", "given"),
    [
        ("Thought: x\nAction: price\nAction Input: tea", "price", "tea"),
        ('Action: price\nAction Input: {"item": "tea"}\n', "price", TEA),
        ("Action 2: price[tea]", "price", "tea"),
        ("Action: price(tea)", "price", "tea"),
        ('<tool_call>{"name": "price", "arguments": {"item": "tea"}}</tool_call>', "price", TEA),
        ('<tool_call>\n{"name": "price", "arguments": {"item": "tea"}}', "price", TEA),
        ('<function_call>{"name": "price", "arguments": {"item": "tea"}}</function_call>', "price", TEA),
        ('<action>\ntool: price\nparameters: {"item": "tea"}\n</action>', "price", TEA),
        ("<action>price(tea)</action>", "price", "tea"),
        ('<invoke name="price"><parameter name="item">tea</parameter></invoke>', "price", TEA),
        ("<tool_call><function=price><parameter=item>tea</parameter></function></tool_call>", "price", TEA),
        ('[TOOL_CALLS] [{"name": "price", "arguments": {"item": "tea"}}]', "price", TEA),
        ('```json\n{"tool": "price", "args": {"item": "tea"}}\n```', "price", TEA),
        ('{"function": {"name": "price", "arguments": {"item": "tea"}}}', "price", TEA),
        ('Action:\n{"name": "price", "arguments": {"item": "tea"}}', "price", TEA),
    ],
)
def test_actions_are_found_as_frameworks_write_them(text: str, name: str, given: object) -> None:
    assert [(action.name, action.input) for action in find_actions(text)] == [(name, given)]


@pytest.mark.parametrize(
    "text",
    [
        "The Action film opens on Friday.",
        'Here it is: {"name": "Ann", "age": 34}',
        '```json\n{"name": "Ann", "age": 34}\n```',
        "a < b and b > c",
        "```python\nprint(1)\n```",
        "```json\n{broken\n```",
    ],
)
def test_words_data_and_code_that_nobody_ran_are_no_actions(text: str) -> None:
    assert find_actions(text) == []
    assert find_actions(text, "Thanks, that helps.") == []


@pytest.mark.parametrize("reply", ["Observation: 1", "exitcode: 0", "<output>1</output>", "Execution result: 1"])
def test_code_counts_where_the_next_message_tells_what_it_brought(reply: str) -> None:
    assert [action.name for action in find_actions("```sh\nls\n```", reply)] == ["bash"]
    assert [action.input for action in find_actions("<execute_bash>ls</execute_bash>", reply)] == ["ls"]


def test_observations_are_given_out_in_order_or_to_the_last() -> None:
    two = "<tool_response>a</tool_response><tool_response>b</tool_response>"
    assert find_observations(two, 2) == ["a", "b"]
    assert find_observations("Observation: a", 1) == ["a"]
    assert find_observations("Observation: a", 2) == [None, "a"]
    assert find_observations("", 1) == [None]


def test_a_transcript_holds_actions_with_their_observations_and_the_answer() -> None:
    text = "Action: a\nAction Input: 1\nObservation: x\nThought: on\nAction: b\nAction Input: 2\nFinal Answer: y"
    assert [(found.name, found.observation) for found in find_actions(text)] == [("a", "x"), ("b", None)]
    assert find_final_answer(text) == "y"
    assert find_final_answer("no such words") == ""
