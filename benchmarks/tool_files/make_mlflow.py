"""Writes what MLflow keeps: traces as JSON, and the tables of `mlflow.genai.evaluate` and `mlflow.models.evaluate`.

Run it in a folder of its own. Paths of the machine are taken out of the files.
"""

import json
import re
import sys
from pathlib import Path

import mlflow
import pandas
from mlflow.genai.scorers import scorer
from mlflow.metrics import MetricValue, make_metric

FOUND = ["It was built in 1958.", "It is 102 metres tall."]
TABLE = "eval_results_table.json"

into = Path(sys.argv[1]).resolve()
mlflow.set_tracking_uri("sqlite:///mlflow.db")
mlflow.set_experiment("heights")


@mlflow.trace(span_type="RETRIEVER")
def look_up(what: str) -> list[str]:
    return FOUND


@mlflow.trace(span_type="AGENT")
def answer(question: str) -> str:
    if "wide" in question:
        raise RuntimeError("no such fact")
    look_up("height")
    return "It is 102 metres tall."


@scorer
def is_short(outputs: str) -> bool:
    return len(outputs) < 30


answer("How tall is it?")
try:
    answer("How wide is it?")
except RuntimeError:
    mlflow.flush_trace_async_logging()
traces = mlflow.search_traces(return_type="list")[::-1]
(into / "mlflow_traces.json").write_text(json.dumps([trace.to_dict() for trace in traces]))

rows = [
    {
        "inputs": {"question": "How tall is it?", "context": FOUND},
        "outputs": "It is 102 metres tall.",
        "expectations": {"expected_response": "102 metres"},
    },
    {"inputs": {"question": "When was it built?", "context": FOUND[:1]}, "outputs": ""},
]
table = mlflow.genai.evaluate(data=rows, scorers=[is_short]).result_df
table.to_json(into / "mlflow_genai_table.json", orient="records")
table.to_csv(into / "mlflow_genai_table.csv", index=False)

frame = pandas.DataFrame(
    {
        "inputs": ["How tall is it?", "When was it built?"],
        "outputs": ["It is 102 metres tall.", ""],
        "ground_truth": ["102 metres", "1958"],
    }
)


def compare(predictions: pandas.Series, targets: pandas.Series, metrics: object) -> MetricValue:
    return MetricValue(scores=[float(one == other) for one, other in zip(predictions, targets, strict=True)])


exact = make_metric(eval_fn=compare, greater_is_better=True, name="exact")
with mlflow.start_run() as run:
    mlflow.models.evaluate(data=frame, targets="ground_truth", predictions="outputs", extra_metrics=[exact])
found = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path=TABLE, dst_path=str(into))
Path(found).rename(into / "mlflow_eval_results_table.json")
for file in into.glob("mlflow_*"):
    text = file.read_text()
    text = re.sub(r"""(?<=[\\"' ])(?:\\?/[\w.-]+){2,}\\?/(?=[\w-])""", "", text)
    file.write_text(re.sub(r"""\broot(?=\\*["'])""", "someone", text))
