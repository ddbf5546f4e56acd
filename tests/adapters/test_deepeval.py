"""DeepEval gets Krino's numbers, and a case without a verdict is an error of its metric."""

from __future__ import annotations

from typing import Any

import pytest

from adapter_cases import WITH_FRAMEWORKS, Kind
from krino import NotJudged

pytestmark = WITH_FRAMEWORKS


def test_cases(kind: Kind) -> list[Any]:
    from deepeval.test_case import LLMTestCase

    return [
        LLMTestCase(
            name=str(number),
            input=sample.inputs.get("question", "-"),
            actual_output=sample.answer,
            retrieval_context=sample.inputs.get("context"),
        )
        for number, sample in enumerate(kind.samples)
    ]


test_cases.__test__ = False  # type: ignore[attr-defined]


def evaluate(kind: Kind, *, run_async: bool, ignore_errors: bool = True, fields: Any = None) -> list[Any]:
    from deepeval import evaluate
    from deepeval.evaluate import AsyncConfig, DisplayConfig, ErrorConfig

    from krino.adapters.deepeval import metrics

    result = evaluate(
        test_cases=test_cases(kind),
        metrics=metrics(kind.judge, fields, threshold=0.5, **kind.settings),
        async_config=AsyncConfig(run_async=run_async),
        display_config=DisplayConfig(print_results=False, show_indicator=False),
        error_config=ErrorConfig(ignore_errors=ignore_errors),
    )
    return sorted(result.test_results, key=lambda found: str(found.name))


@pytest.mark.parametrize("run_async", [True, False])
def test_the_results_have_krinos_numbers_and_errors_are_counted(kind: Kind, run_async: bool) -> None:
    results = evaluate(kind, run_async=run_async)
    found = [{metric.name: metric for metric in result.metrics_data} for result in results]
    score, scores = f"{kind.name}.{kind.field}", kind.scores()
    assert [item[score].score for item in found] == scores
    assert [item[score].success for item in found] == [value is not None and value >= 0.5 for value in scores]
    assert [item[f"{kind.name}.judged"].score for item in found] == [end == "ok" for end in kind.statuses()]
    for item, sample in zip(found, kind.samples, strict=True):
        assert (f"not judged ({sample.status})" in (item[score].error or "")) == (sample.status != "ok")


def test_an_evaluation_that_ignores_no_errors_stops_at_what_was_not_judged(kind: Kind) -> None:
    with pytest.raises(NotJudged, match=r"not judged \((failed|error)\)"):
        evaluate(kind, run_async=False, ignore_errors=False, fields=[kind.field])
