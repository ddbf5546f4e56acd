"""Whatever was done in a folder before, after each command it holds what a fresh run over the same input holds."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import krino
from krino.cases.item import CaseItem
from krino.contract import Source
from krino.labellers.local import LocalLabeller
from krino.runs.manifest import Plan
from krino.runs.session import Session
from toy_judge import ToyCase, ToyJudge, ToyLabels

Record = dict[str, Any]

POOL = ["fine", "fine too", "bad", "bad too", "", "unjudgeable", "explode", "label-explode", "good", "worse"]


class CountingJudge(ToyJudge):
    """Knows how often each text was labelled."""

    def __init__(self) -> None:
        super().__init__()
        self.labelled: Counter[str] = Counter()

    def label_locally(self, batch: Sequence[tuple[ToyCase, int]]) -> list[ToyLabels]:
        labels = super().label_locally(batch)
        self.labelled.update(case.text for case, _ in batch)
        return labels


def items(records: list[Record], file: str) -> Iterator[CaseItem]:
    for place, record in enumerate(records):
        source = Source(file, place + 1)
        if record.get("broken"):
            yield CaseItem(place, f"{file}:{place + 1}", None, source, f"{file}:{place + 1}: not JSON", "{")
        else:
            yield CaseItem(place, str(record.get("id", f"{file}:{place + 1}")), record, source)


def hold(folder: Path, judge: ToyJudge, records: list[Record], file: str, stop_at: int | None = None) -> None:
    labeller = LocalLabeller(batch=3)
    labeller.workers = 4
    plan = Plan(judge={"name": "toy", "version": "1"}, labeller=labeller.describe(), inputs=[file])
    session = Session(judge, labeller, plan, folder)

    def stream() -> Iterator[CaseItem]:
        for item in items(records, file):
            if item.index == stop_at:
                session.interrupt()
            yield item

    asyncio.run(session.run(stream))


def held(folder: Path) -> list[Record]:
    """All that a run says of its cases, but when they were judged and how long it took."""
    found = list(krino.load_run(folder).records())
    for record in found:
        assert record.pop("time")
        record["error"] = (record["error"] or "").partition(" (")[0]  # without the line of the judge that broke
        assert record["usage"].pop("seconds") >= 0
    return found


def edited(records: list[Record], rng: random.Random) -> list[Record]:
    """What people do to a file of cases between two commands."""
    new = [dict(record) for record in records]
    place = rng.randrange(len(new))
    how = rng.choice(["reverse", "shuffle", "append", "prepend", "remove", "edit", "double", "break", "same"])
    if how == "reverse":
        new.reverse()
    elif how == "shuffle":
        rng.shuffle(new)
    elif how == "append":
        new.append({"text": rng.choice(POOL), "id": f"n{rng.randrange(5)}"})
    elif how == "prepend":
        new.insert(0, {"text": rng.choice(POOL)})
    elif how == "remove" and len(new) > 1:
        del new[place]
    elif how == "edit":
        new[place] = {"text": rng.choice(POOL), "id": "edited"}
    elif how == "double":
        new.insert(place, dict(new[place]))
    elif how == "break":
        new[place] = {"broken": True}
    return new


@pytest.mark.parametrize("seed", range(25))
def test_after_each_command_the_run_is_that_of_its_input(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    judge = CountingJudge()
    versions = [[{"text": text, "id": f"c{place}"} for place, text in enumerate(rng.sample(POOL, 6))]]
    for step in range(8):
        before = versions[-1]
        records = rng.choice(versions) if step and rng.random() < 0.2 else edited(before, rng)
        versions.append(records)
        file = rng.choice(["a.jsonl", "b.jsonl"])
        if rng.random() < 0.3:
            hold(tmp_path, judge, records, file, stop_at=rng.randrange(len(records)))
            so_far = held(tmp_path)
            expected = {record["index"]: record for record in fresh(records, file)}
            assert so_far == [expected[record["index"]] for record in so_far]
            assert krino.load_run(tmp_path).manifest.state == "interrupted"
        hold(tmp_path, judge, records, file)
        assert held(tmp_path) == fresh(records, file)
        run = krino.load_run(tmp_path)
        assert (run.manifest.state, run.manifest.cases, len(run)) == ("finished", len(records), len(records))
    contents = {(record["text"], record.get("id")) for version in versions for record in version if "text" in record}
    asked = Counter(text for text, _ in contents)
    assert {text: count for text, count in judge.labelled.items() if count > asked[text]} == {}


def fresh(records: list[Record], file: str) -> list[Record]:
    with tempfile.TemporaryDirectory() as name:
        hold(Path(name), ToyJudge(), records, file)
        return held(Path(name))
