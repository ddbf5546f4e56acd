"""Writes output items of an eval run, and the items of its data source, with OpenAI's own models."""

import sys
from pathlib import Path

from openai.types.evals.create_eval_jsonl_run_data_source import SourceFileContentContent
from openai.types.evals.runs import OutputItemListResponse

into = Path(sys.argv[1])
ASKED = [{"role": "system", "content": "Answer briefly."}, {"role": "user", "content": "How tall is it?"}]
USAGE = {"cached_tokens": 0, "completion_tokens": 8, "prompt_tokens": 20, "total_tokens": 28}


def item(number: int, given: dict, said: list, error: dict, passed: bool) -> dict:
    sample = {
        "error": error,
        "finish_reason": "stop" if said else "",
        "input": ASKED,
        "max_completion_tokens": 100,
        "model": "gpt-6-luna",
        "output": said,
        "seed": 1,
        "temperature": 1.0,
        "top_p": 1.0,
        "usage": USAGE,
    }
    return {
        "id": f"outputitem_{number}",
        "created_at": 1_793_500_000,
        "datasource_item": given,
        "datasource_item_id": number,
        "eval_id": "eval_1",
        "object": "eval.run.output_item",
        "results": [{"name": "grader", "passed": passed, "score": float(passed)}],
        "run_id": "evalrun_1",
        "sample": sample,
        "status": "pass" if passed else "fail",
    }


given = {"question": "How tall is it?", "context": ["It is 102 metres tall."], "ground_truth": "102 metres"}
items = [
    item(1, given, [{"role": "assistant", "content": "It is 102 metres tall."}], {"code": "", "message": ""}, True),
    item(2, given, [], {"code": "server_error", "message": "the model is overloaded"}, False),
]
lines = [OutputItemListResponse.model_validate(one).model_dump_json() for one in items]
(into / "openai_evals_output_items.jsonl").write_text("\n".join(lines) + "\n")
rows = [
    SourceFileContentContent(item=given, sample={"output_text": "It is 102 metres tall."}),
    SourceFileContentContent(item=given),
]
lines = [row.model_dump_json(exclude_none=True) for row in rows]
(into / "openai_evals_items.jsonl").write_text("\n".join(lines) + "\n")
