"""Opik gets Krino's numbers, and a case without a verdict is a failed score that its means leave out and count."""

from __future__ import annotations

from typing import Any

import pytest

from adapter_cases import WITH_FRAMEWORKS, Kind

pytestmark = WITH_FRAMEWORKS


def test_the_results_have_krinos_numbers_and_failures_are_counted(kind: Kind) -> None:
    from opik.evaluation import evaluate_on_dict_items

    from krino.adapters.opik import KrinoMetric

    items = [{"number": number, **sample.inputs} for number, sample in enumerate(kind.samples)]

    def task(item: dict[str, Any]) -> dict[str, Any]:
        return {"output": kind.samples[item["number"]].answer}

    metric = KrinoMetric(kind.judge, track=False, **kind.settings)
    result = evaluate_on_dict_items(items, task, scoring_metrics=[metric])
    rows = sorted(result.test_results, key=lambda row: row.test_case.dataset_item_content["number"])
    found = [{item.name: item for item in row.score_results} for row in rows]
    name, scores = f"{kind.name}.{kind.field}", kind.scores()
    assert [None if item[name].scoring_failed else item[name].value for item in found] == scores
    for item, sample in zip(found, kind.samples, strict=True):
        assert (f"not judged ({sample.status})" in (item[name].reason or "")) == (sample.status != "ok")
    judged = [value for value in scores if value is not None]
    means = result.aggregate_evaluation_scores()
    assert means[name].mean == pytest.approx(sum(judged) / len(judged))
    assert means[name].failed_count == len(scores) - len(judged)
    assert means[f"{kind.name}.judged"].mean == pytest.approx(len(judged) / len(scores))
