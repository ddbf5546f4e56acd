"""How far the embedded RAG labeller agrees with people, on public sets.

    python benchmarks/rag_agreement.py DATA_FOLDER [--only ragtruth lfqa ...]

DATA_FOLDER holds one folder a set: ragtruth_qa, lfqa_verification, summedits, wice, factcheck_gpt, stsb, evouna,
clapnq_dev. RAGTruth sets nothing; the judge's card says what was set on each of the others. A text counts as
supported when every claim the labeller found in it is.
"""

from __future__ import annotations

import argparse
import re
import string
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import rag_data
from rag_data import Item, Outcome, accuracy, balanced_accuracy, f1, interval, precision, recall, rows

from krino.errors import CannotJudge
from krino.judges.rag.case import RagCase
from krino.judges.rag.embedded.similarity import nearness
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import RagLabels
from krino.judges.rag.local import label_locally
from krino.judges.rag.reading.sentences import split_sentences

BATCH = 64
_WORD = re.compile(r"[a-z0-9]+")
SAME_ANSWER = 0.65
"""From here on two answers count as the same: where the step `close` begins."""


def label_all(cases: Sequence[dict[str, Any]]) -> list[RagLabels | None]:
    """None for a case that cannot be judged."""
    found: list[RagLabels | None] = []
    for start in range(0, len(cases), BATCH):
        facts: list[RagFacts | None] = []
        for case in cases[start : start + BATCH]:
            try:
                facts.append(RagFacts(RagCase.model_validate(case)))
            except CannotJudge:
                facts.append(None)
        labels = iter(label_locally([item for item in facts if item is not None]))
        found.extend(None if item is None else next(labels) for item in facts)
    return found


def is_supported(labels: RagLabels | None) -> bool:
    return labels is not None and all(claim.label == "supported" for claim in labels.claims)


def show(
    name: str, outcomes: Sequence[Outcome], sources: Sequence[str], measures: Sequence[Callable[..., float]]
) -> None:
    parts = []
    for measure in measures:
        low, high = interval(outcomes, sources, measure)
        parts.append(
            f"{measure.__name__.replace('_', ' ')} {100 * measure(outcomes):.1f} [{100 * low:.1f}, {100 * high:.1f}]"
        )
    print(f"{name}: {len(outcomes)} texts; {'; '.join(parts)}", flush=True)


def overlaps(case: dict[str, Any]) -> bool:
    """The plainest rule there is, to compare with: half of the words of every sentence stand in the context."""
    context = case["context"]
    passages = (
        [context] if isinstance(context, str) else [item if isinstance(item, str) else item["text"] for item in context]
    )
    known = {word for passage in passages for word in _WORD.findall(passage.lower())}
    sentences = [_WORD.findall(sentence.text.lower()) for sentence in split_sentences(case["answer"])]
    return all(2 * sum(word in known for word in words) >= len(words) for words in sentences)


def support(name: str, items: Sequence[Item], hallucinations: bool) -> None:
    """The labeller, and plain overlap."""
    cases = [item.case for item in items]
    ways: dict[str, Callable[[], list[bool]]] = {
        "the labeller": lambda: [is_supported(labels) for labels in label_all(cases)],
        "plain overlap": lambda: [overlaps(case) for case in cases],
    }
    for how, way in ways.items():
        started = time.perf_counter()
        good = way()
        spent = time.perf_counter() - started
        sources = [item.source for item in items]
        outcomes = [(ours, item.good) for ours, item in zip(good, items, strict=True)]
        label = f"{name}, {how} ({len(items) / spent:.0f} a second)"
        if hallucinations:
            bad = [(not ours, not theirs) for ours, theirs in outcomes]
            show(label, bad, sources, (precision, recall, f1, balanced_accuracy))
        else:
            show(label, outcomes, sources, (balanced_accuracy,))


def stsb(folder: Path) -> None:
    pairs = [row for row in rows(folder / "stsb" / "data.jsonl.gz") if row["split"] == "test"]
    people = [row["score"] for row in pairs]
    measured = [nearness(row["s1"], row["s2"]) for row in pairs]
    print(f"STS-B test: {len(pairs)} pairs; Spearman of nearness {spearman(measured, people):.3f} (mark: 0.80)")
    cases = [{"question": "What is said?", "answer": row["s1"], "reference": row["s2"]} for row in pairs]
    scores = [_similarity(labels) for labels in label_all(cases)]
    print(f"  of the judge's similarity score {spearman(scores, people):.3f}")
    steps = {"same": 4.0, "close": 3.0, "partial": 2.0, "little": 1.0, "none": 0.0}
    chosen = [steps[labels.similarity or "same"] if labels else 0.0 for labels in label_all(cases)]
    print(f"  of its five steps {spearman(chosen, people):.3f}", flush=True)


