"""Writes examples and runs with LangSmith's own models; the service that exports them is not asked."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from langsmith.schemas import Example, Run

into = Path(sys.argv[1])
START = datetime(2026, 11, 1, 9, 30, tzinfo=UTC)
DATASET, SESSION = UUID(int=1), UUID(int=2)


def write(name: str, items: list) -> None:
    lines = [item.model_dump_json() for item in items]
    (into / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


def run(number: int, kind: str, name: str, inputs: dict, outputs: dict | None, **more: object) -> Run:
    parent = more.pop("parent", None)
    root = parent or number
    return Run(
        id=UUID(int=number),
        name=name,
        run_type=kind,
        inputs=inputs,
        outputs=outputs,
        start_time=START + timedelta(seconds=number),
        end_time=START + timedelta(seconds=number + 1),
        trace_id=UUID(int=root),
        dotted_order=f"{number}",
        parent_run_id=parent and UUID(int=parent),
        session_id=SESSION,
        **more,
    )


asked = {"question": "How tall is it?"}
write(
    "langsmith_examples",
    [
        Example(
            id=UUID(int=10),
            dataset_id=DATASET,
            inputs=asked | {"context": ["It is 102 metres tall."]},
            outputs={"answer": "102 metres"},
            metadata={"topic": "size"},
            created_at=START,
            modified_at=START,
        ),
        Example(id=UUID(int=11), dataset_id=DATASET, inputs={"question": "When?"}, created_at=START),
    ],
)
document = {"page_content": "It is 102 metres tall.", "metadata": {"source": "a.txt"}, "type": "Document"}
write(
    "langsmith_runs",
    [
        run(100, "chain", "agent", asked, {"answer": "It is 102 metres tall."}, extra={"metadata": {"topic": "size"}}),
        run(200, "chain", "agent", {"question": "How wide is it?"}, None, error="TimeoutError()"),
        run(101, "retriever", "search", {"query": "height"}, {"documents": [document]}, parent=100),
        run(
            102,
            "llm",
            "model",
            {"messages": [{"role": "user", "content": "How tall is it?"}]},
            {"generations": [[{"text": "It is 102 metres tall."}]]},
            parent=100,
            total_tokens=30,
        ),
    ],
)
