"""Reads public sets with human labels as RAG cases, and measures agreement with bootstrap intervals."""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROUNDS = 1_000
_NO_QUESTION = "What does it say?"


@dataclass(frozen=True, slots=True)
class Item:
    """A case, whether people found it supported (or correct), and the source it is resampled by."""

    case: dict[str, Any]
    good: bool
    source: str


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def ragtruth(folder: Path) -> list[Item]:
    """Whole answers of RAGTruth QA; good when no span was marked. Never used to set anything."""
    return [
        Item(
            {"question": row["question"], "context": row["context"], "answer": row["answer"]},
            not row["hallucinated"],
            row["source_id"],
        )
        for row in rows(folder / "ragtruth_qa" / "data.jsonl.gz")
    ]


def lfqa(folder: Path) -> list[Item]:
    """Sentences of long answers, against the documents they came from; those without a majority are left out."""
    documents = {row["context_id"]: row["docs"] for row in rows(folder / "lfqa_verification" / "contexts.jsonl.gz")}
    return [
        Item(
            {"question": row["question"], "context": documents[row["context_id"]], "answer": row["sentence"]},
            bool(row["supported"]),
            row["context_id"],
        )
        for row in rows(folder / "lfqa_verification" / "data.jsonl.gz")
        if row["supported"] is not None
    ]


def lfqa_answers(folder: Path) -> list[Item]:
    """The same by whole answer: good when each of its labelled sentences is."""
    joined: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows(folder / "lfqa_verification" / "data.jsonl.gz"):
        if row["supported"] is not None:
            joined.setdefault((row["system"], row["question"]), []).append(row)
    documents = {row["context_id"]: row["docs"] for row in rows(folder / "lfqa_verification" / "contexts.jsonl.gz")}
    return [
        Item(
            {
                "question": question,
                "context": documents[sentences[0]["context_id"]],
                "answer": "\n".join(row["sentence"] for row in sentences),
            },
            all(row["supported"] for row in sentences),
            sentences[0]["context_id"],
        )
        for (_, question), sentences in joined.items()
    ]


def summedits(folder: Path) -> list[Item]:
    documents = {row["doc_id"]: row["doc"] for row in rows(folder / "summedits" / "docs.jsonl.gz")}
    return [
        Item(
            {"question": _NO_QUESTION, "context": documents[row["doc_id"]], "answer": row["summary"]},
            bool(row["label"]),
            row["doc_id"],
        )
        for row in rows(folder / "summedits" / "data.jsonl.gz")
    ]


def wice(folder: Path) -> list[Item]:
    return [
        Item(
            {"question": _NO_QUESTION, "context": ["\n".join(row["evidence_sentences"])], "answer": row["claim"]},
            bool(row["supported"]),
            row["id"],
        )
        for row in rows(folder / "wice" / "claim_dev_test.jsonl.gz")
    ]


def ordinary() -> list[Item]:
    """Short texts of our own: false claims use the text's words and true ones others, so that words mislead."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "training"))
    from kinds import Kinds
    from ordinary import Ordinary

    return [
        Item({"question": _NO_QUESTION, "context": [text], "answer": answer}, good, source)
        for text, answer, good, source in Ordinary(0, kept=True, talk=Kinds(0, kept=True)).cases()
    ]


def factcheck(folder: Path) -> list[Item]:
    """Claims beside one passage each; good when the passage supports the claim completely."""
    return [
        Item(
            {"question": _NO_QUESTION, "context": [row["evidence"]], "answer": row["claim"]},
            row["stance"] == "completely-support",
            row["claim"],
        )
        for row in rows(folder / "factcheck_gpt" / "claim_evidence_stance.jsonl.gz")
    ]


# --- measures --------------------------------------------------------------------------------------

Outcome = tuple[bool, bool]
"""What the labeller said and what people said."""


def balanced_accuracy(outcomes: Sequence[Outcome]) -> float:
    shares = []
    for truth in (True, False):
        said = [ours == truth for ours, theirs in outcomes if theirs == truth]
        shares.append(sum(said) / len(said) if said else 0.0)
    return sum(shares) / 2


def precision(outcomes: Sequence[Outcome]) -> float:
    """Of the class True."""
    found = [theirs for ours, theirs in outcomes if ours]
    return sum(found) / len(found) if found else 0.0


def recall(outcomes: Sequence[Outcome]) -> float:
    there = [ours for ours, theirs in outcomes if theirs]
    return sum(there) / len(there) if there else 0.0


def f1(outcomes: Sequence[Outcome]) -> float:
    found, there = precision(outcomes), recall(outcomes)
    return 2 * found * there / (found + there) if found + there else 0.0


def accuracy(outcomes: Sequence[Outcome]) -> float:
    return sum(ours == theirs for ours, theirs in outcomes) / len(outcomes)


def interval(
    outcomes: Sequence[Outcome], sources: Sequence[str], measure: Callable[[Sequence[Outcome]], float]
) -> tuple[float, float]:
    """95 %, by drawing whole sources again and again."""
    groups: dict[str, list[Outcome]] = {}
    for outcome, source in zip(outcomes, sources, strict=True):
        groups.setdefault(source, []).append(outcome)
    drawer, pools = random.Random(0), list(groups.values())
    values = sorted(
        measure([item for pool in drawer.choices(pools, k=len(pools)) for item in pool]) for _ in range(ROUNDS)
    )
    return values[int(0.025 * ROUNDS)], values[int(0.975 * ROUNDS) - 1]
