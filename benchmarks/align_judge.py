"""Does `krino align` find the faults of a labeller, and does it leave a judge alone whose errors are noise?

    python benchmarks/align_judge.py DATA_FOLDER [--seeds 100] [--labels 600]

DATA_FOLDER holds factcheck_gpt: what people said of claims and evidence (complete or partial support, refuted,
irrelevant), several pieces of evidence to a claim. The labeller is scripted, so that nothing is paid and its faults are
known: it calls partial support complete and a refuted claim irrelevant in stated shares of such cases, and slips at
random. A criterion in the prompt that tells two labels apart mends most of their fault, examples mend a little, and
nothing mends slips.

For every seed a sample of claims is drawn and the judge aligned with their labels. The true gain of what was tested is
known from the script over all cases of the file. Printed is how often the faults were found and their criteria kept,
and how often the true gain lies in the interval. Then the same with a labeller without faults that answers one case in
four at random, anew for every prompt: every change is noise, and none should be kept.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import krino
from krino import LabelFailed, Labelled, Labeller, Task
from krino.results.alignment.changes import BEGIN

JUDGE = """\
---
inputs: {claim: text, evidence: text}
labels:
  quote_from: none
  values:
    completely-support: {score: 1, about: the evidence supports the whole claim}
    partially-support: {score: 0.5, about: the evidence supports a part of the claim}
    refute: {score: 0, about: the evidence contradicts the claim}
    irrelevant: {score: 0, about: the evidence says nothing of the claim}
---
Does the evidence support the claim?

{claim}

