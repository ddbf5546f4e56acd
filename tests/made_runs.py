"""Run folders made up for the tests of comparison and gates, written with the package's own journal."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from krino.contract import Judgement, Usage
from krino.runs.journal import Journal
from krino.runs.manifest import Manifest, Plan

Row = dict[str, Any]


def row(name: str, /, metadata: Row | None = None, roll_up: str | None = None, **verdict: Any) -> Row:
    """An ok case."""
    return {"id": name, "status": "ok", "verdict": verdict, "metadata": metadata or {}, "roll_up": roll_up}


def failed_row(name: str, /, metadata: Row | None = None) -> Row:
    return {"id": name, "status": "failed", "verdict": None, "reason": "no text", "metadata": metadata or {}}


def error_row(name: str, /) -> Row:
    return {"id": name, "status": "error", "verdict": None, "error": "no valid labels", "metadata": {}}


def scores(*values: float | None, **metadata: Any) -> list[Row]:
    return [row(f"c{place}", metadata=metadata, score=value) for place, value in enumerate(values)]


def make_run(
    folder: Path, rows: Iterable[Row], *, usage: Usage | None = None, plan: Row | None = None, **changes: Any
) -> Path:
    """`plan`: settings that differ from the usual ones; `changes`: of the manifest."""
    folder.mkdir(parents=True)
    journal = Journal(folder / "judgements.jsonl")
    for index, given in enumerate(rows):
        verdict = given["verdict"] or {}
        decided = dict.fromkeys(verdict, "R1")
        judgement = Judgement(
            index=index,
            judge="toy",
            judge_version="1",
            usage=usage or Usage(calls=1, input_tokens=10, output_tokens=5, cost=0.5, seconds=2.0),
            decided_by=decided,
            rules=decided,
            **{"input_hash": "0" * 32, **given},
        )
        journal.append(judgement)
    journal.close()
    settings: Row = {"judge": {"name": "toy", "version": "1"}, "labeller": {"kind": "local"}, "inputs": ["cases.jsonl"]}
    counts = journal.progress.counts()
    known = {"state": "finished", "cases": counts.total, "counts": counts, "usage": journal.progress.usage}
    Manifest(plan=Plan(**{**settings, **(plan or {})}), **{**known, **changes}).write(folder)
    return folder
