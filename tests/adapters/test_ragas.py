"""Ragas gets Krino's numbers, and a case without a verdict keeps its row, with no value and a status."""

from __future__ import annotations

import asyncio
from typing import Any

from adapter_cases import WITH_FRAMEWORKS, Kind

pytestmark = WITH_FRAMEWORKS


def given(kind: Kind) -> list[dict[str, Any]]:
    names = {"question": "user_input", "context": "retrieved_contexts"}
    return [
        {**{names[name]: value for name, value in sample.inputs.items()}, "response": sample.answer}
        for sample in kind.samples
    ]


def test_a_batch_has_krinos_numbers_and_reasons_for_what_was_not_judged(kind: Kind) -> None:
    from krino.adapters.ragas import metrics

    made = {metric.name: metric for metric in metrics(kind.judge, **kind.settings)}
    found = made[f"{kind.name}.{kind.field}"].batch_score(given(kind))
    assert [item.value for item in found] == kind.scores()
    for item, sample in zip(found, kind.samples, strict=True):
        assert (f"not judged ({sample.status})" in (item.reason or "")) == (sample.status != "ok")


def test_an_experiment_keeps_the_rows_that_were_not_judged(kind: Kind) -> None:
    from ragas import Dataset, experiment
    from ragas.backends import InMemoryBackend

    from krino.adapters.ragas import metrics

    made = metrics(kind.judge, **kind.settings)

    @experiment()
    async def judged(row: dict[str, Any]) -> dict[str, Any]:
        results = {metric.name: await metric.ascore(**row) for metric in made}
        return {"response": row["response"], **{name: result.value for name, result in results.items()}}

    dataset = Dataset(name="krino", backend=InMemoryBackend(), data=given(kind))
    rows = {row["response"]: row for row in asyncio.run(judged.arun(dataset, name="run"))}
    found = [rows[sample.answer] for sample in kind.samples]
    assert [row[f"{kind.name}.{kind.field}"] for row in found] == kind.scores()
    assert [row[f"{kind.name}.status"] for row in found] == kind.statuses()
