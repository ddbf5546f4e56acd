"""Files that other tools made (`tool_files/README.md`) are read as cases made by hand would be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krino.cases import CaseItem, read_cases
from krino.judges.registry import load_judge

FILES = Path(__file__).with_name("tool_files")
RAG, EFFICIENCY = load_judge("rag"), load_judge("efficiency")
BY_HAND = {
    file: cases for files, cases in json.loads((FILES / "by_hand.json").read_text()).items() for file in files.split()
}
TALL = "It is 102 metres tall."

HEIGHT, WIDTH = "How tall is it?", "How wide is it?"
Seen = list[tuple[str, str]]
TRACES: dict[str, dict[str, Seen]] = {
    "ragas_talk.csv ragas_talk.jsonl": {
        "Will it rain in Ghent?": [("tool", "weather"), ("message", "Yes, from noon.")],
    },
    "deepeval_goldens.json deepeval_goldens.csv deepeval_goldens.jsonl deepeval_test_run.json": {
        HEIGHT: [("tool", "look_up")],
    },
    "deepeval_traced_run.json": {HEIGHT: [("retrieval", "search"), ("tool", "look_up"), ("message", TALL)]},
    "langsmith_runs.jsonl": {HEIGHT: [("retrieval", "search"), ("llm", "model")], WIDTH: [("other", "agent")]},
    "langfuse_observations.json langfuse_observations.jsonl langfuse_observations.csv langfuse_page.json": {
        HEIGHT: [("retrieval", "search"), ("llm", "model")],
        WIDTH: [("other", "agent")],
    },
    "phoenix_spans.json phoenix_spans.parquet": {HEIGHT: [("retrieval", "search")], WIDTH: [("other", "agent")]},
    "mlflow_traces.json": {HEIGHT: [("retrieval", "look_up")], WIDTH: [("other", "answer")]},
    "inspect.eval inspect.json": {HEIGHT: [("tool", "look_up"), ("message", TALL)]},
}
"""The steps of each trace by its task: the kind, and the name or, of a message, what was said."""


def read(file: str, **how: Any) -> list[CaseItem]:
    return list(read_cases([FILES / file], **how))


def without_random_ids(record: dict[str, Any]) -> dict[str, Any]:
    """Without the trace, and without what a run of Inspect makes up anew."""
    made_up = ("id", "source", "model", "tool_call_id", "function")
    messages = [
        {name: value for name, value in one.items() if name not in made_up} for one in record.get("messages", ())
    ]
    for call in (call for one in messages for call in one.get("tool_calls", ())):
        call.pop("id", None)
    kept = {name: value for name, value in record.items() if name not in ("trace", "messages")}
    return kept | ({"messages": messages} if messages else {})


@pytest.mark.parametrize("file", BY_HAND)
def test_the_cases_of_a_file_equal_those_made_by_hand(file: str) -> None:
    items = {item.id: item for item in read(file)}
    assert items.keys() == BY_HAND[file].keys()
    for name, wanted in BY_HAND[file].items():
        item = items[name]
        if isinstance(wanted, str):
            assert item.record is None and f"has no output: {wanted}" in (item.problem or "")
        else:
            assert item.problem is None and item.record is not None
            assert without_random_ids(dict(item.record)) == without_random_ids(wanted)


def test_every_file_has_cases_made_by_hand() -> None:
    files = {path.name for path in FILES.iterdir()} - {"README.md", "by_hand.json"}
    assert files == BY_HAND.keys()


@pytest.mark.parametrize(
    ("file", "name"), [(file, name) for file, cases in BY_HAND.items() for name, case in cases.items()]
)
def test_the_rag_judge_reads_them_as_it_reads_those_made_by_hand(file: str, name: str) -> None:
    (item,) = [item for item in read(file, judge=RAG) if item.id == name]
    wanted = BY_HAND[file][name]
    if isinstance(wanted, str):
        assert item.record is None and wanted in (item.problem or "")
    else:
        assert item.record is not None and RAG.case_model.model_validate(item.record) == RAG.case_model.model_validate(
            wanted
        )


@pytest.mark.parametrize(
    ("file", "wanted"), [(file, wanted) for files, wanted in TRACES.items() for file in files.split()]
)
def test_traces_are_read_with_their_steps(file: str, wanted: dict[str, Seen]) -> None:
    found = {}
    for item in read(file, judge=EFFICIENCY):
        if item.record is not None and "trace" in item.record:
            facts: Any = EFFICIENCY.study(EFFICIENCY.read(item.record))
            found[facts.task] = [
                (step.kind, str(step.output) if step.kind == "message" else step.name) for step in facts.trace.steps
            ]
    assert found == wanted
