"""Fits the rules by which the embedded RAG labeller weighs the entailment model, values and words.

    python training/fit_labels.py DATA_FOLDER [--authors NAME ...] [--cache FILE] [--cases N] [--every N]

DATA_FOLDER holds `rag` (public sets) and `real` (logs with a label for every sentence). Prints the figures of
`[support]`, `[calibration]`, `[risk]` and `[similarity]` in `src/krino/judges/rag/data/local.toml`, and how well each
does on authors that it was not fitted on. A model is surer of logs that it has learned from: fit with the model of a
fold (`train_logs.py --compare`), on the authors that were kept out of it. Logs that are kept out of all training,
RAGTruth and the logs with expected scores set nothing. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
import rag_data  # noqa: E402
import rag_logs  # noqa: E402
from logs import is_kept_out, plain_logs  # noqa: E402
from rag_rules import Kept, as_array, keep, load  # noqa: E402

from krino.judges.rag.case import RagCase  # noqa: E402
from krino.judges.rag.embedded import risk, similarity, support  # noqa: E402
from krino.judges.rag.embedded.roles import read_roles  # noqa: E402
from krino.judges.rag.facts import RagFacts  # noqa: E402
from krino.judges.rag.local import lay_out  # noqa: E402
from krino.judges.rag.tables import table  # noqa: E402
from krino.models import embedder, entailment  # noqa: E402

SEED = 20261119
BATCH = 32
FOLDS = 7
STRENGTH = 0.3
"""Of the logs together, against one public set: how much a claim of either weighs follows from it."""
SHARE_OF_LOGS = 0.4
SHIFTS = np.linspace(0, 1, 21)
"""Values by which `start` may be moved up."""


class Row(NamedTuple):
    """A claim: of which set, author and answer it is, what is weighed, and what people said."""

    set: str
    author: str
    answer: int
    signs: dict[str, float]
    good: bool
    faulty: bool = False
    """Whether its answer holds any claim that people call unsupported; only of logs."""
    settled: float | None = None
    """The probability that code decides by itself."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DATA_FOLDER")
    parser.add_argument("--authors", nargs="+", help="only logs by these")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--cases", type=int, default=300, help="claims drawn from each public set (300)")
    parser.add_argument("--every", type=int, default=1, help="of the logs, take one in this many (1: all)")
    given = parser.parse_args()
    known = load(given.cache)
    with (
        patch.object(entailment, "entail", Kept(entailment.entail, known["entail"])),
        patch.object(entailment, "roles", partial(as_array, Kept(entailment.roles, known["roles"]))),
        patch.object(embedder, "embed", partial(as_array, Kept(embedder.embed, known["embed"]))),
    ):
        logs = [*rag_logs.read_train(given.folder / "real" / "train"), *written_logs()]
        logs = [log for log in logs if not is_kept_out(log["author"], log["id"])]
        logs = [log for log in logs if given.authors is None or log["author"] in given.authors][:: given.every]
        rows = [*claims_of_logs(logs), *claims_of_sets(given.folder / "rag", given.cases)]
        keep(given.cache, known)
        fit_support(rows)
        fit_similarity(logs)
        keep(given.cache, known)
    return 0


def written_logs() -> list[rag_logs.Log]:
    """Our own logs, without their twins."""
    return [log for file in sorted((ROOT / "training" / "written_logs").glob("*.jsonl.gz")) for log in plain_logs(file)]


# --- claims ----------------------------------------------------------------------------------------


def claims_of_logs(logs: Sequence[rag_logs.Log]) -> list[Row]:
    found: list[Row] = []
    for start in range(0, len(logs), BATCH):
        batch = [(place, log) for place, log in enumerate(logs[start : start + BATCH], start) if is_read(log)]
        read = [RagFacts(RagCase.model_validate(rag_logs.case_of(log))) for _, log in batch]
        for (place, log), told in zip(batch, signs_of(read), strict=True):
            faulty = any(item["label"] not in (None, "supported") for item in log["sentences"])
            for text, signs, settled in told:
                item = labelled(text, log)
                if item is not None and item["role"] == "claim":
                    good = item["label"] == "supported"
                    found.append(Row("logs", log["author"], place, signs, good, faulty, settled))
    return found


def is_read(log: rag_logs.Log) -> bool:
    return rag_logs.study(rag_logs.case_of(log)) is not None


