"""Inspect gets Krino's numbers, and a sample without a verdict is unscored and counted."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from adapter_cases import WITH_FRAMEWORKS, Kind

pytestmark = WITH_FRAMEWORKS


def evaluate(kind: Kind, folder: Path) -> Any:
    from inspect_ai import Task
    from inspect_ai import eval as run_eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import Generate, TaskState, solver

    from krino.adapters.inspect_ai import krino_scorer

    @solver
    def recorded() -> Any:
        """What a model said before: the mock model would download a tokenizer."""

        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.output = ModelOutput.from_content("recorded", kind.samples[int(state.sample_id) - 1].answer)
            return state

        return solve

    samples = [
        Sample(id=number, input=sample.inputs.get("question", "-"), target="", metadata=dict(sample.inputs))
        for number, sample in enumerate(kind.samples, 1)
    ]
    task = Task(dataset=samples, solver=recorded(), scorer=krino_scorer(kind.judge, **kind.settings))
    (log,) = run_eval(task, model="mockllm/model", display="none", log_dir=str(folder), log_samples=True)
    assert log.status == "success", log.error
    return log


def test_the_log_has_krinos_numbers_and_counts_what_was_not_judged(kind: Kind, tmp_path: Path) -> None:
    log = evaluate(kind, tmp_path)
    found = [sample.scores["krino_scorer"] for sample in sorted(log.samples, key=lambda sample: sample.id)]
    name, scores = f"{kind.name}.{kind.field}", kind.scores()
    assert [None if math.isnan(item.value[name]) else item.value[name] for item in found] == scores
    assert [item.metadata["status"] for item in found] == kind.statuses()
    for item, sample in zip(found, kind.samples, strict=True):
        assert (item.reason == f"krino_{sample.status}") == (sample.status != "ok")
        assert (f"not judged ({sample.status})" in item.explanation) == (sample.status != "ok")
    results = {result.name: result for result in log.results.scores}
    judged = [value for value in scores if value is not None]
    assert (results[name].scored_samples, results[name].unscored_samples) == (len(judged), len(scores) - len(judged))
    assert results[name].metrics["mean"].value == pytest.approx(sum(judged) / len(judged))
    assert results[f"{kind.name}.judged"].metrics["mean"].value == pytest.approx(len(judged) / len(scores))
