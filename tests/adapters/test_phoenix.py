"""Phoenix gets Krino's numbers, and a row without a verdict is an exception that is not tried again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from adapter_cases import WITH_FRAMEWORKS, Kind

pytestmark = WITH_FRAMEWORKS


@pytest.mark.parametrize("run_async", [True, False])
def test_the_frame_has_krinos_numbers_and_errors_are_counted(kind: Kind, run_async: bool) -> None:
    import pandas
    from phoenix.evals import async_evaluate_dataframe, evaluate_dataframe

    from krino.adapters.phoenix import evaluators

    rows = pandas.DataFrame([{**sample.inputs, "output": sample.answer} for sample in kind.samples])
    settings: dict[str, Any] = {"evaluators": evaluators(kind.judge, **kind.settings), "exit_on_error": False}
    if run_async:
        found = asyncio.run(async_evaluate_dataframe(dataframe=rows, **settings))
    else:
        found = evaluate_dataframe(dataframe=rows, **settings)
    scores = [item["score"] if item else None for item in found[f"{kind.name}.{kind.field}_score"]]
    assert scores == kind.scores()
    assert [item["label"] for item in found[f"{kind.name}.status_score"]] == kind.statuses()
    details = list(found[f"krino_{kind.name}_execution_details"])
    assert [len(item["exceptions"]) for item in details] == [int(end != "ok") for end in kind.statuses()]
    assert all("not judged" in text for item in details for text in item["exceptions"])