def labelled(text: str, log: rag_logs.Log) -> dict[str, Any] | None:
    """The sentence of a log that a claim is, by words in common."""
    words = rag_logs.words_of(text)
    shares = [
        (len(words & theirs) / max(1, len(words | theirs)), place)
        for place, item in enumerate(log["sentences"])
        if (theirs := rag_logs.words_of(item["text"]))
    ]
    share, place = max(shares, default=(0.0, 0))
    return log["sentences"][place] if share >= 0.5 else None


def claims_of_sets(folder: Path, most: int) -> list[Row]:
    found: list[Row] = []
    for name, read in (
        ("LFQA", rag_data.lfqa),
        ("WiCE", rag_data.wice),
        ("Factcheck", rag_data.factcheck),
        ("SummEdits", rag_data.summedits),
        ("ordinary", lambda _: rag_data.ordinary()),
    ):
        items = read(folder)
        items = random.Random(SEED).sample(items, min(most, len(items)))
        for start in range(0, len(items), BATCH):
            batch = items[start : start + BATCH]
            read_ = [RagFacts(RagCase.model_validate(item.case)) for item in batch]
            for place, (item, told) in enumerate(zip(batch, signs_of(read_), strict=True), start):
                if len(told) == 1:
                    found.append(Row(name, item.source, place, told[0][1], item.good, settled=told[0][2]))
    return found


def signs_of(batch: Sequence[RagFacts]) -> list[list[tuple[str, dict[str, float], float | None]]]:
    """For each case its claims: the text, what is weighed, and the probability where code decides."""
    in_progress = [lay_out(facts, roles) for facts, roles in zip(batch, read_roles(batch), strict=True)]
    drafts = [draft for current in in_progress for draft in current.drafts]
    looks = iter(support.read_claims(drafts))
    told = []
    for current in in_progress:
        found = []
        for draft in current.drafts:
            seen = next(looks)
            if seen and not draft.denied and draft.sentence not in current.facts.copies:
                plain = draft.values.conflict is not None and draft.values.conflict.plain
                found.append(
                    (
                        draft.text,
                        support.signs(draft, seen, len(current.drafts)),
                        0.08 if plain or draft.misquoted else None,
                    )
                )
        told.append(found)
    return told


# --- fitting ---------------------------------------------------------------------------------------


def fit_support(rows: Sequence[Row]) -> None:
    names = [name for name in rows[0].signs if name != "claims"]
    kept = [row for row in rows if row.settled is None]
    x = np.array([[row.signs[name] for name in names] for row in kept])
    y = np.array([row.good for row in kept])
    weights = balanced(kept)
    folds = GroupKFold(FOLDS).split(x, y, [row.author for row in kept])
    out = np.zeros(len(kept))
    for train, test in folds:
        out[test] = model().fit(x[train], y[train], sample_weight=weights[train]).decision_function(x[test])
    whole = model().fit(x, y, sample_weight=weights)
    long = np.array([not row.signs["short"] for row in kept])
    shift, leeway = level_for_public(kept, out, long), table("local")["support"]["claims"]
    out += shift * long + leeway * np.array([row.signs["claims"] for row in kept])
    for name in dict.fromkeys(row.set for row in kept):
        of = np.array([row.set == name for row in kept])
        area = rag_logs.area(out[of & y].tolist(), out[of & ~y].tolist())
        both = accuracy(out[of] >= 0, y[of])
        print(f"{name}: {of.sum()} claims, area {area:.3f}, balanced accuracy {both:.3f} (authors or sources kept out)")
    whole.intercept_[0] += shift
    whole.coef_[0][names.index("short")] -= shift
    print("[support]\n" + figures(names, whole))
    logs = np.array([row.set == "logs" for row in kept])
    level = LogisticRegression(C=1e6).fit(out[logs, None], y[logs])
    print(f"[calibration]\nslope = {level.coef_[0][0]:.3f}\nstart = {level.intercept_[0]:.3f}")
    probabilities = level.predict_proba(out[:, None])[:, 1]
    fit_risk(rows, {id(row): value for row, value in zip(kept, probabilities, strict=True)})


def level_for_public(kept: Sequence[Row], out: np.ndarray, long: np.ndarray) -> float:
    """How far `start` is moved where passages are long, so that lone claims of public sets are told best."""
    sets, y = np.array([row.set for row in kept]), np.array([row.good for row in kept])
    public = [place for name in np.unique(sets) if name != "logs" for place in [(sets == name) & long] if place.any()]
    return float(max(SHIFTS, key=lambda one: np.mean([accuracy(out[of] + one >= 0, y[of]) for of in public])))


