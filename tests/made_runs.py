"""Run folders made up for the tests of comparison and gates, written with the package's own journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from krino.cases.item import CaseItem
from krino.contract import Judgement, Usage, hash_record
from krino.runs.journal import Journal
from krino.runs.manifest import Manifest, Plan
from krino.runs.roll import RollWriter

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
    """`plan`: settings that differ from the usual ones; `changes`: of the manifest.

    Cases with the same id have the same content in two runs, unless a row has an `input_hash` of its own.
    """
    settings: Row = {"labeller": {"kind": "local"}, "inputs": ["cases.jsonl"], **(plan or {})}
    settings["judge"] = judge = {"name": "toy", "version": "1", **settings.get("judge", {})}
    judgements, seen = [], Counter[str]()
    for index, given in enumerate(rows):
        verdict = given["verdict"] or {}
        decided = dict.fromkeys(verdict, "R1")
        seen[given["id"]] += 1
        content = {"input_hash": hash_record([given["id"], seen[given["id"]]])}
        judgement = Judgement(
            index=index,
            judge=judge["name"],
            judge_version=judge["version"],
            usage=usage or Usage(calls=1, input_tokens=10, output_tokens=5, cost=0.5, seconds=2.0),
            decided_by=decided,
            rules=decided,
            **{**content, **given},
        )
        judgements.append(judgement)
    manifest = Manifest(plan=Plan(**settings), state="finished")
    return store_run(folder, judgements, manifest, **changes)


def store_run(folder: Path, judgements: Iterable[Judgement | Row], manifest: Manifest, **changes: Any) -> Path:
    """A folder as a sitting leaves it; `changes` of the manifest are made last, whether they fit or not."""
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder)
    written = [Judgement.model_validate(given) for given in judgements]
    for judgement in written:
        journal.append(judgement)
    journal.close()
    with RollWriter(folder) as roll:
        last = {judgement.index: judgement for judgement in written}
        for _, judgement in sorted(last.items()):
            roll.add(CaseItem(judgement.index, judgement.id, {}, judgement.source), judgement.input_hash)
            setattr(manifest.counts, judgement.status, getattr(manifest.counts, judgement.status) + 1)
    manifest.usage = journal.index.usage
    if manifest.state == "finished":
        manifest.cases, manifest.input_hash = roll.cases, roll.input_hash()
    manifest.model_copy(update=changes).write(folder)
    return folder
