"""LangSmith gets Krino's numbers, and a case without a verdict has errors for feedback."""

from __future__ import annotations

import datetime
import uuid
from typing import Any

from adapter_cases import WITH_FRAMEWORKS, Kind

pytestmark = WITH_FRAMEWORKS


def examples(kind: Kind) -> list[Any]:
    from langsmith.schemas import Example

    dataset, now = uuid.uuid4(), datetime.datetime.now(datetime.UTC)
    return [
        Example(
            id=uuid.uuid4(),
            dataset_id=dataset,
            inputs={"number": number, **sample.inputs},
            outputs={},
            created_at=now,
        )
        for number, sample in enumerate(kind.samples)
    ]


def evaluate(kind: Kind) -> list[dict[str, Any]]:
    from langsmith import Client, evaluate

    from krino.adapters.langsmith import evaluator

    results = evaluate(
        lambda inputs: {"answer": kind.samples[inputs["number"]].answer},
        data=examples(kind),
        evaluators=[evaluator(kind.judge, **kind.settings)],
        upload_results=False,
        client=Client(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False),
    )
    rows = sorted(results, key=lambda row: row["example"].inputs["number"])
    return [{result.key: result for result in row["evaluation_results"]["results"]} for row in rows]


def test_the_results_have_krinos_numbers_and_errors_are_counted(kind: Kind) -> None:
    found = evaluate(kind)
    score = f"{kind.name}.{kind.field}"
    assert [item[score].score for item in found] == kind.scores()
    assert [item[f"{kind.name}.status"].value for item in found] == kind.statuses()
    for item, sample in zip(found, kind.samples, strict=True):
        assert (item[score].extra == {"error": True}) == (sample.status != "ok")
        assert (f"not judged ({sample.status})" in (item[score].comment or "")) == (sample.status != "ok")
