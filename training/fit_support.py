"""Fits the rule by which the embedded RAG labeller weighs words and the entailment model, and its calibration.

    python training/fit_support.py DATA/rag

Prints the figures of `src/krino/judges/rag/data/local.toml`. RAGTruth sets one of them, the level of the risk. Needs
scikit-learn.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
import rag_data  # noqa: E402
from lessons import own_rows, twin_sides  # noqa: E402

from krino.errors import CannotJudge  # noqa: E402
from krino.judges.rag.case import RagCase  # noqa: E402
from krino.judges.rag.facts import RagFacts  # noqa: E402
from krino.judges.rag.risk import signs, worst_odds  # noqa: E402
from krino.judges.rag.support.draft_claims import Desk, lay_out  # noqa: E402
from krino.judges.rag.support.entailment_support import readings_of  # noqa: E402
from krino.judges.rag.support.lexical_support import decide  # noqa: E402
from krino.judges.rag.tables import table  # noqa: E402

BATCH = 64
WEIGHTS = {"company": np.arange(-0.4, 0.51, 0.1).tolist(), "whole": np.arange(0.0, 0.51, 0.1).tolist()}
"""What is tried. More than a half gains on whole answers (of LFQA, our own) and loses on RAGTruth and SummEdits."""
STARTS = np.arange(-0.5, 0.61, 0.1).tolist()
"""What is tried where passages are longer, added to the start that fits each claim by itself best."""
FEWEST = 200
"""Texts of a set that a shift is chosen by."""
GIVEN_DOCUMENTS = {"alpaca_wdoc", "gpt3_wdoc", "gpt3_whudoc", "webgpt"}
FLAT = 0.02
BAD_SHARE = 0.2
"""Of the answers that are judged, so many are taken to hold something unsupported: about what is found in answers of
language models from retrieved passages. In the set that the risk is fitted on it is half."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """A claim: which set and text it is of, what is weighed, and what people said of the whole text."""

    set: str
    text: int
    source: str
    claim: str
    values: Mapping[str, float]
    most: float
    """What its balance may be at most, for something to the letter."""
    settled: float | None
    """The probability that it gets where it is not weighed: a copy, or decided by code."""
    good: bool
    alone: bool
    facts: RagFacts


def measure(name: str, items: Sequence[rag_data.Item]) -> Iterator[Row]:
    for start in range(0, len(items), BATCH):
        desks = [(start + place, _desk(item)) for place, item in enumerate(items[start : start + BATCH])]
        drafts = [
            (place, desk, draft)
            for place, desk in desks
            if desk is not None
            for draft in desk.drafts
            if draft.pair.found
        ]
        read = readings_of([draft.pair for _, _, draft in drafts])
        for (place, desk, draft), reading in zip(drafts, read, strict=True):
            item = items[place]
            if desk.is_copied(draft):
                settled: float | None = table("local")["calibration"]["copied"]
            else:
                decided = decide(draft.pair)
                settled = None if decided is None else decided.score
            values, alone = reading.values(), len(desk.drafts) == 1
            claim = draft.pair.claim
            yield Row(name, place, item.source, claim, values, reading.most, settled, item.good, alone, desk.facts)


def own_answers() -> list[rag_data.Item]:
    """Answers of `answers.jsonl` that were kept out of training."""
    return [
        rag_data.Item(
            {"question": row["q"], "context": row["c"], "answer": " ".join(said for said, _ in answer)},
            all(label in "st" for _, label in answer),
            str(number),
        )
        for number, row in enumerate(own_rows("answers", kept=True))
        for answer in row["a"]
    ]


def own_sentences() -> list[rag_data.Item]:
    """The sentences of the same answers, one by one."""
    return [
        rag_data.Item({"question": row["q"], "context": row["c"], "answer": said}, label == "s", str(number))
        for number, row in enumerate(own_rows("answers", kept=True))
        for said, label in dict.fromkeys((said, label) for answer in row["a"] for said, label in answer)
        if label != "t"
    ]


def own_twins() -> list[rag_data.Item]:
    """Claims of `twins.jsonl` that were kept out of training, each as an answer."""
    return [
        rag_data.Item(
            {"question": row.get("q", "What does it say?"), "context": text.split("\n\n"), "answer": claim},
            label == "s",
            str(number),
        )
        for number, row in enumerate(own_rows("twins", kept=True))
        for text, claims in twin_sides(row)
        for label, claim in claims
    ]


def _desk(item: rag_data.Item) -> Desk | None:
    """None for what no judge can read."""
    try:
        return lay_out(RagFacts(RagCase.model_validate(item.case)))
    except CannotJudge:
        return None


def telling(rows: Sequence[Row]) -> list[Row]:
    """Claims of which it is known what people say: the only one of a text, any of a good one, one that was edited."""
    kept: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if row.set == "summedits" and row.good:
            kept[row.source].add(row.claim)
    return [
        row
        for row in rows
        if row.settled is None
        and (row.alone or (row.set == "summedits" and (row.good or row.claim not in kept[row.source])))
    ]


def fit(rows: Sequence[Row]) -> tuple[dict[str, float], float]:
    """Weights and start; each set weighs the same, and so does each answer within it."""
    names = sorted({name for row in rows for name in row.values} - set(WEIGHTS))  # the others by texts, below
    groups: dict[tuple[str, bool], int] = defaultdict(int)
    for row in rows:
        groups[row.set, row.good] += 1
    weights = np.array([1 / groups[row.set, row.good] for row in rows])
    inputs = np.array([[row.values.get(name, 0.0) for name in names] for row in rows])
    model = LogisticRegression(C=10, max_iter=2_000)
    model.fit(inputs, [row.good for row in rows], sample_weight=weights * len(rows) / weights.sum())
    return dict(zip(names, model.coef_[0], strict=True)), float(model.intercept_[0])


def balances(rows: Sequence[Row], weights: Mapping[str, float], start: float) -> Floats:
    """The sums before anything caps them; what is settled stands at plus or minus infinity."""
    return np.array(
        [
            start + sum(weight * row.values.get(name, 0.0) for name, weight in weights.items())
            if row.settled is None
            else math.copysign(math.inf, row.settled - 0.5)
            for row in rows
        ]
    )


def accuracies(rows: Sequence[Row], values: Floats) -> dict[str, float]:
    """By set, the balanced accuracy of whole texts."""
    truth = {(row.set, row.text): row.good for row in rows}
    held: dict[tuple[str, int], bool] = dict.fromkeys(truth, True)
    for row, value in zip(rows, values, strict=True):
        held[row.set, row.text] &= bool(min(value, row.most) >= 0)
    found_in: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for key, said in held.items():
        found_in[key[0]].append((said, truth[key]))
    return {
        name: rag_data.balanced_accuracy(found)
        for name, found in found_in.items()
        if len(found) >= FEWEST and len({good for _, good in found}) > 1
    }


def best_weight(name: str, tried: Sequence[float], rows: Sequence[Row], values: Floats) -> float:
    """Of a value that tells of whole texts, or of the start: where the mean balanced accuracy over all sets is best."""
    means = []
    measured = np.array([1.0 if name == "start" else row.values.get(name, 0.0) for row in rows])
    for weight in tried:
        found = accuracies(rows, values + weight * measured)
        means.append(np.mean(list(found.values())))
        told = ", ".join(f"{set_} {share:.3f}" for set_, share in found.items())
        print(f"{name} {weight:+.1f}: {told}")
    return float(tried[int(np.argmax(means))])


# --- from balances to probabilities -----------------------------------------------------------------


def given_documents(folder: Path, whole: bool) -> set[int]:
    """The places of the sentences, or of the whole answers, of systems that were given documents."""
    read = [
        row for row in rag_data.rows(folder / "lfqa_verification" / "data.jsonl.gz") if row["supported"] is not None
    ]
    systems = [row["system"] for row in read]
    if whole:
        systems = [system for system, _ in dict.fromkeys((row["system"], row["question"]) for row in read)]
    return {place for place, system in enumerate(systems) if system in GIVEN_DOCUMENTS}


def calibrate(rows: Sequence[Row], values: Floats, chosen: set[int]) -> tuple[float, float]:
    """Slope and start, on sentences of answers that were written from the documents."""
    used = [
        (min(value, row.most), row.good)
        for row, value in zip(rows, values, strict=True)
        if row.set == "lfqa" and row.alone and row.settled is None and row.text in chosen
    ]
    model = LogisticRegression(C=100).fit([[value] for value, _ in used], [good for _, good in used])
    return float(model.coef_[0][0]), float(model.intercept_[0])


Told = tuple[float, int, dict[str, float], bool]
"""Of a text: the least probability of a claim, how many there are, the signs of the whole, and whether all is well."""


def text_signs(name: str, rows: Sequence[Row], values: Floats, curve: tuple[float, float]) -> dict[int, Told]:
    """What the risk of each text of a set goes by."""
    found: dict[int, list[float]] = defaultdict(list)
    amiss: dict[int, int] = defaultdict(int)
    chosen = {row.text: row for row in rows if row.set == name}
    for row, value in zip(rows, values, strict=True):
        if row.set == name:
            held = row.settled
            balance = min(value, row.most)
            if held is None:
                held = 1 / (1 + math.exp(-(curve[0] * balance + curve[1])))
            found[row.text].append(held)
            amiss[row.text] += bool(balance < 0)
    return {
        text: (min(found[text]), len(found[text]), signs(row.facts, found[text], amiss[text]), row.good)
        for text, row in chosen.items()
    }


def _inputs(texts: Sequence[Told]) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """What a text has by its worst claim, what its signs weigh, and whether it is bad."""
    own = np.array([worst_odds(least) / claims for least, claims, _, _ in texts])
    told = np.array([[(1 - 1 / claims) * sign for sign in (1.0, *found.values())] for _, claims, found, _ in texts])
    return own, told, np.array([not good for _, _, _, good in texts])


def fit_risk(texts: Sequence[Told]) -> Floats:
    """Start and weights by Newton's method, weights held small, as if `BAD_SHARE` of the texts were bad."""
    own, told, bad = _inputs(texts)
    weights = shares(bad)
    spread = np.array([1.0, *told[:, 1:].std(axis=0)])
    inputs, held = told / spread, np.diag([0.0] + [1.0] * (told.shape[1] - 1))
    fitted = np.zeros(told.shape[1])
    for _ in range(50):
        risk = 1 / (1 + np.exp(-(own + inputs @ fitted)))
        slope = inputs.T @ (weights * (risk - bad)) + held @ fitted
        curve = (inputs.T * (weights * risk * (1 - risk))) @ inputs + held
        fitted = fitted - np.linalg.solve(curve, slope)
    return np.asarray(fitted / spread, float)


