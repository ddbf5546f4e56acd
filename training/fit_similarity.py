"""Fits the rules by which the embedded RAG labeller compares an answer with a reference.

    python training/fit_similarity.py DATA/rag

Prints the figures of `[similarity]` in `src/krino/judges/rag/data/local.toml`: `bare` for a reference that is a bare
name or value, and what it gives on pairs that set nothing (EVOUNA's questions by the parity of a hash, SAS by the
same); `even` for sentences, from our own replies that were kept out of training. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from lessons import own_rows  # noqa: E402
from rag_agreement import spearman  # noqa: E402
from rag_data import rows  # noqa: E402

from krino.errors import CannotJudge  # noqa: E402
from krino.judges.rag.case import RagCase  # noqa: E402
from krino.judges.rag.facts import RagFacts  # noqa: E402
from krino.judges.rag.support.nearness import cosines, is_bare, overlap_with_reference  # noqa: E402
from krino.models.entailment import same  # noqa: E402

SAME = 0.65
LEAST = 1e-3
LIMIT = float(np.log(SAME / (1 - SAME)))
SHIFTS = np.arange(-1.0, 2.01, 0.05)
STEEPER = 2.5
"""Most answers that are judged are right, so the fitted sum is lenient with what has nothing in common: it is made
steeper round the limit, which changes no order."""


@dataclass(frozen=True, slots=True)
class Row:
    """A pair: its set, what several references of one answer share, what is weighed, and what people said of it."""

    set: str
    group: str
    fits: bool
    values: dict[str, float]
    differs: bool
    people: float


def parity(text: str) -> bool:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % 2 == 0


def measure(name: str, pairs: Sequence[dict[str, Any]]) -> Iterator[Row]:
    read = [(pair, facts) for pair in pairs if (facts := study(pair)) is not None and not facts.same_as_reference]
    near = cosines([(pair["answer"], pair["reference"]) for pair, _ in read])
    for (pair, facts), cosine in zip(read, near, strict=True):
        if not is_bare(pair["reference"]):
            continue
        values = overlap_with_reference(facts).values(cosine)
        yield Row(name, pair["group"], pair["fits"], values, facts.difference is not None, pair["people"])


def study(pair: dict[str, Any]) -> RagFacts | None:
    case = {name: pair[name] for name in ("question", "answer", "reference")}
    try:
        return RagFacts(RagCase.model_validate(case))
    except CannotJudge:
        return None


def evouna(folder: Path) -> Iterator[dict[str, Any]]:
    for row in rows(folder / "evouna" / "sample_600q.jsonl.gz"):
        for option in row["reference"].split("/") if row["answer"] else ():
            if option.strip():
                told = {"question": row["question"], "answer": row["answer"], "reference": option.strip()}
                group = f"{row['question']} {row['answer']}"
                yield {**told, "group": group, "fits": parity(row["question"]), "people": float(row["human_correct"])}


def sas(folder: Path) -> Iterator[dict[str, Any]]:
    for row in rows(folder / "sas_answer_similarity" / "data.jsonl.gz"):
        if row["set"] != "GermanQuAD":
            told = {"question": "What is the answer?", "answer": row["answer1"], "reference": row["answer2"]}
            group = f"{row['answer1']} {row['answer2']}"
            yield {**told, "group": group, "fits": parity(group), "people": row["label"] / 2}


def own_replies() -> Iterator[tuple[str, str, str, bool]]:
    """A question, two replies to it, and whether they say the same: of `replies.jsonl`, kept out of training."""
    for row in own_rows("replies", kept=True):
        if row["k"] == "same":
            for place, reply in enumerate(row["s"]):
                yield row["q"], reply, row["s"][place - 1], True
                yield row["q"], reply, row["d"][place % len(row["d"])], False


def even() -> float:
    """What must be added to the log odds so that as many pairs are told right that say the same as that do not."""
    pairs = [(question, a, b, alike) for question, a, b, alike in own_replies() if not is_bare(b)]
    shares = np.array([same(question, [(a, b)])[0] for question, a, b, _ in pairs])
    odds, alike = np.log((shares + LEAST) / (1 - shares + LEAST)), np.array([pair[3] for pair in pairs])
    by = np.arange(-1.0, 3.01, 0.1)
    right = [(np.mean(odds[alike] + shift >= 0), np.mean(odds[~alike] + shift < 0)) for shift in by]
    best = min(range(len(by)), key=lambda place: abs(right[place][0] - right[place][1]))
    print(f"{len(pairs)} pairs of replies: {right[best][0]:.2f} that say the same, {right[best][1]:.2f} that do not")
    return float(by[best])


def best_of_groups(found: Sequence[Row], scores: NDArray[np.float64]) -> list[int]:
    """Of several references the one that is nearest: any of them would do."""
    best: dict[str, int] = {}
    for place, row in enumerate(found):
        if row.group not in best or scores[place] > scores[best[row.group]]:
            best[row.group] = place
    return list(best.values())


def fit(found: Sequence[Row], names: Sequence[str]) -> LogisticRegression:
    """People's judgement as a share: each pair stands twice, as like and as unlike, with that weight."""
    start = np.array([row.values["meaning"] + row.values["found"] for row in found])
    chosen = [place for place in best_of_groups(found, start) if found[place].fits and not found[place].differs]
    sizes = {name: sum(found[place].set == name for place in chosen) for name in {row.set for row in found}}
    inputs = np.array([[found[place].values[name] for name in names] for place in chosen])
    people = np.array([found[place].people for place in chosen])
    each = np.array([1.0 / sizes[found[place].set] for place in chosen]) * len(chosen)
    both = np.concatenate([inputs, inputs])
    truth = np.concatenate([np.ones(len(chosen)), np.zeros(len(chosen))])
    return LogisticRegression(C=10.0, max_iter=2_000).fit(
        both, truth, sample_weight=np.concatenate([each * people, each * (1 - people)])
    )


