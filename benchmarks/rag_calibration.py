"""How far the embedded labeller's probabilities can be taken at their word, on sentences that people labelled.

    python benchmarks/rag_calibration.py DATA_FOLDER [--picture FILE.svg]

DATA_FOLDER holds ragtruth_qa and lfqa_verification. Neither set the probabilities, which are calibrated on logs. In
RAGTruth a sentence is supported when no marked span touches it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import rag_data
from rag_agreement import label_all

from krino.judges.rag.case import RagCase
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import RagLabels
from krino.judges.rag.rubric import settle

BINS = 10
SIDE, EDGE = 320, 48
COLOURS = {"RAGTruth QA": "#b3261e", "LFQA": "#1a56c4", "risk on RAGTruth QA": "#1b7f3b"}
THRESHOLDS = (0.4, 0.5, 0.6, 0.7)
"""Risks from which on an answer counts as hallucinated."""

Said = tuple[float, bool]
"""A probability and whether people found the sentence supported."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Sentences whose probability lies in one tenth of the scale."""

    count: int
    said: float
    found: float


def bins(pairs: Sequence[Said]) -> list[Bin]:
    groups: list[list[Said]] = [[] for _ in range(BINS)]
    for said, found in pairs:
        groups[min(int(said * BINS), BINS - 1)].append((said, found))
    return [
        Bin(len(group), sum(said for said, _ in group) / len(group), sum(found for _, found in group) / len(group))
        for group in groups
        if group
    ]


def calibration_error(pairs: Sequence[Said]) -> float:
    """The mean distance between what was said and what was found, over tenths of the scale by their size."""
    return sum(item.count * abs(item.said - item.found) for item in bins(pairs)) / len(pairs)


def ragtruth(folder: Path, judged: Sequence[RagLabels | None]) -> list[Said]:
    found: list[Said] = []
    for row, labels in zip(rag_data.rows(folder / "ragtruth_qa" / "data.jsonl.gz"), judged, strict=True):
        for claim in labels.claims if labels else ():
            start = row["answer"].find(claim.text)
            touched = any(span["start"] < start + len(claim.text) and start < span["end"] for span in row["spans"])
            if claim.probability is not None and start >= 0:
                found.append((claim.probability, not touched))
    return found


def lfqa(folder: Path) -> list[Said]:
    items = rag_data.lfqa(folder)
    return [
        (labels.claims[0].probability, item.good)
        for item, labels in zip(items, label_all([item.case for item in items]), strict=True)
        if labels and len(labels.claims) == 1 and labels.claims[0].probability is not None
    ]


def risks(items: Sequence[rag_data.Item], judged: Sequence[RagLabels | None]) -> list[Said]:
    """The risk of each answer, and whether people marked anything in it."""
    found: list[Said] = []
    for item, labels in zip(items, judged, strict=True):
        assert labels is not None, "the embedded labeller labels every case that can be read"
        ruling = settle(RagFacts(RagCase.model_validate(item.case)), labels).figures["hallucination_risk"]
        found.append((float(ruling.value), not item.good))
    return found


def show_risk(items: Sequence[rag_data.Item], pairs: Sequence[Said]) -> None:
    """How well the risk finds bad answers, at several thresholds."""
    sources = [item.source for item in items]
    for threshold in THRESHOLDS:
        outcomes = [(risk >= threshold, bad) for risk, bad in pairs]
        for measure in (rag_data.f1, rag_data.precision, rag_data.recall):
            low, high = rag_data.interval(outcomes, sources, measure)
            print(f"risk from {threshold}: {measure.__name__} {measure(outcomes):.3f} [{low:.3f}, {high:.3f}]")
    good, bad = ([risk for risk, truth in pairs if truth == kind] for kind in (False, True))
    won = sum((ours > theirs) + 0.5 * (ours == theirs) for ours in bad for theirs in good)
    print(f"area under the curve {won / (len(bad) * len(good)):.3f}")


def picture(curves: dict[str, list[Bin]]) -> str:
    """Said against found, one line a set; the size of a dot is the share of sentences."""

    def place(said: float, found: float) -> tuple[float, float]:
        return EDGE + said * SIDE, EDGE + (1 - found) * SIDE

    whole = SIDE + 2 * EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {whole}"',
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{whole}" height="{whole}" fill="white"/>',
        f'<rect x="{EDGE}" y="{EDGE}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#999"/>',
        f'<line x1="{EDGE}" y1="{EDGE + SIDE}" x2="{EDGE + SIDE}" y2="{EDGE}" stroke="#999" stroke-dasharray="4 4"/>',
    ]
    for tenth in (0, 0.5, 1):
        x, y = place(tenth, tenth)
        parts.append(f'<text x="{x}" y="{EDGE + SIDE + 16}" text-anchor="middle">{tenth}</text>')
        parts.append(f'<text x="{EDGE - 6}" y="{y + 4}" text-anchor="end">{tenth}</text>')
    for row, (name, curve) in enumerate(curves.items()):
        colour, total = COLOURS[name], sum(item.count for item in curve)
        points = " ".join("{:.1f},{:.1f}".format(*place(item.said, item.found)) for item in curve)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for item in curve:
            x, y = place(item.said, item.found)
            size = 3 + 12 * item.count / total
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" fill="{colour}" fill-opacity="0.6"/>')
        label = f"{name} ({total})"
        parts.append(f'<text x="{EDGE + 10}" y="{EDGE + 20 + 16 * row}" fill="{colour}">{label}</text>')
    middle = EDGE + SIDE / 2
    parts.append(f'<text x="{middle}" y="{whole - 12}" text-anchor="middle">probability given</text>')
    turned = f'transform="rotate(-90 14 {middle})"'
    parts.append(f'<text x="14" y="{middle}" text-anchor="middle" {turned}>share that people found so</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    items = rag_data.ragtruth(args.folder)
    judged = label_all([item.case for item in items])
    of_answers = risks(items, judged)
    show_risk(items, of_answers)
    sets = {
        "RAGTruth QA": ragtruth(args.folder, judged),
        "LFQA": lfqa(args.folder),
        "risk on RAGTruth QA": of_answers,
    }
    for name, pairs in sets.items():
        print(f"{name}: {len(pairs)}, expected calibration error {calibration_error(pairs):.3f}")
        for item in bins(pairs):
            print(f"  said {item.said:.2f}, found {item.found:.2f} ({item.count})")
    if args.picture:
        args.picture.write_text(picture({name: bins(pairs) for name, pairs in sets.items()}), "utf-8")


if __name__ == "__main__":
    main()
