"""`--dry-run`: what a run would call and cost, before anything is spent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import typer

from krino.cases.item import CaseItem
from krino.cli import exits
from krino.contract import Judge, Labeller, Task
from krino.engine.one import open_questions
from krino.errors import CannotJudge
from krino.labellers.llm.labeller import LlmLabeller


def estimate(judge: Judge[Any, Any, Any], labeller: Labeller, items: Iterator[CaseItem], as_json: bool) -> int:
    """Studies every case; asks nobody."""
    counts = dict.fromkeys(("cases", "cannot_be_judged", "decided_by_rules", "asked", "known_from_cache"), 0)
    calls = tokens = 0
    for item in items:
        counts["cases"] += 1
        kind, open_calls, size = _look(judge, labeller, item)
        counts[kind] += 1
        calls += open_calls
        tokens += size
    result: dict[str, Any] = {**counts, "calls": calls, "input_tokens": tokens, "input_cost": None}
    if isinstance(labeller, LlmLabeller):
        result["input_cost"] = labeller.budget.prices.cost(tokens, 0)
    typer.echo(orjson.dumps(result).decode() if as_json else _words(result))
    return exits.DONE


def _look(judge: Judge[Any, Any, Any], labeller: Labeller, item: CaseItem) -> tuple[str, int, int]:
    """What would become of the case, the model calls it would take, and their input tokens."""
    if item.record is None:
        return "cannot_be_judged", 0, 0
    try:
        case = judge.read(item.record)
        facts = judge.study(case)
        questions = open_questions(judge, labeller, case, facts)
    except CannotJudge:
        return "cannot_be_judged", 0, 0
    if questions is None:
        return "decided_by_rules", 0, 0
    if not isinstance(labeller, LlmLabeller):
        return "asked", 0, 0
    pieces = Task(judge, case, facts, questions).pieces()
    unknown = [piece for piece in pieces if not labeller.is_cached(piece)]
    kind = "asked" if unknown else "known_from_cache"
    return kind, len(unknown), sum(map(labeller.estimate, unknown))


def _words(result: dict[str, Any]) -> str:
    lines = [
        f"{result['cases']:>9,} cases",
        f"{result['cannot_be_judged']:>9,} cannot be judged",
        f"{result['decided_by_rules']:>9,} decided by rules alone",
        f"{result['known_from_cache']:>9,} known from the cache",
        f"{result['calls']:>9,} model calls",
        f"{result['input_tokens']:>9,} input tokens (estimate: four characters a token; replies come on top)",
    ]
    if result["input_cost"] is not None:
        lines.append(f"{result['input_cost']:>9.4f} cost of the input at the stated price")
    return "\n".join(lines)