def shares(bad: NDArray[np.bool_]) -> Floats:
    return np.asarray(np.where(bad, BAD_SHARE / bad.sum(), (1 - BAD_SHARE) / (~bad).sum()) * len(bad), float)


def levelled(fitted: Floats, texts: Sequence[Told]) -> Floats:
    """The same weights with the start at which the mean risk of the texts is the share of bad ones."""
    own, told, bad = _inputs(texts)
    low, high = -10.0, 10.0
    for _ in range(60):
        shift = (low + high) / 2
        mean = float(np.mean(1 / (1 + np.exp(-(own + told @ fitted + shift * told[:, 0])))))
        low, high = (low, shift) if mean > bad.mean() else (shift, high)
    return np.array([fitted[0] + shift, *fitted[1:]])


def best_threshold(fitted: Floats, texts: Sequence[Told]) -> float:
    """Where F1 is best; the middle of what is within `FLAT` of it, for one answer must not decide.

    By the risk as it was fitted on these texts: a threshold carries over to other texts as far as the risk is a
    probability on both.
    """
    own, told, bad = _inputs(texts)
    weights, risks = shares(bad), 1 / (1 + np.exp(-(own + told @ fitted)))

    def f1(threshold: float) -> float:
        said = risks >= threshold
        return float(2 * weights[said & bad].sum() / (weights[said].sum() + weights[bad].sum()))

    steps = np.arange(0.05, 0.8, 0.01).tolist()
    best = max(map(f1, steps))
    return float(np.mean([step for step in steps if f1(step) >= best - FLAT]))


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
    own = {"own_answers": own_answers(), "own_sentences": own_sentences(), "own_twins": own_twins()}
    show(folder, rows + [row for name, items in own.items() for row in measure(name, items)])


