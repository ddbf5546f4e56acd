"""The pages of rules: what each says, with an example that fires it, judged when the page is made.

The examples lie in docs/rule_examples/, one line a rule: `case`, the judge's `options`, and `labels` where only a model
or a person would give them; without `labels` the embedded labeller answers. A rule that no short case can fire has
`none`: why.
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import krino
from krino.judges.registry import OURS

EXAMPLES = Path(__file__).resolve().parents[1] / "rule_examples"
LONGEST = 600

TITLES = {
    "rag": {"F": "Faithfulness", "C": "Context relevance", "A": "Answer relevance", "S": "Semantic similarity",
            "H": "Risk of a hallucination", "E": "Evaluation status", "N": "Findings"},
    "citation": {"K": "Class of the cited court", "T": "Which decision is meant", "M": "Whether the answer is right",
                 "A": "How the court was handled", "L": "Ceilings of confidence", "X": "Expected confidence",
                 "B": "Calibration", "Q": "Quality of the reasoning", "E": "Errors", "W": "Notes and suggestions",
                 "F": "Findings"},
    "efficiency": {"S": "Score", "A": "Score, scaled", "R": "Reason", "L": "Labels", "F": "What no labeller can change",
                   "N": "Findings", "W": "Traces too long for one call"},
}  # fmt: skip


class Given(krino.Labeller):
    """Answers with the labels of an example."""

    def __init__(self, labels: dict[str, Any]) -> None:
        self._labels = labels

    def describe(self) -> dict[str, Any]:
        return {"kind": "example"}

    async def label(self, task: krino.Task[Any, Any, Any]) -> krino.Labelled[Any]:
        try:
            return krino.Labelled(task.accept(self._labels), self.describe())
        except ValueError as problem:
            raise krino.LabelFailed(str(problem)) from None


def examples(judge: str) -> dict[str, dict[str, Any]]:
    """By rule: the example that is to fire it."""
    lines = (EXAMPLES / f"{judge}.jsonl").read_text("utf-8").splitlines()
    return {example["rule"]: example for example in map(json.loads, lines)}


def judged(judge: str, example: dict[str, Any]) -> krino.Judgement:
    """The judgement of an example."""
    labels = example.get("labels")
    labeller = "local" if labels is None else Given(labels)
    return krino.judge(judge, example["case"], labeller=labeller, options=example.get("options"))


def fired(judgement: krino.Judgement, rule: str) -> list[tuple[str, str]]:
    """Where a judgement names a rule: fields with their values, findings with their texts."""
    verdict = {**(judgement.verdict or {}), **judgement.figures}
    fields = [(f"`{field}`", _shown(verdict.get(field))) for field, by in judgement.rules.items() if by == rule]
    findings = [
        (f"finding at `{found.where}`" if found.where else "finding", found.text)
        for found in judgement.findings
        if found.rule == rule
    ]
    return fields + findings


def pages() -> dict[str, str]:
    return {f"judges/{name}/rules.md": _page(name) for name in OURS}


def _page(name: str) -> str:
    judge = krino.load_judge(name)
    given = examples(name)
    groups: dict[str, list[str]] = {}
    for rule in judge.rules:
        groups.setdefault(rule.split("-")[1][0], []).append(rule)
    lines = [
        f"# {name}: all rules",
        "",
        "Every field of a verdict names one of these rules, and so does every finding. This page is made from the",
        f"{len(judge.rules)} rules of version {judge.version}; each example was judged when the page was made.",
    ]
    for letter, rules in groups.items():
        lines += ["", f"## {TITLES[name][letter]}"]
        for rule in rules:
            lines += ["", f"### {rule}", "", judge.rules[rule], "", *_example(name, rule, given.get(rule))]
    return "\n".join(lines) + "\n"


def _example(name: str, rule: str, example: dict[str, Any] | None) -> list[str]:
    """An example that fires a rule, folded away, and what the verdict then says."""
    if example is None:
        raise SystemExit(f"docs/rule_examples/{name}.jsonl has no example of {rule}")
    if "none" in example:
        return [f"*No short example.* {example['none']}"]
    said = fired(judged(name, example), rule)
    if not said:
        raise SystemExit(f"docs/rule_examples/{name}.jsonl: the example of {rule} does not fire it")
    body = ["```json", *json.dumps(example["case"], indent=2, ensure_ascii=False).splitlines(), "```"]
    if "options" in example:
        body += [
            "",
            "With " + ", ".join(f"`--option {key}={value}`" for key, value in example["options"].items()) + ".",
        ]
    if "labels" in example:
        body += ["", "Labelled by a model so:", "", "```json", *_labels(example["labels"]), "```"]
    body += ["", "The verdict then says:", ""]
    body += [f"- {where}: {_text(what)}" for where, what in said[:3]]
    return ['??? example "A case that fires it"', "", *(f"    {line}" if line else "" for line in body)]


def _labels(labels: dict[str, Any]) -> list[str]:
    return json.dumps(labels, indent=1, ensure_ascii=False).splitlines()


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value


def _text(text: str) -> str:
    short = text if len(text) <= LONGEST else text[:LONGEST] + " …"
    return html.escape(" ".join(short.split()), quote=False).replace("*", "\\*").replace("_", "\\_")
