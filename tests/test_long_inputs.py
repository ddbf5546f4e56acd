"""Long hostile texts: each spot that once searched from every letter again is given a text on which that shows.

No test measures time. Each text is so long that work growing with its square would take minutes, and the test would not
end within the time that a test run allows; the sweep over all readers is `benchmarks/long_inputs.py`.
"""

from __future__ import annotations

from typing import Any

import pytest

import krino
from krino.judges.citation.judge import CitationJudge
from krino.judges.citation.record.values import parse_candidate_list, parse_json
from krino.judges.efficiency.finders.calls import drop_request_marks, find_code
from krino.judges.efficiency.finders.similarity import read_wording
from krino.judges.efficiency.traces.text_actions import find_actions, find_final_answer, find_observations
from krino.judges.rag.judge import RagJudge

LONG = 200_000


def judged(task: str, *steps: dict[str, Any]) -> krino.Judgement:
    return krino.judge("efficiency", {"task": task, "trace": list(steps)})


STEPS = (
    {"id": "1", "type": "tool", "name": "find", "input": {"q": "x"}, "output": "y"},
    {"id": "2", "type": "llm", "name": "answer", "input": "y", "output": "z"},
)


@pytest.mark.parametrize("letter", ["1", "a", "_", "a-", "a_", "中"])
def test_a_task_with_one_huge_word_is_judged(letter: str) -> None:
    assert judged(f"Find it. {letter * LONG}", *STEPS).status == "ok"


@pytest.mark.parametrize("letter", ["1", "_", "a_", " ", "\t", "a."])
def test_steps_with_one_huge_word_or_gap_are_judged(letter: str) -> None:
    text = letter * LONG
    steps = [
        {"id": str(number), "type": kind, "name": "find", "input": {"q": text}, "output": f"{text}{number}"}
        for number, kind in enumerate(("tool", "tool", "llm"))
    ]
    assert judged("Find it.", *steps).status == "ok"


def test_an_answer_of_headings_is_bound_exactly() -> None:
    """Each of them was looked for in the list of all that state nothing."""
    judge = RagJudge()
    case = judge.read({"question": "What?", "context": ["It is 102 metres tall."], "answer": "# a\n" * (LONG // 2)})
    facts = judge.study(case)
    asked = judge.ask(case, facts)
    assert asked is not None
    assert judge.bounds(case, facts, asked, True)


def test_identifiers_of_a_wording_are_what_they_were() -> None:
    found = read_wording("open src/main.py and foo_bar, a-b.c, x__, _y and __z; not a. or b_ or - c").identifiers
    assert found == {"src/main.py", "foo_bar", "a-b.c", "x__", "__z"}
    assert read_wording("a_" * LONG).identifiers
    assert read_wording("how much are miles to km, or km into miles").turns == {("miles", "km"), ("km", "miles")}


@pytest.mark.parametrize(
    "text",
    [
        "Action: a" + "\n" * LONG,
        "Action: a\nAction Input: b" + "\n" * LONG,
        "\n" * LONG + "Action",
        "Action: a\nAction Input: b\nObservation:" + "\n " * LONG,
        "<tool_call>" + " " * LONG,
        "<action>tool: a" + "\n" * LONG + "</action>",
        '<invoke name="a">' + "<parameter=b>" * (LONG // 10),
        "<execute_bash>" + " " * LONG,
        "```\n{" * LONG,
    ],
)
def test_actions_are_looked_for_in_one_pass(text: str) -> None:
    assert len(find_actions(text, "Observation: x")) <= LONG
    assert find_final_answer("\n" * LONG) == ""


def test_responses_without_an_end_are_looked_for_once() -> None:
    assert find_observations("<result>" * (LONG // 8), 2)[0] is None
    assert find_observations("<result> a </result><output>b</output>", 2) == ["a", "b"]
    assert find_observations(" " * LONG + "x", 1) == ["x"]
    assert find_observations("The result: 5", 1) == ["The result: 5"]
    assert find_observations(" Observation 2: 5", 1) == ["5"]


def test_comments_are_taken_out_of_code_in_one_pass() -> None:
    assert find_code("```python\nx = 1\n  # why\ny = 2\n```").split() == ["x", "=", "1", "y", "=", "2"]
    assert find_code("```python\n" + "\n" * LONG + "```")


def test_marks_of_requests_are_looked_for_in_one_pass() -> None:
    for letter in ("a", "1", "a1", "req ", "1-", "0x"):
        assert drop_request_marks(letter * LONG, ()) is not None


@pytest.mark.parametrize("letter", ["_", "a_", "中"])
def test_a_reasoning_with_one_huge_word_is_read(letter: str) -> None:
    judge = CitationJudge()
    match = {"decision_id": "x", "confidence": 0.9, "reasoning": f"The court fits. {letter * LONG}"}
    case = judge.read({"cited_date": "12 mai 2016", "candidates": [{"decision_id": "x"}], "matches": [match]})
    judge.study(case)


def test_a_fence_around_json_is_found_in_one_pass() -> None:
    assert parse_json(' ```json\n{"a": 1}\n``` ', "matches") == {"a": 1}
    with pytest.raises(ValueError, match="not JSON"):
        parse_json("```json " + " " * LONG, "matches")


@pytest.mark.parametrize("piece", ["- a\n", "- Court" + " " * 500 + "\n"])
def test_candidates_in_a_long_list_are_gathered_in_one_pass(piece: str) -> None:
    listed = "- ECLI:BE:CASS:2016:ARR.20160512.3\n  court: Cass. ; date: 12 May 2016\n- note: a\n"
    assert [found["decision_id"] for found in parse_candidate_list(listed)] == ["ECLI:BE:CASS:2016:ARR.20160512.3"]
    with pytest.raises(ValueError, match="names no single ECLI"):
        parse_candidate_list(piece * (LONG // len(piece)))