def _similarity(labels: RagLabels | None) -> float:
    """A text that equals its reference gets no label: it is settled as 1.0."""
    if labels is None:
        return 0.0
    return 1.0 if labels.similarity_score is None else labels.similarity_score


def evouna(folder: Path) -> None:
    """Is an answer as good as the reference? The usual rule asks whether it contains it."""
    read = [row for row in rows(folder / "evouna" / "sample_600q.jsonl.gz") if row["answer"]]
    options = [[option.strip() for option in row["reference"].split("/") if option.strip()] for row in read]
    cases = [
        {"question": row["question"], "answer": row["answer"], "reference": option}
        for row, several in zip(read, options, strict=True)
        for option in several
    ]
    scores = iter([_similarity(labels) for labels in label_all(cases)])
    near = [max((next(scores) for _ in several), default=0.0) for several in options]
    sources = [row["question"] for row in read]
    truth = [bool(row["human_correct"]) for row in read]
    held = [
        any(_plain(option) in _plain(row["answer"]) for option in several)
        for row, several in zip(read, options, strict=True)
    ]
    for name, said in (("containment", held), ("similarity", [score >= SAME_ANSWER for score in near])):
        for part in ("NQ", "TQ", None):
            chosen = [place for place, row in enumerate(read) if part in (None, row["dataset"])]
            outcomes = [(said[place], truth[place]) for place in chosen]
            label = f"EVOUNA {part or 'together'}, {name}"
            show(label, outcomes, [sources[place] for place in chosen], (accuracy, f1, balanced_accuracy))


def _plain(text: str) -> str:
    """As in the usual rule: lower case, no punctuation, no articles."""
    bare = "".join(character for character in text.lower() if character not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def clapnq(folder: Path) -> None:
    """Does a passage help? Each question has its own passage, which answers it or is near it, and one of another."""
    read = list(rows(folder / "clapnq_dev" / "data.jsonl.gz"))
    cases = [
        {
            "question": row["question"],
            "context": [row["context"], read[(place + len(read) // 7) % len(read)]["context"]],
            "answer": "It is said here.",
        }
        for place, row in enumerate(read)
    ]
    useful = [
        [bool(use.useful_sentences) for use in labels.passages] if labels else [False, False]
        for labels in label_all(cases)
    ]
    for name, kept in (("answer the question", True), ("are near but do not answer it", False)):
        chosen = [pair[0] for pair, row in zip(useful, read, strict=True) if bool(row["answerable"]) == kept]
        print(f"CLAP NQ: passages that {name}: {100 * sum(chosen) / len(chosen):.1f} % found useful of {len(chosen)}")
    print(f"CLAP NQ: passages of another question: {100 * sum(pair[1] for pair in useful) / len(useful):.1f} %")


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    import numpy as np

    return float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _ranks(values: Sequence[float]) -> list[float]:
    """Ties share their mean rank."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            ranks[place] = (start + end - 1) / 2
        start = end
    return ranks


PARTS: dict[str, Callable[[Path], None]] = {
    "ragtruth": lambda folder: support("RAGTruth QA, hallucinated answers", rag_data.ragtruth(folder), True),
    "lfqa": lambda folder: support("LFQA, sentences", rag_data.lfqa(folder), False),
    "lfqa_answers": lambda folder: support(
        "LFQA, answers with an unsupported sentence", rag_data.lfqa_answers(folder), True
    ),
    "summedits": lambda folder: support("SummEdits", rag_data.summedits(folder), False),
    "ordinary": lambda _: support("Texts where words mislead", rag_data.ordinary(), False),
    "wice": lambda folder: support("WiCE", rag_data.wice(folder), False),
    "factcheck": lambda folder: support("Factcheck-GPT", rag_data.factcheck(folder), False),
    "stsb": stsb,
    "evouna": evouna,
    "clapnq": clapnq,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    args = parser.parse_args()
    for name in args.only:
        PARTS[name](args.folder)


if __name__ == "__main__":
    main()
