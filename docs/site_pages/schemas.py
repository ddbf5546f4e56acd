"""The page of JSON Schemas, from the models of the judges."""

from __future__ import annotations

import json

from krino.contract.judgement import SCHEMA_VERSION, Judgement
from krino.judges.registry import OURS, load_judge

INTRODUCTION = f"""# JSON Schemas

`krino schema JUDGE` prints these, `--part verdict` one of them; a judge of your own has them too.
A judgement has version {SCHEMA_VERSION}: fields may be added under the same version, so ignore others.

For a ready judge or one of your own, ask the command: its verdict depends on the file. The same schemas are in
`run.json` of every [run folder](run_folder.md), so a run can be read without the judge.
"""


def pages() -> dict[str, str]:
    lines = [INTRODUCTION, "## Judgement", "", *_block(Judgement.model_json_schema(mode="serialization"))]
    for name in OURS:
        judge = load_judge(name)
        parts = {"case": judge.case_model, "labels": judge.labels_model, "verdict": judge.verdict_model}
        for part, model in parts.items():
            lines += ["", f"## {name}: {part}", "", *_block(model.model_json_schema())]
    return {"reference/schemas.md": "\n".join(lines) + "\n"}


def _block(schema: object) -> list[str]:
    """A schema, folded away."""
    text = json.dumps(schema, indent=2, ensure_ascii=False)
    return [
        '??? abstract "Show the schema"',
        "",
        "    ```json",
        *("    " + line for line in text.splitlines()),
        "    ```",
    ]
