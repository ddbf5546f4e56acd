"""Langfuse gets Krino's numbers, and a case without a verdict is a failure with a status score beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from adapter_cases import WITH_FRAMEWORKS, Kind

pytestmark = WITH_FRAMEWORKS


@pytest.fixture
def client() -> Iterator[Any]:
    from langfuse import Langfuse

    made = Langfuse(public_key="public", secret_key="secret", base_url="http://127.0.0.1:9", tracing_enabled=False)
    yield made
    made.shutdown()


def test_an_experiment_has_krinos_numbers_and_a_status_for_every_case(kind: Kind, client: Any) -> None:
    from krino.adapters.langfuse import evaluators

    data = [{"input": {"number": number, **sample.inputs}} for number, sample in enumerate(kind.samples)]

    def task(*, item: Any, **more: Any) -> str:
        return kind.samples[item["input"]["number"]].answer

    made = evaluators(kind.judge, **kind.settings)
    result = client.run_experiment(name="krino", data=data, task=task, evaluators=made)
    rows = sorted(result.item_results, key=lambda row: row.item["input"]["number"])
    found = [{item.name: item for item in row.evaluations} for row in rows]
    score = f"{kind.name}.{kind.field}"
    assert [item[score].value if score in item else None for item in found] == kind.scores()
    assert [item[f"{kind.name}.status"].value for item in found] == kind.statuses()