def show(folder: Path, rows: Sequence[Row]) -> None:
    """The figures for local.toml."""
    weights, start = fit(telling([row for row in rows if row.set != "lfqa_answers"]))
    print(
        "texts of one claim:", accuracies(alone := [row for row in rows if row.alone], balances(alone, weights, start))
    )
    longer = [row for row in rows if not row.values["few"]]
    moved = best_weight("start", STARTS, longer, balances(longer, weights, start))
    start, weights["few"] = start + moved, weights["few"] - moved
    several = [row for row in rows if not row.alone]
    for name, few in (("company", 0.0), ("whole", 1.0)):
        chosen = [row for row in several if row.values["few"] == few]
        weights[name] = best_weight(name, WEIGHTS[name], chosen, balances(chosen, weights, start))
    print(f"[blend]\nstart = {start:.3f}")
    for name, weight in weights.items():
        print(f"{name} = {weight:.3f}")
    values = balances(rows, weights, start)
    curve = calibrate(rows, values, given_documents(folder, whole=False))
    print(f"[calibration]\nslope = {curve[0]:.3f}\nstart = {curve[1]:.3f}")
    answers, given = text_signs("lfqa_answers", rows, values, curve), given_documents(folder, whole=True)
    texts = [found for text, found in answers.items() if text in given]
    others = list(measure("ragtruth", rag_data.ragtruth(folder)))
    other = text_signs("ragtruth", others, balances(others, weights, start), curve)
    fitted = fit_risk(texts)
    risk = levelled(fitted, list(other.values()))
    for name, weight in zip(("start", *texts[0][2]), risk, strict=True):
        print(f"{name} = {weight:.3f}" if name != "start" else f"[risk]\nstart = {weight:.3f}")
    print(f"# best F1 from {best_threshold(fitted, texts):.2f}")


if __name__ == "__main__":
    main()
