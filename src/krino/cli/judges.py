"""`krino judges` and `krino schema`: which judges there are, what they take and what they give."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from krino.cli import options

Part = Literal["all", "case", "labels", "verdict", "judgement"]


def judges(json: options.AsJson = False) -> None:
    """List the judges with their inputs and outputs."""
    import orjson

    from krino.judges.registry import judge_names

    found = [describe(name) for name in sorted(judge_names())]
    typer.echo(orjson.dumps(found).decode() if json else "\n\n".join(_words(entry) for entry in found))


def describe(name: str) -> dict[str, Any]:
    """One judge, from its models."""
    from krino.judges.registry import load_judge

    judge = load_judge(name)
    return {
        "name": judge.name,
        "version": judge.version,
        "summary": judge.summary,
        "inputs": {
            field: "required" if info.is_required() else "optional"
            for field, info in judge.case_model.model_fields.items()
        },
        "outputs": list(judge.verdict_model.model_fields),
        "figures": list(judge.figures_model.model_fields),
        "options": {
            field: {"default": info.get_default(call_default_factory=True), "about": info.description}
            for field, info in type(judge.options).model_fields.items()
        },
        "rules": len(judge.rules),
        "languages": list(judge.languages),
    }


def _words(entry: dict[str, Any]) -> str:
    inputs = ", ".join(field if kind == "required" else f"[{field}]" for field, kind in entry["inputs"].items())
    lines = [
        f"{entry['name']} {entry['version']}: {entry['summary']}",
        f"  in:  {inputs}",
        f"  out: {', '.join(entry['outputs'])}",
    ]
    if entry["figures"]:
        lines.append(f"  beside the verdict: {', '.join(entry['figures'])}")
    if entry["languages"]:
        lines.append(f"  languages of the embedded labeller: {', '.join(entry['languages'])}")
    for field, info in entry["options"].items():
        about = f"  {info['about']}" if info["about"] else ""
        lines.append(f"  --option {field}={info['default']}{about}")
    return "\n".join(lines)


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
