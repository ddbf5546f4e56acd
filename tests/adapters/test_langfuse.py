"""Langfuse gets Krino's numbers, and a case without a verdict is a failure with a status score beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from adapter_cases import WITH_FRAMEWORKS, Kind
from langfuse_platform import Platform, serving

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

    def task(*, item: Any, **more: Any) -> Any:
        return kind.samples[item["input"]["number"]].answer

    made = evaluators(kind.judge, **kind.settings)
    result = client.run_experiment(name="krino", data=data, task=task, evaluators=made)
    rows = sorted(result.item_results, key=lambda row: row.item["input"]["number"])
    found = [{item.name: item for item in row.evaluations} for row in rows]
    score = f"{kind.name}.{kind.field}"
    assert [item[score].value if score in item else None for item in found] == kind.scores()
    assert [item[f"{kind.name}.status"].value for item in found] == kind.statuses()
    for about in (one.metadata for item in found for one in item.values()):
        assert about["judge"] == kind.name and about["judge_version"]
        assert len(about["judge_fingerprint"]) == len(about["prompt_hash"]) == 16


@contextmanager
def running(kind: Kind) -> Iterator[Platform]:
    observations = [
        {
            "id": f"{number:016x}",
            "traceId": f"{number + 1:032x}",
            "startTime": "2026-11-19T12:00:00Z",
            "projectId": "project",
            "type": "GENERATION",
            "input": json.dumps(sample.inputs),
            "output": json.dumps(sample.answer),
        }
        for number, sample in enumerate(kind.samples)
    ]
    with serving(observations) as platform:
        yield platform


def test_live_data_gets_krinos_numbers_and_a_status_for_every_observation(kind: Kind) -> None:
    from langfuse import Langfuse

    from krino.adapters.langfuse import evaluators, read_observation

    with running(kind) as platform:
        client = Langfuse(public_key=platform.url, secret_key="secret", base_url=platform.url, tracing_enabled=True)
        result = client.run_batched_evaluation(
            mapper=read_observation, evaluators=evaluators(kind.judge, **kind.settings)
        )
        client.shutdown()
        written = {(int(score["observationId"], 16), score["name"]): score for score in platform.scores}
    score, numbers = f"{kind.name}.{kind.field}", range(len(kind.samples))
    values = [written[number, score]["value"] if (number, score) in written else None for number in numbers]
    assert values == kind.scores()
    ends = [written[number, f"{kind.name}.status"] for number in numbers]
    assert [end["value"] for end in ends] == kind.statuses()
    assert all("not judged" in end["comment"] for end in ends if end["value"] != "ok")
    stats = {stats.name: stats for stats in result.evaluator_stats}
    assert stats["krino_scores"].failed_runs == len(kind.samples) - kind.statuses().count("ok")
    assert stats["krino_status"].failed_runs == 0
