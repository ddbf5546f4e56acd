"""A large run made up for benchmarks, and what a command that reads it takes: time by the clock, CPU, peak memory."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

import krino
from krino.cases.item import CaseItem
from krino.contract import hash_record
from krino.runs.journal import JOURNAL, open_index
from krino.runs.manifest import Counts, JudgeCard, Manifest, Plan
from krino.runs.roll import RollWriter

ROOT = Path(__file__).resolve().parents[1]
SCORES = ("faithfulness", "context_relevance", "answer_relevance", "semantic_similarity")
KINDS = ("CORRECT", "PARTIALLY_CORRECT", "INCORRECT", "FALSE_POSITIVE", "FALSE_NEGATIVE")
ERRORS = ("COURT", "NUMBER", "DATE", "CONTEXT", "CEILING")
COURTS = ("cassation", "appeal", "labour", "enterprise", "police", "peace", "council", "assize")
FAILS = 50
"""One case in so many is failed."""
MORE = {
    "kind": {"enum": list(KINDS)},
    "errors": {"type": "array", "items": {"enum": [*ERRORS, "NONE"]}},
    "confidence": {"type": "number", "minimum": 0, "maximum": 1},
}
"""Fields of the verdict that the RAG judge has not."""
MOST_SECONDS, MOST_MB = 20.0, 1_000.0

Pair = tuple[dict[str, Any], dict[str, Any]]


def make_run(folder: Path, cases: int, better: float = 0.0) -> None:
    """Real judgements of the bundled RAG examples over and over, with other ids, scores, labels and metadata.

    The cases stand beside them. Two runs over the same cases differ in their scores, by `better` on average.
    """
    folder.mkdir(parents=True)
    good, bad = _examples()
    rng = random.Random(better)
    with (
        (folder / "cases.jsonl").open("wb") as inputs,
        (folder / JOURNAL).open("wb") as journal,
        RollWriter(folder) as roll,
    ):
        for index in range(cases):
            pool = bad if index % FAILS == FAILS - 1 else good
            record, judgement = pool[index // 3 % len(pool)]
            record = {**record, "id": f"case-{index}"}
            place = {"index": index, "id": record["id"], "input_hash": hash_record(record)}
            given = {**judgement, **place, "metadata": _metadata(index), "usage": _usage()}
            inputs.write(orjson.dumps(record) + b"\n")
            journal.write(orjson.dumps(_varied(given, rng, better) if pool is good else given) + b"\n")
            roll.add(CaseItem(index, record["id"], record), place["input_hash"])
    judge = krino.load_judge("rag")
    plan = Plan(
        judge={"address": "rag", **judge.fingerprint()},
        labeller={"kind": "local"},
        inputs=[str(folder / "cases.jsonl")],
    )
    about = JudgeCard.of(judge)
    about.verdict_schema["properties"] |= MORE
    counts = Counts(ok=cases - cases // FAILS, failed=cases // FAILS)
    ended: dict[str, Any] = {"state": "finished", "cases": cases, "input_hash": roll.input_hash(), "counts": counts}
    manifest = Manifest(plan=plan, about=about, **ended)
    manifest.write(folder)
    open_index(folder, manifest).save(folder / JOURNAL)


def verdicts(folder: Path) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Id and verdict of every case."""
    with (folder / "judgements.jsonl").open("rb") as journal:
        for line in journal:
            judgement = orjson.loads(line)
            yield judgement["id"], judgement["verdict"] if judgement["status"] == "ok" else None


def _examples() -> tuple[list[Pair], list[Pair]]:
    """Those that are ok, and those that are not."""
    lines = (ROOT / "src/krino/examples/rag.jsonl").read_bytes().splitlines()
    records = [orjson.loads(line) for line in lines]
    judged = [orjson.loads(judgement.to_json()) for judgement in krino.judge_many("rag", records)]
    pairs = list(zip(records, judged, strict=True))
    return [pair for pair in pairs if pair[1]["status"] == "ok"], [pair for pair in pairs if pair[1]["status"] != "ok"]


def _varied(judgement: dict[str, Any], rng: random.Random, better: float) -> dict[str, Any]:
    scores = {name: _score(rng, better) for name in SCORES}
    labels = {"kind": rng.choice(KINDS), "errors": rng.sample(ERRORS, rng.randrange(4)) or ["NONE"]}
    verdict = {**judgement["verdict"], **scores, **labels, "confidence": rng.randrange(50, 101) / 100}
    roll_up = "pass" if rng.random() < 0.8 + better else "fail"
    return {**judgement, "verdict": verdict, "roll_up": roll_up, "decided_by": dict.fromkeys(verdict, "labeller")}


def _score(rng: random.Random, better: float) -> float | None:
    return None if rng.random() < 0.05 else round(min(1.0, rng.random() ** 0.5 + better), 3)


def _metadata(index: int) -> dict[str, Any]:
    return {"court": COURTS[index % 8], "language": "fr" if index % 3 else "nl", "document": index // 20}


def _usage() -> dict[str, Any]:
    return {"calls": 1, "cached": 0, "input_tokens": 900, "output_tokens": 200, "cost": 0.0002, "seconds": 1.5}


# --- measuring -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Taken:
    seconds: float
    cpu: float
    """On a busy machine the fairer figure."""
    peak_mb: float
    code: int

    def describe(self, name: str, most_seconds: float = MOST_SECONDS) -> str:
        """One line, with whether the marks were kept; a made run may break a gate (1), and has failed cases (3)."""
        kept = self.code in (0, 1, 3) and self.seconds < most_seconds and self.peak_mb < MOST_MB
        figures = f"{self.seconds:6.1f} s ({self.cpu:5.1f} s CPU)  {self.peak_mb:5.0f} MB  exit {self.code}"
        return f"{name:<24} {figures}  marks {'kept' if kept else 'NOT KEPT'}"


def measured(*arguments: str) -> Taken:
    """A Python process of its own with these arguments (`-m krino …`, or a script)."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    peak = usage.ru_maxrss / (1_000_000 if sys.platform == "darwin" else 1_000)
    seconds, cpu = time.perf_counter() - began, usage.ru_utime + usage.ru_stime
    return Taken(seconds, cpu, peak, os.waitstatus_to_exitcode(status))
