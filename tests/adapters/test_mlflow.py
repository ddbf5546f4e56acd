"""MLflow gets Krino's numbers, and a case without a verdict is an error of its assessments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapter_cases import WITH_FRAMEWORKS, Kind

pytestmark = WITH_FRAMEWORKS


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One for all tests: MLflow makes its tables in many steps."""
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/mlflow.db"


@pytest.fixture(autouse=True)
def tracking(offline: None, database: str, tmp_path: Path) -> None:
    import mlflow

    mlflow.set_tracking_uri(database)
    mlflow.create_experiment(tmp_path.name, artifact_location=str(tmp_path / "artifacts"))
    mlflow.set_experiment(tmp_path.name)


def evaluate(kind: Kind) -> Any:
    import mlflow

    from krino.adapters.mlflow import scorer

    data = [
        {"inputs": {"number": number, **sample.inputs}, "outputs": sample.answer}
        for number, sample in enumerate(kind.samples)
    ]
    return mlflow.genai.evaluate(data=data, scorers=[scorer(kind.judge, **kind.settings)])


def test_the_assessments_have_krinos_numbers_and_errors_are_counted(kind: Kind) -> None:
    result = evaluate(kind)
    rows = sorted(result.result_df.to_dict("records"), key=lambda row: row["request"]["number"])
    found = [{item["assessment_name"]: item["feedback"] for item in row["assessments"]} for row in rows]
    score, scores = f"{kind.name}.{kind.field}", kind.scores()
    assert [item[score].get("value") for item in found] == scores
    assert [item[f"{kind.name}.status"]["value"] for item in found] == kind.statuses()
    for item, sample in zip(found, kind.samples, strict=True):
        error = (item[score].get("error") or {}).get("error_message", "")
        assert (f"not judged ({sample.status})" in error) == (sample.status != "ok")
    for assessment in (one for row in rows for one in row["assessments"]):
        about = assessment["metadata"]
        assert about["krino.judge"] == kind.name and about["krino.judge_version"]
        assert len(about["krino.judge_fingerprint"]) == len(about["krino.prompt_hash"]) == 16
    judged = [value for value in scores if value is not None]
    assert result.metrics[f"{score}/mean"] == pytest.approx(sum(judged) / len(judged))
    assert result.metrics[f"{kind.name}.judged/mean"] == pytest.approx(len(judged) / len(scores))
