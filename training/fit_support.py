"""Fits the rule by which the embedded RAG labeller weighs words and the entailment model, and its calibration.

    python training/fit_support.py DATA/rag

Prints the figures of `src/krino/judges/rag/data/local.toml`. RAGTruth is not read. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
import rag_data  # noqa: E402

from krino.judges.rag.case import RagCase  # noqa: E402
from krino.judges.rag.facts import RagFacts  # noqa: E402
from krino.judges.rag.support.draft_claims import lay_out  # noqa: E402
from krino.judges.rag.support.entailment_support import Weighing, bare_claim, weigh  # noqa: E402
from krino.judges.rag.support.nearness import measure as meaning  # noqa: E402
from krino.models.entailment import entail  # noqa: E402

BATCH = 64
SHIFTS = np.arange(-0.8, 0.81, 0.1)
FEWEST = 200
"""Texts of a set that a shift is chosen by."""
GIVEN_DOCUMENTS = {"alpaca_wdoc", "gpt3_wdoc", "gpt3_whudoc", "webgpt"}


@dataclass(frozen=True, slots=True)
class Row:
    """A claim: which set and text it is of, what is weighed, and what people said of the whole text."""

    set: str
    text: int
    source: str
    claim: str
    values: dict[str, float]
    good: bool
    copied: bool
    alone: bool


def measure(name: str, items: Sequence[rag_data.Item]) -> Iterator[Row]:
    for start in range(0, len(items), BATCH):
        desks = [lay_out(RagFacts(RagCase.model_validate(item.case))) for item in items[start : start + BATCH]]
        drafts = [(place, desk, draft) for place, desk in enumerate(desks) for draft in desk.drafts if draft.pair.found]
        said = entail([(draft.pair.shown, bare_claim(draft.pair.claim)) for _, _, draft in drafts])
        read = [Weighing.of(draft.pair, found) for (_, _, draft), found in zip(drafts, said, strict=True)]
        near = meaning(texts for reading in read for texts in reading.texts)
        for (place, desk, draft), reading in zip(drafts, read, strict=True):
            item, nearest = items[start + place], max((near[texts] for texts in reading.texts), default=0.0)
            copied, alone = desk.is_copied(draft), len(desk.drafts) == 1
            yield Row(
                name, start + place, item.source, draft.pair.claim, reading.values(nearest), item.good, copied, alone
            )


def telling(rows: Sequence[Row]) -> list[Row]:
    """Claims of which it is known what people say: the only one of a text, any of a good one, one that was edited."""
    kept: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.set == "summedits" and row.good:
            kept[row.source].add(row.claim)
    return [
        row
        for row in rows
        if not row.copied
        and (row.alone or (row.set == "summedits" and (row.good or row.claim not in kept[row.source])))
    ]


def fit(rows: Sequence[Row]) -> tuple[dict[str, float], float]:
    """Weights and start; each set weighs the same, and so does each answer within it."""
    names = [name for name in rows[0].values if name != "company"]  # by texts, below
    groups: dict[tuple[str, bool], int] = defaultdict(int)
    for row in rows:
        groups[row.set, row.good] += 1
    weights = np.array([1 / groups[row.set, row.good] for row in rows])
    inputs = np.array([[row.values[name] for name in names] for row in rows])
    model = LogisticRegression(C=10, max_iter=1_000)
    model.fit(inputs, [row.good for row in rows], sample_weight=weights * len(rows) / weights.sum())
    return dict(zip(names, model.coef_[0], strict=True)), float(model.intercept_[0])


def balances(rows: Sequence[Row], weights: dict[str, float], start: float) -> NDArray[np.float64]:
    return np.array([start + sum(weight * row.values[name] for name, weight in weights.items()) for row in rows])


def best_shift(rows: Sequence[Row], values: NDArray[np.float64]) -> float:
    """Where the mean balanced accuracy over all sets, by whole texts, is best."""
    worst: dict[tuple[str, int], float] = {}
    truth: dict[tuple[str, int], bool] = {}
    for row, value in zip(rows, values, strict=True):
        key = (row.set, row.text)
        worst[key] = min(worst.get(key, np.inf), np.inf if row.copied else value)
        truth[key] = row.good
    means = []
    for shift in SHIFTS:
        found_in: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
        for key, value in worst.items():
            found_in[key[0]].append((value + shift >= 0, truth[key]))
        outcomes = {name: found for name, found in found_in.items() if len(found) >= FEWEST}
        means.append(np.mean([rag_data.balanced_accuracy(found) for found in outcomes.values()]))
        print(
            f"start {shift:+.1f}: " + ", ".join(f"{k} {rag_data.balanced_accuracy(v):.3f}" for k, v in outcomes.items())
        )
    return float(SHIFTS[int(np.argmax(means))])


def calibrate(folder: Path, rows: Sequence[Row]) -> tuple[float, float]:
    """Slope and start, on sentences of answers that were written from the documents."""
    systems = [
        row["system"]
        for row in rag_data.rows(folder / "lfqa_verification" / "data.jsonl.gz")
        if row["supported"] is not None
    ]
    chosen = [row for row in rows if row.set == "lfqa" and row.alone and systems[row.text] in GIVEN_DOCUMENTS]
    chosen = [row for row in chosen if not row.copied]
    model = LogisticRegression(C=100).fit([[weigh(row.values)] for row in chosen], [row.good for row in chosen])
    return float(model.coef_[0][0]), float(model.intercept_[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    readers = {
        "lfqa": rag_data.lfqa,
        "factcheck": rag_data.factcheck,
        "wice": rag_data.wice,
        "summedits": rag_data.summedits,
        "lfqa_answers": rag_data.lfqa_answers,
    }
    rows = [row for name, reader in readers.items() for row in measure(name, reader(folder))]
    weights, start = fit(telling([row for row in rows if row.set != "lfqa_answers"]))
    shifts = []
    for company in (0.0, 1.0):
        chosen = [row for row in rows if row.values["company"] == company]
        print("texts of several claims:" if company else "texts of one claim:")
        shifts.append(best_shift(chosen, balances(chosen, weights, start)))
    print(f"start = {start + shifts[0]:.3f}  # {start:.3f} fitted, {shifts[0]:+.1f} by texts of one claim")
    for name, weight in {**weights, "company": shifts[1] - shifts[0]}.items():
        print(f"{name} = {weight:.3f}")
    slope, level = calibrate(folder, rows)
    print(f"[calibration] for the figures in local.toml now: slope = {slope:.3f}, start = {level:.3f}")


if __name__ == "__main__":
    main()
