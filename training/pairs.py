"""Reads the public sets that the entailment model is trained on, as pairs of a premise and a claim.

The folder given holds `nli/` and `rag/` with one compressed JSONL file (or folder) a set. What the model is measured
on (RAGTruth, LFQA-Verification, SummEdits, WiCE, Factcheck-GPT, STS-B test) is never read here.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUPPORTED, UNSUPPORTED, CONTRADICTED = 1, 2, 4
"""Labels are sets of the three classes, as bits: where people only said "not entailed", two are possible."""
NOT_SUPPORTED = UNSUPPORTED | CONTRADICTED

_LABELS = {
    "entailment": SUPPORTED,
    "neutral": UNSUPPORTED,
    "contradiction": CONTRADICTED,
    "not_entailment": NOT_SUPPORTED,
}
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "``": '"', "''": '"'}
_PICTURE = re.compile(r"\d+jpg\d")
_BEFORE_SIGN = re.compile(r" +([,.;:!?)\]])")
_SPACES = re.compile(r"\s+")

NLI_SETS = ("cad_snli", "fever_nli_dev", "fever_symmetric", "mnli_dev_matched_mismatched", "scitail_dev", "snli_dev")
"""Those that came with a licence, or are made from a set that has one; the others of the pool did not help."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A premise, a claim, the classes it may belong to, and where it comes from."""

    premise: str
    claim: str
    label: int
    origin: str
    shares: tuple[float, float, float] | None = None
    """What the teacher says of it, where no person and no rule does; `label` is then 0."""


def tidy(text: str) -> str:
    """Text as people write it: tokenised brackets, quotes and spaces put right."""
    for token, sign in _BRACKETS.items():
        text = text.replace(token, sign)
    return _BEFORE_SIGN.sub(r"\1", _SPACES.sub(" ", _PICTURE.sub(". ", text))).strip(" .") + "."


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def inference_pairs(folder: Path, sets: tuple[str, ...] = NLI_SETS) -> list[Pair]:
    """Every labelled pair of the sets of natural language inference and fact checking."""
    return [
        Pair(tidy(row["premise"]), tidy(row["hypothesis"]), _LABELS[row["label"]], name)
        for name in sets
        for row in rows(folder / "nli" / f"{name}.jsonl.gz")
        if row["label"] in _LABELS
    ]


def similar_pairs(folder: Path) -> list[Pair]:
    """STS-B train and dev: sentences of the same meaning support each other, those about something else do not."""
    found = []
    for row in rows(folder / "rag" / "stsb" / "data.jsonl.gz"):
        if row["split"] == "test" or 1.5 < row["score"] < 4.8:
            continue
        label = SUPPORTED if row["score"] >= 4.8 else NOT_SUPPORTED
        first, second = tidy(row["s1"]), tidy(row["s2"])
        found += [Pair(first, second, label, "stsb"), Pair(second, first, label, "stsb")]
    return found


def answer_pairs(folder: Path) -> list[Pair]:
    """CLAP NQ: answers that people wrote from a passage, against it."""
    found = []
    for row in rows(folder / "rag" / "clapnq_dev" / "data.jsonl.gz"):
        for answer in row["gold_answers"] if row["answerable"] else ():
            text = tidy(answer if isinstance(answer, str) else answer["answer"])
            if len(text.split()) >= 4:
                found.append(Pair(tidy(row["context"]), text, SUPPORTED, "clapnq"))
    return found


def elsewhere(pairs: Sequence[Pair]) -> list[Pair]:
    """Each claim against the premise of another pair, some places on."""
    others = [pairs[(place + 7) % len(pairs)] for place in range(len(pairs))]
    return [
        Pair(other.premise, pair.claim, UNSUPPORTED, pair.origin)
        for pair, other in zip(pairs, others, strict=True)
        if other.premise != pair.premise
    ]


def documents(folder: Path) -> list[str]:
    """Running text to make claims from: passages, evidence and long answers of the sets above."""
    texts = [row["context"] for row in rows(folder / "rag" / "clapnq_dev" / "data.jsonl.gz")]
    for row in rows(folder / "rag" / "ragchecker_meta" / "data.jsonl.gz"):
        texts += [row["gt_answer"], row["model1"]["response"], row["model2"]["response"]]
    for name, side in (
        ("fever_nli_dev", "premise"),
        ("mnli_dev_matched_mismatched", "premise"),
        ("qnli_dev", "hypothesis"),
    ):
        texts += [row[side] for row in rows(folder / "nli" / f"{name}.jsonl.gz")]
    return sorted({tidy(text) for text in texts if text and len(text.split()) >= 12})
