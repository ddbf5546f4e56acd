"""Writes goldens and test runs with DeepEval: `EvaluationDataset.save_as`, `evaluate`, `evals_iterator` with traces.

Run it in a folder of its own.
"""

import os
import sys
from pathlib import Path

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
os.environ["DEEPEVAL_RESULTS_FOLDER"] = "runs"

from deepeval import evaluate
from deepeval.dataset import EvaluationDataset, Golden
from deepeval.evaluate import AsyncConfig, DisplayConfig, ErrorConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase, ToolCall
from deepeval.tracing import observe, update_current_trace

FOUND = ["It was built in 1958.", "It is 102 metres tall."]

into = Path(sys.argv[1])


class Exact(BaseMetric):
    """A metric that asks no model, and fails where there is nothing to compare."""

    threshold = 0.5
    async_mode = False
    success = False

    def measure(self, test_case: LLMTestCase, *args: object, **kwargs: object) -> float:
        if not test_case.actual_output:
            raise ValueError("there is no output")
        self.score = float(test_case.actual_output == test_case.expected_output)
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *args: object, **kwargs: object) -> float:
        return self.measure(test_case)

    def is_successful(self) -> bool:
        return self.success

    @property
    def __name__(self) -> str:
        return "exact"


def keep_run(name: str) -> None:
    """Moves the only file of results."""
    (file,) = Path("runs").glob("*.json")
    file.replace(into / name)


goldens = [
    Golden(
        input="How tall is it?",
        actual_output="It is 102 metres tall.",
        expected_output="102 metres",
        retrieval_context=FOUND,
        context=FOUND[1:],
        name="height",
        additional_metadata={"topic": "size"},
        tools_called=[ToolCall(name="look_up", input_parameters={"of": "height"}, output="102")],
    ),
    Golden(input="When was it built?", expected_output="1958", name="year"),
]
dataset = EvaluationDataset(goldens=goldens)
for kind in ("json", "csv", "jsonl"):
    dataset.save_as(kind, str(into), "deepeval_goldens")
cases = [
    LLMTestCase(
        input=golden.input,
        actual_output=golden.actual_output or "",
        expected_output=golden.expected_output,
        retrieval_context=golden.retrieval_context,
        context=golden.context,
        name=golden.name,
        metadata=golden.additional_metadata,
        tools_called=golden.tools_called,
    )
    for golden in goldens
]
quiet = DisplayConfig(show_indicator=False, print_results=False)
evaluate(cases, [Exact()], display_config=quiet, error_config=ErrorConfig(ignore_errors=True))
keep_run("deepeval_test_run.json")


@observe(type="retriever")
def search(what: str) -> list[str]:
    return FOUND


@observe(type="tool")
def look_up(what: str) -> str:
    return "102"


@observe(type="agent")
def agent(question: str) -> str:
    search("height")
    look_up("height")
    update_current_trace(input=question, output="It is 102 metres tall.", retrieval_context=FOUND)
    return "It is 102 metres tall."


traced = EvaluationDataset(goldens=[Golden(input="How tall is it?", name="height")])
for golden in traced.evals_iterator(metrics=[Exact()], async_config=AsyncConfig(run_async=False), display_config=quiet):
    agent(golden.input)
keep_run("deepeval_traced_run.json")
