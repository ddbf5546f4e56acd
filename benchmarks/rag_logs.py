"""Judges logs like production with the embedded RAG labeller, and measures it against the label of each sentence.

    rag_logs.py LOGS_FOLDER [--expected FILE] [--every N]

LOGS_FOLDER holds JSONL files: question, context, answer, reference, and `sentences` with a role and a label each. FILE
holds logs with four expected scores. No log was written by an author of the labeller.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_agreement import spearman

from krino.errors import CannotJudge
from krino.judges.rag.case import RagCase
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import Claim, RagLabels
from krino.judges.rag.local import label_locally, unreadable
from krino.judges.rag.rubric import settle

BATCH = 32
SCORES = ("faithfulness", "context_relevance", "answer_relevance", "semantic_similarity")
ASSUMED = {"supported": 0.9, "unsupported": 0.2, "contradicted": 0.1}
"""For a claim that has no probability."""
_WORD = re.compile(r"[^\W_]{2,}")
_MATCHING = 0.6
"""Share of the words of the shorter text that a claim and a sentence have in common where they are the same."""
Figures = dict[str, float]
Log = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judged:
    labels: RagLabels | None
    verdict: dict[str, Any]
    risk: float | None

    @property
    def told(self) -> object:
        """What a reader of the labels sees."""
        return None if self.labels is None else self.labels.model_dump(exclude={"similarity_why"})

    @property
    def is_supported(self) -> bool:
        return self.labels is not None and all(claim.label == "supported" for claim in self.labels.claims)

    @property
    def declines(self) -> bool:
        refusal = self.labels.refusal if self.labels is not None else None
        return refusal.is_refusal if self.labels is not None and refusal is not None else self.labels is None


def judge_all(cases: Sequence[dict[str, Any]]) -> list[Judged | None]:
    """None for a case that cannot be judged."""
    found: list[Judged | None] = []
    for start in range(0, len(cases), BATCH):
        read = [study(case) for case in cases[start : start + BATCH]]
        labels = iter(label_locally([facts for facts in read if facts is not None]))
        found.extend(None if facts is None else _settle(facts, next(labels)) for facts in read)
    return found


def study(case: dict[str, Any]) -> RagFacts | None:
    try:
        facts = RagFacts(RagCase.model_validate(case))
    except CannotJudge:
        return None
    return facts if unreadable(facts) is None else None


def _settle(facts: RagFacts, labels: RagLabels | None) -> Judged:
    assert labels is not None, "the embedded labeller labels every case that can be read"
    settled = settle(facts, labels)
    risk = settled.figures.get("hallucination_risk")
    value = risk.value if risk is not None else None
    return Judged(
        labels, {name: settled.rulings[name].value for name in SCORES}, value if isinstance(value, float) else None
    )


# --- logs with a label for every sentence ----------------------------------------------------------


def read_train(folder: Path) -> list[Log]:
    return [
        json.loads(line) | {"author": file.stem}
        for file in sorted(folder.glob("*.jsonl"))
        for line in file.read_text("utf-8").splitlines()
    ]


def read_expected(file: Path) -> list[Log]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def case_of(log: Log) -> dict[str, Any]:
    return {name: log[name] for name in ("question", "context", "answer", "reference") if log.get(name) is not None}


def sentences(logs: Sequence[Log], judged: Sequence[Judged | None]) -> Figures:
    """Claims by probability, sentences and answers with an alarm, and refusals."""
    good: list[float] = []
    bad: list[float] = []
    flagged: dict[str, list[bool]] = {name: [] for name in ("good", "bad", "beside", "clean", "faulty")}
    whole: list[tuple[bool, bool]] = []
    risks: list[tuple[float, bool]] = []
    for log, found in zip(logs, judged, strict=True):
        if found is None or found.labels is None:
            continue
        claims = [(words_of(claim.text), claim) for claim in found.labels.claims]
        kind = log["refusal"]["kind"]
        faulty = any(item["label"] not in (None, "supported") for item in log["sentences"])
        for item in log["sentences"]:
            matched = _matched(item["text"], claims)
            alarm = any(claim.label != "supported" for claim in matched)
            if item["role"] != "claim":
                flagged["beside"].append(alarm)
                continue
            is_good = item["label"] == "supported"
            flagged["good" if is_good else "bad"].append(alarm)
            if matched:
                (good if is_good else bad).append(min(map(_probability, matched)))
        whole.append((found.declines, kind == "whole"))
        if kind in ("no", "tacked_on"):
            flagged["faulty" if faulty else "clean"].append((found.verdict["faithfulness"] or 0.0) < 1)
            if found.risk is not None:
                risks.append((found.risk, faulty))
    return {
        "claims' area": area(good, bad),
        **{f"{name} flagged": _share(said) for name, said in flagged.items()},
        "refusals found": _share([said for said, truth in whole if truth]),
        "refusals right": _share([truth for said, truth in whole if said]),
        "risk's area": area([risk for risk, truth in risks if truth], [risk for risk, truth in risks if not truth]),
    }


def _probability(claim: Claim) -> float:
    return ASSUMED[claim.label] if claim.probability is None else claim.probability


def words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _matched(text: str, claims: Sequence[tuple[frozenset[str], Claim]]) -> list[Claim]:
    words = words_of(text)
    return [
        claim for said, claim in claims if said and len(said & words) / max(1, min(len(said), len(words))) >= _MATCHING
    ]


def _share(said: Sequence[bool]) -> float:
    return sum(said) / len(said) if said else 0.0


def area(higher: Sequence[float], lower: Sequence[float]) -> float:
    """How often one of the first is above one of the second; a tie counts half."""
    above = sum((one > other) + 0.5 * (one == other) for one in higher for other in lower)
    return above / (len(higher) * len(lower)) if higher and lower else 0.0


# --- logs with expected scores ---------------------------------------------------------------------


def ranks(logs: Sequence[Log], judged: Sequence[Judged | None]) -> Figures:
    """Rank correlation of each score with what was expected."""
    figures = {}
    for name in SCORES:
        pairs = [
            (found.verdict[name], log["expected"][name])
            for log, found in zip(logs, judged, strict=True)
            if found is not None and found.verdict[name] is not None and log["expected"].get(name) is not None
        ]
        figures[name.replace("_", " ")] = spearman([one for one, _ in pairs], [other for _, other in pairs])
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="LOGS_FOLDER")
    parser.add_argument("--expected", type=Path)
    parser.add_argument("--every", type=int, default=1, help="of the logs, take one in this many (1: all)")
    given = parser.parse_args()
    logs = read_train(given.folder)[:: given.every]
    judged = judge_all(list(map(case_of, logs)))
    for name, languages in (("all", None), ("English", ("en",)), ("others", ("fr", "nl", "de", "es"))):
        places = [place for place, log in enumerate(logs) if languages is None or log["language"] in languages]
        show(
            f"{name} ({len(places)})", sentences([logs[place] for place in places], [judged[place] for place in places])
        )
    if given.expected is not None:
        expected = read_expected(given.expected)
        show(f"expected ({len(expected)})", ranks(expected, judge_all(list(map(case_of, expected)))))
    return 0


def show(name: str, figures: Figures) -> None:
    print(f"{name}: " + ", ".join(f"{what} {value:.3f}" for what, value in figures.items()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
