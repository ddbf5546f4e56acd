"""Does it pay to ask a model only where the embedded labeller is unsure? Cost against agreement with people.

    python benchmarks/cascade.py DATA_FOLDER [--most 300] [--labels FILE.json]

DATA_FOLDER holds wice, factcheck_gpt, lfqa_verification and summedits, as for rag_agreement.py. The embedded labeller
labels each claim and says how sure it is; people say whether it is right. Models are scripted, so that nothing is paid:
`strong` is right in a stated share of claims; `small` has for each claim a chance of its own of being right, so that
repeats mend slips and not misunderstandings. A call of the strong model costs 1, one of the small model `SMALL_COST`.
Errors of the strong model are independent of the embedded labeller's, or fall on the claims that it is unsure about:
real models lie in between. For LFQA one of the three people who labelled each claim is the strong labeller as well.

`--labels` keeps what the embedded labeller said, so that a second command needs no labelling.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rag_data
from numpy.typing import NDArray
from rag_agreement import is_supported, label_all
from rag_data import Item

from krino.judges.rag.labels import RagLabels

SETS: dict[str, Callable[[Path], list[Item]]] = {
    "WiCE": rag_data.wice,
    "Factcheck-GPT": rag_data.factcheck,
    "LFQA": rag_data.lfqa,
    "SummEdits": rag_data.summedits,
}
STRONG = (0.75, 0.8, 0.85, 0.9, 0.95)
SHARES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
SMALL, SMALL_COST = 0.75, 0.1
REPEATS = (1, 3, 5, 9)
CONCENTRATION = 3.0
"""Of the chances of the small model, claim by claim: 0 never changes its mind, a large number errs at random."""
CERTAIN = 99.0
TURN = 0.786
"""The calibrated probability from which on the embedded labeller calls a claim supported, seen in its labels."""
DRAWS = 400

Flags = NDArray[np.bool_]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Claims:
    """Of each claim: what people say, what the embedded labeller says, and its probability of support."""

    people: Flags
    local: Flags
    probability: Numbers

    @property
    def sure(self) -> Numbers:
        """How far the labeller is from the other label, in log odds; where code decided it is certain."""
        return np.array([CERTAIN if math.isnan(value) else abs(log_odds(value)) for value in self.probability])

    @property
    def right(self) -> Flags:
        right: Flags = self.people == self.local
        return right

    def unsure_first(self) -> NDArray[np.intp]:
        return np.argsort(self.sure, kind="stable")


def least_certain(labels: RagLabels | None) -> float:
    """The probability of support of the least certain claim; nan where code decided all of them."""
    known = [] if labels is None else [claim.probability for claim in labels.claims if claim.probability is not None]
    return min(known, key=lambda value: abs(log_odds(value)), default=math.nan)


def log_odds(probability: float) -> float:
    """How far a probability is from the one at which the label changes."""
    inside = min(max(probability, 0.001), 0.999)
    return math.log(inside / (1 - inside)) - math.log(TURN / (1 - TURN))


def label_set(folder: Path, read: Callable[[Path], list[Item]], most: int) -> Claims:
    items = read(folder)
    chosen = [items[place] for place in np.random.default_rng(0).permutation(len(items))[:most]]
    judged = label_all([item.case for item in chosen])
    return Claims(
        np.array([item.good for item in chosen]),
        np.array([is_supported(labels) for labels in judged]),
        np.array([least_certain(labels) for labels in judged]),
    )


# --- scripted models -------------------------------------------------------------------------------


def strong_rights(claims: Claims, accuracy: float, random: np.random.Generator, *, hard: bool) -> NDArray[np.bool_]:
    """Whether the strong model is right, for many draws. `hard`: its errors fall on the claims that are unsure."""
    weight = np.exp(-claims.sure) if hard else np.ones(len(claims.sure))
    chance = np.minimum((1 - accuracy) * weight / max(weight.mean(), 1e-9), 1.0)
    right: NDArray[np.bool_] = random.random((DRAWS, len(claims.sure))) >= chance
    return right


def repeated_rights(count: int, repeats: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """Whether the majority of some answers of the small model is right."""
    chance = random.beta(SMALL * CONCENTRATION, (1 - SMALL) * CONCENTRATION, (DRAWS, count))
    return random.binomial(repeats, chance) * 2 > repeats


def cascade_agreement(claims: Claims, rights: NDArray[np.bool_], share: float) -> float:
    """The agreement if this share of the claims, the least certain, is passed on."""
    passed = np.zeros(len(claims.sure), np.bool_)
    passed[claims.unsure_first()[: round(share * len(claims.sure))]] = True
    return float(np.where(passed, rights, claims.right).mean())


def recorded_rights(folder: Path, most: int) -> Flags:
    """Whether one of the three people who labelled each claim of LFQA says what most of the three say."""
    kept = [
        row for row in rag_data.rows(folder / "lfqa_verification" / "data.jsonl.gz") if row["supported"] is not None
    ]
    chosen = [kept[place] for place in np.random.default_rng(0).permutation(len(kept))[:most]]
    return np.array([(row["labels"][0] == "supported") == bool(row["supported"]) for row in chosen])


# --- output ----------------------------------------------------------------------------------------


def show_sureness(name: str, claims: Claims) -> None:
    """Whether the labeller is right more often where it is sure: the cascade stands or falls with it."""
    order = claims.unsure_first()
    thirds = [100 * claims.right[part].mean() for part in np.array_split(order, 3)]
    right, wrong = claims.sure[claims.right], claims.sure[~claims.right]
    above = (right[:, np.newaxis] > wrong).mean() + (right[:, np.newaxis] == wrong).mean() / 2
    print(
        f"\n{name}: {len(order)} claims, the embedded labeller agrees in {100 * claims.right.mean():.1f} %: "
        f"{', '.join(f'{part:.1f}' for part in thirds)} % in the least, middle and most certain third; "
        f"more certain when right (AUC) {above:.2f}"
    )


def show_curve(claims: Claims, *, hard: bool) -> None:
    random = np.random.default_rng(1)
    where = "on the unsure claims" if hard else "independent"
    print(f"  errors of the strong model {where}; columns: share that is passed on")
    print("  strong alone " + "".join(f"{share:>8.0%}" for share in SHARES) + "   calls for its own agreement")
    for accuracy in STRONG:
        rights = strong_rights(claims, accuracy, random, hard=hard)
        curve = [cascade_agreement(claims, rights, share) for share in SHARES]
        enough = next(
            (
                f"{share:.0%}"
                for share in np.arange(0, 1.001, 0.02)
                if cascade_agreement(claims, rights, float(share)) >= rights.mean() - 0.005
            ),
            "all",
        )
        print(f"  {rights.mean():>12.1%} " + "".join(f"{value:>8.1%}" for value in curve) + f"   {enough}")


def show_repeats(claims: Claims) -> None:
    """The small model several times, for all claims and for the unsure half."""
    random = np.random.default_rng(2)
    print(f"  the small model ({SMALL:.0%} right, {SMALL_COST:g} a call) asked again and again:")
    for repeats in REPEATS:
        rights = repeated_rights(len(claims.sure), repeats, random)
        half = cascade_agreement(claims, rights, 0.5)
        print(
            f"  {repeats} times: cost {repeats * SMALL_COST:.2f} a claim, {rights.mean():.1%}; "
            f"only the unsure half: cost {repeats * SMALL_COST / 2:.2f}, {half:.1%}"
        )


def show_recorded(claims: Claims, rights: Flags) -> None:
    """The curve with real answers in place of scripted ones."""
    curve = [cascade_agreement(claims, rights[np.newaxis], share) for share in SHARES]
    thirds = ", ".join(f"{100 * rights[part].mean():.1f}" for part in np.array_split(claims.unsure_first(), 3))
    print(f"  one of the people as the strong labeller, right in {thirds} % of the same thirds:")
    print(f"  {rights.mean():>12.1%} " + "".join(f"{value:>8.1%}" for value in curve))


def load_or_label(folder: Path, most: int, file: Path | None) -> dict[str, Claims]:
    if file is not None and file.exists():
        kept = json.loads(file.read_text())
        return {
            name: Claims(np.array(people), np.array(local), np.array(probability))
            for name, (people, local, probability) in kept.items()
        }
    found = {name: label_set(folder, read, most) for name, read in SETS.items()}
    if file is not None:
        rows = {
            name: (one.people.tolist(), one.local.tolist(), one.probability.tolist()) for name, one in found.items()
        }
        file.write_text(json.dumps(rows))
    return found


def joined(sets: Sequence[Claims]) -> Claims:
    return Claims(
        np.concatenate([one.people for one in sets]),
        np.concatenate([one.local for one in sets]),
        np.concatenate([one.probability for one in sets]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DATA_FOLDER")
    parser.add_argument("--most", type=int, default=300, help="claims of each set")
    parser.add_argument("--labels", type=Path, help="where to keep the labels of the embedded labeller")
    given = parser.parse_args()
    sets = load_or_label(given.folder, given.most, given.labels)
    for name, claims in {**sets, "all together": joined(list(sets.values()))}.items():
        show_sureness(name, claims)
        for hard in (False, True):
            show_curve(claims, hard=hard)
        show_repeats(claims)
        if name == "LFQA":
            show_recorded(claims, recorded_rights(given.folder, given.most))


if __name__ == "__main__":
    main()