def shift(found: Sequence[Row], balances: NDArray[np.float64]) -> float:
    """By how much the sum must be raised so that what EVOUNA's people call right is told from the rest at `SAME`."""
    part = np.array([row.set == "EVOUNA" and row.fits for row in found])
    rows_, sums = [row for row, kept in zip(found, part, strict=True) if kept], balances[part]
    chosen = best_of_groups(rows_, sums)
    right = np.array([rows_[place].people > 0.5 for place in chosen])
    return max(SHIFTS, key=lambda by: float(np.mean((sums[chosen] + by >= LIMIT) == right)))


def report(found: Sequence[Row], scores: NDArray[np.float64]) -> None:
    chosen = best_of_groups(found, scores)
    for name in dict.fromkeys(row.set for row in found):
        for fits in (True, False):
            part = [place for place in chosen if found[place].set == name and found[place].fits is fits]
            people, said = [found[place].people for place in part], [float(scores[place]) for place in part]
            right = np.mean([(score >= SAME) == (told > 0.5) for score, told in zip(said, people, strict=True)])
            told = f"Spearman {spearman(said, people):.3f}, told apart at {SAME}: {100 * right:.1f} %"
            print(f"{name}, {'fitted on' if fits else 'kept back'}: {len(part)} pairs, {told}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    sets = {"EVOUNA": evouna, "SAS": sas}
    found = [row for name, pairs in sets.items() for row in measure(name, list(pairs(args.folder)))]
    names = list(found[0].values)
    fitted = fit(found, names)
    inputs = np.array([[row.values[name] for name in names] for row in found])
    capped = np.array([row.differs for row in found])
    balances = np.where(capped, -2.0, fitted.decision_function(inputs))
    raised = shift(found, balances)
    start = LIMIT + STEEPER * (fitted.intercept_[0] + raised - LIMIT)
    for name, weight in zip(("start", *names), (start, *(STEEPER * fitted.coef_[0])), strict=True):
        print(f"{name} = {weight:.3f}")
    print(f"even = {even():.1f}")
    sums = LIMIT + STEEPER * (balances + raised - LIMIT)
    report(found, np.where(capped, 0.2, 1 / (1 + np.exp(-sums))))


if __name__ == "__main__":
    main()
