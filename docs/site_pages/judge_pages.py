"""What each judge takes and gives, from its models, and a page for each ready judge in a file."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from krino.judges.describing import describe
from krino.judges.registry import OURS, load_judge, shelf_names


def pages() -> dict[str, str]:
    made = {f"judges/{name}/fields.md": _fields_page(name) for name in OURS}
    made |= {"judges/ready.md": _overview()}
    return made | {f"judges/ready/{name}.md": _ready_page(name) for name in shelf_names()}


def _fields_page(name: str) -> str:
    about = describe(name)
    lines = [
        f"# {name}: what it takes and gives",
        "",
        f"{about['summary']} This page is made from version {about['version']} of the judge.",
        "",
        *_inputs(about),
        "",
        *_outputs(name, about),
        *_options(about),
    ]
    return "\n".join(lines) + "\n"


def _inputs(about: dict[str, Any]) -> list[str]:
    """The fields of a case with every name that they go by."""
    lines = ["## What a case holds", "", "| field | needed | other names that are read | |", "|---|---|---|---|"]
    for field, info in about["inputs"].items():
        needed = (
            "yes"
            if info["required"]
            else f"for {', '.join(f'`{each}`' for each in info['for'])}"
            if info["for"]
            else "no"
        )
        others = ", ".join(f"`{each}`" for each in info["also"])
        lines.append(f"| `{field}` | {needed} | {others} | {_cell(info['about'])} |")
    return [
        *lines,
        "",
        "Any other field of a record can be renamed to one of these: [mapping your data](../../guides/mapping.md).",
    ]


def _outputs(name: str, about: dict[str, Any]) -> list[str]:
    """The fields of a verdict with the values that they can have."""
    judge = load_judge(name)
    properties = judge.verdict_model.model_json_schema(mode="serialization")
    lines = ["## What a verdict holds", "", "| field | values | |", "|---|---|---|"]
    for field in about["outputs"]:
        shape = properties["properties"][field]
        lines.append(
            f"| `{field}` | {_values(shape, properties.get('$defs', {}))} | {_cell(shape.get('description'))} |"
        )
    if about["figures"]:
        shown = ", ".join(f"`{each}`" for each in about["figures"])
        lines += ["", f"Beside the verdict (`judgement.figures`): {shown}."]
    return lines


def _values(shape: dict[str, Any], definitions: dict[str, Any]) -> str:
    """What a field can hold, in a few words."""
    if "$ref" in shape:
        return _values(definitions[shape["$ref"].rsplit("/", 1)[1]], definitions)
    if "anyOf" in shape:
        return " or ".join(_values(each, definitions) for each in shape["anyOf"])
    if "const" in shape:
        return f"`{shape['const']}`"
    if "enum" in shape:
        return ", ".join(f"`{each}`" for each in shape["enum"])
    if shape.get("type") == "array":
        return f"list of {_values(shape['items'], definitions)}" if "items" in shape else "list"
    if shape.get("type") in {"number", "integer"} and "minimum" in shape and "maximum" in shape:
        return f"{shape['minimum']:g} to {shape['maximum']:g}"
    return str(shape.get("type", "any"))


def _options(about: dict[str, Any]) -> list[str]:
    if not about["options"]:
        return []
    lines = ["", "## Options", "", "Given as `--option NAME=VALUE`, or in `[options.JUDGE]` of `krino.toml`.", ""]
    lines += ["| option | default | |", "|---|---|---|"]
    return [
        *lines,
        *(f"| `{field}` | `{info['default']}` | {_cell(info['about'])} |" for field, info in about["options"].items()),
    ]


def _overview() -> str:
    lines = [
        "# Ready judges",
        "",
        "Each is one Markdown file inside the package. `krino judge tone letters.jsonl -l MODEL` uses one,",
        "`krino new NAME --from tone` copies it for you to change. How far a model's labels can be trusted depends on",
        "the model: label fifty cases yourself and ask [`krino agree`](../guides/reading_results.md#agreement).",
        "",
        "| judge | the question it answers |",
        "|---|---|",
        *(f"| [`{name}`](ready/{name}.md) | {describe(name)['summary']} |" for name in shelf_names()),
    ]
    return "\n".join(lines) + "\n"


def _ready_page(name: str) -> str:
    """A ready judge: its fields, and the whole file."""
    about = describe(name)
    source = (files("krino.judges.shelf") / f"{name}.md").read_text("utf-8")
    lines = [f"# {name}", "", about["summary"], "", *_inputs(about), "", *_outputs(name, about)]
    lines += [
        "",
        "## The whole judge",
        "",
        f"`krino new mine --from {name}` writes this file.",
        "",
        "````markdown",
        source.rstrip(),
        "````",
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str | None) -> str:
    return (text or "").replace("|", "\\|").replace("\n", " ")
