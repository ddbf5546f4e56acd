"""The public names are few, documented in one table, and all there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import krino


def test_the_public_names_are_exactly_these() -> None:
    assert set(krino.__all__) == {
        *("__version__", "ajudge", "ajudge_many", "judge", "judge_many", "jury", "llm", "load_judge", "repeated"),
        *("Judge", "Judgement", "Labeller", "Labelled", "ReplayLabeller", "Task", "Usage"),
        *("Questions", "Bound", "Passage", "Media", "Settlement", "Ruling", "Finding", "Unread"),
        *(
            "run",
            "resettle",
            "verify",
            "align",
            "Alignment",
            "true_rate",
            "TrueRates",
            "Verification",
            "estimate",
            "Estimate",
            "gate_rules",
            "Gate",
            "GateResult",
            "Summary",
        ),
        *("BatchFiles", "shard", "merge", "rubric"),
        *("Run", "agree", "Agreement", "assert_verdict", "compare", "Comparison", "frame", "load_run"),
        *("KrinoError", "UsageProblem", "CannotJudge", "LabelFailed", "NotJudged", "RunStopped"),
    }


@pytest.mark.parametrize("name", krino.__all__)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(krino, name) is not None
    assert name in dir(krino)


def test_a_name_that_is_not_public_is_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute `nothing`"):
        getattr(krino, "nothing")  # noqa: B009 - a type checker knows that it is not there


def test_importing_krino_loads_nothing_heavy() -> None:
    heavy = ("pydantic", "aiohttp", "numpy", "rich", "typer", "pyarrow")
    code = f"import sys, krino; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_judge_stays_a_function_after_its_parts_are_imported() -> None:
    code = "import krino, krino.contract, krino.judges.registry; print(callable(krino.judge))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
