"""`krino judges` and `krino schema`: lists the judges with their inputs and outputs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import orjson
import typer

from krino.cli import options
from krino.cli.printing import print_json

Part = Literal["all", "case", "labels", "verdict", "judgement"]


def judges(json: options.AsJson = False) -> None:
    """List the judges with their inputs and outputs."""
    from krino.judges.describing import describe
    from krino.judges.registry import judge_names

    found = [describe(name) for name in sorted(judge_names())]
    print_json(found) if json else typer.echo("\n\n".join(_format_judge(entry) for entry in found))


def _format_judge(entry: dict[str, Any]) -> str:
    """Returns the description of a judge, as `krino judges` prints it."""
    widest = max(map(len, entry["inputs"]), default=0)
    lines = [f"{entry['name']} {entry['version']}: {entry['summary']}"]
    lines += [f"  in:  {field:<{widest}}  {_describe_need(info)}" for field, info in entry["inputs"].items()]
    lines.append(f"  out: {', '.join(entry['outputs'])}")
    if entry["figures"]:
        lines.append(f"  beside the verdict: {', '.join(entry['figures'])}")
    if entry["languages"]:
        lines.append(f"  languages of the embedded labeller: {', '.join(entry['languages'])}")
    for field, info in entry["options"].items():
        about = f"  {info['about']}" if info["about"] else ""
        lines.append(f"  --option {field}={info['default']}{about}")
    return "\n".join(lines)


def _describe_need(info: dict[str, Any]) -> str:
    """Says whether an input is required or which outputs need it, what it is, and under which other names it is
    read."""
    need = "required" if info["required"] else f"for {', '.join(info['for'])}" if info["for"] else "optional"
    also = f" (or {', '.join(info['also'])})" if info["also"] else ""
    about = f": {info['about']}" if info["about"] else ""
    return f"{need}{about}{also}"


def schema(
    judge_name: Annotated[str, typer.Argument(metavar="JUDGE", help="Name of a judge.")],
    part: Annotated[Part, typer.Option(help="Which schema; `all` gives one object with every part.")] = "all",
) -> None:
    """Print JSON Schemas."""
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
