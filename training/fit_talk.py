"""Fits the rule by which the embedded RAG labeller tells talk ("Have fun out there!") from what an answer states.

    python training/fit_talk.py DATA/nli

Learns from the sentences of `talk.toml`, with statements of DATA/nli at a lower weight, by their vectors from the
sentence model; prints what it gives on sentences kept out, ten parts in turn, and writes
`src/krino/judges/rag/data/talk.toml`. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import random
import sys
import tomllib
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from rag_data import rows  # noqa: E402

from krino.models.embedder import embed  # noqa: E402

INTO = ROOT / "src" / "krino" / "judges" / "rag" / "data" / "talk.toml"
SETS = ("snli_dev", "mnli_dev_matched_mismatched", "qnli_dev")
OF_EACH = 700
WEIGHT = 0.15
"""Of a statement from those sets; a sentence of `talk.toml` weighs 1."""
STRENGTH = 10.0
"""scikit-learn's C: flat from 3 to 100 on sentences kept out."""
TO_READER = {"i", "you", "your", "my", "we"}
HEAD = """\
# The weights of `training/fit_talk.py`: a logistic rule over a sentence's vector by the sentence model. A sentence
# that nothing supports is talk, and no claim, from a probability of `at_least` on.
"""
AT_LEAST = 0.45


def statements(folder: Path) -> list[str]:
    """Of the public pairs, without those that speak to anybody: people talk in them too."""
    found: list[str] = []
    for name in SETS:
        told = [row["hypothesis"] for row in rows(folder / f"{name}.jsonl.gz")]
        found += [text for text in random.Random(0).sample(told, OF_EACH) if TO_READER.isdisjoint(text.lower().split())]
    return found


def written(weights: list[float], start: float) -> str:
    figures = [f"{weight:.2f}" for weight in weights]
    lines = [", ".join(figures[place : place + 16]) for place in range(0, len(figures), 16)]
    body = "".join(f"  {line},\n" for line in lines)
    return f"{HEAD}at_least = {AT_LEAST}\nstart = {start:.3f}\nweights = [\n{body}]\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    ours = tomllib.loads((ROOT / "training" / "talk.toml").read_text())
    others = statements(parser.parse_args().data)
    texts = [*ours["talk"], *ours["statements"], *others]
    is_talk = np.array([1] * len(ours["talk"]) + [0] * (len(texts) - len(ours["talk"])))
    weights = np.array([1.0] * (len(texts) - len(others)) + [WEIGHT] * len(others))
    vectors, model = embed(texts), LogisticRegression(C=STRENGTH, max_iter=1_000)
    parts = StratifiedKFold(10, shuffle=True, random_state=0)
    kept_out = cross_val_predict(
        model, vectors, is_talk, cv=parts, params={"sample_weight": weights}, method="predict_proba"
    )[:, 1]
    for name, chosen in (
        ("talk", is_talk == 1),
        ("statements", (is_talk == 0) & (weights == 1)),
        ("others", weights < 1),
    ):
        print(f"{name}: {chosen.sum()} sentences, {(kept_out[chosen] >= AT_LEAST).mean():.1%} taken for talk")
    model.fit(vectors, is_talk, weights)
    INTO.write_text(written(model.coef_[0].tolist(), float(model.intercept_[0])))


if __name__ == "__main__":
    main()