{evidence}
"""
LABELS = ("completely-support", "partially-support", "refute", "irrelevant")
FAULTS: Mapping[str, tuple[str, float]] = {
    "partially-support": ("completely-support", 0.6),
    "refute": ("irrelevant", 0.5),
}
"""Of a label: what the labeller says instead, and in which share of the cases."""
MENDED, EXAMPLES = 0.2, 0.9
"""By what share of itself a fault goes on, with a criterion for its two labels, and with examples."""
SLIPS, NOISE = 0.06, 0.25
IRRELEVANT = 0.25
"""The share of the irrelevant pieces of evidence that is taken: they are most of the file, and no fault is theirs."""

Row = Mapping[str, str]


def read_rows(folder: Path) -> list[Row]:
    with gzip.open(folder / "factcheck_gpt" / "claim_evidence_stance.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    kept = [row for row in rows if row["evidence"].strip()]
    return [row for row in kept if row["stance"] != "irrelevant" or draw(row["claim"], row["evidence"]) < IRRELEVANT]


def draw(*parts: object) -> float:
    """A number from 0 to 1 that is the same for the same parts: the labeller says the same of a case each time."""
    digest = hashlib.blake2b("\x00".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def fault_of(prompt: str, truth: str) -> tuple[str, float]:
    """What is said in place of a label, and how often, under this prompt."""
    instead, share = FAULTS.get(truth, (truth, 0.0))
    added = prompt.partition(BEGIN)[2]
    if any(f"`{truth}`" in line and f"`{instead}`" in line for line in added.splitlines() if line.startswith("- `")):
        share *= MENDED
    return instead, share * (EXAMPLES if "# Examples" in added else 1.0)


def chance_right(prompt: str, truth: str) -> float:
    """The chance that the labeller is right about a case with this label."""
    return (1 - fault_of(prompt, truth)[1]) * (1 - SLIPS) + SLIPS / len(LABELS)


@dataclass(eq=False)
class Scripted(Labeller):
    """Knows what people said, and errs as scripted. It writes criteria when it is asked for them."""

    truth: Mapping[tuple[str, str], str]
    seed: int
    is_noise: bool
    prompts: list[str]

    def describe(self) -> dict[str, Any]:
        return {"kind": "scripted", "seed": self.seed, "noise": self.is_noise}

    async def label(self, task: Task[Any, Any, Any]) -> Labelled[Any]:
        shown = {passage.name: passage.text for passage in task.questions.passages}
        if task.judge.name == "align-criteria":
            count = sum(name.startswith("confused") for name in shown)
            text = "\n".join(f"{number}. The text says so in its own words." for number in range(1, count + 1))
            return Labelled(task.accept({"criteria": text}), self.describe())
        prompt = task.judge.prompt
        if prompt not in self.prompts:
            self.prompts.append(prompt)
        try:
            return Labelled(task.accept({"label": self._say(prompt, shown), "reason": "scripted"}), self.describe())
        except ValueError as problem:
            raise LabelFailed(str(problem)) from None

    def _say(self, prompt: str, shown: Mapping[str, str]) -> str:
        case = (shown["claim"], shown["evidence"])
        truth, key = self.truth[case], (self.seed, *case)
        if self.is_noise:
            return (
                truth if draw(*key, prompt, "noise") > NOISE else LABELS[int(draw(*key, prompt, "other") * len(LABELS))]
            )
        instead, share = fault_of(prompt, truth)
        said = instead if draw(*key, "fault") < share else truth
        return said if draw(*key, "slip") >= SLIPS else LABELS[int(draw(*key, "other") * len(LABELS))]


def sample(rows: list[Row], labels: int, seed: int) -> list[Row]:
    """Whole claims until there are enough labels."""
    claims: dict[str, list[Row]] = {}
    for row in rows:
        claims.setdefault(row["claim"], []).append(row)
    order = sorted(claims)
    random.Random(seed).shuffle(order)
    found: list[Row] = []
    for claim in order:
        if len(found) < labels:
            found += claims[claim]
    return found


def align(rows: list[Row], labels: int, seed: int, judge: Path, *, is_noise: bool) -> tuple[krino.Alignment, float]:
    """One alignment, and the true gain of what was tested."""
    truth = {(row["claim"], row["evidence"]): row["stance"] for row in rows}
    drawn = list({(row["claim"], row["evidence"]): row for row in sample(rows, labels, seed)}.values())
    cases = [
        {"id": str(place), "claim": row["claim"], "evidence": row["evidence"], "source": row["claim"]}
        for place, row in enumerate(drawn)
    ]
    given = [{"id": str(place), "label": row["stance"]} for place, row in enumerate(drawn)]
    labeller = Scripted(truth, seed, is_noise, [])
    found = krino.align(str(judge), given, cases, labeller=labeller, seed=seed, write=False)
    if found.gain is None or is_noise:
        return found, 0.0
    before, tested = labeller.prompts[0], labeller.prompts[-1]
    stances = Counter(truth.values())
    gains = (count * (chance_right(tested, one) - chance_right(before, one)) for one, count in stances.items())
    return found, sum(gains) / stances.total()


def finds_all_faults(found: krino.Alignment) -> bool:
    """Whether a criterion for each fault was kept."""
    return all(
        any(f"`{truth}` rather than `{instead}`" in words for words in found.kept)
        for truth, (instead, _) in FAULTS.items()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DATA_FOLDER")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--labels", type=int, default=600)
    given = parser.parse_args()
    rows = read_rows(given.folder)
    with tempfile.TemporaryDirectory() as folder:
        judge = Path(folder, "stance.md")
        judge.write_text(JUDGE)
        done = [align(rows, given.labels, seed, judge, is_noise=False) for seed in range(given.seeds)]
        tested = [(found.gain, true) for found, true in done if found.gain is not None]
        inside = sum(gain.interval[0] <= true <= gain.interval[1] for gain, true in tested)
        kept = sum(bool(found.kept) for found, _ in done)
        print(
            f"faults: changes kept with {kept} of {given.seeds} seeds, a criterion for every fault with "
            f"{sum(finds_all_faults(found) for found, _ in done)}; the true gain lies in the interval with {inside} of "
            f"{len(tested)}"
        )
        print(
            f"  agreement before {mean([found.before for found, _ in done]):.1%}, after "
            f"{mean([found.agreement for found, _ in done]):.1%}; gain measured "
            f"{mean([gain.value for gain, _ in tested]):.1%}, true {mean([true for _, true in tested]):.1%}"
        )
        noise = [align(rows, given.labels, seed, judge, is_noise=True)[0] for seed in range(given.seeds)]
        print(
            f"noise: nothing changed with {sum(not found.kept for found in noise)} of {given.seeds} seeds; something "
            f"was tested with {sum(found.gain is not None for found in noise)}"
        )


def mean(values: list[float]) -> float:
    return sum(values) / max(len(values), 1)


if __name__ == "__main__":
    main()
