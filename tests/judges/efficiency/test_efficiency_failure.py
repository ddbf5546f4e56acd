"""A result that is an error: of the call itself, or of something that the call was made to show."""

from __future__ import annotations

from typing import Any

import pytest

from efficiency_making import study
from krino.judges.efficiency.data_files import table
from krino.judges.efficiency.traces.detect import read_trace
from krino.judges.efficiency.traces.failure import find_failure

RAISED = "KeyError: 'nickname' in views/users.py line 22"


@pytest.mark.parametrize("command", table("cues")["shows"])
def test_what_a_command_shows_is_no_failure_of_it(command: str) -> None:
    assert find_failure("bash", {"command": f"curl -s localhost/x; {command} app.txt"}, RAISED) is None
    assert find_failure("bash", {"command": f"{command} app.txt && python app.py"}, RAISED) == RAISED


@pytest.mark.parametrize("word", table("cues")["logs"])
def test_what_a_log_holds_is_no_failure_of_the_call(word: str) -> None:
    assert find_failure(f"get_{word}", {"job": 7}, RAISED) is None
    assert find_failure("read_file", {"path": f"/srv/{word}.txt"}, RAISED) is None
    assert find_failure("get_user", {"note": f"see the {word} of today"}, RAISED) == RAISED


def test_an_object_that_says_that_the_call_failed_is_a_failure_of_any_tool() -> None:
    assert find_failure("get_logs", {"job": 7}, {"error": "no such job"}) == "no such job"


def test_every_reader_knows_the_call_when_it_reads_the_result() -> None:
    given = {"command": "tail -5 app.log"}
    blocks: list[Any] = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": given}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": RAISED}]},
    ]
    items = [
        {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"command": "tail -5 app.log"}'},
        {"type": "function_call_output", "call_id": "c1", "output": RAISED},
    ]
    run = {"id": "1", "name": "agent", "run_type": "chain", "child_runs": []}
    child = {"id": "2", "name": "bash", "run_type": "tool", "inputs": given, "outputs": {"output": RAISED}}
    text = f'Action: bash\nAction Input: {{"command": "tail -5 app.log"}}\nObservation: {RAISED}\nFinal Answer: done'
    plain = [{"name": "bash", "input": given, "output": RAISED}]
    for trace in (blocks, items, {**run, "child_runs": [child]}, text, plain):
        assert [step.error for step in read_trace(trace).steps if step.name == "bash"] == [None]


def test_an_error_whose_words_the_next_tool_is_given_was_of_use() -> None:
    run = {"name": "run_tests", "input": {"name": "tax"}, "output": "AssertionError: rate gave 0.2 (taxes.py:9)"}
    look = {"name": "read_file", "input": {"path": "taxes.py"}, "output": "9: return 0.2"}
    edit = {"name": "edit_file", "input": {"path": "taxes.py", "new": "return 0.21"}, "output": "ok"}
    assert 0 in study(run, look, edit, task="Make the test pass.").useful_errors
    other = {**look, "input": {"path": "main.py"}}
    assert 0 not in study(run, other, edit, task="Make the test pass.").useful_errors