def accuracy(said: np.ndarray, truth: np.ndarray) -> float:
    """Balanced."""
    return float((said[truth].mean() + (~said[~truth]).mean()) / 2)


def balanced(rows: Sequence[Row]) -> np.ndarray:
    """Each set weighs the same, the logs more, and in each of them good and bad claims weigh the same."""
    counts: dict[tuple[str, bool], int] = {}
    for row in rows:
        counts[row.set, row.good] = counts.get((row.set, row.good), 0) + 1
    return np.array([(SHARE_OF_LOGS if row.set == "logs" else 1.0) / counts[row.set, row.good] for row in rows]) * 1000


def model() -> LogisticRegression:
    return LogisticRegression(C=STRENGTH, max_iter=2_000)


def figures(names: Sequence[str], fitted: LogisticRegression) -> str:
    lines = [f"start = {fitted.intercept_[0]:.3f}"]
    return "\n".join(lines + [f"{name} = {value:.3f}" for name, value in zip(names, fitted.coef_[0], strict=True)])


def fit_risk(rows: Sequence[Row], probabilities: dict[int, float]) -> None:
    answers: dict[int, list[Row]] = {}
    for row in rows:
        if row.set == "logs":
            answers.setdefault(row.answer, []).append(row)
    told, faulty, authors = [], [], []
    for claims in answers.values():
        values = [row.settled if row.settled is not None else probabilities[id(row)] for row in claims]
        worst = risk.worst_odds(min(values))
        told.append([worst, sum(1 - value for value in values)])
        faulty.append(claims[0].faulty)
        authors.append(claims[0].author)
    x, y = np.array(told), np.array(faulty)
    out = np.zeros(len(y))
    for train, test in GroupKFold(FOLDS).split(x, y, authors):
        out[test] = LogisticRegression(C=1.0).fit(x[train], y[train]).predict_proba(x[test])[:, 1]
    print(
        f"answers: {len(y)}, area of the risk {rag_logs.area(out[y].tolist(), out[~y].tolist()):.3f}, "
        f"error of calibration {error(out, y):.3f} (authors kept out)"
    )
    print("[risk]\n" + figures(["worst", "expected"], LogisticRegression(C=1.0).fit(x, y)))


def error(said: np.ndarray, found: np.ndarray) -> float:
    """Expected calibration error over tenths of the scale."""
    tenth = np.minimum((said * 10).astype(int), 9)
    parts = [tenth == place for place in range(10)]
    return float(
        sum(part.sum() * abs(said[part].mean() - found[part].mean()) for part in parts if part.any()) / len(said)
    )


def fit_similarity(logs: Sequence[rag_logs.Log]) -> None:
    """By a logistic rule for shares: a log counts once as alike and once as not, by how similar people call it."""
    read = [log for log in logs if log.get("reference") and log.get("similarity") is not None and is_read(log)]
    facts = [RagFacts(RagCase.model_validate(rag_logs.case_of(log))) for log in read]
    told = similarity.signs_of(facts)
    pairs = [(signs, log) for signs, log in zip(told, read, strict=True) if signs is not None]
    names = list(pairs[0][0])
    x = np.array([[signs[name] for name in names] for signs, _ in pairs])
    y = np.array([float(log["similarity"]) for _, log in pairs])
    fit: Callable[[Any], LogisticRegression] = partial(fit_share, x, y)
    out = np.zeros(len(y))
    for train, test in GroupKFold(FOLDS).split(x, y, [log["author"] for _, log in pairs]):
        out[test] = fit(train).predict_proba(x[test])[:, 1]
    print(
        f"similarity: {len(y)} logs, rank correlation {rag_logs.spearman(out.tolist(), y.tolist()):.3f} "
        f"(authors kept out)"
    )
    print("[similarity] told\n" + figures(names, fit(np.arange(len(y)))))


def fit_share(x: np.ndarray, y: np.ndarray, chosen: Any) -> LogisticRegression:
    both = np.concatenate([x[chosen], x[chosen]])
    truth = np.concatenate([np.ones(len(x[chosen])), np.zeros(len(x[chosen]))])
    weight = np.concatenate([y[chosen], 1 - y[chosen]])
    return LogisticRegression(C=1.0, max_iter=2_000).fit(both, truth, sample_weight=weight)


if __name__ == "__main__":
    sys.exit(main())
