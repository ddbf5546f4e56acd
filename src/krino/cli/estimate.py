"""`--dry-run`: what a run would call and cost, before anything is spent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import typer

from krino.cases.item import CaseItem
from krino.cli import exits
from krino.contract import Forecast, Judge, Labeller, Task
from krino.engine.case import input_hash, open_questions
from krino.errors import RunStopped, UsageProblem


def estimate(judge: Judge[Any, Any, Any], labeller: Labeller, items: Iterator[CaseItem], as_json: bool) -> int:
    """Studies every case; asks nobody."""
    counts = dict.fromkeys(("cases", "cannot_be_judged", "decided_by_rules", "asked", "known_from_cache"), 0)
    total = Forecast()
    for item in items:
        counts["cases"] += 1
        kind, forecast = _look(judge, labeller, item)
        counts[kind] += 1
        total = Forecast.total((total, forecast))
    result: dict[str, Any] = {
        **counts,
        "calls": total.calls,
        "input_tokens": total.input_tokens,
        "input_cost": total.input_cost,
    }
    typer.echo(orjson.dumps(result).decode() if as_json else _words(result))
    return exits.DONE


def _look(judge: Judge[Any, Any, Any], labeller: Labeller, item: CaseItem) -> tuple[str, Forecast]:
    """What would become of the case, and what asking about it would take."""
    if item.record is None:
        return "cannot_be_judged", Forecast()
    try:
        case = judge.read(item.record)
        facts = judge.study(case)
        questions = open_questions(judge, labeller, case, facts)
    except (RunStopped, UsageProblem):
        raise
    except Exception:  # also where the judge's code breaks on it: a run would record an error, and ask nobody
        return "cannot_be_judged", Forecast()
    if questions is None:
        return "decided_by_rules", Forecast()
    forecast = labeller.forecast(Task(judge, case, facts, questions, item.index, input_hash(item)))
    return "known_from_cache" if forecast.cached and not forecast.calls else "asked", forecast


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
