"""The page of the HTTP API, from the workbench's OpenAPI document."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from krino.results.gates.single_case import parse_case_rules
from krino.web.app import create_app
from krino.web.settings import ServeSettings

INTRODUCTION = """# HTTP API

`krino serve RUNS` answers these requests beside its pages ([the workbench](../workbench.md), [a guard](../guard.md)).
The server gives this document as OpenAPI 3.1 at `/openapi.json`, from which clients in other languages can be made. It
listens on loopback; on any other address every request needs `Authorization: Bearer TOKEN`.

An error is one JSON object (`application/problem+json`) with `status`, `title`, `detail` and a `remedy`.
"""


def pages() -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        guards = parse_case_rules(["rag min faithfulness=0.8"], "--guard")
        document = create_app(ServeSettings(runs=Path(folder), guards=guards)).openapi()
    operations = [
        (method.upper(), path, about)
        for path, methods in document["paths"].items()
        for method, about in methods.items()
        if path.startswith("/v1/") or path in {"/health", "/metrics"}
    ]
    lines = [INTRODUCTION, "| request | what it does |", "|---|---|"]
    lines += [
        f"| [`{method} {path}`](#{_anchor(method, path)}) | {_summary(about)} |" for method, path, about in operations
    ]
    for method, path, about in operations:
        lines += ["", *_section(method, path, about)]
    return {"reference/http_api.md": "\n".join(lines) + "\n"}


def _anchor(method: str, path: str) -> str:
    return f"{method.lower()}{path}".replace("/", "-").replace("{", "").replace("}", "").replace("_", "-")


def _summary(about: dict[str, Any]) -> str:
    said = about.get("description") or about.get("summary", "")
    return str(said).split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def _section(method: str, path: str, about: dict[str, Any]) -> list[str]:
    """One request: its parameters, and an example of its body."""
    lines = [
        f"## `{method} {path}` {{ #{_anchor(method, path)} }}",
        "",
        about.get("description") or about.get("summary", ""),
    ]
    parameters = about.get("parameters", [])
    if parameters:
        lines += ["", "| parameter | in | |", "|---|---|---|"]
        lines += [f"| `{each['name']}` | {each['in']} | {_about(each)} |" for each in parameters]
    for media, body in about.get("requestBody", {}).get("content", {}).items():
        examples = body.get("examples", {})
        example = body.get("example") or next((each["value"] for each in examples.values()), None)
        if example is not None:
            text = json.dumps(example, indent=2, ensure_ascii=False)
            lines += ["", f"A body (`{media}`):", "", "```json", text, "```"]
    return lines


def _about(parameter: dict[str, Any]) -> str:
    said = parameter.get("description", "")
    return " ".join([*(["required."] if parameter.get("required") else []), str(said).replace("\n", " ")]).replace(
        "|", "\\|"
    )
