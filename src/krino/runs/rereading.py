"""Reads the cases of a run again, in step with its judgements, for those who show them side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from krino.cases import read_cases
from krino.cases.item import CaseItem
from krino.contract import hash_record
from krino.errors import KrinoError
from krino.judges.registry import load_judge
from krino.runs.manifest import Plan


def stored_inputs(folder: Path, plan: Plan) -> list[str]:
    """The inputs by path; what came on stdin (`stdin:HASH.jsonl`) was kept beside the run as `stdin.jsonl`."""
    return [str(folder / f"stdin{Path(name).suffix}") if name.startswith("stdin:") else name for name in plan.inputs]


def with_cases(judgements: Iterable[Mapping[str, Any]], folder: Path, plan: Plan) -> Iterator[Mapping[str, Any]]:
    """The judgements, in the order of the input, each with its raw record under `case`.

    A record that can no longer be read, or is not the one that was judged, is left out: the judgement stands alone.
    """
    items = _items_again(folder, plan)
    item = next(items, None)
    for judgement in judgements:
        while item is not None and item.index < judgement["index"]:
            item = next(items, None)
        same = item is not None and item.index == judgement["index"]
        record = item.record if item is not None and same else None
        if record is not None and hash_record(record) == judgement.get("input_hash"):
            yield {**judgement, "case": record}
        else:
            yield judgement


def _items_again(folder: Path, plan: Plan) -> Iterator[CaseItem]:
    inputs = stored_inputs(folder, plan)
    if not all(Path(name).exists() for name in inputs):
        return
    try:
        judge = load_judge(plan.judge.get("address", plan.judge["name"]), plan.judge.get("options"))
        yield from read_cases(
            inputs,
            format=plan.format,  # type: ignore[arg-type]
            mapping=plan.mapping,
            split=plan.split,
            judge=judge,
        )
    except (KrinoError, OSError):
        return
