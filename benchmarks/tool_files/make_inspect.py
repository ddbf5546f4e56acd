"""Writes an Inspect log as `.eval` and `.json`: a sample that a model answers with a tool, and one that fails.

Run it in a folder of its own.
"""

import sys
from pathlib import Path

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.log import write_eval_log
from inspect_ai.model import ChatMessageUser, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import Generate, TaskState, generate, solver, use_tools
from inspect_ai.tool import Tool, tool

into = Path(sys.argv[1])


@tool
def look_up() -> Tool:
    async def execute(what: str) -> str:
        """Looks up a fact.

        Args:
            what: what to look up
        """
        return "It is 102 metres tall."

    return execute


@solver
def fail_where_asked() -> object:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if "fail" in (state.metadata or {}):
            raise RuntimeError("the tool server is down")
        return state

    return solve


samples = [
    Sample(
        id="height",
        input="How tall is it?",
        target="It is 102 metres tall.",
        metadata={"context": ["It is 102 metres tall."], "topic": "size"},
    ),
    Sample(id="broken", input=[ChatMessageUser(content="When was it built?")], target="1958", metadata={"fail": True}),
]
task = Task(
    name="heights",
    dataset=samples,
    solver=[fail_where_asked(), use_tools(look_up()), generate()],
    scorer=match(),
    fail_on_error=False,
)
outputs = [
    ModelOutput.for_tool_call("mockllm/model", "look_up", {"what": "height"}),
    ModelOutput.from_content("mockllm/model", "It is 102 metres tall."),
]
for output in outputs:
    output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
model = get_model("mockllm/model", custom_outputs=outputs)
(log,) = evaluate(task, model=model, display="none", log_dir="logs", max_samples=1)
for sample in log.samples or []:
    sample.events = []  # with them the file is ten times as large
    if sample.error:
        sample.error.traceback = sample.error.traceback_ansi = ""  # holds paths of the machine
write_eval_log(log, str(into / "inspect.eval"), format="eval")
write_eval_log(log, str(into / "inspect.json"), format="json")
