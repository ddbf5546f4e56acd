"""Judgements and manifests made up for the tests of reports."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from krino.contract import Judgement, Usage
from krino.runs.manifest import Manifest, Plan

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028[bold red]loud[/]\x1b[31mred\x1b]0;title\x07"
)


def ok(index: int = 0, /, findings: tuple[str, ...] = (), labelled: bool = False, **verdict: Any) -> dict[str, Any]:
    decider = "labeller" if labelled else "R1"
    judgement = Judgement(
        index=index,
        id=f"case-{index}",
        judge="toy",
        judge_version="1.0",
        status="ok",
        verdict=verdict,
        decided_by=dict.fromkeys(verdict, decider),
        rules=dict.fromkeys(verdict, "R1"),
        evidence={name: ["seen in passage 1"] for name in verdict},
        findings=[{"rule": rule, "text": "look here"} for rule in findings],
        labels={"claims": [{"text": "water is wet", "label": "supported"}]} if labelled else None,
        usage=Usage(calls=1, input_tokens=10, output_tokens=5, cost=0.25, seconds=0.5),
        input_hash=f"{index:032x}",
    )
    return judgement.model_dump(mode="json")


def failed(index: int = 0, reason: str = "answer: missing") -> dict[str, Any]:
    return _not_ok(index, "failed", reason=reason)


def error(index: int = 0, message: str = "no valid labels", raw_reply: str | None = None) -> dict[str, Any]:
    return _not_ok(index, "error", error=message, raw_reply=raw_reply)


def _not_ok(index: int, status: str, **rest: Any) -> dict[str, Any]:
    judgement = Judgement.model_validate(
        {
            "index": index,
            "id": f"case-{index}",
            "judge": "toy",
            "judge_version": "1.0",
            "status": status,
            "verdict": None,
            "input_hash": f"{index:032x}",
            **rest,
        }
    )
    return judgement.model_dump(mode="json")


def many(count: int, text: str = "It says so in the second passage. ") -> Iterator[dict[str, Any]]:
    """One in twenty is failed; an ok one is about as long as a real one."""
    good, bad = ok(labelled=True, score=0.0, kind="A", explanation=text * 8), failed()
    for index in range(count):
        place = {"index": index, "id": f"case-{index}", "input_hash": f"{index:032x}"}
        if index % 20 == 19:
            yield {**bad, **place, "reason": f"line {index}: answer is missing"}
        else:
            verdict = {**good["verdict"], "score": index % 101 / 100, "kind": "AB"[index % 2]}
            yield {**good, **place, "verdict": verdict}


def manifest(**changes: Any) -> Manifest:
    plan = Plan(judge={"name": "toy", "version": "1.0"}, labeller={"kind": "local"}, inputs=["cases.jsonl"])
    started = datetime(2025, 3, 1, 12, 30, tzinfo=UTC)
    return Manifest(**{"plan": plan, "state": "finished", "started": started, **changes})
