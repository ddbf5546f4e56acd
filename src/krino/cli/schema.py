"""`krino schema`: the JSON Schemas of a judge's case, labels and verdict, and of the judgement record."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

Part = Literal["all", "case", "labels", "verdict", "judgement"]


def schema(
    judge_name: Annotated[str, typer.Argument(metavar="JUDGE", help="Name of a judge.")],
    part: Annotated[Part, typer.Option(help="Which schema; `all` gives one object with every part.")] = "all",
) -> None:
    """Print JSON Schemas."""
    import orjson

    from krino.contract import SCHEMA_VERSION, Judgement
    from krino.judges.registry import load_judge

    judge = load_judge(judge_name)
    parts = {
        "case": judge.case_model.model_json_schema(),
        "labels": judge.labels_model.model_json_schema(),
        "verdict": judge.verdict_model.model_json_schema(),
        "judgement": {**Judgement.model_json_schema(mode="serialization"), "version": SCHEMA_VERSION},
    }
    chosen = parts if part == "all" else parts[part]
    typer.echo(orjson.dumps(chosen, option=orjson.OPT_INDENT_2).decode())
