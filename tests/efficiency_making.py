"""Builds small traces and labels for the tests of the efficiency judge."""

from __future__ import annotations

from typing import Any

from krino import Settlement
from krino.judges.efficiency import EfficiencyJudge
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.labels import EfficiencyLabels

JUDGE = EfficiencyJudge()
SEARCH = {"type": "tool", "name": "search", "input": {"q": "opening hours"}, "output": "Mo-Fr 9-17"}
ANSWER = {"type": "llm", "name": "answer", "input": "Mo-Fr 9-17", "output": "It opens at 9."}


def study(*steps: dict[str, Any], task: str = "When does it open?") -> EfficiencyFacts:
    trace = [{"id": f"s{place}", **step} for place, step in enumerate(steps, 1)]
    return JUDGE.study(JUDGE.read({"task": task, "trace": trace}))


def settle(facts: EfficiencyFacts, labels: EfficiencyLabels | None = None, mode: str = "strict") -> Settlement:
    judge = EfficiencyJudge({"mode": mode})
    case = judge.read({"task": "x", "trace": []})
    given = labels or judge.label_locally([(case, facts)])[0]
    return judge.settle(case, facts, given)


def labels(facts: EfficiencyFacts, **named: str) -> EfficiencyLabels:
    """Labels as a model gives them: `s2="redundant s1"`, and necessary for the rest."""
    items = []
    for step in facts.steps:
        label, _, of = named.get(step.id, "necessary").partition(" ")
        items.append({"step": step.id, "label": label, "why": "", "because_of": of or None})
    return EfficiencyLabels.model_validate({"steps": items})


def as_stored(value: Any) -> Any:
    """The same value with each message in it as LangChain stores it."""
    if isinstance(value, list):
        return [as_stored(part) for part in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") in ("human", "ai", "tool"):
        name = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}[value["type"]]
        return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", name], "kwargs": value}
    return {key: as_stored(part) for key, part in value.items()}
