"""Fits the rule by which the embedded RAG labeller compares an answer with a reference that is a bare name or value.

    python training/fit_similarity.py DATA/rag

Prints the figures of `[similarity] bare` in `src/krino/judges/rag/data/local.toml` and what they give on pairs that
set nothing: EVOUNA's questions by the parity of a hash, SAS by the same. References that are sentences are compared by
another rule, which STS-B set. Needs scikit-learn.
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
from rag_agreement import spearman  # noqa: E402
from rag_data import rows  # noqa: E402

from krino.errors import CannotJudge  # noqa: E402
from krino.judges.rag.case import RagCase  # noqa: E402
from krino.judges.rag.facts import RagFacts  # noqa: E402
from krino.judges.rag.support.nearness import bare_values, cosines  # noqa: E402

SAME = 0.65
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
        values = bare_values(facts, cosine)
        if values is None:
            continue
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
    sums = LIMIT + STEEPER * (balances + raised - LIMIT)
    report(found, np.where(capped, 0.2, 1 / (1 + np.exp(-sums))))


if __name__ == "__main__":
    main()
