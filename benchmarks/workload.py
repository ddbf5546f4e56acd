"""Makes RAG cases of one shape (3 passages of 120 words, 4 answer sentences) for which one label object is valid."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

NOUNS = ("river", "harbour", "engine", "council", "archive", "copper", "orbit", "ledger", "museum", "sensor", "bridge")
GLUE = ("the", "of", "and", "in", "a", "to", "was", "with", "for", "by", "on", "from", "that", "which", "its", "after")
QUOTE = "The harbour ledger was opened by the council in the spring"


def _claim(sentence: int) -> dict[str, Any]:
    found = sentence == 1
    return {
        "text": f"The statement of sentence {sentence}, in the words of the answer.",
        "sentence": sentence,
        "passage": 1 if found else None,
        "quote": QUOTE if found else None,
        "why": "stated in the passage" if found else "no passage says so",
        "label": "supported" if found else "unsupported",
        "critical": False,
    }


LABELS: dict[str, Any] = {
    "unreadable": None,
    "claims": [_claim(sentence) for sentence in range(1, 5)],
    "empty_sentences": [],
    "parts": [{"part": "what the record said", "sentence": 1, "answered": True}],
    "direct": "full",
    "passages": [{"passage": number, "useful_sentences": [1] if number == 1 else []} for number in range(1, 4)],
    "needs": [{"need": "what the record said", "passage": 1, "held": True}],
    "refusal": None,
    "similarity_why": "the main point is shared",
    "similarity": "partial",
    "uncertain": None,
}


def _words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(NOUNS if place % 3 == 0 else GLUE) for place in range(count))


def case(number: int) -> dict[str, Any]:
    rng = random.Random(number)
    passages = [". ".join(_words(rng, 15).capitalize() for _ in range(8)) + "." for _ in range(3)]
    passages[0] = f"{QUOTE}. {passages[0]}"
    answer = [QUOTE, *(_words(rng, 14).capitalize() for _ in range(3))]
    return {
        "id": f"case-{number}",
        "question": f"What did record {number} say about the {rng.choice(NOUNS)}?",
        "contexts": passages,
        "answer": " ".join(f"{sentence}." for sentence in answer),
        "reference": f"{_words(rng, 40).capitalize()}.",
    }


def cases(count: int) -> Iterator[dict[str, Any]]:
    return (case(number) for number in range(count))


def write(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as out:
        for item in cases(count):
            out.write(json.dumps(item) + "\n")


def judging_seconds(run: Path) -> float:
    """From the first judgement of a run to its last: starting and summing up are left out."""
    times = re.findall(rb'"time":"([^"]+)"', (run / "judgements.jsonl").read_bytes())
    first, last = (datetime.fromisoformat(time.decode()) for time in (min(times), max(times)))
    return (last - first).total_seconds()
